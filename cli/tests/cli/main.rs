//! Tests of the `jobcheck` binary: its exit codes, outputs, flags, and what it says of bad input.

#![allow(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod check;
mod cluster;
mod explore;
mod fuzz;
mod inputs;
mod live;
mod mutants;
mod options;
mod outputs;
mod readme;
mod record;
mod rule;
mod run;
mod schema;
mod support;
mod verdicts;
mod verify;
