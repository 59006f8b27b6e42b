//! Tests of the `jobcheck` binary: exit codes, output, flags, and errors.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod check;
mod cluster;
mod explore;
mod fuzz;
mod inputs;
mod interrupt;
mod live;
mod mutants;
mod options;
mod outputs;
mod readme;
mod record;
mod reports;
mod rule;
mod run;
mod scenario_format;
mod schema;
mod support;
mod verdicts;
mod verify;
