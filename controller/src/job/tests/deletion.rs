//! Family PC: the surplus pods, and the order in which they are deleted.

use super::build::{Case, ago, indexed, pod, wide};
use crate::job::observed::{ContainerKind, Phase, PodFacts, PodReplacementPolicy};

/// Asserts that the first pod is deleted before the second one, whatever their order in the input and their UIDs.
fn goes_first(one: &dyn Fn(PodFacts) -> PodFacts, other: &dyn Fn(PodFacts) -> PodFacts) {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let pods = [one(pod(first)), other(pod(second))];
        let going: Vec<String> =
            Case::new(wide(1, 5), pods).shape().split(' ').map(str::to_owned).rev().take(1).collect();
        assert_eq!(going, [first]);
    }
}

/// PC-09, in its order: each criterion takes precedence over the following ones.
#[test]
fn the_pod_with_the_least_progress_is_deleted_first() {
    let ready_at = |seconds| move |it: PodFacts| it.condition("Ready", "True", Some(ago(seconds)));
    let created = |seconds| move |it: PodFacts| PodFacts { created: Some(ago(seconds)), ..it };
    let restarts = |kind, count| move |it: PodFacts| it.container("c", kind, count, None);
    let unscheduled = |it: PodFacts| PodFacts { scheduled: false, ..it };
    let pending = |it: PodFacts| it.phase(Phase::Pending);
    let unknown = |it: PodFacts| it.phase(Phase::Unknown);
    let plain = |it: PodFacts| it;
    goes_first(&|it| unscheduled(it.ready()), &pending);
    goes_first(&|it| pending(it.ready()), &unknown);
    goes_first(&|it| it.phase(Phase::Other), &unknown);
    goes_first(&|it| unknown(it.ready()), &plain);
    goes_first(&plain, &ready_at(1));
    goes_first(&|it| it.condition("Ready", "False", Some(ago(1))), &ready_at(1));
    goes_first(&|it| it.condition("Ready", "True", None), &ready_at(1));
    let since = |scheduled, ready| {
        move |it: PodFacts| ready_at(ready)(it.condition("PodScheduled", "True", Some(ago(scheduled))))
    };
    goes_first(&since(9, 1), &since(3, 2));
    goes_first(&ready_at(1), &|it| restarts(ContainerKind::Regular, 9)(ready_at(2)(it)));
    goes_first(&restarts(ContainerKind::Regular, 2), &|it| {
        restarts(ContainerKind::Sidecar, 9)(restarts(ContainerKind::Regular, 1)(it))
    });
    goes_first(&restarts(ContainerKind::Sidecar, 1), &|it| restarts(ContainerKind::Init, 9)(created(1)(it)));
    goes_first(&created(1), &created(2));
    goes_first(&|it| PodFacts { created: None, ..it }, &created(1));
}

/// S-11, H1: a pod without finalizer is not counted any more, so it is deleted before any other pod.
#[test]
fn a_pod_without_finalizer_is_deleted_first() {
    goes_first(&|it| it.ready().untracked(), &|it| PodFacts { scheduled: false, ..it });
    let case = Case::new(wide(1, 5), [pod("a").untracked(), pod("b")]);
    assert_eq!(case.shape(), "write | delete a");
}

/// The UID decides among equal pods.
#[test]
fn equal_pods_are_deleted_in_the_order_of_their_uids() {
    let pods = [pod("c"), pod("a"), pod("b")];
    assert_eq!(Case::new(wide(1, 5), pods).shape(), "write | untrack a b, delete a b");
}

/// PC-06.
#[test]
fn all_but_one_pod_of_an_index_and_pods_without_an_index_are_deleted() {
    let pods = [
        pod("a").index(0),
        pod("b").index(0).ready(),
        pod("c").index(0),
        pod("d").index(7),
        pod("e"),
        pod("f").index(1),
    ];
    let case = Case::new(indexed(5, 5), pods.clone());
    assert_eq!(case.shape(), "write | untrack a c d e, delete a c d e");
    assert_eq!(Case::new(indexed(1, 5), pods).shape(), "write | untrack a c d e f, delete a c d e f");
}

/// PC-07, PC-10.
#[test]
fn deletions_come_before_creations_and_are_capped() {
    let mut case = Case::new(indexed(3, 3), [pod("a").index(0), pod("b").index(0), pod("c").index(0)]);
    assert_eq!(case.shape(), "write | untrack a b, delete a b");
    case.settings.max_pod_create_delete_per_sync = 1;
    assert_eq!(case.shape(), "untrack a, delete a");
    assert!(case.plan().wake_after.is_some());
    case.settings.max_pod_create_delete_per_sync = 2;
    assert!(case.plan().wake_after.is_none());
}

/// PC-04, PC-23: surplus pods are not counted (FT-16).
#[test]
fn lower_parallelism_or_completions_delete_pods_uncounted() {
    let case = Case::new(wide(2, 9), [pod("a"), pod("b"), pod("c")]);
    assert_eq!(case.shape(), "write | untrack a, delete a");
    assert_eq!(case.first().uncounted, case.job.status.uncounted);
    let dropped = Case::new(indexed(2, 2), [pod("a").index(0), pod("b").index(2)]);
    assert_eq!(dropped.shape(), "write | untrack b, delete b");
    let mut nearly = wide(3, 3);
    nearly.status.succeeded = 2;
    assert_eq!(Case::new(nearly, [pod("a"), pod("b")]).shape(), "write | untrack a, delete a");
    assert_eq!(Case::new(wide(0, 3), [pod("a")]).shape(), "write | untrack a, delete a");
    let mut too_many = wide(3, 3);
    too_many.status.succeeded = 5;
    assert_eq!(Case::new(too_many, [pod("a")]).shape(), "write | untrack a, delete a");
}

/// SU-01, PC-10: suspension deletes all active pods, without a cap.
#[test]
fn a_suspended_job_removes_the_finalizers_of_its_pods_and_deletes_them() {
    let mut suspended = wide(2, 3);
    suspended.spec.suspend = true;
    let mut case =
        Case::new(suspended, [pod("b"), pod("a"), pod("c").untracked(), pod("d").deleted().untracked()]);
    case.settings.max_pod_create_delete_per_sync = 1;
    assert_eq!(case.shape(), "delete c | untrack a b, delete a b, write");
    assert_eq!(case.plan().wake_after, None);
}

/// FT-25: an adopted pod counts as active.
#[test]
fn an_adoption_makes_another_pod_surplus() {
    let case = Case::new(wide(1, 5), [pod("a"), pod("b").ownerless()]);
    assert_eq!(case.shape(), "adopt b | write | untrack a, delete a");
    let mut two = wide(0, 5);
    two.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    assert_eq!(Case::new(two, [pod("b").ownerless()]).shape(), "adopt b | write | untrack b, delete b");
}
