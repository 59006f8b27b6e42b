//! Integration tests.

mod coverage;
mod corpus;
