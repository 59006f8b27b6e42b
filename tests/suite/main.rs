//! Integration tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what it needs has failed")]

mod algorithm;
mod bad_input;
mod check;
mod controller;
mod corpus;
mod coverage;
mod deadlines;
mod defects;
mod edited;
mod explore;
mod found;
mod fuzzed_forms;
mod gaps;
mod gates;
mod generated;
mod golden;
mod injected;
mod known;
mod late;
mod lesser_forms;
mod logs;
mod mutants;
mod observed;
mod progress;
mod recreation;
mod rendered;
mod scenarios;
mod scripts;
mod sim;
mod steps;
mod tidy;
mod ttl;
mod twin;
mod two_leaders;
mod versions;
