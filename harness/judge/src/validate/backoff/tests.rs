//! The backoff record over a few status writes.

use std::sync::Arc;

use jobcheck_spec::job::{Job, JobSpec, JobStatus, Uncounted};
use jobcheck_spec::pod::Phase;
use jobcheck_spec::pods::Pods;

use super::super::fixtures::{job, pod};
use super::*;

/// A pod that terminated in this second, with the second as its UID.
fn ended(phase: Phase, second: u128) -> Pod {
    Pod { phase, finished: Some(at(second)), ..pod(second) }
}

fn at(second: u128) -> Time {
    Time(i64::try_from(second).unwrap())
}

/// Applies `act` to a view of these pods.
fn with_view<T>(job: &Job, pods: &[Pod], act: impl FnOnce(&View<'_>) -> T) -> T {
    let mut cache = Pods::new();
    for pod in pods {
        cache.set(pod.uid, Some(pod.clone()));
    }
    act(&View::of(job, &cache))
}

/// The failures and the end of the last one, in a view of these pods.
fn record(it: &BackoffRecord, job: &Job, pods: &[Pod]) -> (u32, Option<Time>) {
    let found = with_view(job, pods, |view| it.in_view(view, &[]));
    (found.failures, found.last_failure)
}

fn keep(it: &mut BackoffRecord, job: &Job, pods: &[Pod]) {
    with_view(job, pods, |view| it.keep(view, &[]));
}

/// [`job`] with these failures in `uncountedTerminatedPods`.
fn listing(failed: &[u128]) -> Job {
    let failed = failed.iter().copied().map(Uid).collect();
    let uncounted = Some(Uncounted { failed, ..Uncounted::default() });
    Job { status: JobStatus { uncounted, ..JobStatus::default() }, ..job() }
}

#[test]
fn a_failed_pod_is_recorded_once() {
    let (mut it, job) = (BackoffRecord::default(), job());
    let pods = [ended(Phase::Failed, 5), ended(Phase::Failed, 7), pod(8)];
    assert_eq!(record(&it, &job, &pods), (2, Some(at(7))));
    keep(&mut it, &job, &pods);
    assert_eq!(record(&it, &job, &pods), (2, Some(at(7))));
    let more = [&pods[..], &[ended(Phase::Failed, 6)]].concat();
    assert_eq!(record(&it, &job, &more), (3, Some(at(6))));
}

#[test]
fn a_success_forgets_the_failures_up_to_its_end() {
    let (mut it, job) = (BackoffRecord::default(), job());
    keep(&mut it, &job, &[ended(Phase::Failed, 5)]);
    assert_eq!(record(&it, &job, &[ended(Phase::Succeeded, 9)]), (0, None));
    let pods = [ended(Phase::Failed, 8), ended(Phase::Succeeded, 9), ended(Phase::Failed, 10)];
    assert_eq!(record(&it, &job, &pods), (1, Some(at(10))));
}

#[test]
fn a_job_with_a_limit_per_index_has_no_global_record() {
    let spec = JobSpec { backoff_limit_per_index: Some(1), ..(*job().spec).clone() };
    let per_index = Job { spec: Arc::new(spec), ..job() };
    assert_eq!(record(&BackoffRecord::default(), &per_index, &[ended(Phase::Failed, 5)]), (0, None));
}

#[test]
fn the_delay_ends_after_the_last_failure_and_its_rounding() {
    let (mut it, job) = (BackoffRecord::default(), job());
    assert_eq!(it.ends(&Constants::V1_36), None);
    keep(&mut it, &job, &[ended(Phase::Failed, 5), ended(Phase::Failed, 7)]);
    assert_eq!(it.ends(&Constants::V1_36), Some((7 + 20 + 2) * 1_000_000));
}

#[test]
fn a_write_with_an_unknown_outcome_leaves_two_records_until_they_agree() {
    let (mut it, job) = (BackoffRecord::default(), job());
    let pods = [ended(Phase::Failed, 5)];
    with_view(&job, &pods, |view| it.keep_perhaps(view, &[]));
    assert_eq!(it.last_failure(), None);
    assert_eq!(it.other().and_then(BackoffRecord::last_failure), Some(at(5)));
    keep(&mut it, &job, &pods);
    assert_eq!((it.last_failure(), it.other().is_none()), (Some(at(5)), true));
}

#[test]
fn after_a_restart_listed_pods_may_or_may_not_be_recorded() {
    let mut it = BackoffRecord::default();
    keep(&mut it, &job(), &[ended(Phase::Failed, 4)]);
    it.lose();
    let (listing, pods) = (listing(&[5]), [ended(Phase::Failed, 5), ended(Phase::Failed, 6)]);
    assert_eq!(record(&it, &listing, &pods), (1, Some(at(6))));
    assert_eq!(record(it.other().unwrap(), &listing, &pods), (2, Some(at(6))));
    // A pod without the finalizer is counted already.
    let released = [Pod { finalizer: false, ..pods[0].clone() }, pods[1].clone()];
    assert_eq!(record(it.other().unwrap(), &listing, &released), (1, Some(at(6))));
    // Unless the same sync has removed it.
    let found = with_view(&listing, &released, |view| it.other().unwrap().in_view(view, &[Uid(5)]));
    assert_eq!(found.failures, 2);
}
