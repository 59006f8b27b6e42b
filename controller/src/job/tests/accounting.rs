//! Family FT: records, finalizer removals, and counts.

use super::build::{Case, ago, condition_of, indexed, job, limited, pod, rule, uids, wide};
use crate::job::command::{Command, Plan};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET};
use crate::job::memory::Memory;
use crate::job::observed::{
    Controller, Phase, PodFacts, PodFailureAction, PodReplacementPolicy, StatusFacts,
};
use crate::values::{Text, Uid};

fn lists(status: &StatusFacts) -> (Vec<&str>, Vec<&str>) {
    let uncounted = status.uncounted.as_ref().expect("FT-30");
    (uids(&uncounted.succeeded), uids(&uncounted.failed))
}

fn counters(status: &StatusFacts) -> (i32, i32) {
    (status.succeeded, status.failed)
}

fn actions(plan: &Plan) -> Vec<Option<PodFailureAction>> {
    let finalizer_removals = plan.commands().filter_map(|command| match command {
        Command::RemoveFinalizers(pods) => Some(pods),
        _ => None,
    });
    finalizer_removals.flatten().map(|it| it.policy_action).collect()
}

/// FT-02, FT-03.
#[test]
fn a_terminated_pod_is_recorded_then_untracked_then_counted() {
    let case = Case::new(wide(2, 4), [pod("a").succeeded(), pod("b").failed().exited(ago(1), 1)]);
    assert_eq!(case.shape(), "write, untrack a b, write");
    let writes = case.writes();
    assert_eq!((lists(&writes[0]), counters(&writes[0])), ((vec!["a"], vec!["b"]), (0, 0)));
    assert_eq!((lists(&writes[1]), counters(&writes[1])), ((vec![], vec![]), (1, 1)));
}

/// FT-05: the first write counts the UIDs whose finalizer was removed before.
#[test]
fn a_recorded_pod_without_finalizer_or_deleted_is_counted_with_the_first_write() {
    let recorded = wide(3, 5).recording(&["a", "gone"], &["b"]);
    let case = Case::new(
        recorded,
        [pod("a").succeeded().untracked(), pod("b").failed(), pod("c"), pod("d").succeeded()],
    );
    let writes = case.writes();
    assert_eq!((lists(&writes[0]), counters(&writes[0])), ((vec!["d"], vec!["b"]), (2, 0)));
    assert_eq!((lists(&writes[1]), counters(&writes[1])), ((vec![], vec![]), (3, 1)));
}

/// FT-28, B01, J-03: a pod whose finalizer this process has removed is not new, whatever the cache shows.
#[test]
fn a_pod_is_counted_once_though_the_cache_still_shows_its_finalizer() {
    let mut case = Case::new(job().recording(&[], &["a"]), [pod("a").failed().exited(ago(60), 1)]);
    case.memory.finalizer_removed = [Uid::new("a"), Uid::new("x")].into();
    let plan = case.plan();
    assert_eq!((lists(&case.first()), counters(&case.first())), ((vec![], vec![]), (0, 1)));
    assert_eq!(plan.memory.finalizer_removed, [Uid::new("a")].into());
    case.job.status = case.first();
    assert_eq!(case.shape(), "create _");
}

/// S-05: the response to the removal of the finalizer was lost, and a user restores the finalizer of the counted pod.
#[test]
fn a_pod_that_the_cache_showed_without_its_finalizer_is_counted_once() {
    let mut case =
        Case::new(job().recording(&[], &["a"]), [pod("a").failed().exited(ago(60), 1).untracked()]);
    assert_eq!(counters(&case.first()), (0, 1));
    case.memory = case.plan().memory;
    case.job.status = case.first();
    case.pods[0].tracking_finalizer = true;
    assert_eq!(case.shape(), "create _");
    case.memory = Memory { uid: case.memory.uid, ..Memory::default() };
    assert!(case.shape().contains("untrack a"), "without the memory the pod counts as new: {}", case.shape());
}

/// J-05: a UID stays recorded while its pod, whatever its owner, holds the finalizer.
#[test]
fn a_recorded_ownerless_pod_is_counted_after_its_finalizer_is_removed() {
    let owners = [Controller::Nobody, Controller::Another];
    for controller in owners {
        let mut lost = pod("a").succeeded();
        lost.controller = controller;
        let mut case = Case::new(wide(0, 2).recording(&["a"], &[]), [lost]);
        assert_eq!(case.shape(), "");
        case.pods[0].tracking_finalizer = false;
        assert_eq!(counters(&case.last()), (1, 0));
    }
}

/// S-05: a terminated or terminating pod is not adopted.
#[test]
fn only_active_ownerless_pods_are_adopted() {
    let adopts = |ownerless_pod| Case::new(wide(1, 2), [ownerless_pod]).shape().contains("adopt");
    assert!(adopts(pod("a").ownerless()));
    assert!(adopts(pod("a").ownerless().phase(Phase::Pending)));
    assert!(!adopts(pod("a").ownerless().succeeded()));
    assert!(!adopts(pod("a").ownerless().failed()));
    assert!(!adopts(pod("a").ownerless().deleted()));
    assert!(!adopts(PodFacts { selected: false, ..pod("a").ownerless() }));
    let another = PodFacts { controller: Controller::Another, ..pod("a") };
    assert!(!adopts(another));
    assert!(!Case::new(wide(1, 2).deleting(), [pod("a").ownerless()]).shape().contains("adopt"));
}

/// FT-24, FT-25: an adopted pod is reported as active and takes the slot of a new pod.
#[test]
fn an_adopted_pod_is_part_of_the_same_sync() {
    let case = Case::new(wide(2, 2), [pod("b").ownerless(), pod("a").ownerless()]);
    assert_eq!(case.shape(), "adopt a b | write");
    assert_eq!(case.first().active, 2);
    assert_eq!(Case::new(wide(3, 3), [pod("a").ownerless()]).shape(), "adopt a | write | create _ _");
    assert_eq!(
        Case::new(indexed(2, 2), [pod("a").ownerless().index(0)]).shape(),
        "adopt a | write | create 1"
    );
}

/// FT-28: an adoption adds the finalizer, and this process has to remove it again.
#[test]
fn an_adopted_pod_loses_its_finalizer_again() {
    let mut case = Case::new(wide(0, 2), [pod("a").ownerless().untracked()]);
    case.memory.finalizer_removed.insert(pod("a").uid);
    assert_eq!(case.shape(), "adopt a | write | untrack a, delete a");
    assert!(case.plan().memory.finalizer_removed.is_empty());
}

/// FT-13: a recorded UID is counted in the sync that releases its pod.
#[test]
fn a_recorded_pod_that_is_released_is_counted_after_the_release() {
    let lost = PodFacts { selected: false, ..pod("a").succeeded() };
    let case = Case::new(wide(0, 2).recording(&["a"], &[]), [lost]);
    assert_eq!(case.shape(), "release a | write");
    assert_eq!((lists(&case.last()), counters(&case.last())), ((vec![], vec![]), (1, 0)));
}

/// FT-26.
#[test]
fn a_pod_that_the_selector_no_longer_matches_is_released() {
    let lost = PodFacts { selected: false, ..pod("a").succeeded() };
    let case = Case::new(job(), [lost.clone()]);
    assert_eq!(case.shape(), "release a | create _");
    let deleting = Case::new(job().deleting(), [lost]);
    assert_eq!(deleting.shape(), "write, untrack a, write");
}

/// SY-03, PC-02: the release of a terminating pod removed its finalizer and deleted it, which the cache does not show yet.
#[test]
fn a_pod_that_its_release_deleted_is_waited_for() {
    let lost = PodFacts { selected: false, ..pod("a").deleted() };
    let mut case = Case::new(job().deleting(), [lost]);
    assert_eq!(case.last().terminating, Some(1));
    case.memory.finalizer_removed.insert(pod("a").uid);
    assert!(case.plan().is_empty() && case.plan().wake_after.is_some());
    let waits = |case: &Case| case.plan().decisions.iter().any(|it| it.requirement == "SY-03");
    assert!(waits(&case));
    assert!(!waits(&Case { job: job(), ..case.clone() }));
    let is_waited_for = |change: fn(&mut PodFacts)| {
        let mut other = case.clone();
        change(&mut other.pods[0]);
        waits(&other)
    };
    assert!(is_waited_for(|_| ()));
    assert!(!is_waited_for(|pod| pod.uid = Uid::new("b")));
    assert!(!is_waited_for(|pod| pod.selected = true));
    assert!(!is_waited_for(|pod| pod.deletion = None));
    assert!(!is_waited_for(|pod| pod.tracking_finalizer = false));
    assert!(!is_waited_for(|pod| pod.controller = Controller::Nobody));
}

/// FT-07, FT-12, PC-21.
#[test]
fn an_indexed_job_records_the_index_and_no_uid() {
    let case = Case::new(
        indexed(3, 5),
        [pod("a").index(0).succeeded(), pod("b").index(2).succeeded(), pod("c").index(2).succeeded()],
    );
    assert_eq!(case.shape(), "write, untrack a b c | create 1 3 4");
    let status = case.first();
    assert_eq!((lists(&status), counters(&status)), ((vec![], vec![]), (2, 0)));
    assert_eq!(status.completed_indexes.as_deref(), Some("0,2"));
}

/// FT-08.
#[test]
fn a_failure_of_an_indexed_job_is_recorded_by_uid() {
    let case = Case::new(indexed(1, 2), [pod("a").index(0).failed().exited(ago(1), 1)]);
    assert_eq!(lists(&case.first()), (vec![], vec!["a"]));
    assert_eq!(counters(&case.last()), (0, 1));
}

/// FT-09, FT-06.
#[test]
fn a_pod_without_a_valid_index_loses_its_finalizer_and_is_never_counted() {
    let text = |text: &str| PodFacts { completion_index: Some(Text::from(text)), ..pod("a") };
    for ownerless_pod in [pod("a"), text("x"), text("-1"), text("2"), text("")] {
        let mut done = indexed(0, 2);
        done.status.uncounted = None;
        assert_eq!(Case::new(done.clone(), [ownerless_pod.clone()]).shape(), "write | untrack a, delete a");
        for ended in [ownerless_pod.clone().succeeded(), ownerless_pod.failed()] {
            let case = Case::new(done.clone(), [ended]);
            assert_eq!(case.shape(), "write, untrack a");
            assert_eq!((lists(&case.first()), counters(&case.first())), ((vec![], vec![]), (0, 0)));
        }
    }
    assert_eq!(
        Case::new(indexed(1, 2), [text("1").succeeded()]).first().completed_indexes.as_deref(),
        Some("1")
    );
}

/// FT-06.
#[test]
fn a_terminated_pod_without_finalizer_changes_nothing() {
    let case = Case::new(wide(0, 2), [pod("a").succeeded().untracked(), pod("b").failed().untracked()]);
    assert_eq!(case.shape(), "");
}

/// FT-10, J-02, B07: the records never exceed the cap, and the Job does not finish before all pods are counted.
#[test]
fn the_records_are_never_longer_than_the_cap() {
    let mut case = Case::new(wide(0, 3), [pod("a"), pod("b"), pod("c")].map(|it| it.succeeded()));
    case.settings.max_uncounted_pods = 2;
    assert_eq!(case.shape(), "write, untrack a b, write");
    assert_eq!(lists(&case.first()), (vec!["a", "b"], vec![]));
    assert!(condition_of(&case.last(), COMPLETE).is_none());
    case.settings.max_uncounted_pods = 3;
    assert!(condition_of(&case.last(), COMPLETE).is_some());
    let mut full = Case::new(
        wide(0, 9).recording(&["b"], &["c"]),
        [pod("a").succeeded(), pod("b").succeeded(), pod("c").failed()],
    );
    full.settings.max_uncounted_pods = 2;
    assert_eq!(full.shape(), "untrack b c, write");
    full.settings.max_uncounted_pods = 1;
    assert_eq!(full.shape(), "untrack b c, write");
}

/// FT-11: a pod whose UID is not recorded needs no room.
#[test]
fn pods_that_only_lose_the_finalizer_need_no_room() {
    let mut done = indexed(0, 9);
    done.status.completed_indexes = Some(Text::from("0"));
    done.status.succeeded = 1;
    let pods = [
        pod("a").index(0).succeeded(),
        pod("b").index(1).succeeded(),
        pod("c").index(2).succeeded(),
        pod("d"),
    ];
    let mut case =
        Case::new(done, pods.map(|it| if it.completion_index.is_none() { it.failed() } else { it }));
    case.settings.max_uncounted_pods = 1;
    assert_eq!(case.shape(), "write, untrack a b d");
    assert_eq!(case.first().completed_indexes.as_deref(), Some("0-2"));
}

/// FT-18, RP-03, RP-04.
#[test]
fn a_terminating_pod_has_failed_unless_replacements_wait_for_termination() {
    let mut waiting = wide(1, 1);
    let case = Case::new(waiting.clone(), [pod("a").deleted()]);
    assert_eq!(case.shape(), "write, untrack a, write | create _");
    assert_eq!(case.last().failed, 1);
    waiting.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let mut case = Case::new(waiting, [pod("a").deleted()]);
    assert_eq!(case.shape(), "write");
    case.settings.gates.pod_replacement_policy = false;
    assert_eq!(case.last().failed, 1);
    let mut ruled = Case::new(wide(1, 1).rules(vec![]), [pod("a").deleted()]);
    assert_eq!(ruled.shape(), "write");
    ruled.settings.gates.pod_replacement_policy = false;
    assert_eq!(ruled.last().failed, 0);
}

/// FT-15, J-04, FT-17.
#[test]
fn when_a_job_fails_all_its_pods_have_failed() {
    let evicted = pod("a").deleted().condition("Evicted", "True", None);
    let mut failing = wide(3, 3).rules(vec![rule(PodFailureAction::Ignore, "Evicted")]);
    failing.spec.backoff_limit = 0;
    let case = Case::new(failing, [evicted, pod("b").failed(), pod("c")]);
    assert_eq!(case.shape(), "delete c, write, untrack a b c, write");
    assert_eq!(lists(&case.first()), (vec![], vec!["a", "b", "c"]));
    assert_eq!(lists(&case.last()), (vec![], vec![]));
    assert_eq!(case.last().failed, 3);
    assert!(condition_of(&case.last(), FAILURE_TARGET).is_some());
    assert!(condition_of(&case.last(), FAILED).is_none());
}

/// FT-15, SX-03.
#[test]
fn when_a_job_succeeds_its_running_pods_are_never_counted() {
    let met = wide(2, 2).status_with("SuccessCriteriaMet", "True", "SuccessPolicy");
    let mut waiting = met.clone();
    waiting.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let case = Case::new(waiting, [pod("a"), pod("b").deleted(), pod("c").untracked()]);
    assert_eq!(case.shape(), "delete a c, write, untrack a b");
    assert_eq!(counters(&case.last()), (0, 0));
    let all_free = Case::new(met, [pod("c").untracked()]);
    assert_eq!(all_free.shape(), "delete c, write");
}

/// FT-19.
#[test]
fn a_job_that_is_being_deleted_removes_all_finalizers_and_counts_terminated_pods() {
    let case = Case::new(wide(3, 5).deleting(), [pod("a"), pod("b").succeeded(), pod("c").failed()]);
    assert_eq!(case.shape(), "write, untrack a b c, write");
    assert_eq!(lists(&case.first()), (vec!["b"], vec!["c"]));
    assert_eq!(counters(&case.last()), (1, 1));
    let mut suspended = wide(3, 5).deleting();
    suspended.spec.suspend = true;
    assert_eq!(Case::new(suspended, [pod("a").untracked()]).shape(), "write");
    let mut failing = wide(2, 5).deleting();
    failing.spec.backoff_limit = 0;
    let case = Case::new(failing, [pod("a"), pod("b").failed()]);
    assert_eq!(case.shape(), "delete a, write, untrack a b, write");
}

/// B16, EN-06: a Job does not finish while a pod keeps its finalizer.
#[test]
fn a_job_finishes_only_if_no_pod_keeps_the_finalizer() {
    let mut none = wide(1, 0);
    none.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let case = Case::new(none, [pod("a").succeeded()]);
    assert_eq!(case.shape(), "write, untrack a, write");
    assert!(condition_of(&case.last(), COMPLETE).is_some());
    assert_eq!(case.last().succeeded, 1);
}

/// BI-08, BI-09, BI-10, B33.
#[test]
fn the_last_failed_pod_of_an_index_waits_for_its_replacement() {
    let mut waiting = limited(1, 3);
    waiting.spec.completions = Some(2);
    let last = pod("b").index(0).failed().failures("1").exited(ago(1), 1);
    let older = pod("a").index(0).failed().failures("0").exited(ago(30), 1);
    let case = Case::new(waiting.clone(), [older.clone(), last.clone(), pod("c").index(1)]);
    assert_eq!(case.shape(), "write, untrack a, write");
    assert_eq!(lists(&case.first()), (vec![], vec!["a"]));
    waiting.spec.parallelism = 2;
    let replaced = Case::new(waiting.clone(), [older, last.clone(), pod("d").index(0), pod("c").index(1)]);
    assert_eq!(replaced.shape(), "write, untrack a b, write");
    let deleting = Case::new(waiting.clone().deleting(), [last.clone()]);
    assert_eq!(deleting.shape(), "write, untrack b, write");
    let ending = Case::new(waiting.status_with(FAILURE_TARGET, "True", "DeadlineExceeded"), [last]);
    assert_eq!(ending.shape(), "write, untrack b, write");
    assert!(condition_of(&ending.last(), FAILED).is_some());
}

/// PC-12, J-10: a terminating namespace waits for the failed pod. Creation is tried again five minutes after a refusal.
#[test]
fn if_the_namespace_is_terminating_no_creation_is_tried_and_no_failed_pod_waits() {
    let failed = pod("a").index(0).failed().failures("0").exited(ago(30), 1);
    let mut case = Case::new(limited(1, 3), [failed]);
    assert_eq!(case.shape(), "create 0");
    case.memory.creation_refused = Some(ago(299));
    assert_eq!(case.shape(), "write, untrack a, write");
    assert_eq!(
        (lists(&case.first()), case.plan().memory.creation_refused),
        ((vec![], vec!["a"]), Some(ago(299)))
    );
    case.memory.creation_refused = Some(ago(300));
    assert_eq!((case.shape(), case.plan().memory.creation_refused), ("create 0".to_owned(), None));
}

/// MX-07, S-10: only a countable pod in phase Failed has an action, and its finalizer removal reports it.
#[test]
fn a_finalizer_removal_names_the_action_that_the_pod_matched() {
    let ruled = indexed(0, 9).rules(vec![
        rule(PodFailureAction::Ignore, "A"),
        rule(PodFailureAction::Count, "B"),
        rule(PodFailureAction::FailIndex, "C"),
    ]);
    let failed = |uid, kind| pod(uid).failed().condition(kind, "True", None);
    let pods = [
        failed("a", "A").index(0),
        failed("b", "B").index(1),
        failed("c", "C").index(2),
        failed("d", "D").index(3),
        failed("e", "A"),
        pod("f").index(4).succeeded(),
    ];
    let mut case = Case::new(ruled, pods);
    use PodFailureAction::{Count, FailIndex, Ignore};
    assert_eq!(actions(&case.plan()), [Some(Ignore), Some(Count), Some(FailIndex), None, None, None]);
    case.settings.gates.backoff_limit_per_index = false;
    assert_eq!(actions(&case.plan()), [Some(Ignore), Some(Count), None, None, None, None]);
    let labels = [PodFailureAction::FailJob, FailIndex, Ignore, Count, PodFailureAction::Unknown]
        .map(crate::job::command::policy_action_label);
    assert_eq!(labels, [Some("FailJob"), Some("FailIndex"), Some("Ignore"), Some("Count"), None]);
}

/// FT-32.
#[test]
fn no_terminated_pod_is_ever_deleted() {
    let mut suspended = wide(3, 3);
    suspended.spec.suspend = true;
    let ended =
        [pod("a").succeeded().untracked(), pod("b").failed().untracked(), pod("c").deleted().untracked()];
    assert_eq!(Case::new(suspended, ended).shape(), "write");
}
