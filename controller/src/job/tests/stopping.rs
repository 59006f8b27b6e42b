//! Pods that have to go and cannot be deleted or released: what does not depend on them goes on (TC-08, EN-06).

use super::build::{Case, ago, indexed, pod, rule, said, shape_if_not_stopped, uids, wide};
use super::world::{Fault, World, end};
use crate::job::command::{Command, Plan, When};
use crate::job::conditions::{FAILED, FAILURE_TARGET, SUSPENDED, finished};
use crate::job::observed::{JobFacts, Phase, PodFacts, PodFailureAction, StatusFacts};
use crate::values::Uid;

fn failing() -> JobFacts {
    let mut job = wide(3, 3);
    job.spec.backoff_limit = 0;
    job
}

fn failed(uid: &str) -> PodFacts {
    pod(uid).failed().ended(ago(1), 1)
}

/// What is written where nothing of what stops the Job succeeds.
fn silent(plan: &Plan) -> Vec<StatusFacts> {
    let sequence = plan.sequences.iter().filter(|it| it.when == When::NotStopped);
    let written = sequence.flat_map(|it| &it.steps).filter_map(|step| match &step.command {
        Command::WriteStatus(write) => Some(write.after.clone()),
        _ => None,
    });
    written.collect()
}

/// TC-08.
#[test]
fn if_no_pod_can_be_deleted_the_ended_ones_are_counted_and_no_end_is_announced() {
    let case = Case::new(failing(), vec![failed("f"), pod("a"), pod("b")]);
    assert_eq!(case.shape(), "delete a b, write, release a b f, write");
    assert!(said(&case.first(), FAILURE_TARGET).is_some());
    let plan = case.plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a b | write, release f, write");
    let [first, last] = &silent(&plan)[..] else { panic!("{plan:?}") };
    assert_eq!((said(first, FAILURE_TARGET), said(last, FAILED)), (None, None));
    assert_eq!((first.active, last.active, last.terminating), (2, 2, Some(0)));
    assert_eq!((last.failed, last.uncounted.as_ref().map(|it| it.failed.len())), (1, Some(0)));
}

/// S-03: what a rule says of a pod is stored before the pod is let go; that it has failed is recorded.
#[test]
fn a_pod_that_fails_its_job_is_kept_until_the_end_is_announced() {
    let strict = wide(3, 3).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = failed("bad").condition("Bad", "True", None);
    let pods = vec![bad, failed("f"), pod("a")];
    let plan = Case::new(strict.clone(), pods.clone()).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, release f, write");
    assert_eq!(uids(&silent(&plan)[0].uncounted.clone().unwrap().failed), ["bad", "f"]);
    assert_eq!(uids(&silent(&plan)[1].uncounted.clone().unwrap().failed), ["bad"]);
    // Listed, it is kept all the same; once the end is announced it is let go.
    let mut listed = strict.clone();
    listed.status.uncounted = silent(&plan)[1].uncounted.clone();
    let plan = Case::new(listed, pods.clone()).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, release f, write");
    let announced = strict.status_with(FAILURE_TARGET, "True", "PodFailurePolicy");
    let plan = Case::new(announced, pods).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, release bad f, write");
}

/// SU-01, EN-06.
#[test]
fn a_job_is_not_called_suspended_before_its_pods_go_and_counts_meanwhile() {
    let mut suspended = wide(3, 5);
    suspended.spec.suspend = true;
    let case = Case::new(suspended, vec![failed("f"), pod("a"), pod("b").free()]);
    assert_eq!(case.shape(), "delete b | release a, delete a, write, release f, write");
    assert_eq!(said(&case.first(), SUSPENDED), Some(("True", "JobSuspended")));
    let plan = case.plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete b | release a, delete a | write, release f, write");
    let last = silent(&plan).pop().unwrap();
    assert_eq!((said(&last, SUSPENDED), last.failed, last.active), (None, 1, 2));
}

/// A pod that nobody lets go, as one whose deletion a webhook refuses.
#[test]
fn a_pod_that_cannot_be_deleted_holds_up_the_end_and_no_other_pod() {
    let mut world = World::new(failing());
    world.settle();
    let pods: Vec<Uid> = world.pods.keys().cloned().collect();
    pods.iter().for_each(|pod| world.pod_becomes(pod, Phase::Running));
    world.undeletable = Some(pods[2].clone());
    world.pod_becomes(&pods[0], Phase::Failed);
    for _ in 0..4 {
        world.sync(Fault::None);
    }
    // With the other one, which terminates.
    assert_eq!((world.job.status.failed, said(&world.job.status, FAILURE_TARGET)), (2, None));
    assert!(!world.pods.contains_key(&pods[0]) || !world.pods[&pods[0]].tracking_finalizer);
    world.undeletable = None;
    end(&mut world);
    assert!(finished(&world.job.status.conditions));
    assert_eq!((world.job.status.failed, world.job.status.succeeded), (3, 0));
}

/// FT-09: a pod of an index that was scaled away is in no list, whatever rests on it.
#[test]
fn a_pod_without_an_index_that_fails_its_job_is_kept_and_listed_nowhere() {
    let strict = indexed(1, 1).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = failed("bad").index(1).condition("Bad", "True", None);
    let plan = Case::new(strict, vec![bad, pod("a").index(0)]).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write");
    assert_eq!(uids(&silent(&plan)[0].uncounted.clone().unwrap().failed), [""; 0]);
}

/// SU-05: an end that is announced stays so, and a Job that ends is not resumed.
#[test]
fn where_an_end_is_stored_nothing_is_said_of_a_resumption() {
    let mut ending = failing().status_with(FAILURE_TARGET, "True", "BackoffLimitExceeded");
    ending = ending.status_with(SUSPENDED, "True", "JobSuspended");
    ending.status.start_time = Some(ago(60));
    let started = ending.status.start_time;
    let plan = Case::new(ending, vec![failed("f"), pod("a")]).plan();
    let last = silent(&plan).pop().unwrap();
    assert_eq!(said(&last, SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!((last.failed, last.start_time), (1, started));
}

/// PF-08: where the end is announced no match is asked for any more.
#[test]
fn where_a_success_is_stored_a_pod_that_matches_is_let_go() {
    let strict = wide(3, 3).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let met = strict.status_with("SuccessCriteriaMet", "True", "SuccessPolicy");
    let bad = failed("bad").condition("Bad", "True", None);
    let plan = Case::new(met, vec![bad, pod("a")]).plan();
    assert_eq!(shape_if_not_stopped(&plan), "delete a | write, release bad, write");
}
