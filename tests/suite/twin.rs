//! The second specification in TLA+ (`model/tla`): the explorer finds the same pinned counts as TLC.

use std::fs;

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::{named, twinned};
use jobcheck_spec::job::PodReplacementPolicy;
use jobcheck_tests::corpus::root;

/// The lines of `model/tla/counts.txt`: scope, states, steps, and steps to the farthest state.
fn pinned() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("model/tla/counts.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The named scopes, and scopes that combine several of them.
fn scopes() -> Vec<Scope> {
    let change = |from: &str, name: &'static str, change: fn(&mut Scope)| {
        let mut scope = named(from).unwrap_or_else(|| panic!("there is no scope {from}"));
        scope.name = name;
        change(&mut scope);
        scope
    };
    let combined = [
        change("indexed", "full-lists-indexed", |scope| {
            scope.constants.max_uncounted_pods = 1;
            scope.pods = 3;
        }),
        change("ready-pods", "ready-scale", |scope| {
            scope.user = vec![UserAction::scale(1)];
            scope.pods = 2;
        }),
        change("backoff-delay", "backoff-delay-lag", |scope| {
            (scope.lag, scope.ticks, scope.pods) = (1, 2, 3);
        }),
        change("success-policy", "success-policy-lag", |scope| {
            scope.user = vec![UserAction::DeletePod];
            (scope.lag, scope.pods) = (1, 2);
        }),
        change("suspend", "suspend-patient", |scope| {
            scope.user.push(UserAction::DeletePod);
            scope.ticks = 0;
            scope.jobs[0].pod_replacement_policy = Some(PodReplacementPolicy::Failed);
            scope.jobs[0].backoff_limit = Some(1);
        }),
        change("elastic", "elastic-patient", |scope| {
            scope.user.push(UserAction::DeletePod);
            scope.pods = 2;
            scope.jobs[0].pod_replacement_policy = Some(PodReplacementPolicy::Failed);
        }),
        change("per-index", "per-index-ignore", |scope| {
            let ignoring = named("ignored-failures").unwrap();
            scope.jobs[0].pod_failure_policy = ignoring.jobs[0].pod_failure_policy.clone();
            (scope.exit_codes, scope.pods) = (ignoring.exit_codes, 3);
        }),
        change("ttl", "ttl-lag", |scope| (scope.lag, scope.job_lag) = (1, 1)),
    ];
    twinned().into_iter().chain(combined).collect()
}

#[test]
fn scopes_have_the_sizes_that_tlc_finds() {
    let found: Vec<Vec<String>> = scopes()
        .iter()
        .map(|scope| {
            let found = explore(scope, &Bounds::none(1));
            assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
            let steps = found.generated;
            vec![scope.name.to_owned(), found.states.to_string(), steps.to_string(), found.depth.to_string()]
        })
        .collect();
    assert_eq!(found, pinned());
}
