//! Integration tests.

mod coverage;
mod corpus;
mod gaps;
mod tidy;
