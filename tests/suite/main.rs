//! Integration tests.

mod coverage;
