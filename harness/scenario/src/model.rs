//! Target `model`: all interleavings of a scenario with the reference algorithm.
//!
//! A scenario becomes a scope with a script ([`jobcheck_explorer::script`]). Every property and every guard is
//! checked in each state, and every expectation at quiescence.

use std::collections::BTreeSet;

use jobcheck_explorer::check::{Bounds, Exploration, explore_for};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::narrative::cause;
use jobcheck_explorer::progress;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::{Algorithm, FoundPod, Scope, TtlSubject};
use jobcheck_explorer::scopes::{initial, named};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::would_refuse_create;

use super::format::Scenario;
use super::read::ScenarioError;
use super::script::needs;
use super::spec::SpecExcerpt;
use jobcheck_judge::replay::Subject;

/// The maximum number of pods of one Job, unless the scenario sets it.
const PODS: usize = 10;

/// The result of a scenario on the model.
#[derive(Debug)]
pub struct ModelRun {
    /// The scope that was explored.
    pub scope: Scope,
    /// The result of the exploration.
    pub exploration: Exploration,
    /// The broken requirement. `None` if no requirement is broken, or an expectation without a requirement is not
    /// met.
    pub requirement: Option<Req>,
}

impl ModelRun {
    /// The counterexample, if there is one.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }

    /// Returns true if the exploration is complete and found no counterexample.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.exploration.holds()
    }
}

/// Runs a scenario. Its own requirements are checked first, so that no other consequence of the same defect hides
/// them.
///
/// # Errors
///
/// The model cannot express the scenario.
pub fn run(scenario: &Scenario, mutant: Option<&Mutant>, bounds: &Bounds) -> Result<ModelRun, ScenarioError> {
    let scope = scope(scenario)?;
    let scope = mutant.map_or_else(|| scope.clone(), |mutant| with_defect(&scope, mutant));
    Ok(run_in(scope, &about(scenario), bounds))
}

/// Returns the scope with an algorithm that has a defect.
pub(super) fn with_defect(scope: &Scope, mutant: &Mutant) -> Scope {
    scope.clone().with_mutations(Mutations::of(mutant.mutations))
}

fn about(scenario: &Scenario) -> BTreeSet<Req> {
    scenario.requirements.iter().map(|id| id.0).collect()
}

/// Checks first the properties of the scenario's requirements, then expectations and progress, then everything.
fn run_in(scope: Scope, about: &BTreeSet<Req>, bounds: &Bounds) -> ModelRun {
    let own = |number: usize| about.contains(&PROPERTIES[number].req);
    let told = |exploration: Exploration| {
        let mut run = ModelRun { scope: scope.clone(), exploration, requirement: None };
        run.requirement = run.found().and_then(|found| cause(&run.scope, found));
        run
    };
    let run = told(explore_for(&scope, bounds, &|number| number.is_some_and(own)));
    if !run.holds() {
        return run;
    }
    let run = told(progress::explore_for(&scope, bounds, &|number| number.is_none()));
    if run.requirement.is_some_and(|req| about.contains(&req)) {
        return run;
    }
    told(progress::explore(&scope, bounds))
}

/// The maximum number of pods of a Job that can be explored.
const MOST_PODS: i32 = 100;

/// Returns the scope of a scenario.
///
/// # Errors
///
/// The model cannot express the scenario, or the API server refuses a Job.
pub fn scope(scenario: &Scenario) -> Result<Scope, ScenarioError> {
    if scenario.jobs.len() > 4 {
        return Err(ScenarioError::of_the_whole("the model has at most four Jobs"));
    }
    if scenario.controller.as_ref().is_some_and(|it| it.max_uncounted_pods == Some(0)) {
        return Err(ScenarioError::of_the_whole("maxUncountedPods is a number of pods, 1 or more"));
    }
    let large = |wanted: Option<i32>| wanted.is_some_and(|wanted| wanted > MOST_PODS);
    let asks_too_much = |spec: &SpecExcerpt| large(spec.parallelism) || large(spec.completions);
    if let Some(job) = scenario.jobs.iter().find(|job| asks_too_much(&job.spec.value)) {
        let message =
            format!("the model is for small Jobs: at most {MOST_PODS} completions and pods at once");
        return Err(ScenarioError::at(job.spec.referenced, message));
    }
    let Subject { rules, constants, gates, .. } = scenario.subject();
    if constants.pod_failure_backoff_max_ms < constants.pod_failure_backoff_ms {
        return Err(ScenarioError::of_the_whole("podFailureBackoffMax is less than podFailureBackoff"));
    }
    let Some(base) = named("non-indexed") else {
        return Err(ScenarioError::of_the_whole("internal error: there is no scope to start from"));
    };
    if scenario.bounds.as_ref().is_some_and(|bounds| bounds.pods == Some(0)) {
        return Err(ScenarioError::of_the_whole(
            "bounds.pods is 0: no Job could have a pod; write at least 1",
        ));
    }
    let needs = needs(scenario)?;
    let jobs: Vec<_> = scenario.jobs.iter().map(|job| job.spec.value.to_model()).collect();
    let ttl = scenario.ttl_controller.as_ref().map(|it| it.clock_ahead.unwrap_or_default());
    let edits = scenario.steps.iter().filter_map(|step| step.value.edit.as_ref());
    let has_ttl = jobs.iter().any(|job| job.ttl_seconds_after_finished.is_some())
        || edits.into_iter().any(|edit| edit.ttl_seconds_after_finished.is_some());
    let watches = scenario.watches.clone().unwrap_or_default();
    let found = scenario
        .pods_before
        .iter()
        .map(|pod| FoundPod { controlled: pod.controlled, phase: pod.phase.into() });
    let scope = Scope {
        name: "scenario",
        about: "a scenario",
        jobs,
        pods: scenario.bounds.as_ref().and_then(|bounds| bounds.pods).unwrap_or(PODS),
        lag: watches.pods.unwrap_or_default(),
        job_lag: watches.jobs.unwrap_or_default(),
        ticks: needs.ticks,
        phases: needs.phases,
        unready: needs.unready,
        unscheduled: scenario.unscheduled,
        flips: needs.flips,
        restarts: needs.restarts,
        user: needs.user,
        found: found.collect(),
        disruptions: needs.disruptions,
        subject: jobcheck_explorer::scope::Subject::Algorithm(Algorithm {
            ttl: ttl
                .or(has_ttl.then_some(0))
                .map_or(TtlSubject::Specification, |clock_ahead| TtlSubject::Controller { clock_ahead }),
            ..Algorithm::reference()
        }),
        faults: needs.faults,
        delayed_requests: needs.delayed_requests,
        progress: true,
        constants,
        gates: std::iter::once(gates).chain(needs.gates).collect(),
        rules,
        script: Some(needs.script),
        without: scenario.except.iter().map(|id| id.0).collect(),
        ..base
    };
    accepted(scenario, &scope)?;
    Ok(scope)
}

/// Fails if the API server refuses a Job of the scenario.
fn accepted(scenario: &Scenario, scope: &Scope) -> Result<(), ScenarioError> {
    for (entry, job_state) in scenario.jobs.iter().zip(&initial(scope).job_states) {
        let refusal = job_state.job.as_deref().and_then(would_refuse_create);
        if let Some(broken) = refusal {
            let why = format!(
                "the API server refuses this Job ({}): {} is {}, not {}",
                broken.req, broken.what, broken.found, broken.expected
            );
            return Err(ScenarioError::at(entry.spec.referenced, why));
        }
    }
    Ok(())
}
