//! Target `model`: every interleaving of a scenario with the reference algorithm.
//!
//! A scenario becomes a scope with a script ([`jobcheck_explorer::script`]), in which every property and guard is asked, and,
//! wherever nothing can happen any more, every expectation.

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

/// Pods that are created for one Job at most, where the scenario does not say.
const PODS: usize = 10;

/// What a scenario came to on the model.
#[derive(Debug)]
pub struct ModelRun {
    /// The scope that was explored.
    pub scope: Scope,
    /// What was found in it.
    pub exploration: Exploration,
    /// The requirement that is broken; `None` where an expectation is not met that names none.
    pub requirement: Option<Req>,
}

impl ModelRun {
    /// What is broken.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }

    /// Whether everything was seen, and nothing is wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.exploration.holds()
    }
}

/// Runs a scenario: the requirements that it is about are looked for first, so that no lesser consequence hides them.
///
/// # Errors
///
/// What the model cannot express.
pub fn run(scenario: &Scenario, mutant: Option<&Mutant>, bounds: &Bounds) -> Result<ModelRun, ScenarioError> {
    let scope = scope(scenario)?;
    let scope = mutant.map_or_else(|| scope.clone(), |mutant| with_defect(&scope, mutant));
    Ok(run_in(scope, &about(scenario), bounds))
}

/// The scope of a scenario that an algorithm with a defect runs.
pub(super) fn with_defect(scope: &Scope, mutant: &Mutant) -> Scope {
    scope.clone().with_mutations(Mutations::of(mutant.mutations))
}

fn about(scenario: &Scenario) -> BTreeSet<Req> {
    scenario.requirements.iter().map(|id| id.0).collect()
}

/// First by the properties that state what the scenario is about, then by what is missing at rest or for ever, and last
/// by everything.
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

/// More pods of a Job than anybody could explore.
const MOST_PODS: i32 = 100;

/// The scope of a scenario.
///
/// # Errors
///
/// What the model cannot express, or the API server refuses.
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
    let Subject { rules, constants, gates } = scenario.subject();
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
    let edits = scenario.steps.iter().filter_map(|step| step.value.edit);
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

/// Whether the API server takes the Jobs.
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
