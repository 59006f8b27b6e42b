//! Obligations of Jobs that want no pods. No other check notices if they are not met, because no write is
//! wrong.

use std::sync::Arc;

use super::open_obligation;
use crate::scope::{FoundPod, Scope};
use crate::scopes::reference::{refusals, run_by_the_algorithm};
use crate::scopes::{initial, named};
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Text, Uncounted};
use jobcheck_spec::pod::Phase;

fn suspended() -> (World, Scope) {
    let scope = run_by_the_algorithm(named("suspend").unwrap(), 0);
    let mut world = initial(&scope);
    let job = Arc::make_mut(world.job_states[0].job.as_mut().unwrap());
    Arc::make_mut(&mut job.spec).suspend = Some(true);
    (world, scope)
}

/// The open obligation of a quiescent Job after a change of its state.
fn obligation_after(change: impl FnOnce(&mut JobState)) -> Option<Option<Req>> {
    let (mut world, scope) = suspended();
    change(&mut world.job_states[0]);
    open_obligation(&world.job_states[0], &world, &scope).map(|it| it.requirement)
}

fn has_pod(job_state: &mut JobState, phase: Phase) {
    job_state.find(FoundPod { controlled: true, phase });
    let mut pod = job_state.pods.iter().last().unwrap().clone();
    pod.finalizer = true;
    job_state.set_pod(pod.uid, Some(pod), 0);
}

#[test]
fn a_suspended_job_without_pods_has_no_open_obligation() {
    assert_eq!(obligation_after(|_| {}), None);
}

#[test]
fn a_terminated_pod_must_be_counted_while_the_job_is_suspended() {
    assert_eq!(obligation_after(|job_state| has_pod(job_state, Phase::Succeeded)), Some(Some(Req::FT01)));
    let per_index = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        Arc::make_mut(&mut job.spec).backoff_limit_per_index = Some(1);
        has_pod(job_state, Phase::Failed);
    };
    assert_eq!(obligation_after(per_index), None, "BI-08: it waits for its replacement");
}

#[test]
fn the_uncounted_lists_must_be_emptied_while_the_job_is_suspended() {
    let recorded = |job_state: &mut JobState| {
        job_state.find(FoundPod { controlled: true, phase: Phase::Succeeded });
        let uid = job_state.pods.iter().next().unwrap().uid;
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        job.status.uncounted = Some(Uncounted { succeeded: vec![uid], ..Uncounted::default() });
    };
    assert_eq!(obligation_after(recorded), Some(Some(Req::FT02)));
}

#[test]
fn no_pod_is_active_while_the_job_is_suspended_or_wants_none() {
    assert_eq!(obligation_after(|job_state| has_pod(job_state, Phase::Running)), Some(Some(Req::SU01)));
    let wants_none = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        let spec = Arc::make_mut(&mut job.spec);
        (spec.suspend, spec.parallelism) = (None, Some(0));
        has_pod(job_state, Phase::Running);
    };
    assert_eq!(obligation_after(wants_none), Some(Some(Req::PC04)));
}

#[test]
fn a_decided_job_must_finish_while_it_is_suspended() {
    let decided = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        job.status.conditions.push(Condition {
            kind: ConditionKind::FailureTarget,
            status: ConditionStatus::True,
            reason: Text::from("BackoffLimitExceeded"),
            message: Text::from(""),
            last_transition_time: None,
        });
    };
    assert_eq!(obligation_after(decided), Some(None));
}

/// EN-06: a pod whose finalizer cannot be removed excuses only the obligations that depend on it.
#[test]
fn a_pod_that_keeps_its_finalizer_does_not_stop_other_pods() {
    let scope = refusals().into_iter().find(|scope| scope.name == "refused/kept-pod").unwrap();
    let obligation_after = |change: &dyn Fn(&mut JobState)| {
        let mut world = initial(&scope);
        has_pod(&mut world.job_states[0], Phase::Failed);
        change(&mut world.job_states[0]);
        open_obligation(&world.job_states[0], &world, &scope).map(|it| it.requirement)
    };
    assert_eq!(obligation_after(&|_| {}), Some(Some(Req::PC08)));
    let both_run = |job_state: &mut JobState| {
        has_pod(job_state, Phase::Pending);
        has_pod(job_state, Phase::Pending);
        Arc::make_mut(job_state.job.as_mut().unwrap()).status.active = 2;
    };
    assert_eq!(obligation_after(&both_run), None);
    let one_has_terminated = |job_state: &mut JobState| {
        both_run(job_state);
        has_pod(job_state, Phase::Failed);
    };
    assert_eq!(obligation_after(&one_has_terminated), Some(Some(Req::FT01)));
    let decided = |job_state: &mut JobState| {
        both_run(job_state);
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        job.status.conditions = vec![Condition {
            kind: ConditionKind::FailureTarget,
            status: ConditionStatus::True,
            reason: Text::from(""),
            message: Text::from(""),
            last_transition_time: None,
        }];
    };
    assert_eq!(obligation_after(&decided), Some(Some(Req::TC07)));
}
