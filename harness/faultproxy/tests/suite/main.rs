//! The proxy before the embedded API server: each fault, watches through it, and its end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod support;
mod transport;
mod watches;
