//! Integration tests.

mod bad_input;
mod coverage;
mod corpus;
mod gaps;
mod tidy;
