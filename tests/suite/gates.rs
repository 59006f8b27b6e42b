//! Feature gates that are turned off and on again, and two managers of one Job (`docs/reference/judging.md`,
//! Feature gates; UG, MB-14, S-29 to S-31).

use std::collections::BTreeSet;

use jobcheck_explorer::check::{Bounds, Outcome, explore, explore_for};
use jobcheck_explorer::ghost::End;
use jobcheck_explorer::narrative::lines;
use jobcheck_explorer::progress;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::gates::{
    LENIENT, WITHOUT_DELAY, WITHOUT_LIMITS, WITHOUT_MANAGED_BY, WITHOUT_REPLACEMENT, WITHOUT_SUCCESS_POLICY,
    two_managers,
};
use jobcheck_explorer::scopes::named;
use jobcheck_explorer::scopes::reference::{rollouts, run_by_the_algorithm};
use jobcheck_explorer::world::{JobState, World};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::decision::Reason;
use jobcheck_spec::job::{ConditionKind, JobSpec, JobStatus};
use jobcheck_tests::scopes::states;

/// For each scope, the number of states, and the number of steps to the farthest state.
const SIZES: &[(&str, usize, usize)] = &[
    ("rollout/pod-replacement-policy", 7118, 23),
    ("rollout/pod-failure-policy", 3384, 21),
    ("rollout/backoff-limit-per-index", 4717, 25),
    ("rollout/success-policy", 7616, 22),
    ("rollout/managed-by", 31, 12),
    ("rollout/beside-another-manager", 12, 5),
    ("rollout/without-delay", 4020, 18),
    ("rollout/delay-in-turns", 74103, 23),
];

#[test]
fn rollouts_satisfy_every_property_and_the_sizes_are_pinned() {
    let mut sizes = Vec::new();
    for scope in rollouts() {
        let found = explore(&scope, &Bounds { partial_order: true, ..Bounds::none(2) });
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states, found.depth));
    }
    assert_eq!(sizes, SIZES);
}

/// The length of the shortest counterexample for a property of this requirement.
fn broken(scope: &Scope, req: Req) -> Option<usize> {
    let wanted = |number: Option<usize>| number.is_some_and(|number| PROPERTIES[number].req == req);
    match explore_for(scope, &Bounds::none(1), &wanted).outcome {
        Outcome::Broken(found) => Some(found.path.len()),
        Outcome::Holds => None,
        Outcome::NotFinished(cut) => panic!("{cut:?}"),
    }
}

/// All states of a scope, without reductions. Broken properties do not stop the search.
fn worlds(scope: &Scope) -> Vec<World> {
    states(scope, usize::MAX)
}

fn algorithm(scope: Scope) -> Scope {
    run_by_the_algorithm(scope, 0)
}

fn gated(name: &str) -> Scope {
    algorithm(named(name).unwrap())
}

fn job_state(world: &World) -> &JobState {
    &world.job_states[0]
}

fn status(world: &World) -> Option<&JobStatus> {
    job_state(world).job.as_ref().map(|job| &job.status)
}

/// UG-06: the pod was counted while the gate was off, and it succeeded after the gate was on again.
#[test]
fn a_pod_that_was_counted_as_failed_while_the_gate_was_off_stays_failed() {
    let worlds = worlds(&gated("gates/pod-replacement-policy"));
    let met = worlds.iter().filter(|world| job_state(world).rollouts == 2).any(|world| {
        let ended_well =
            |ghost: &&jobcheck_explorer::ghost::PodHistory| ghost.end == Some(End::Success) && ghost.deleted;
        job_state(world).ghost.pods.iter().filter(ended_well).any(|ghost| ghost.counted_failed == 1)
    });
    assert!(met);
    let twice =
        |ghost: &jobcheck_explorer::ghost::PodHistory| ghost.counted_failed + ghost.counted_succeeded > 1;
    assert!(!worlds.iter().any(|world| job_state(world).ghost.pods.iter().any(twice)));
}

/// Returns true if an active pod exists next to a terminating one.
fn replaces_early(scope: &Scope) -> bool {
    worlds(scope).iter().any(|world| {
        let sums = job_state(world).pods.sums();
        sums.active > 0 && sums.terminating > 0
    })
}

/// UG-05, S-31: without the gate, terminating pods are replaced at once, unless a pod failure policy requires
/// to wait.
#[test]
fn without_its_gate_the_replacement_policy_does_not_apply_but_a_failure_policy_does() {
    let off = |name: &str, gates: Gates| Scope { gates: vec![gates], ..gated(name) };
    assert!(replaces_early(&off("gates/pod-replacement-policy", WITHOUT_REPLACEMENT)));
    assert!(!replaces_early(&off("gates/pod-replacement-policy", Gates::ON)));
    assert!(!replaces_early(&off("gates/pod-failure-policy", WITHOUT_REPLACEMENT)));
}

/// UG-09, UG-10: a failed index runs again while the gate is off, and its failure is not remembered.
#[test]
fn failed_indexes_run_again_while_their_gate_is_off() {
    let scope = gated("gates/backoff-limit-per-index");
    let failed = |world: &World| status(world).is_some_and(|status| status.failed_set(None).contains(0));
    let completed = |world: &World| status(world).is_some_and(|status| status.completed(None).contains(0));
    let once = |world: &World| {
        let pods = job_state(world).ghost.pods.iter().filter(|ghost| ghost.index == Some(0));
        pods.filter(|ghost| ghost.end == Some(End::Failure)).count() == 1
    };
    let worlds = worlds(&scope);
    assert!(worlds.iter().any(failed));
    assert!(worlds.iter().any(|world| job_state(world).rollouts == 2 && once(world) && completed(world)));
    // Without a change of gates, one failure fails the index.
    let on = Scope { gates: Vec::new(), ..scope };
    assert!(!self::worlds(&on).iter().any(|world| once(world) && completed(world)));
}

/// UG-12: without the gate, a Job with limits per index retries forever unless it sets `backoffLimit`.
#[test]
fn only_backoff_limit_ends_a_job_whose_limits_per_index_are_off() {
    let base = Scope { gates: vec![WITHOUT_LIMITS], ..gated("gates/backoff-limit-per-index") };
    let limited = |backoff_limit| {
        let jobs = base.jobs.iter().map(|job| JobSpec { backoff_limit, ..job.clone() }).collect();
        ends(&Scope { jobs, ..base.clone() })
    };
    assert!(!limited(None).contains("Failed"));
    assert!(limited(Some(0)).contains("Failed"));
}

/// A status without `terminating`, and without the reason and the message of a completion.
fn without_reason(status: &JobStatus) -> JobStatus {
    let mut status = JobStatus { terminating: None, ..status.clone() };
    for condition in &mut status.conditions {
        if Reason::CompletionsReached.is_written_as(&condition.reason) {
            (condition.reason, condition.message) = ("".into(), "".into());
        }
    }
    status
}

/// The statuses and pods that etcd may contain, without these fields.
fn stored(gates: Gates) -> BTreeSet<String> {
    let base = named("deleted-pods").unwrap();
    let scope = algorithm(Scope { gates: vec![gates], ..base });
    let text = |world: &World| {
        let status = status(world).map(without_reason);
        format!("{status:?} {:?}", job_state(world).pods)
    };
    worlds(&scope).iter().map(text).collect()
}

/// UG-11: the gates of features that a Job does not use affect only `terminating`, and the reason of a
/// completion (SX-05).
#[test]
fn gates_do_not_affect_a_job_that_does_not_use_their_features() {
    let on = stored(Gates::ON);
    for off in [WITHOUT_REPLACEMENT, WITHOUT_LIMITS, WITHOUT_SUCCESS_POLICY, WITHOUT_MANAGED_BY] {
        assert!(stored(off) == on, "{:?}", off.off());
    }
    assert!(stored(WITHOUT_DELAY) != on, "the delay is the exception (UG-07)");
}

/// SX-05: the reason and the message of a completion came with the success policy.
#[test]
fn without_the_success_policy_a_job_completes_without_reason() {
    let words = |gates| {
        let scope = algorithm(Scope { gates: vec![gates], ..named("deleted-pods").unwrap() });
        let complete = |world: &World| {
            let condition = status(world)?.condition(&ConditionKind::Complete)?;
            Some((condition.reason.to_string(), condition.message.is_empty()))
        };
        worlds(&scope).iter().filter_map(complete).collect::<BTreeSet<_>>()
    };
    assert_eq!(words(WITHOUT_SUCCESS_POLICY), [(String::new(), true)].into());
    assert_eq!(words(Gates::ON), [("CompletionsReached".to_owned(), false)].into());
}

/// UG-14: without the gate, the built-in controller finishes the Job of another manager.
#[test]
fn without_its_gate_managed_by_has_no_effect() {
    let base = gated("gates/managed-by");
    for (gates, ends) in [(WITHOUT_MANAGED_BY, true), (Gates::ON, false)] {
        let scope = Scope { gates: vec![gates], ..base.clone() };
        let finished = |world: &World| status(world).is_some_and(JobStatus::is_finished);
        assert_eq!(worlds(&scope).iter().any(finished), ends);
        if ends {
            let found = progress::explore(&scope, &Bounds::none(1));
            assert!(matches!(found.outcome, Outcome::Holds), "{:?}", found.outcome);
        }
    }
}

fn plain(rules: RuleSet, gates: Vec<Gates>) -> Scope {
    let base = named("crash").unwrap();
    let jobs = vec![JobSpec { parallelism: Some(1), completions: Some(1), ..base.jobs[0].clone() }];
    let scope = algorithm(Scope { jobs, pods: 1, lag: 0, rules, gates, ..base });
    Scope { faults: jobcheck_explorer::process::steps::Faults::default(), ..scope }
}

/// The terminal conditions that occur.
fn ends(scope: &Scope) -> BTreeSet<String> {
    let finished = |world: &World| {
        let condition = |kind| status(world).is_some_and(|status| status.is_true(&kind));
        let kinds = [ConditionKind::Complete, ConditionKind::Failed];
        kinds.into_iter().find(|kind| condition(kind.clone())).map(|kind| kind.as_str().to_owned())
    };
    worlds(scope).iter().filter_map(finished).collect()
}

/// S-29: an API server that requires interim conditions always refuses to finish a Job without them.
#[test]
fn no_job_finishes_while_only_the_server_has_the_gates() {
    let skewed = plain(RuleSet::V1_36, vec![WITHOUT_DELAY]);
    assert!(ends(&skewed).is_empty());
    assert!(broken(&skewed, Req::SS37).is_some());
    let found = progress::explore_for(&skewed, &Bounds::none(1), &|_| false);
    let Outcome::Broken(found) = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(found.cycle_start.is_some_and(|start| start < found.path.len()), "the write is repeated");
    // The Job finishes once the gates return.
    assert_eq!(ends(&plain(RuleSet::V1_36, vec![WITHOUT_DELAY, Gates::ON])).len(), 2);
}

/// S-29, the other way round: the server refuses SuccessCriteriaMet, so a success is not even recorded. A
/// failure is.
#[test]
fn no_job_succeeds_while_only_the_controller_has_the_gates() {
    let rules = RuleSet { pod_replacement_policy: false, ..LENIENT };
    let skewed = plain(rules, vec![Gates::ON]);
    assert_eq!(ends(&skewed), ["Failed".to_owned()].into());
    let refused = worlds(&skewed).iter().find_map(|world| job_state(world).ghost.refused);
    assert_eq!(refused, Some(Req::UG07));
    let held = |world: &World| {
        job_state(world).ghost.refused.is_none() || job_state(world).pods.iter().all(|pod| pod.finalizer)
    };
    assert!(worlds(&skewed).iter().all(held));
    assert_eq!(ends(&plain(rules, vec![WITHOUT_DELAY])).len(), 2);
}

/// S-29: the server always refuses to complete a Job with a success policy by completions (SS-05), because
/// the interim condition is missing.
#[test]
fn a_job_with_a_success_policy_does_not_complete_without_the_gates() {
    let base = named("gates/success-policy").unwrap();
    let off = Gates { job_success_policy: false, ..WITHOUT_DELAY };
    let rules = RuleSet { pod_replacement_policy: false, ..LENIENT };
    let skewed = algorithm(Scope { gates: vec![off], rules, ..base });
    assert_eq!(ends(&skewed), ["Failed".to_owned()].into());
    let refused: BTreeSet<_> =
        worlds(&skewed).iter().filter_map(|world| job_state(world).ghost.refused).collect();
    assert_eq!(refused, [Req::SS05].into());
}

/// S-30, UG-15: nothing continues what the built-in controller began while the gate was off.
#[test]
fn a_pod_that_was_created_while_the_gate_was_off_keeps_its_finalizer() {
    let base = named("gates/managed-by").unwrap();
    let scope = algorithm(Scope { gates: vec![WITHOUT_MANAGED_BY, Gates::ON], ..base });
    let found = explore(&scope, &Bounds::none(1));
    assert!(matches!(found.outcome, Outcome::Holds), "no write is wrong: {:?}", found.outcome);
    let left = |world: &World| {
        let ended = job_state(world).pods.iter().any(|pod| pod.is_terminated() && pod.finalizer);
        let frozen = status(world).is_some_and(|status| status.active == 1 && !status.is_finished());
        world.enabled(&scope).is_empty() && ended && frozen
    };
    assert!(worlds(&scope).iter().any(left));
}

/// MB-14, OP-02: with the gate off, the built-in controller and the named manager both write the status.
#[test]
fn while_the_gate_is_off_two_managers_write_one_status() {
    let about = "the built-in controller has JobManagedBy off, and another manager also writes the status";
    let skewed = algorithm(two_managers("skewed", about, vec![WITHOUT_MANAGED_BY]));
    let with_gate = Scope { gates: vec![Gates::ON], ..skewed.clone() };
    assert_eq!(broken(&with_gate, Req::MB14), None);
    let number = PROPERTIES.iter().position(|property| property.req == Req::MB14);
    let found = explore_for(&skewed, &Bounds::none(1), &|it| it == number);
    let Outcome::Broken(found) = found.outcome else { panic!("{:?}", found.outcome) };
    let lines: Vec<String> =
        lines(&skewed, &found.path).iter().map(|line| format!("{} {}", line.who, line.what)).collect();
    let expected = [
        "controller starts a sync",
        "controller creates pod 1",
        "controller writes the status: active 0 -> 1, ready=0, terminating=0, startTime=0 s",
        "other manager reports that the Job runs (no change)",
    ];
    assert_eq!(lines, expected);
}

/// The other properties that this breaks, with the lengths of their counterexamples. The Job fails by its
/// other manager, and its pods continue here.
#[test]
fn two_managers_break_these_requirements() {
    let about = "the built-in controller has JobManagedBy off, and another manager also writes the status";
    let skewed = algorithm(two_managers("skewed", about, vec![WITHOUT_MANAGED_BY]));
    let all: BTreeSet<Req> = PROPERTIES.iter().map(|property| property.req).collect();
    let found: Vec<(Req, usize)> =
        all.into_iter().filter_map(|req| Some((req, broken(&skewed, req)?))).collect();
    assert_eq!(found, [(Req::TC04, 5), (Req::MB14, 4)]);
}
