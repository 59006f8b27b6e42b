//! Family BI, and PC-21 to PC-23: completed and failed indexes.

use super::build::{Case, ago, condition_of, indexed, limited, pod, rule, uids};
use crate::job::conditions::FAILURE_TARGET;
use crate::job::observed::{PodFacts, PodFailureAction, PodReplacementPolicy, StatusFacts};
use crate::values::Text;

fn texts(status: &StatusFacts) -> (Option<&str>, Option<&str>) {
    (status.completed_indexes.as_deref(), status.failed_indexes.as_deref())
}

fn failed(uid: &str, index: i64, failures: &str) -> PodFacts {
    pod(uid).index(index).failed().failures(failures).exited(ago(900), 1)
}

/// L2, S-02: among new results of an index a success takes precedence; a healthy pod of another index is left alone.
#[test]
fn an_index_that_completes_does_not_fail() {
    let case = Case::new(
        limited(2, 1),
        [pod("a").index(0).succeeded().failures("0"), failed("b", 0, "1"), pod("c").index(1).failures("0")],
    );
    assert_eq!(texts(&case.first()), (Some("0"), Some("")));
    assert_eq!(case.shape(), "write, untrack a b, write");
    assert_eq!(condition_of(&case.first(), FAILURE_TARGET), None);
    assert_eq!((case.last().succeeded, case.last().failed), (1, 1));
}

/// S-02, FT-13: a pod that is recorded as failed completes no index.
#[test]
fn a_pod_that_is_recorded_as_failed_completes_no_index() {
    let recorded = limited(2, 0).recording(&[], &["a"]);
    let case = Case::new(recorded, [pod("a").index(0).succeeded().failures("0"), pod("c").index(1)]);
    assert_eq!(texts(&case.first()), (None, Some("0")));
    assert_eq!((case.last().succeeded, case.last().failed), (0, 1));
    let without_limit = Case::new(indexed(1, 1).recording(&[], &["a"]), [pod("a").index(0).succeeded()]);
    assert_eq!(texts(&without_limit.last()), (None, None));
}

/// BI-01: a running pod that a failing Job has recorded as failed fails no index, and neither does its later success.
#[test]
fn a_pod_that_succeeds_fails_no_index() {
    let failing =
        limited(2, 0).recording(&[], &["b"]).status_with(FAILURE_TARGET, "True", "MaxFailedIndexesExceeded");
    let case = Case::new(failing.clone(), [pod("b").index(1).succeeded()]);
    assert_eq!(texts(&case.first()).1, Some(""));
    let case = Case::new(failing.clone(), [pod("b").index(1).failed()]);
    assert_eq!(texts(&case.first()).1, Some("1"));
    let mut waits = failing;
    waits.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let ends = |waits| Case::new(waits, [pod("b").index(1).deleted()]).last();
    assert_eq!(texts(&ends(waits.clone())).1, Some(""));
    waits.spec.pod_replacement_policy = Some(PodReplacementPolicy::TerminatingOrFailed);
    assert_eq!(texts(&ends(waits)).1, Some("1"));
}

/// BI-04, BI-14: a stored failed index stays failed, and a later success for it is never counted.
#[test]
fn a_stored_failed_index_is_never_completed() {
    let mut stored = limited(2, 0);
    stored.status.failed_indexes = Some(Text::from("0"));
    stored.status.failed = 1;
    let case = Case::new(stored.clone(), [pod("a").index(0).succeeded(), pod("c").index(1)]);
    assert_eq!(case.shape(), "write, untrack a");
    assert_eq!(texts(&case.first()), (None, Some("0")));
    assert_eq!((case.first().succeeded, case.first().failed), (0, 1));
    stored.status.completed_indexes = Some(Text::from("0"));
    stored.status.succeeded = 1;
    assert_eq!(texts(&Case::new(stored, [pod("c").index(1)]).first()), (Some("0"), Some("")));
}

/// BI-01, BI-02, BI-03.
#[test]
fn an_index_fails_at_its_limit() {
    let after = |limit, pods: Vec<PodFacts>| {
        let case = Case::new(limited(3, limit), pods);
        case.writes().first().unwrap_or(&case.job.status).failed_indexes.clone()
    };
    let others = || [pod("y").index(1), pod("z").index(2)];
    let with = |it: PodFacts| others().into_iter().chain([it]).collect::<Vec<_>>();
    assert_eq!(after(1, with(failed("a", 0, "0"))).as_deref(), Some(""));
    assert_eq!(after(1, with(failed("a", 0, "1"))).as_deref(), Some("0"));
    assert_eq!(after(1, with(failed("a", 0, "2"))).as_deref(), Some("0"));
    assert_eq!(after(1, with(failed("a", 0, "x"))).as_deref(), Some(""));
    assert_eq!(after(0, with(failed("a", 0, "x"))).as_deref(), Some("0"));
    assert_eq!(after(0, with(failed("a", 0, "0").untracked())).as_deref(), Some(""));
    assert_eq!(after(0, with(failed("a", 7, "0"))).as_deref(), Some(""));
    assert_eq!(after(0, with(pod("a").index(0).deleted())).as_deref(), Some("0"));
    assert_eq!(after(0, with(pod("a").index(0))).as_deref(), Some(""));
}

/// BI-01, PF-06.
#[test]
fn a_rule_fails_an_index_at_once_or_not_at_all() {
    let rules = vec![
        rule(PodFailureAction::FailIndex, "A"),
        rule(PodFailureAction::Ignore, "B"),
        rule(PodFailureAction::Count, "C"),
    ];
    let after = |limit, kind: &str, gate| {
        let pods = [failed("a", 0, "1").condition(kind, "True", None), pod("y").index(1), pod("z").index(2)];
        let mut case = Case::new(limited(3, limit).rules(rules.clone()), pods);
        case.settings.gates.backoff_limit_per_index = gate;
        case.writes().first().unwrap_or(&case.job.status).failed_indexes.clone()
    };
    assert_eq!(after(9, "A", true).as_deref(), Some("0"));
    assert_eq!(after(1, "B", true).as_deref(), Some(""));
    assert_eq!(after(1, "C", true).as_deref(), Some("0"));
    assert_eq!(after(9, "C", true).as_deref(), Some(""));
    assert_eq!(after(9, "A", false), None, "UG-09: failedIndexes leaves the status");
}

/// BI-04.
#[test]
fn failed_indexes_are_set_from_the_first_sync_on_and_only_with_a_limit() {
    let mut fresh = limited(1, 1);
    fresh.status = StatusFacts::default();
    assert_eq!(Case::new(fresh.clone(), []).first().failed_indexes.as_deref(), Some(""));
    fresh.spec.backoff_limit_per_index = None;
    assert_eq!(Case::new(fresh.clone(), []).first().failed_indexes, None);
    fresh.status.failed_indexes = Some(Text::from("0"));
    assert_eq!(Case::new(fresh, []).first().failed_indexes, None);
}

/// BI-08: the last failed pod has the highest failure count, and among these the latest finish time.
#[test]
fn the_pod_that_waits_has_the_most_failures_or_finished_last() {
    let waiting = |pods: Vec<PodFacts>| {
        let mut one = limited(2, 9);
        one.spec.parallelism = 1;
        let case = Case::new(one, pods.into_iter().chain([pod("z").index(1)]));
        case.shape()
    };
    let at = |uid: &str, failures: &str, ignored: &str, seconds| {
        pod(uid).index(0).failed().failures(failures).ignored(ignored).exited(ago(seconds), 1)
    };
    assert_eq!(waiting(vec![at("a", "1", "0", 50), at("b", "0", "0", 9)]), "write, untrack b, write");
    assert_eq!(waiting(vec![at("a", "1", "0", 9), at("b", "1", "0", 50)]), "write, untrack b, write");
    assert_eq!(waiting(vec![at("a", "1", "0", 50), at("b", "1", "0", 9)]), "write, untrack a, write");
    assert_eq!(waiting(vec![at("a", "0", "2", 50), at("b", "1", "0", 9)]), "write, untrack b, write");
    assert_eq!(waiting(vec![at("a", "1", "0", 9), at("b", "1", "0", 9)]), "write, untrack a, write");
}

/// BI-08: no pod waits for an index that is completed, failed, or has an active pod. An adopted pod is active.
#[test]
fn no_pod_waits_for_a_completed_or_failed_index() {
    let shape = |job, others: Vec<PodFacts>| {
        Case::new(job, others.into_iter().chain([failed("a", 0, "0"), pod("z").index(1)])).shape()
    };
    assert_eq!(shape(limited(2, 9), vec![pod("b").index(0)]), "write, untrack a, write");
    assert_eq!(
        shape(limited(2, 9), vec![pod("b").index(0).ownerless()]),
        "adopt b | write, untrack a, write"
    );
    assert_eq!(shape(limited(2, 9), vec![pod("b").index(0).succeeded()]), "write, untrack a b, write");
    assert_eq!(shape(limited(2, 0), vec![]), "write, untrack a, write");
    assert_eq!(shape(limited(2, 9), vec![]), "write | create 0");
    // A pod without finalizer is no failure of its index.
    assert_eq!(shape(limited(2, 9), vec![failed("b", 0, "5").untracked()]), "write | create 0");
    let mut done = limited(2, 9);
    done.status.completed_indexes = Some(Text::from("0"));
    done.status.succeeded = 1;
    assert_eq!(shape(done, vec![]), "write, untrack a, write");
}

/// BI-11: the backoff limit of the whole Job includes waiting pods.
#[test]
fn a_waiting_pod_counts_towards_the_global_limit() {
    let mut both = limited(2, 9);
    both.spec.backoff_limit = 0;
    let case = Case::new(both, [failed("a", 0, "0"), pod("z").index(1)]);
    assert_eq!(condition_of(&case.first(), FAILURE_TARGET), Some(("True", "BackoffLimitExceeded")));
    assert_eq!(uids(&case.first().uncounted.expect("FT-30").failed), ["a", "z"]);
}

/// SS-28: failed indexes are written even if the completed ones may not be written yet.
#[test]
fn failed_indexes_are_written_even_if_completed_ones_must_wait() {
    let mut down = limited(3, 0);
    down.spec.parallelism = 1;
    down.status.completed_indexes = Some(Text::from("0,2-4"));
    down.status.succeeded = 4;
    let case = Case::new(down, [failed("a", 1, "0")]);
    assert_eq!(texts(&case.first()), (Some("0,2-4"), Some("1")));
}

/// PC-23, B32: indexes that a scale-down drops leave the status, even if no index completes.
#[test]
fn indexes_beyond_completions_are_dropped() {
    let mut down = indexed(3, 3);
    down.status.completed_indexes = Some(Text::from("0,2,3-5"));
    down.status.succeeded = 5;
    let case = Case::new(down.clone(), [pod("a").index(1)]);
    assert_eq!((texts(&case.first()).0, case.first().succeeded), (Some("0,2"), 2));
    down.spec.completions = Some(0);
    down.spec.parallelism = 0;
    assert_eq!((texts(&Case::new(down, []).first()).0), None);
}

/// SS-28: after a scale-down and a lower parallelism the API server refuses a shorter list. The rest of the status is
/// written, pods whose index cannot be stored keep their finalizer, and the Job can end.
#[test]
fn an_index_list_that_the_server_refuses_delays_nothing_else() {
    let mut down = indexed(2, 3);
    down.status.completed_indexes = Some(Text::from("0,5-7"));
    down.status.succeeded = 4;
    let case = Case::new(down.clone(), [pod("a").index(1).succeeded(), pod("b").index(2).ready()]);
    assert_eq!(case.shape(), "write");
    assert_eq!((texts(&case.first()).0, case.first().succeeded), (Some("0,5-7"), 4));
    assert_eq!((case.first().active, case.first().ready), (1, Some(1)));
    let done = Case::new(down.clone(), [pod("a").index(1).succeeded(), pod("b").index(2).succeeded()]);
    assert_eq!(done.shape(), "write, untrack a b, write");
    assert_eq!(condition_of(&done.last(), "Complete"), Some(("True", "CompletionsReached")));
    down.status.succeeded = 2;
    let long_enough = Case::new(down.clone(), [pod("a").index(1).succeeded(), pod("b").index(2)]);
    assert_eq!(texts(&long_enough.first()).0, Some("0,1"));
    down.status.succeeded = 4;
    down.spec.parallelism = 3;
    assert_eq!(
        texts(&Case::new(down, [pod("a").index(1).succeeded(), pod("b").index(2)]).first()).0,
        Some("0,1")
    );
}
