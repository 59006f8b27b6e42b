//! Integration tests.

mod coverage;
mod corpus;
mod tidy;
