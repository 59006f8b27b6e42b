//! Target `sim`: scenarios with the shipped controllers' decisions on the embedded API server, under virtual time.
//!
//! A seed decides a run. Seed 0 delivers every event at once, and takes steps at quiescence. With another seed the order of
//! components, keys, calls, and pods is random, and caches lag. The run is recorded as a native trace, and judged by the
//! code that judges every trace:
//!
//! ```
//! use jobcheck_explorer::mutations::Mutations;
//! use jobcheck_judge::report::Exit;
//! use jobcheck_scenario::read;
//!
//! let scenario = read(
//!     "
//! apiVersion: jobcheck.dev/v1
//! kind: Scenario
//! name: one-success
//! about: A Job with one pod completes.
//! jobs:
//! - name: job
//!   spec: {completions: 1}
//! steps:
//! - succeed: {pod: 1}
//! expect:
//! - conditions: [Complete]
//!   succeeded: 1
//! ",
//! )
//! .unwrap();
//! let outcome = jobcheck_sim::run(&scenario, 0, &Mutations::default()).unwrap();
//! assert_eq!(outcome.exit(), Exit::Conforms);
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | a run of a scenario | [`run()`], [`run_on`], [`run_until`], [`Outcome`] |
//! | random scenarios, and shortening those that fail | [`fuzz`] |
//! | paths of the model's scopes, replayed on the shipped controllers | [`paths`] |
//! | the cluster, and the processes of the controllers | `cluster`, `process`, `ttl`, `cache` |
//!
//! # Caveats
//!
//! The runtime of the controllers is not part of the simulation: work queue, rate limits, and kube's watches. It is tested
//! on the embedded API server over HTTP, and on a real control plane.

mod cache;
mod calls;
mod cluster;
pub mod fuzz;
mod handling;
pub mod paths;
mod process;
mod readings;
mod recorder;
mod rng;
mod run;
mod settings;
mod ttl;

use std::sync::atomic::Ordering;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::Scenario;
use jobcheck_scenario::runtime::{Finding, QuiescentState};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::Input;

use self::run::ScenarioRun;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// The step or expectation that was not met.
    pub unmet: Option<String>,
    /// The verdict on the trace.
    pub report: ReplayReport,
    /// The trace, in the native format.
    pub trace: Vec<u8>,
    /// The number of requests in the trace.
    pub requests: usize,
    /// The states at quiescence.
    pub states: Vec<QuiescentState>,
}

impl Outcome {
    /// The exit code of the run (`docs/reference/judging.md`, section 5).
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.report.exit_code, &self.unmet) {
            (Exit::Conforms | Exit::Inconclusive, Some(_)) => Exit::Violates,
            (exit, _) => exit,
        }
    }

    /// The first finding: the broken requirement, if there is one, and a sentence with the seed.
    #[must_use]
    pub fn finding(&self) -> (Option<Req>, String) {
        let Some(found) = Finding::first(&self.report, self.unmet.as_deref()) else {
            return (None, format!("seed {}", self.seed));
        };
        let place = found.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        (found.requirement, format!("seed {}{place}: {}", self.seed, found.why))
    }
}

/// Runs a scenario with a seed, on Kubernetes 1.36. `mutations` are defects of the controllers; the default is none.
///
/// # Errors
///
/// The API server refuses a Job of the scenario.
pub fn run(scenario: &Scenario, seed: u64, mutations: &Mutations) -> Result<Outcome, String> {
    run_on(RuleSet::default(), scenario, seed, mutations)
}

/// Runs a scenario with a seed and the rules of another version.
///
/// # Errors
///
/// The API server refuses a Job of the scenario.
pub fn run_on(
    version: RuleSet,
    scenario: &Scenario,
    seed: u64,
    mutations: &Mutations,
) -> Result<Outcome, String> {
    let outcome = run_until(version, scenario, seed, mutations, &|| false)?;
    outcome.ok_or_else(|| "a run that nothing stops has ended".to_owned())
}

/// Is asked from time to time whether a run must end.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// The same, until `stop` returns true. `None`: it has ended the run, which then has no outcome.
///
/// # Errors
///
/// The API server refuses a Job of the scenario.
pub fn run_until(
    version: RuleSet,
    scenario: &Scenario,
    seed: u64,
    mutations: &Mutations,
    stop: Stop<'_>,
) -> Result<Option<Outcome>, String> {
    let mut scenario_run = ScenarioRun::new(version, scenario, seed, mutations)?;
    let Some(unmet) = scenario_run.run(stop) else { return Ok(None) };
    scenario_run.cluster.mark(serde_json::json!({ "kind": "end" }));
    let trace = scenario_run.cluster.recorder.bytes();
    let inputs = vec![Input::Bytes(scenario.name.clone(), trace.clone())];
    let judging = Judging::default();
    let report = judge(&[inputs], &judging, &mut |_, _| {
        if stop() {
            judging.stop.store(true, Ordering::Relaxed);
        }
    });
    // A report that was stopped is one of a part of the trace.
    if judging.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let requests = scenario_run.cluster.recorder.requests();
    let states = std::mem::take(&mut scenario_run.states);
    Ok(Some(Outcome { seed, unmet, report, requests, trace, states }))
}
