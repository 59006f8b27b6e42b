//! What a Job lacks that has not come to its end, and the requirement that asks for it.

use crate::env::refusals::{Blocked, blocked};
use crate::reference::decide::fail_job_message;
use crate::reference::ttl::clock;
use crate::scope::Scope;
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::ttl::expiry;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::pod::{Phase, Pod};

use super::is_quiet;

/// What keeps a Job from its end, and the requirement that asks for it, where one does.
pub(crate) fn shortcoming(
    job_state: &JobState,
    world: &World,
    scope: &Scope,
) -> Option<(Option<Req>, String)> {
    let (req, what) = lack(job_state, world, scope)?;
    let told = match req {
        // The numbers say it better.
        Some(Req::PC01 | Req::PC03 | Req::RP08) => {
            job_state.job.as_ref().and_then(|job| numbers(&job.status, job_state))
        }
        _ => None,
    };
    Some((req, told.unwrap_or_else(|| what.to_owned())))
}

/// The numbers of a status that are not those of the pods.
fn numbers(status: &JobStatus, job_state: &JobState) -> Option<String> {
    let sums = job_state.pods.sums();
    let ready = job_state.pods.iter().filter(|pod| pod.is_ready()).count();
    let counts = [
        ("active", status.active, i64::from(sums.active)),
        ("ready", status.ready.unwrap_or(0), i64::try_from(ready).unwrap_or(i64::MAX)),
        ("terminating", status.terminating.unwrap_or(0), i64::from(sums.terminating)),
    ];
    let wrong = counts.iter().find(|(_, said, is)| i64::from(*said) != *is);
    wrong.map(|(name, said, is)| format!("status.{name} is {said}, and {is} pods are {name}"))
}

fn lack(job_state: &JobState, world: &World, scope: &Scope) -> Option<(Option<Req>, &'static str)> {
    let blocked = blocked(job_state, scope);
    if blocked == Some(Blocked::Everything) {
        return None;
    }
    let spared = |pod: &Pod| blocked.is_none_or(|blocked| blocked.spares(pod));
    let left = job_state.pods.iter().any(|pod| pod.finalizer && !job_state.ghost.owns(pod) && spared(pod));
    if left {
        return Some((Some(Req::FT20), "a pod of a former Job of the name keeps its finalizer"));
    }
    let held = job_state.pods.iter().any(|pod| pod.finalizer && spared(pod));
    let Some(job) = &job_state.job else {
        return held.then_some((Some(Req::FT20), "the Job is gone, and a pod keeps its finalizer"));
    };
    let finished = job.status.is_finished();
    match () {
        () if finished && held && job.deleting => {
            Some((Some(Req::TT15), "the finished Job is being deleted, and a pod keeps its finalizer"))
        }
        () if finished && held => {
            Some((Some(Req::FT23), "the Job is finished, and a pod keeps its finalizer"))
        }
        () if job.deleting && held => {
            Some((Some(Req::FT19), "the Job is being deleted, and a pod keeps its finalizer"))
        }
        () if job.deleting && blocked.is_some() => None,
        () if job.deleting => Some((None, "the Job is being deleted, and does not go")),
        () if finished && has_expired(job, world, scope) => {
            Some((Some(Req::TT14), "the Job has expired, and is not deleted"))
        }
        () if finished => None,
        // MB-11: for the Job of another manager nobody need do anything.
        () if !is_own(job_state) => None,
        () if job_state.ghost.refused.is_some() => {
            Some((job_state.ghost.refused, "the Job is not finished, and the server refuses its status"))
        }
        () if blocked.is_some() || is_idle(job) => idle_lack(job, job_state, scope, blocked),
        () if is_late(job, world) => {
            Some((Some(Req::SU10), "the deadline has passed, and the Job does not fail"))
        }
        () if is_forgotten(job_state) => {
            Some((Some(Req::PC11), "the Job is not finished, has no pod, and no retry is due"))
        }
        () if scope.endless && job_state.pods.iter().any(Pod::is_active) => untrue(&job.status, job_state),
        () => Some((None, "the Job is not finished")),
    }
}

/// Whether it wants no pods now.
fn is_idle(job: &Job) -> bool {
    job.spec.is_suspended() || job.spec.parallelism_count() == 0
}

/// EN-06: whether fewer pods are active than are wanted and may be created. Not asked where the end of the Job is decided, or
/// where limits per index say what is wanted.
fn lacks_pods(job: &Job, job_state: &JobState, scope: &Scope) -> bool {
    let (spec, status) = (&job.spec, &job.status);
    let verdict = job_state.pods.iter().any(|pod| is_proof(pod, job))
        || job_state.ghost.has_failed_too_often(job, &job_state.pods);
    if is_idle(job) || status.is_decided() || verdict || spec.backoff_limit_per_index.is_some() {
        return false;
    }
    let done = match spec.is_indexed() {
        true => status.completed(spec.completion_count()).len(),
        false => {
            let listed = u32::try_from(status.uncounted_succeeded().len()).unwrap_or(u32::MAX);
            u32::try_from(status.succeeded).unwrap_or(0).saturating_add(listed)
        }
    };
    let Some(missing) = spec.completion_count().map(|count| count.saturating_sub(done)) else { return false };
    let wanted = missing.min(spec.parallelism_count()) as usize;
    let room = scope.refused.iter().filter_map(|refusal| refusal.most_pods()).min();
    let active = job_state.pods.iter().filter(|pod| job_state.ghost.owns(pod) && pod.is_active()).count();
    active < room.map_or(wanted, |room| wanted.min(room))
}

/// S-03: whether a verdict rests on a pod that is not stored yet, which is kept until it is.
fn is_proof(pod: &Pod, job: &Job) -> bool {
    !job.status.is_decided() && fail_job_message(pod).is_some()
}

/// What a Job lacks that need not finish now: it wants no pods, or the API server refuses what its end takes.
fn idle_lack(
    job: &Job,
    job_state: &JobState,
    scope: &Scope,
    blocked: Option<Blocked>,
) -> Option<(Option<Req>, &'static str)> {
    let spared = |pod: &Pod| blocked.is_none_or(|blocked| blocked.spares(pod));
    let listed = |pod: &Pod| job.status.is_recorded(pod.uid);
    let kept =
        job_state.pods.iter().filter(|pod| listed(pod) && (!spared(pod) || is_proof(pod, job))).count();
    let is_active = |pod: &Pod| job_state.ghost.owns(pod) && pod.is_active() && spared(pod);
    // BI-08: the last failed pod of an index waits for a replacement.
    let waits = |pod: &Pod| job.spec.backoff_limit_per_index.is_some() && pod.phase == Phase::Failed;
    let unaccounted =
        |pod: &Pod| pod.finalizer && pod.is_terminated() && !waits(pod) && spared(pod) && !is_proof(pod, job);
    match () {
        () if job.status.is_decided() && blocked.is_none() => {
            Some((None, "the end of the Job is announced, and does not come"))
        }
        () if job_state.pods.iter().any(unaccounted) => {
            Some((Some(Req::FT01), "a pod that has ended keeps its finalizer"))
        }
        () if job.status.recorded() > kept => Some((Some(Req::FT02), "pods are listed that no counter has")),
        () if job.spec.is_suspended() && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::SU01), "the Job is suspended, and a pod is active"))
        }
        () if is_idle(job) && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::PC04), "the Job wants no pods, and a pod is active"))
        }
        () if blocked.is_some() && job.status.is_decided() && job_state.pods.iter().any(is_active) => {
            Some((Some(Req::TC07), "the end of the Job is announced, and a pod is active"))
        }
        () if lacks_pods(job, job_state, scope) => Some((
            Some(Req::PC08),
            "a pod is wanted that nothing keeps from being created, and there is none",
        )),
        () => untrue(&job.status, job_state),
    }
}

fn is_own(job_state: &JobState) -> bool {
    job_state.job.as_ref().is_some_and(|job| job_state.manager.gates.read(job).is_managed_by_built_in())
}

/// PC-11: pods are wanted, none is there, and nothing will wake the controller.
fn is_forgotten(job_state: &JobState) -> bool {
    let wakes = job_state.processes.iter().any(|process| process.wake.is_some());
    is_quiet(job_state) && !wakes && job_state.pods.iter().all(Pod::is_terminated)
}

/// PC-01 to PC-03, RP-08: the numbers at rest are those of the pods.
fn untrue(status: &JobStatus, job_state: &JobState) -> Option<(Option<Req>, &'static str)> {
    let count = |which: fn(&Pod) -> bool| {
        i32::try_from(job_state.pods.iter().filter(|pod| job_state.ghost.owns(pod) && which(pod)).count())
            .unwrap_or(i32::MAX)
    };
    match () {
        () if status.active != count(Pod::is_active) => {
            Some((Some(Req::PC01), "active is not the number of active pods"))
        }
        () if status.ready.unwrap_or(0) != count(Pod::is_ready) => {
            Some((Some(Req::PC03), "ready is not the number of ready pods"))
        }
        () if status.terminating.unwrap_or(0) != count(Pod::is_terminating) => {
            Some((Some(Req::RP08), "terminating is not the number of terminating pods"))
        }
        () => None,
    }
}

/// By the clock of whoever deletes expired Jobs.
fn has_expired(job: &Job, world: &World, scope: &Scope) -> bool {
    expiry(job).is_some_and(|end| clock(world.now, scope) >= end)
}

fn is_late(job: &Job, world: &World) -> bool {
    let started = job.status.start_time.zip(job.spec.active_deadline_seconds);
    started.is_some_and(|(start, deadline)| world.now.since(start) >= deadline)
}
