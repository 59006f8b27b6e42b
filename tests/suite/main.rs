//! Integration tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what it needs has failed")]

mod algorithm;
mod check;
mod controller;
mod corpus;
mod coverage;
mod defects;
mod explore;
mod gates;
mod generated;
mod golden;
mod judge_audit_logs;
mod judge_conforming_edits;
mod judge_damaged_input;
mod judge_deadlines;
mod judge_delayed_requests;
mod judge_deviations;
mod judge_drawn_runs;
mod judge_gaps;
mod judge_injected_faults;
mod judge_observed_lines;
mod judge_reduced_forms;
mod judge_rendered_paths;
mod judge_versions;
mod mutants;
mod progress;
mod recordings_of_deviations;
mod recreation;
mod scenarios;
mod scripts;
mod sim;
mod steps;
mod tidy;
mod ttl;
mod twin;
mod two_leaders;
