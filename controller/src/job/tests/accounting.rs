//! Family FT: recorded, released, counted.

use super::build::{Case, ago, indexed, job, limited, pod, rule, said, uids, wide};
use crate::job::command::{Command, Plan};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET};
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
fn an_ended_pod_is_recorded_then_released_then_counted() {
    let case = Case::new(wide(2, 4), [pod("a").succeeded(), pod("b").failed().ended(ago(1), 1)]);
    assert_eq!(case.shape(), "write, release a b, write");
    let writes = case.writes();
    assert_eq!((lists(&writes[0]), counters(&writes[0])), ((vec!["a"], vec!["b"]), (0, 0)));
    assert_eq!((lists(&writes[1]), counters(&writes[1])), ((vec![], vec![]), (1, 1)));
}

/// FT-05: what was released before is counted first.
#[test]
fn a_listed_pod_without_finalizer_or_gone_is_counted_with_the_first_write() {
    let listed = wide(3, 5).listing(&["a", "gone"], &["b"]);
    let case =
        Case::new(listed, [pod("a").succeeded().free(), pod("b").failed(), pod("c"), pod("d").succeeded()]);
    let writes = case.writes();
    assert_eq!((lists(&writes[0]), counters(&writes[0])), ((vec!["d"], vec!["b"]), (2, 0)));
    assert_eq!((lists(&writes[1]), counters(&writes[1])), ((vec![], vec![]), (3, 1)));
}

/// FT-28, B01, J-03: what this process has released is not new, whatever the cache shows.
#[test]
fn a_released_pod_is_counted_once_though_the_cache_shows_its_finalizer() {
    let mut case = Case::new(job().listing(&[], &["a"]), [pod("a").failed().ended(ago(60), 1)]);
    case.memory.finalizer_removed = [Uid::new("a"), Uid::new("x")].into();
    let plan = case.plan();
    assert_eq!((lists(&case.first()), counters(&case.first())), ((vec![], vec![]), (0, 1)));
    assert_eq!(plan.memory.finalizer_removed, [Uid::new("a")].into());
    case.job.status = case.first();
    assert_eq!(case.shape(), "create _");
}

/// J-05: a listed pod stays listed while it holds its finalizer, whoever owns it.
#[test]
fn a_listed_pod_that_lost_its_owner_is_counted_once_it_is_released() {
    let owners = [Controller::Nobody, Controller::Another];
    for controller in owners {
        let mut lost = pod("a").succeeded();
        lost.controller = controller;
        let mut case = Case::new(wide(0, 2).listing(&["a"], &[]), [lost]);
        assert_eq!(case.shape(), "");
        case.pods[0].tracking_finalizer = false;
        assert_eq!(counters(&case.last()), (1, 0));
    }
}

/// S-05: a pod that has ended, or is being deleted, is not adopted.
#[test]
fn only_running_strays_are_adopted() {
    let adopts = |ownerless_pod| Case::new(wide(1, 2), [ownerless_pod]).shape().contains("adopt");
    assert!(adopts(pod("a").ownerless_pod()));
    assert!(adopts(pod("a").ownerless_pod().phase(Phase::Pending)));
    assert!(!adopts(pod("a").ownerless_pod().succeeded()));
    assert!(!adopts(pod("a").ownerless_pod().failed()));
    assert!(!adopts(pod("a").ownerless_pod().deleted()));
    assert!(!adopts(PodFacts { selected: false, ..pod("a").ownerless_pod() }));
    let another = PodFacts { controller: Controller::Another, ..pod("a") };
    assert!(!adopts(another));
    assert!(!Case::new(wide(1, 2).deleting(), [pod("a").ownerless_pod()]).shape().contains("adopt"));
}

/// FT-24, FT-25: an adopted pod is reported, and holds the slot of one that would be created.
#[test]
fn an_adopted_pod_takes_part_in_the_same_sync() {
    let case = Case::new(wide(2, 2), [pod("b").ownerless_pod(), pod("a").ownerless_pod()]);
    assert_eq!(case.shape(), "adopt a b | write");
    assert_eq!(case.first().active, 2);
    assert_eq!(Case::new(wide(3, 3), [pod("a").ownerless_pod()]).shape(), "adopt a | write | create _ _");
    assert_eq!(
        Case::new(indexed(2, 2), [pod("a").ownerless_pod().index(0)]).shape(),
        "adopt a | write | create 1"
    );
}

/// FT-28: a pod that is adopted gets a finalizer again, and this process has to remove it again.
#[test]
fn what_was_released_and_is_adopted_is_released_again() {
    let mut case = Case::new(wide(0, 2), [pod("a").ownerless_pod().free()]);
    case.memory.finalizer_removed.insert(pod("a").uid);
    assert_eq!(case.shape(), "adopt a | write | release a, delete a");
    assert!(case.plan().memory.finalizer_removed.is_empty());
}

/// FT-13: a UID that is recorded is counted in the sync that gives its pod up.
#[test]
fn a_listed_pod_that_is_given_up_is_counted_after_it() {
    let lost = PodFacts { selected: false, ..pod("a").succeeded() };
    let case = Case::new(wide(0, 2).listing(&["a"], &[]), [lost]);
    assert_eq!(case.shape(), "give-up a | write");
    assert_eq!((lists(&case.last()), counters(&case.last())), ((vec![], vec![]), (1, 0)));
}

/// FT-26.
#[test]
fn a_pod_that_is_not_selected_any_more_is_given_up() {
    let lost = PodFacts { selected: false, ..pod("a").succeeded() };
    let case = Case::new(job(), [lost.clone()]);
    assert_eq!(case.shape(), "give-up a | create _");
    let deleting = Case::new(job().deleting(), [lost]);
    assert_eq!(deleting.shape(), "write, release a, write");
}

/// SY-03, PC-02: a pod that was being deleted when it was given up went with its finalizer, which the cache does not show yet.
#[test]
fn a_pod_that_went_when_it_was_given_up_is_waited_for() {
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
fn an_index_is_recorded_in_place_of_a_uid() {
    let case = Case::new(
        indexed(3, 5),
        [pod("a").index(0).succeeded(), pod("b").index(2).succeeded(), pod("c").index(2).succeeded()],
    );
    assert_eq!(case.shape(), "write, release a b c | create 1 3 4");
    let status = case.first();
    assert_eq!((lists(&status), counters(&status)), ((vec![], vec![]), (2, 0)));
    assert_eq!(status.completed_indexes.as_deref(), Some("0,2"));
}

/// FT-08.
#[test]
fn a_failure_of_an_indexed_job_is_listed() {
    let case = Case::new(indexed(1, 2), [pod("a").index(0).failed().ended(ago(1), 1)]);
    assert_eq!(lists(&case.first()), (vec![], vec!["a"]));
    assert_eq!(counters(&case.last()), (0, 1));
}

/// FT-09, FT-06.
#[test]
fn a_pod_without_a_valid_index_is_released_and_counted_nowhere() {
    let text = |text: &str| PodFacts { completion_index: Some(Text::from(text)), ..pod("a") };
    for ownerless_pod in [pod("a"), text("x"), text("-1"), text("2"), text("")] {
        let mut done = indexed(0, 2);
        done.status.uncounted = None;
        assert_eq!(Case::new(done.clone(), [ownerless_pod.clone()]).shape(), "write | release a, delete a");
        for ended in [ownerless_pod.clone().succeeded(), ownerless_pod.failed()] {
            let case = Case::new(done.clone(), [ended]);
            assert_eq!(case.shape(), "write, release a");
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
fn an_ended_pod_without_finalizer_is_nothing() {
    let case = Case::new(wide(0, 2), [pod("a").succeeded().free(), pod("b").failed().free()]);
    assert_eq!(case.shape(), "");
}

/// FT-10, J-02, B07: the lists hold no more than the cap, and the Job does not finish before the rest is counted.
#[test]
fn the_lists_are_never_longer_than_the_cap() {
    let mut case = Case::new(wide(0, 3), [pod("a"), pod("b"), pod("c")].map(|it| it.succeeded()));
    case.settings.max_uncounted_pods = 2;
    assert_eq!(case.shape(), "write, release a b, write");
    assert_eq!(lists(&case.first()), (vec!["a", "b"], vec![]));
    assert!(said(&case.last(), COMPLETE).is_none());
    case.settings.max_uncounted_pods = 3;
    assert!(said(&case.last(), COMPLETE).is_some());
    let mut full = Case::new(
        wide(0, 9).listing(&["b"], &["c"]),
        [pod("a").succeeded(), pod("b").succeeded(), pod("c").failed()],
    );
    full.settings.max_uncounted_pods = 2;
    assert_eq!(full.shape(), "release b c, write");
    full.settings.max_uncounted_pods = 1;
    assert_eq!(full.shape(), "release b c, write");
}

/// FT-11: no room is needed where nothing is listed.
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
    assert_eq!(case.shape(), "write, release a b d");
    assert_eq!(case.first().completed_indexes.as_deref(), Some("0-2"));
}

/// FT-18, RP-03, RP-04.
#[test]
fn a_terminating_pod_has_failed_unless_its_end_is_waited_for() {
    let mut waiting = wide(1, 1);
    let case = Case::new(waiting.clone(), [pod("a").deleted()]);
    assert_eq!(case.shape(), "write, release a, write | create _");
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
    assert_eq!(case.shape(), "delete c, write, release a b c, write");
    assert_eq!(lists(&case.first()), (vec![], vec!["a", "b", "c"]));
    assert_eq!(lists(&case.last()), (vec![], vec![]));
    assert_eq!(case.last().failed, 3);
    assert!(said(&case.last(), FAILURE_TARGET).is_some());
    assert!(said(&case.last(), FAILED).is_none());
}

/// FT-15, SX-03.
#[test]
fn when_a_job_succeeds_its_running_pods_are_counted_nowhere() {
    let met = wide(2, 2).status_with("SuccessCriteriaMet", "True", "SuccessPolicy");
    let mut waiting = met.clone();
    waiting.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let case = Case::new(waiting, [pod("a"), pod("b").deleted(), pod("c").free()]);
    assert_eq!(case.shape(), "delete a c, write, release a b");
    assert_eq!(counters(&case.last()), (0, 0));
    let all_free = Case::new(met, [pod("c").free()]);
    assert_eq!(all_free.shape(), "delete c, write");
}

/// FT-19.
#[test]
fn a_job_that_is_being_deleted_lets_all_pods_go_and_counts_the_ended_ones() {
    let case = Case::new(wide(3, 5).deleting(), [pod("a"), pod("b").succeeded(), pod("c").failed()]);
    assert_eq!(case.shape(), "write, release a b c, write");
    assert_eq!(lists(&case.first()), (vec!["b"], vec!["c"]));
    assert_eq!(counters(&case.last()), (1, 1));
    let mut suspended = wide(3, 5).deleting();
    suspended.spec.suspend = true;
    assert_eq!(Case::new(suspended, [pod("a").free()]).shape(), "write");
    let mut failing = wide(2, 5).deleting();
    failing.spec.backoff_limit = 0;
    let case = Case::new(failing, [pod("a"), pod("b").failed()]);
    assert_eq!(case.shape(), "delete a, write, release a b, write");
}

/// B16, EN-06: a pod that cannot be released keeps the Job from finishing.
#[test]
fn a_job_finishes_only_if_no_pod_keeps_the_finalizer() {
    let mut none = wide(1, 0);
    none.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let case = Case::new(none, [pod("a").succeeded()]);
    assert_eq!(case.shape(), "write, release a, write");
    assert!(said(&case.last(), COMPLETE).is_some());
    assert_eq!(case.last().succeeded, 1);
}

/// BI-08, BI-09, BI-10, B33.
#[test]
fn the_last_failed_pod_of_an_index_waits_for_its_replacement() {
    let mut waiting = limited(1, 3);
    waiting.spec.completions = Some(2);
    let last = pod("b").index(0).failed().failures("1").ended(ago(1), 1);
    let older = pod("a").index(0).failed().failures("0").ended(ago(30), 1);
    let case = Case::new(waiting.clone(), [older.clone(), last.clone(), pod("c").index(1)]);
    assert_eq!(case.shape(), "write, release a, write");
    assert_eq!(lists(&case.first()), (vec![], vec!["a"]));
    waiting.spec.parallelism = 2;
    let replaced = Case::new(waiting.clone(), [older, last.clone(), pod("d").index(0), pod("c").index(1)]);
    assert_eq!(replaced.shape(), "write, release a b, write");
    let deleting = Case::new(waiting.clone().deleting(), [last.clone()]);
    assert_eq!(deleting.shape(), "write, release b, write");
    let ending = Case::new(waiting.status_with(FAILURE_TARGET, "True", "DeadlineExceeded"), [last]);
    assert_eq!(ending.shape(), "write, release b, write");
    assert!(said(&ending.last(), FAILED).is_some());
}

/// PC-12, J-10: the namespace is being deleted, and waits for the pod. What was refused five minutes ago is tried again.
#[test]
fn where_no_replacement_can_come_none_is_tried_and_no_failed_pod_waits() {
    let failed = pod("a").index(0).failed().failures("0").ended(ago(30), 1);
    let mut case = Case::new(limited(1, 3), [failed]);
    assert_eq!(case.shape(), "create 0");
    case.memory.refused = Some(ago(299));
    assert_eq!(case.shape(), "write, release a, write");
    assert_eq!((lists(&case.first()), case.plan().memory.refused), ((vec![], vec!["a"]), Some(ago(299))));
    case.memory.refused = Some(ago(300));
    assert_eq!((case.shape(), case.plan().memory.refused), ("create 0".to_owned(), None));
}

/// MX-07, S-10: only of a pod in phase Failed that counts, once it is released.
#[test]
fn a_release_tells_which_action_of_the_policy_it_was() {
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
fn no_ended_pod_is_ever_deleted() {
    let mut suspended = wide(3, 3);
    suspended.spec.suspend = true;
    let ended = [pod("a").succeeded().free(), pod("b").failed().free(), pod("c").deleted().free()];
    assert_eq!(Case::new(suspended, ended).shape(), "write");
}
