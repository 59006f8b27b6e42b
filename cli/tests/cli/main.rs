//! Tests of the `jobcheck` binary: exit codes, output, flags, and errors.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod access;
mod browser;
mod check;
mod checkout;
mod cluster;
mod conform;
mod dispatched;
mod dropped;
mod explore;
mod fuzz;
mod hangup;
mod hostile;
mod hostile_text;
mod inputs;
mod interrupt;
mod live;
mod managers;
mod many_jobs;
mod mutants;
mod operators;
mod options;
mod outputs;
mod pages;
mod ports;
mod readme;
mod record;
mod redact;
mod repeated;
mod report;
mod reports;
mod rule;
mod run;
mod scenario_format;
mod schema;
mod soak;
mod status;
mod support;
mod verdicts;
mod verify;
mod view;
mod watch_audit;
