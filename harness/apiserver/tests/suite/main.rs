//! The server as its clients see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod cluster;
mod collector;
mod deletes;
mod determinism;
mod jobs;
mod large;
mod lists;
mod socket;
mod space;
mod transport;
mod unread;
mod watches;
mod writes;
