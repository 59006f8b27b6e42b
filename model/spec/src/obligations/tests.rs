//! Each obligation, in the smallest situation that has it.

use std::sync::Arc;

use super::{Obligation, Sums};
use super::{
    deadline, finalizers, must_count, must_create, must_suspend, next_condition, outdated_indexes, surplus,
    unreported,
};
use crate::catalogue::Req;
use crate::guards::decision::Tally;
use crate::job::{
    CompletionMode, Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, PodReplacementPolicy,
    Text,
};
use crate::pod::{Phase, Pod};
use crate::pods::Pods;
use crate::time::Time;
use crate::uid::Uid;
use crate::view::View;

fn job(spec: JobSpec, status: JobStatus) -> Job {
    Job {
        uid: Uid(1),
        name: "pi".into(),
        namespace: "default".into(),
        generation: 1,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(spec),
        status,
    }
}

fn one() -> JobSpec {
    JobSpec { parallelism: Some(1), completions: Some(1), ..JobSpec::default() }
}

fn with(kind: ConditionKind) -> JobStatus {
    let condition = Condition {
        kind,
        status: ConditionStatus::True,
        reason: Text::from("BackoffLimitExceeded"),
        message: Text::from(""),
        last_transition_time: None,
    };
    JobStatus { conditions: vec![condition], ..JobStatus::default() }
}

fn pods(all: &[(Phase, bool)]) -> Pods {
    let mut pods = Pods::new();
    for (number, (phase, deleting)) in (2..).zip(all) {
        let pod = Pod { finalizer: true, phase: *phase, deleting: *deleting, ..Pod::new(Uid(number)) };
        pods.set(Uid(number), Some(pod));
    }
    pods
}

/// Asks about a view in which cache and truth agree.
fn ask<T>(job: &Job, pods: &Pods, question: impl FnOnce(&View<'_>, &Tally) -> T) -> T {
    let view = View::of(job, pods);
    question(&view, &Tally::of(&view))
}

#[test]
fn finalizers_must_go_once_the_job_counts_no_more() {
    let running = job(one(), JobStatus::default());
    let finished = job(one(), with(ConditionKind::Complete));
    let deleting = |job: &Job| Job { deleting: true, ..job.clone() };
    assert_eq!(finalizers(None), Some(Req::FT20));
    assert_eq!(finalizers(Some(&running)), None);
    assert_eq!(finalizers(Some(&deleting(&running))), Some(Req::FT19));
    assert_eq!(finalizers(Some(&finished)), Some(Req::FT23));
    assert_eq!(finalizers(Some(&deleting(&finished))), Some(Req::TT15));
}

#[test]
fn a_terminated_pod_must_be_counted_and_a_running_one_not() {
    let job = job(one(), JobStatus::default());
    let must = |phase| ask(&job, &pods(&[(phase, false)]), must_count);
    assert_eq!((must(Phase::Succeeded), must(Phase::Failed), must(Phase::Running)), (true, true, false));
}

#[test]
fn a_terminating_pod_takes_the_place_of_a_new_one_with_the_policy_failed() {
    let patient = JobSpec { pod_replacement_policy: Some(PodReplacementPolicy::Failed), ..one() };
    let must = |spec: JobSpec, pods: &Pods| ask(&job(spec, JobStatus::default()), pods, must_create);
    assert!(must(one(), &pods(&[])) && must(patient.clone(), &pods(&[])));
    let terminating = pods(&[(Phase::Running, true)]);
    assert!(must(one(), &terminating) && !must(patient, &terminating));
    assert!(!must(one(), &pods(&[(Phase::Running, false)])));
}

#[test]
fn a_failed_index_gets_no_pod() {
    let spec = JobSpec {
        parallelism: Some(3),
        completions: Some(3),
        completion_mode: Some(CompletionMode::Indexed),
        backoff_limit_per_index: Some(1),
        ..JobSpec::default()
    };
    let mut pods = Pods::new();
    for number in [1, 2] {
        let pod = Pod { phase: Phase::Running, index: Some(number), ..Pod::new(Uid(number.into())) };
        pods.set(pod.uid, Some(pod));
    }
    let failed = JobStatus { failed_indexes: Some(Text::from("0")), ..JobStatus::default() };
    let must = |status: JobStatus| ask(&job(spec.clone(), status), &pods, must_create);
    assert!(must(JobStatus::default()) && !must(failed));
}

#[test]
fn pods_beyond_parallelism_are_surplus() {
    let job = job(one(), JobStatus::default());
    let running = (Phase::Running, false);
    assert_eq!(ask(&job, &pods(&[running]), surplus), None);
    assert_eq!(ask(&job, &pods(&[running, running]), surplus), Some(Req::PC04));
}

#[test]
fn each_number_of_the_status_must_be_reported() {
    let sums = Sums { active: 2, ready: 1, terminating: 1, ..Sums::default() };
    let status = JobStatus { active: 2, ready: Some(1), terminating: Some(1), ..JobStatus::default() };
    assert_eq!(unreported(&status, &sums), None);
    assert_eq!(unreported(&JobStatus { active: 1, ..status.clone() }, &sums), Some(Req::PC01));
    assert_eq!(unreported(&JobStatus { ready: None, ..status.clone() }, &sums), Some(Req::PC03));
    assert_eq!(unreported(&JobStatus { terminating: Some(0), ..status }, &sums), Some(Req::RP08));
}

#[test]
fn a_decided_job_ends_once_no_pod_lives() {
    let next = |kind, pods: &Pods| ask(&job(one(), with(kind)), pods, |view, _| next_condition(view));
    let none = pods(&[]);
    assert_eq!(next(ConditionKind::FailureTarget, &none), Some((Req::TC04, Obligation::WriteFailed)));
    assert_eq!(next(ConditionKind::SuccessCriteriaMet, &none), Some((Req::TC04, Obligation::WriteComplete)));
    assert_eq!(next(ConditionKind::FailureTarget, &pods(&[(Phase::Running, true)])), None);
}

#[test]
fn a_met_criterion_must_be_stored() {
    let next = |spec, status| ask(&job(spec, status), &pods(&[]), |view, _| next_condition(view));
    let done = JobStatus { succeeded: 1, ..JobStatus::default() };
    assert_eq!(next(one(), done), Some((Req::TC14, Obligation::WriteInterim)));
    assert_eq!(next(one(), JobStatus::default()), None);
    let empty = JobSpec { completions: Some(0), ..one() };
    assert_eq!(next(empty, JobStatus::default()), Some((Req::PC25, Obligation::WriteInterim)));
}

#[test]
fn a_suspended_job_has_no_deadline_and_no_active_pods() {
    let spec = JobSpec { active_deadline_seconds: Some(10), ..one() };
    let started = JobStatus { start_time: Some(Time(5)), ..JobStatus::default() };
    let suspended = JobSpec { suspend: Some(true), ..spec.clone() };
    let (running, suspended) = (job(spec, started.clone()), job(suspended, started));
    assert_eq!((deadline(&running), deadline(&suspended)), (Some(Time(15)), None));
    let one = Sums { active: 1, ..Sums::default() };
    assert!(must_suspend(&suspended, &one) && !must_suspend(&running, &one));
    assert!(!must_suspend(&suspended, &Sums::default()));
}

#[test]
fn an_index_beyond_the_completions_is_dropped() {
    let of = |mode, completed: &str, failed: Option<&str>| {
        let spec = JobSpec { completions: Some(2), completion_mode: Some(mode), ..one() };
        let status = JobStatus {
            completed_indexes: completed.into(),
            failed_indexes: failed.map(Into::into),
            ..JobStatus::default()
        };
        outdated_indexes(&job(spec, status))
    };
    let indexed = CompletionMode::Indexed;
    assert_eq!((of(indexed, "0,1", Some("1")), of(indexed, "", None)), (None, None));
    assert_eq!((of(indexed, "0,2", None), of(indexed, "0", Some("1-4"))), (Some(Req::PC23), Some(Req::BI05)));
    assert_eq!(of(CompletionMode::NonIndexed, "2", None), None);
}
