//! Families PC (creation), BO, and RP: the number of new pods, their indexes, and their delays.

use std::time::Duration;

use super::build::{Case, NOW, ago, indexed, job, limited, pod, rule, secs, wide};
use crate::job::command::{Command, Creation, CreationReason, SyncAction};
use crate::job::memory::BackoffRecord;
use crate::job::observed::{
    ContainerKind, Deletion, Phase, PodFailureAction, PodReplacementPolicy, Settings, Terminated,
};
use crate::job::{backoff, creation};
use crate::values::{Text, Time, Uid};

fn creation_of(case: &Case) -> Creation {
    let plan = case.plan();
    let found = plan.commands().find_map(|command| match command {
        Command::CreatePods(creation) => Some(creation.clone()),
        _ => None,
    });
    found.expect("a creation")
}

fn created(case: &Case) -> usize {
    if case.shape().contains("create") { creation_of(case).pods.len() } else { 0 }
}

/// PC-11.
#[test]
fn batches_double_and_add_up() {
    assert_eq!(creation::batches(0).count(), 0);
    assert_eq!(creation::batches(1).collect::<Vec<_>>(), [1]);
    assert_eq!(creation::batches(2).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(creation::batches(7).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(creation::batches(10).collect::<Vec<_>>(), [1, 2, 4, 3]);
}

/// PC-04, PC-08.
#[test]
fn as_many_pods_are_active_as_completions_are_left_and_parallelism_allows() {
    assert_eq!(created(&Case::new(wide(3, 5), [])), 3);
    assert_eq!(created(&Case::new(wide(5, 3), [])), 3);
    assert_eq!(created(&Case::new(wide(3, 5), [pod("a"), pod("b")])), 1);
    assert_eq!(created(&Case::new(wide(3, 5), [pod("a"), pod("b"), pod("c")])), 0);
    let mut nearly = wide(3, 5).recording(&["x"], &[]);
    nearly.status.succeeded = 2;
    assert_eq!(created(&Case::new(nearly.clone(), [])), 2);
    assert_eq!(created(&Case::new(nearly, [pod("a").succeeded()])), 1);
    assert_eq!(created(&Case::new(wide(0, 5), [])), 0);
}

/// PC-05.
#[test]
fn a_work_queue_keeps_its_pods_until_the_first_success() {
    let mut queue = wide(3, 0);
    queue.spec.completions = None;
    assert_eq!(created(&Case::new(queue.clone(), [pod("a")])), 2);
    let after = Case::new(queue.clone(), [pod("a").succeeded(), pod("b")]);
    assert_eq!(after.shape(), "write, untrack a, write");
    queue.spec.parallelism = 1;
    assert_eq!(
        Case::new(queue.clone(), [pod("a").succeeded(), pod("b"), pod("c")]).shape(),
        "write, untrack a, write"
    );
    assert_eq!(Case::new(queue, [pod("b"), pod("c")]).shape(), "write | untrack b, delete b");
}

/// PC-10. The numbers of pods are written after the last round.
#[test]
fn at_most_the_cap_is_created_at_once() {
    let mut case = Case::new(wide(5, 9), [pod("a"), pod("b")]);
    case.settings.max_pod_create_delete_per_sync = 2;
    assert_eq!(case.shape(), "create _ _");
    assert_eq!(case.plan().wake_after, Some(secs(1)));
    case.settings.max_pod_create_delete_per_sync = 3;
    assert_eq!(case.shape(), "write | create _ _ _");
    assert_eq!(case.plan().wake_after, None);
    case.settings.max_pod_create_delete_per_sync = 2;
    case.job.status.start_time = None;
    assert_eq!(case.shape(), "write | create _ _");
}

/// PC-18, RP-03.
#[test]
fn the_lowest_missing_indexes_are_created_first() {
    let mut some = indexed(9, 9);
    some.status.completed_indexes = Some(Text::from("1,2"));
    some.status.succeeded = 2;
    some.spec.parallelism = 4;
    let pods = [pod("a").index(0), pod("b").index(4).deleted().untracked()];
    let case = Case::new(some.clone(), pods.clone());
    assert_eq!(case.shape(), "write | create 3 4 5");
    some.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    assert_eq!(Case::new(some, pods).shape(), "write | create 3 5");
    let mut failed = limited(4, 1);
    failed.status.failed_indexes = Some(Text::from("0,2"));
    assert_eq!(Case::new(failed, []).shape(), "create 1 3");
}

/// RP-03, RP-05, RP-11, PC-08, B29.
#[test]
fn terminating_pods_hold_their_slot_if_replacements_wait_for_termination() {
    let mut waiting = wide(3, 9);
    waiting.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let gone = || pod("z").deleted().untracked();
    assert_eq!(created(&Case::new(waiting.clone(), [pod("a"), gone()])), 1);
    assert_eq!(created(&Case::new(waiting.clone(), [pod("a"), pod("b"), gone(), gone()])), 0);
    waiting.spec.pod_replacement_policy = Some(PodReplacementPolicy::TerminatingOrFailed);
    assert_eq!(created(&Case::new(waiting.clone(), [pod("a"), gone()])), 2);
    assert_eq!(created(&Case::new(waiting.rules(vec![]), [pod("a"), gone()])), 1);
}

/// TC-07, FT-19, SU-01.
#[test]
fn no_pod_is_created_for_a_job_that_ends_is_deleted_or_is_suspended() {
    assert_eq!(created(&Case::new(wide(3, 3).status_with("FailureTarget", "True", "x"), [])), 0);
    assert_eq!(created(&Case::new(wide(3, 3).deleting(), [])), 0);
    let mut suspended = wide(3, 3);
    suspended.spec.suspend = true;
    assert_eq!(created(&Case::new(suspended, [])), 0);
}

/// MX-06, MX-12.
#[test]
fn a_creation_has_a_reason() {
    use CreationReason::{New, RecreateFailed, RecreateTerminatingOrFailed};
    use PodReplacementPolicy::{Failed, TerminatingOrFailed};
    for (policy, failed, terminating, gate, reason) in [
        (TerminatingOrFailed, 0, false, true, New),
        (TerminatingOrFailed, 1, false, true, RecreateTerminatingOrFailed),
        (TerminatingOrFailed, 0, true, true, RecreateTerminatingOrFailed),
        (Failed, 1, false, true, RecreateFailed),
        (Failed, 0, false, true, New),
        (Failed, 0, true, true, RecreateTerminatingOrFailed),
        (Failed, 1, true, false, New),
    ] {
        let mut some = wide(3, 3);
        some.spec.pod_replacement_policy = Some(policy);
        some.status.failed = failed;
        let mut case = Case::new(some, terminating.then(|| pod("z").deleted().untracked()));
        case.settings.gates.pod_replacement_policy = gate;
        assert_eq!(creation_of(&case).reason, reason);
    }
    let labels = [New, RecreateTerminatingOrFailed, RecreateFailed].map(CreationReason::label);
    assert_eq!(labels, ["new", "recreate_terminating_or_failed", "recreate_failed"]);
}

/// MX-11.
#[test]
fn a_sync_is_labelled_by_its_action() {
    let action = |job, pods: Vec<_>| Case::new(job, pods).plan().action;
    assert_eq!(action(job(), vec![]), Some(SyncAction::PodsCreated));
    assert_eq!(action(job(), vec![pod("a")]), Some(SyncAction::Tracking));
    assert_eq!(action(job(), vec![pod("a"), pod("b")]), Some(SyncAction::PodsDeleted));
    assert_eq!(action(job(), vec![pod("a").succeeded()]), Some(SyncAction::Reconciling));
    assert_eq!(action(job().deleting(), vec![]), Some(SyncAction::Reconciling));
    assert_eq!(action(job(), vec![pod("a").failed().exited(NOW, 1)]), Some(SyncAction::PodsCreated));
    let mut suspended = job();
    suspended.spec.suspend = true;
    assert_eq!(action(suspended, vec![]), Some(SyncAction::PodsDeleted));
    let labels =
        [SyncAction::Reconciling, SyncAction::Tracking, SyncAction::PodsCreated, SyncAction::PodsDeleted]
            .map(SyncAction::label);
    assert_eq!(labels, ["reconciling", "tracking", "pods_created", "pods_deleted"]);
}

/// BO-01, BO-09.
#[test]
fn the_delay_doubles_with_each_failure_up_to_its_maximum() {
    let settings = Settings::default();
    let left = |failures, elapsed| backoff::left(failures, ago(elapsed), NOW, &settings).as_secs();
    assert_eq!(
        [1, 2, 3, 4, 6, 7, 8, 40, u32::MAX].map(|failures| left(failures, 0)),
        [10, 20, 40, 80, 320, 600, 600, 600, 600]
    );
    assert_eq!(left(0, 0), 0);
    assert_eq!([9, 10, 11].map(|elapsed| left(1, elapsed)), [1, 0, 0]);
    assert_eq!(left(1, -5), 10, "a clock that is behind does not lengthen the delay");
}

/// BO-02, BO-03.
#[test]
fn no_pod_is_created_before_the_delay_has_passed() {
    let after = |elapsed| Case::new(wide(3, 5), [pod("a").failed().exited(ago(elapsed), 1), pod("b")]);
    assert_eq!(created(&after(9)), 0);
    assert_eq!(after(9).plan().wake_after, Some(secs(1)));
    assert_eq!(after(3).plan().wake_after, Some(secs(7)));
    assert_eq!(created(&after(10)), 2);
    let mut soon = after(10);
    soon.now = Time::from_millis(NOW.as_millis() - 100);
    assert_eq!(soon.plan().wake_after, Some(secs(1)), "BO-02: at least the batch period");
    assert_eq!(after(9).first().active, 1, "B21: what is active is reported as it is");
}

/// BO-03, BO-04: the failures in the backoff record.
#[test]
fn failures_count_from_the_latest_success() {
    let record = |before: (u32, Option<Time>), pods: Vec<_>| {
        let mut case = Case::new(wide(0, 9).rules(vec![rule(PodFailureAction::Ignore, "Evicted")]), pods);
        case.memory.backoff =
            BackoffRecord { failures: before.0, last_failure: before.1, pods: [Uid::new("old")].into() };
        let after = case.plan().memory.backoff;
        (after.failures, after.last_failure)
    };
    let failed = |uid: &str, at| pod(uid).failed().exited(ago(at), 1);
    let done = |uid: &str, at| pod(uid).succeeded().exited(ago(at), 0);
    let before = (2, Some(ago(30)));
    assert_eq!(record(before, vec![]), before);
    assert_eq!(record(before, vec![failed("a", 9), failed("b", 7), failed("c", 8)]), (5, Some(ago(7))));
    assert_eq!(record(before, vec![done("a", 9)]), (0, None));
    assert_eq!(record(before, vec![done("a", 9), failed("b", 9), failed("c", 8)]), (1, Some(ago(8))));
    assert_eq!(record(before, vec![done("a", 9), done("d", 7), failed("c", 8)]), (0, None));
    assert_eq!(record(before, vec![failed("old", 1)]), before);
    assert_eq!(record(before, vec![failed("a", 9).untracked()]), before);
    let mut elsewhere = Case::new(indexed(0, 2), [failed("a", 9).index(2), done("b", 9).index(-1)]);
    elsewhere.memory.backoff =
        BackoffRecord { failures: 2, last_failure: before.1, ..BackoffRecord::default() };
    assert_eq!(elsewhere.plan().memory.backoff, elsewhere.memory.backoff, "FT-06: no valid index");
    let ignored = failed("a", 9).condition("Evicted", "True", None);
    assert_eq!(record((0, None), vec![ignored]), (1, Some(ago(9))));
}

/// BO-05 of `docs/findings`: a failure enters the backoff record once, even if the write that records it was lost.
#[test]
fn a_recorded_failure_enters_the_backoff_record_once() {
    let mut case = Case::new(job().recording(&[], &["a"]), [pod("a").failed().exited(ago(4), 1)]);
    let memory = case.plan().memory;
    assert_eq!(memory.backoff.failures, 1);
    assert_eq!(memory.backoff.pods, [Uid::new("a")].into());
    case.memory = memory.clone();
    assert_eq!(case.plan().memory, memory);
    case.pods[0].tracking_finalizer = false;
    assert!(case.plan().memory.backoff.pods.is_empty());
    assert_eq!(case.plan().memory.backoff.failures, 1);
    assert_eq!(case.plan().wake_after, Some(secs(6)));
}

/// BO-06, J-07, J-08, B43.
#[test]
fn a_job_with_another_uid_starts_without_memory() {
    let mut case = Case::new(job(), []);
    case.memory.backoff =
        BackoffRecord { failures: 3, last_failure: Some(NOW), pods: [Uid::new("a")].into() };
    case.memory.finalizer_removed = [Uid::new("a")].into();
    case.memory.deleted = [Uid::new("b")].into();
    assert_eq!(case.shape(), "");
    case.memory.uid = Some(Uid::new("other"));
    assert_eq!(case.shape(), "create _");
    assert_eq!(case.plan().memory.uid, Some(Uid::new("job-uid")));
    assert_eq!(case.plan().memory.backoff, BackoffRecord::default());
}

/// BO-07. The built-in does not wait for the regular containers (BO-08), and these controllers do.
#[test]
fn the_finish_time_is_the_first_known_time() {
    let end = |at| Some(Terminated { exit_code: 1, finished_at: at });
    let timed = pod("a").failed().condition("Ready", "False", Some(ago(40))).deleted();
    assert_eq!(backoff::finish_time(&timed), ago(40));
    let later = timed
        .clone()
        .container("a", ContainerKind::Regular, 0, end(Some(ago(30))))
        .container("b", ContainerKind::Regular, 0, end(Some(ago(31))))
        .container("i", ContainerKind::Init, 0, None);
    assert_eq!(backoff::finish_time(&later), ago(30));
    let sidecar = later.clone().container("s", ContainerKind::Sidecar, 0, end(Some(ago(20))));
    assert_eq!(backoff::finish_time(&sidecar), ago(20));
    let open = later.clone().container("c", ContainerKind::Regular, 0, None);
    assert_eq!(backoff::finish_time(&open), ago(40));
    let untimed = later.container("c", ContainerKind::Sidecar, 0, end(None));
    assert_eq!(backoff::finish_time(&untimed), ago(40));
    let mut deleted = pod("a").condition("Ready", "True", Some(ago(40)));
    deleted.deletion = Some(Deletion { at: ago(10), grace_seconds: 5 });
    assert_eq!(backoff::finish_time(&deleted), ago(15));
    assert_eq!(backoff::finish_time(&pod("a")), ago(90));
    let mut nothing = pod("a").condition("Ready", "False", None);
    nothing.created = None;
    assert_eq!(backoff::finish_time(&nothing), Time::default());
}

/// BO-10, BO-11, BI-02.
#[test]
fn each_index_waits_for_its_own_delay() {
    let failed = |uid: &str, index, failures: &str, ignored: &str, at| {
        pod(uid).index(index).failed().failures(failures).ignored(ignored).exited(ago(at), 1)
    };
    let case = |pods: Vec<_>| Case::new(limited(3, 9), pods);
    let both = case(vec![failed("a", 0, "1", "1", 39), failed("b", 1, "1", "0", 20), pod("c").index(2)]);
    let plan = both.plan();
    assert_eq!(both.shape(), "write | create 1");
    assert_eq!(plan.wake_after, Some(secs(1)));
    let pods = creation_of(&both).pods;
    assert_eq!((pods[0].failure_count, pods[0].ignored_failure_count), (Some(2), None));
    let none =
        case(vec![failed("a", 0, "0", "0", 3), failed("b", 1, "0", "0", 6), failed("c", 2, "0", "0", 5)]);
    assert_eq!(created(&none), 0);
    assert_eq!(none.plan().wake_after, Some(secs(4)));
    let due = case(vec![failed("a", 0, "1", "1", 40), pod("b").index(1), pod("c").index(2)]);
    assert_eq!(creation_of(&due).pods[0].ignored_failure_count, Some(1));
    let mut late = case(vec![failed("a", 0, "0", "0", 10)]);
    late.now = Time::from_millis(NOW.as_millis() - 1);
    assert_eq!(late.plan().wake_after, Some(secs(1)));
}

/// BI-02, BI-03.
#[test]
fn a_new_pod_inherits_the_failure_counts_of_the_pod_that_it_replaces() {
    let counts = |job, pods: Vec<_>| {
        let pod = creation_of(&Case::new(job, pods)).pods[0].clone();
        (pod.index, pod.failure_count, pod.ignored_failure_count)
    };
    let failed = |count: &str| pod("a").index(0).failed().failures(count).exited(ago(900), 1);
    assert_eq!(counts(limited(1, 9), vec![]), (Some(0), Some(0), None));
    assert_eq!(counts(indexed(1, 1), vec![]), (Some(0), None, None));
    assert_eq!(counts(wide(1, 1), vec![]), (None, None, None));
    assert_eq!(counts(limited(1, 9), vec![failed("3")]), (Some(0), Some(4), None));
    for odd in ["x", "-1", "2147483648", ""] {
        assert_eq!(counts(limited(1, 9), vec![failed(odd)]), (Some(0), Some(1), None));
    }
    assert_eq!(counts(limited(1, i32::MAX), vec![failed("2147483646")]).1, Some(i32::MAX));
    let lenient = limited(1, 9).rules(vec![rule(PodFailureAction::Ignore, "Evicted")]);
    let evicted = failed("3").ignored("1").condition("Evicted", "True", None);
    assert_eq!(counts(lenient.clone(), vec![evicted]), (Some(0), Some(3), Some(2)));
    assert_eq!(counts(lenient, vec![failed("3").ignored("1")]), (Some(0), Some(4), Some(1)));
    let mut without_gate = Case::new(limited(1, 9), [failed("3")]);
    without_gate.settings.gates.backoff_limit_per_index = false;
    assert_eq!(creation_of(&without_gate).pods[0].failure_count, None);
}

/// PC-01, PC-02.
#[test]
fn a_pod_in_any_other_phase_is_active() {
    for phase in [Phase::Pending, Phase::Running, Phase::Unknown, Phase::Other] {
        assert_eq!(created(&Case::new(job(), [pod("a").phase(phase)])), 0);
        assert_eq!(Case::new(job(), [pod("a").phase(phase)]).first().active, 1);
        assert_eq!(
            Case::new(wide(0, 1), [pod("a").phase(phase).deleted().untracked()]).first().terminating,
            Some(1)
        );
    }
    assert_eq!(backoff::left(1, NOW, NOW, &Settings::default()), Duration::from_secs(10));
}
