//! Target `sim`: scenarios with the decisions of the shipped controllers on the embedded API server, under virtual time.
//!
//! A run is decided by its seed: seed 0 shows every event at once, and lets a step happen once everybody is at rest;
//! with another seed chance decides whose turn it is, which of several keys, calls and pods comes first, and how late
//! events are. What happened is a native trace, which is judged by the code that judges every trace.
//!
//! # Caveats
//!
//! The runtime of the controllers (work queue, rate limits, watches of `kube`) is not here: it is tested on the
//! embedded API server over HTTP and on a real control plane.

mod calls;
mod cluster;
pub mod fuzz;
mod handling;
pub mod paths;
mod process;
mod recorder;
mod rng;
mod run;
mod start;
mod store;
mod ttl;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::Scenario;
use jobcheck_scenario::runtime::{Found, Rest};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::Input;

use self::run::Play;

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The seed that decided it.
    pub seed: u64,
    /// What did not happen as the scenario says.
    pub unmet: Option<String>,
    /// What the trace is judged to be.
    pub report: ReplayReport,
    /// The trace, in the native format.
    pub trace: Vec<u8>,
    /// Requests in it.
    pub requests: usize,
    /// What stood at each rest.
    pub rests: Vec<Rest>,
}

impl Outcome {
    /// The exit code of the run (judging.md 5).
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.report.exit_code, &self.unmet) {
            (Exit::Conforms | Exit::Inconclusive, Some(_)) => Exit::Violates,
            (exit, _) => exit,
        }
    }

    /// What is wrong first: the requirement that is broken, if one is, and why.
    #[must_use]
    pub fn told(&self) -> (Option<Req>, String) {
        let Some(found) = Found::first(&self.report, self.unmet.as_deref()) else {
            return (None, format!("seed {}", self.seed));
        };
        let place = found.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        (found.requirement, format!("seed {}{place}: {}", self.seed, found.why))
    }
}

/// Runs a scenario with a seed. The plans of the controllers have these departures: as they are shipped, none.
///
/// # Errors
///
/// What the API server says against a Job of the scenario.
pub fn run(scenario: &Scenario, seed: u64, mutations: &Mutations) -> Result<Outcome, String> {
    run_on(RuleSet::default(), scenario, seed, mutations)
}

/// The same with the API server of another version.
///
/// # Errors
///
/// What the API server says against a Job of the scenario.
pub fn run_on(
    version: RuleSet,
    scenario: &Scenario,
    seed: u64,
    mutations: &Mutations,
) -> Result<Outcome, String> {
    let mut play = Play::new(version, scenario, seed, mutations)?;
    let unmet = play.run();
    play.cluster.mark(serde_json::json!({ "kind": "end" }));
    let trace = play.cluster.recorder.bytes();
    let inputs = vec![Input::Bytes(scenario.name.clone(), trace.clone())];
    let report = judge(&[inputs], &Judging::default(), &mut |_, _| {});
    let requests = play.cluster.recorder.requests();
    Ok(Outcome { seed, unmet, report, requests, trace, rests: std::mem::take(&mut play.rests) })
}
