//! Integration tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what it needs has failed")]

mod bad_input;
mod check;
mod corpus;
mod coverage;
mod gaps;
mod mutants;
mod tidy;
