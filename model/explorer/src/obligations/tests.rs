//! What a Job owes that wants no pods: nothing else would notice, for no write is wrong.

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

/// What is owed after a change of the life of a Job at rest.
fn owed(change: impl FnOnce(&mut JobState)) -> Option<Option<Req>> {
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
fn a_suspended_job_with_nothing_left_to_do_owes_nothing() {
    assert_eq!(owed(|_| {}), None);
}

#[test]
fn a_pod_that_has_ended_is_to_be_accounted_while_the_job_is_suspended() {
    assert_eq!(owed(|job_state| has_pod(job_state, Phase::Succeeded)), Some(Some(Req::FT01)));
    let per_index = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        Arc::make_mut(&mut job.spec).backoff_limit_per_index = Some(1);
        has_pod(job_state, Phase::Failed);
    };
    assert_eq!(owed(per_index), None, "BI-08: it waits for its replacement");
}

#[test]
fn lists_are_to_be_emptied_while_the_job_is_suspended() {
    let listed = |job_state: &mut JobState| {
        job_state.find(FoundPod { controlled: true, phase: Phase::Succeeded });
        let uid = job_state.pods.iter().next().unwrap().uid;
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        job.status.uncounted = Some(Uncounted { succeeded: vec![uid], ..Uncounted::default() });
    };
    assert_eq!(owed(listed), Some(Some(Req::FT02)));
}

#[test]
fn no_pod_is_active_while_the_job_is_suspended_or_wants_none() {
    assert_eq!(owed(|job_state| has_pod(job_state, Phase::Running)), Some(Some(Req::SU01)));
    let wants_none = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        let spec = Arc::make_mut(&mut job.spec);
        (spec.suspend, spec.parallelism) = (None, Some(0));
        has_pod(job_state, Phase::Running);
    };
    assert_eq!(owed(wants_none), Some(Some(Req::PC04)));
}

#[test]
fn an_end_that_was_announced_comes_though_the_job_is_suspended() {
    let announced = |job_state: &mut JobState| {
        let job = Arc::make_mut(job_state.job.as_mut().unwrap());
        job.status.conditions.push(Condition {
            kind: ConditionKind::FailureTarget,
            status: ConditionStatus::True,
            reason: Text::from("BackoffLimitExceeded"),
            message: Text::from(""),
            last_transition_time: None,
        });
    };
    assert_eq!(owed(announced), Some(None));
}

/// EN-06: of a pod that nobody lets go only what depends on it is excused.
#[test]
fn beside_a_pod_that_is_kept_others_are_created_and_counted() {
    let scope = refusals().into_iter().find(|scope| scope.name == "refused/kept-pod").unwrap();
    let owed = |change: &dyn Fn(&mut JobState)| {
        let mut world = initial(&scope);
        has_pod(&mut world.job_states[0], Phase::Failed);
        change(&mut world.job_states[0]);
        open_obligation(&world.job_states[0], &world, &scope).map(|it| it.requirement)
    };
    assert_eq!(owed(&|_| {}), Some(Some(Req::PC08)));
    let both_run = |job_state: &mut JobState| {
        has_pod(job_state, Phase::Pending);
        has_pod(job_state, Phase::Pending);
        Arc::make_mut(job_state.job.as_mut().unwrap()).status.active = 2;
    };
    assert_eq!(owed(&both_run), None);
    let one_has_ended = |job_state: &mut JobState| {
        both_run(job_state);
        has_pod(job_state, Phase::Failed);
    };
    assert_eq!(owed(&one_has_ended), Some(Some(Req::FT01)));
    let announced = |job_state: &mut JobState| {
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
    assert_eq!(owed(&announced), Some(Some(Req::TC07)));
}
