//! Open obligations: what a Job still lacks, and the requirement that asks for it.
//!
//! [`jobcheck_spec::obligations`] decides what is outstanding. This module adds what a scope prevents: refusals, its
//! bounds, and pods of another incarnation. [`crate::progress`] and [`crate::properties`] ask for obligations in states in
//! which nothing more happens.

use crate::env::clock::time_is_up;
use crate::env::refusals::{Blocked, blocked};
use crate::env::user::is_held;
use crate::process::state::Process;
use crate::process::steps::exceeds_pod_bound;
use crate::scope::Scope;
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::creation::REFUSAL_LASTS;
use jobcheck_spec::guards::ttl::expiry;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::obligations::{deadline, finalizers, unreported};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::pods::Sums;
use jobcheck_spec::time::Time;

/// Something that must still happen to a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// The requirement that asks for it, if one does.
    pub requirement: Option<Req>,
    /// The thing that the state lacks, as a sentence without a full stop.
    pub why: String,
}

/// The first open obligation of a Job; `None` if the Job needs nothing more.
#[must_use]
pub fn open_obligation(job_state: &JobState, world: &World, scope: &Scope) -> Option<Obligation> {
    let (requirement, what) = first_lack(job_state, world, scope)?;
    let numbers = match requirement {
        Some(Req::PC01 | Req::PC03 | Req::RP08) => {
            job_state.job.as_ref().and_then(|job| wrong_number(&job.status, job_state))
        }
        _ => None,
    };
    Some(Obligation { requirement, why: numbers.unwrap_or_else(|| what.to_owned()) })
}

/// The first number of a status that differs from the number of pods, with both numbers.
fn wrong_number(status: &JobStatus, job_state: &JobState) -> Option<String> {
    let sums = job_state.pods.sums();
    let ready = job_state.pods.iter().filter(|pod| pod.is_ready()).count();
    let counts = [
        ("active", status.active, i64::from(sums.active)),
        ("ready", status.ready.unwrap_or(0), i64::try_from(ready).unwrap_or(i64::MAX)),
        ("terminating", status.terminating.unwrap_or(0), i64::from(sums.terminating)),
    ];
    let wrong = counts.iter().find(|(_, reported, actual)| i64::from(*reported) != *actual);
    wrong.map(|(name, reported, actual)| {
        let pods = if *actual == 1 { "1 pod is".to_owned() } else { format!("{actual} pods are") };
        format!("status.{name} is {reported}, but {pods} {name}")
    })
}

/// A requirement, and what is missing.
type Lack = (Option<Req>, &'static str);

fn first_lack(job_state: &JobState, world: &World, scope: &Scope) -> Option<Lack> {
    let blocked = blocked(job_state, scope);
    if blocked == Some(Blocked::Everything) {
        return None;
    }
    let is_free = |pod: &Pod| blocked.is_none_or(|blocked| blocked.spares(pod));
    let left = job_state.pods.iter().any(|pod| pod.finalizer && !job_state.ghost.owns(pod) && is_free(pod));
    if left {
        return Some((Some(Req::FT20), "a pod of the previous Job still has the tracking finalizer"));
    }
    if job_state.pods.iter().any(|pod| pod.finalizer && is_free(pod))
        && let Some(lack) = held_finalizer(job_state.job.as_deref())
    {
        return Some(lack);
    }
    let job = job_state.job.as_deref()?;
    let finished = job.status.is_finished();
    match () {
        // A user need not remove a finalizer of their own.
        () if job.deleting && (blocked.is_some() || is_held(job)) => None,
        () if job.deleting => Some((None, "the Job is being deleted, but is never removed")),
        () if finished && has_expired(job, world, scope) => {
            Some((Some(Req::TT14), "the Job has expired, but is not deleted"))
        }
        () if finished => None,
        // MB-11: no obligation of the built-in controller concerns the Job of another manager.
        () if !is_managed_by_built_in(job_state) => None,
        () if job_state.ghost.refused.is_some() => {
            Some((job_state.ghost.refused, "the Job is not finished, because the server refuses its status"))
        }
        () if blocked.is_some() || wants_no_pods(job) => lack_of_idle(job, job_state, scope, blocked),
        () if deadline(job).is_some_and(|deadline| world.now >= deadline) => {
            Some((Some(Req::SU10), "the deadline has passed, but the Job does not fail"))
        }
        () if nothing_wakes_the_controller(job_state) => {
            Some((Some(Req::PC11), "the Job is not finished and has no pod, but no retry is due"))
        }
        () if scope.endless && job_state.pods.iter().any(Pod::is_active) => {
            wrong_status(&job.status, job_state)
        }
        () => Some((None, "the Job is not finished")),
    }
}

/// The obligation of a Job with a pod that still has the tracking finalizer; `None` while the Job counts its pods.
fn held_finalizer(job: Option<&Job>) -> Option<Lack> {
    let req = finalizers(job)?;
    let what = match req {
        Req::FT20 => "the Job is gone, but a pod still has the tracking finalizer",
        Req::TT15 => "the finished Job is being deleted, but a pod still has the tracking finalizer",
        Req::FT23 => "the Job is finished, but a pod still has the tracking finalizer",
        _ => "the Job is being deleted, but a pod still has the tracking finalizer",
    };
    Some((Some(req), what))
}

/// Returns true if the specification asks for no pods now.
fn wants_no_pods(job: &Job) -> bool {
    job.spec.is_suspended() || job.spec.parallelism_count() == 0
}

/// EN-06: returns true if fewer pods are active than the Job needs and may create. The question does not
/// apply to a Job that is decided, or whose retries are limited per index.
fn lacks_pods(job: &Job, job_state: &JobState, scope: &Scope) -> bool {
    let (spec, status) = (&job.spec, &job.status);
    let fails = job_state.pods.iter().any(|pod| proves_failure(pod, job))
        || job_state.ghost.has_failed_too_often(job, &job_state.pods);
    if wants_no_pods(job) || status.is_decided() || fails || spec.backoff_limit_per_index.is_some() {
        return false;
    }
    let done = match spec.is_indexed() {
        true => status.completed(spec.completion_count()).len(),
        false => {
            let recorded = u32::try_from(status.uncounted_succeeded().len()).unwrap_or(u32::MAX);
            u32::try_from(status.succeeded).unwrap_or(0).saturating_add(recorded)
        }
    };
    let Some(missing) = spec.completion_count().map(|count| count.saturating_sub(done)) else { return false };
    let wanted = missing.min(spec.parallelism_count()) as usize;
    let room = scope.refused.iter().filter_map(|refusal| refusal.most_pods()).min();
    let active = job_state.pods.iter().filter(|pod| job_state.ghost.owns(pod) && pod.is_active()).count();
    active < room.map_or(wanted, |room| wanted.min(room))
}

/// S-03: returns true if the pod matches a FailJob rule and the status does not show that yet. Such a pod
/// keeps its finalizer.
fn proves_failure(pod: &Pod, job: &Job) -> bool {
    let fails_job = pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_));
    !job.status.is_decided() && fails_job
}

/// The obligations of a Job that need not finish now: it wants no pods, or the API server refuses a request that
/// finishing requires.
fn lack_of_idle(job: &Job, job_state: &JobState, scope: &Scope, blocked: Option<Blocked>) -> Option<Lack> {
    let is_free = |pod: &Pod| blocked.is_none_or(|blocked| blocked.spares(pod));
    let recorded = |pod: &Pod| job.status.is_recorded(pod.uid);
    let stays = |pod: &&Pod| recorded(pod) && (!is_free(pod) || proves_failure(pod, job));
    let is_active = |pod: &Pod| job_state.ghost.owns(pod) && pod.is_active() && is_free(pod);
    // BI-08: the last failed pod of an index waits for its replacement.
    let waits = |pod: &Pod| job.spec.backoff_limit_per_index.is_some() && pod.phase == Phase::Failed;
    let is_uncounted = |pod: &Pod| {
        pod.finalizer && pod.is_terminated() && !waits(pod) && is_free(pod) && !proves_failure(pod, job)
    };
    match () {
        () if job.status.is_decided() && blocked.is_none() => {
            Some((None, "the interim condition is stored, but the terminal condition never follows"))
        }
        () if job_state.pods.iter().any(is_uncounted) => {
            Some((Some(Req::FT01), "a terminated pod still has the tracking finalizer"))
        }
        () if job.status.recorded() > job_state.pods.iter().filter(stays).count() => {
            Some((Some(Req::FT02), "UIDs are recorded that no counter includes"))
        }
        () if job.spec.is_suspended() && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::SU01), "the Job is suspended, but a pod is active"))
        }
        () if wants_no_pods(job) && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::PC04), "the Job wants no pods, but a pod is active"))
        }
        () if blocked.is_some() && job.status.is_decided() && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::TC07), "the interim condition is stored, but a pod is active"))
        }
        () if lacks_pods(job, job_state, scope) => {
            Some((Some(Req::PC08), "the Job needs another pod and may create it, but does not"))
        }
        () => wrong_status(&job.status, job_state),
    }
}

fn is_managed_by_built_in(job_state: &JobState) -> bool {
    job_state.job.as_ref().is_some_and(|job| job_state.gates().read(job).is_managed_by_built_in())
}

/// PC-11: the Job needs pods and has none, and no event or timer will wake its controller.
fn nothing_wakes_the_controller(job_state: &JobState) -> bool {
    let has_timer = job_state.processes().iter().any(|process| process.wake.is_some());
    controllers_are_idle(job_state) && !has_timer && job_state.pods.iter().all(Pod::is_terminated)
}

/// PC-01 to PC-03, RP-08: at quiescence, the numbers of the status are the numbers of pods.
fn wrong_status(status: &JobStatus, job_state: &JobState) -> Option<Lack> {
    let own = |which: fn(&Pod) -> bool| {
        let own = job_state.pods.iter().filter(|pod| job_state.ghost.owns(pod) && which(pod));
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    };
    let (active, terminating) = (own(Pod::is_active), own(Pod::is_terminating));
    let sums = Sums { active, terminating, ready: own(Pod::is_ready), restarts: 0 };
    unreported(status, &sums).map(|req| {
        let what = match req {
            Req::PC01 => "active is not the number of active pods",
            Req::PC03 => "ready is not the number of ready pods",
            _ => "terminating is not the number of terminating pods",
        };
        (Some(req), what)
    })
}

fn has_expired(job: &Job, world: &World, scope: &Scope) -> bool {
    expiry(job).is_some_and(|end| scope.ttl_clock(world.now) >= end)
}

/// Returns true if every controller is idle: no sync runs, and no queue holds a key.
#[must_use]
pub fn controllers_are_idle(job_state: &JobState) -> bool {
    let idle = |process: &Process| process.sync.is_none() && !process.queued && process.orphans.is_empty();
    job_state.processes().iter().all(idle)
        && job_state.ttl.controller().is_none_or(|controller| controller.is_idle())
}

/// Returns true if the Job is waiting for something that the scope does not have: another pod, or a later time.
#[must_use]
pub fn waits_for_a_bound(job_state: &JobState, world: &World, scope: &Scope) -> bool {
    let time_is_up = time_is_up(world, scope);
    let finished = job_state.job.as_ref().is_some_and(|job| job.status.is_finished());
    let has_reason = |wake: Time| !finished && wake.since(world.now) <= longest_wait(job_state, scope);
    let waits = |process: &Process| {
        process
            .sync
            .iter()
            .flat_map(|sync| sync.calls())
            .any(|call| exceeds_pod_bound(job_state, call, scope))
            || (time_is_up && process.wake.is_some_and(has_reason))
    };
    job_state.processes().iter().any(waits)
}

/// The longest time in seconds for which a controller may have to wait. It may wait for its deadline, for a
/// backoff delay with all pods failed, or after a refused creation (PC-12).
fn longest_wait(job_state: &JobState, scope: &Scope) -> i64 {
    let deadline = job_state.job.as_ref().and_then(|job| job.spec.active_deadline_seconds).unwrap_or(0);
    let delay = scope.constants.backoff_ms(u32::try_from(scope.pods).unwrap_or(u32::MAX)) / 1000;
    deadline.max(delay).max(REFUSAL_LASTS)
}

#[cfg(test)]
mod tests;
