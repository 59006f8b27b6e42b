//! Integration tests.

mod corpus;
mod coverage;
mod tidy;
