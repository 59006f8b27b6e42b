//! Active pods that cannot be deleted, or whose finalizer cannot be removed, delay nothing else (TC-08, EN-06).

use super::build::{
    Case, ago, condition_of, indexed, pod, rule, shape_if_not_stopped, uids, wide, writes_if_not_stopped,
};
use super::cluster::{Cluster, Fault, end};
use crate::job::conditions::{FAILED, FAILURE_TARGET, SUSPENDED, finished};
use crate::job::observed::{JobFacts, Phase, PodFacts, PodFailureAction};
use crate::values::Uid;

fn failing() -> JobFacts {
    let mut job = wide(3, 3);
    job.spec.backoff_limit = 0;
    job
}

fn failed(uid: &str) -> PodFacts {
    pod(uid).failed().exited(ago(1), 1)
}

/// TC-08.
#[test]
fn if_no_pod_can_be_deleted_pods_are_counted_but_the_job_does_not_end() {
    let case = Case::new(failing(), vec![failed("f"), pod("a"), pod("b")]);
    assert_eq!(case.shape(), "delete a b, write, untrack a b f, write");
    assert!(condition_of(&case.first(), FAILURE_TARGET).is_some());
    let plan = case.plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a b | write, untrack f, write");
    let [first, last] = &writes_if_not_stopped(&plan)[..] else { panic!("{plan:?}") };
    assert_eq!((condition_of(first, FAILURE_TARGET), condition_of(last, FAILED)), (None, None));
    assert_eq!((first.active, last.active, last.terminating), (2, 2, Some(0)));
    assert_eq!((last.failed, last.uncounted.as_ref().map(|it| it.failed.len())), (1, Some(0)));
}

/// S-03: the interim condition is stored before a matching pod loses its finalizer; the failure is recorded at once.
#[test]
fn a_pod_that_fails_its_job_keeps_its_finalizer_until_the_interim_condition_is_stored() {
    let strict = wide(3, 3).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = failed("bad").condition("Bad", "True", None);
    let pods = vec![bad, failed("f"), pod("a")];
    let plan = Case::new(strict.clone(), pods.clone()).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, untrack f, write");
    assert_eq!(uids(&writes_if_not_stopped(&plan)[0].uncounted.clone().unwrap().failed), ["bad", "f"]);
    assert_eq!(uids(&writes_if_not_stopped(&plan)[1].uncounted.clone().unwrap().failed), ["bad"]);
    // A recorded pod keeps its finalizer too, until the interim condition is stored.
    let mut recorded = strict.clone();
    recorded.status.uncounted = writes_if_not_stopped(&plan)[1].uncounted.clone();
    let plan = Case::new(recorded, pods.clone()).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, untrack f, write");
    let ending = strict.status_with(FAILURE_TARGET, "True", "PodFailurePolicy");
    let plan = Case::new(ending, pods).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, untrack bad f, write");
}

/// SU-01, EN-06.
#[test]
fn a_job_is_not_suspended_before_its_pods_are_deleted_and_counts_meanwhile() {
    let mut suspended = wide(3, 5);
    suspended.spec.suspend = true;
    let case = Case::new(suspended, vec![failed("f"), pod("a"), pod("b").untracked()]);
    assert_eq!(case.shape(), "delete b | untrack a, delete a, write, untrack f, write");
    assert_eq!(condition_of(&case.first(), SUSPENDED), Some(("True", "JobSuspended")));
    let plan = case.plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete b | untrack a, delete a | write, untrack f, write");
    let last = writes_if_not_stopped(&plan).pop().unwrap();
    assert_eq!((condition_of(&last, SUSPENDED), last.failed, last.active), (None, 1, 2));
}

/// For example because a webhook refuses the deletion.
#[test]
fn a_pod_that_cannot_be_deleted_delays_the_end_and_no_other_pod() {
    let mut cluster = Cluster::new(failing());
    cluster.settle();
    let pods: Vec<Uid> = cluster.pods.keys().cloned().collect();
    pods.iter().for_each(|pod| cluster.pod_becomes(pod, Phase::Running));
    cluster.undeletable = Some(pods[2].clone());
    cluster.pod_becomes(&pods[0], Phase::Failed);
    for _ in 0..4 {
        cluster.sync(Fault::None);
    }
    // The second failure is the other pod, which terminates.
    assert_eq!((cluster.job.status.failed, condition_of(&cluster.job.status, FAILURE_TARGET)), (2, None));
    assert!(!cluster.pods.contains_key(&pods[0]) || !cluster.pods[&pods[0]].tracking_finalizer);
    cluster.undeletable = None;
    end(&mut cluster);
    assert!(finished(&cluster.job.status.conditions));
    assert_eq!((cluster.job.status.failed, cluster.job.status.succeeded), (3, 0));
}

/// FT-09: the index of the pod was dropped by a scale-down.
#[test]
fn a_pod_without_a_valid_index_that_fails_its_job_is_kept_and_never_recorded() {
    let strict = indexed(1, 1).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = failed("bad").index(1).condition("Bad", "True", None);
    let plan = Case::new(strict, vec![bad, pod("a").index(0)]).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write");
    assert_eq!(uids(&writes_if_not_stopped(&plan)[0].uncounted.clone().unwrap().failed), [""; 0]);
}

/// SU-05.
#[test]
fn a_stored_interim_condition_stays_and_the_job_is_not_resumed() {
    let mut ending = failing().status_with(FAILURE_TARGET, "True", "BackoffLimitExceeded");
    ending = ending.status_with(SUSPENDED, "True", "JobSuspended");
    ending.status.start_time = Some(ago(60));
    let started = ending.status.start_time;
    let plan = Case::new(ending, vec![failed("f"), pod("a")]).plan();
    let last = writes_if_not_stopped(&plan).pop().unwrap();
    assert_eq!(condition_of(&last, SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!((last.failed, last.start_time), (1, started));
}

/// PF-08: after an interim condition is stored, no rule fails the Job.
#[test]
fn after_a_stored_success_a_matching_pod_loses_its_finalizer() {
    let strict = wide(3, 3).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let met = strict.status_with("SuccessCriteriaMet", "True", "SuccessPolicy");
    let bad = failed("bad").condition("Bad", "True", None);
    let plan = Case::new(met, vec![bad, pod("a")]).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, untrack bad, write");
}
