//! Integration tests.

mod bad_input;
mod corpus;
mod coverage;
mod gaps;
mod tidy;
