//! The TTL-after-finished controller of the specification: its one request, with its guards and its effect.

use std::sync::Arc;

use crate::ghost::TtlDeletion;
use crate::scope::Scope;
use crate::world::{JobId, JobState, TtlDriver, World};
use jobcheck_spec::apiserver::{Propagation, deleted};
use jobcheck_spec::guards::ttl::{JobDeletion, judge_ttl_deletion};
use jobcheck_spec::job::Job;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// Returns true if the specification deletes expired Jobs in this scope, and admits the DELETE of this one.
#[must_use]
pub fn is_enabled(world: &World, id: JobId, scope: &Scope) -> bool {
    let job_state = world.job_state(id);
    let (TtlDriver::Specification, Some(job)) = (&job_state.ttl, &job_state.job) else { return false };
    let has_ttl = job.spec.ttl_seconds_after_finished.is_some();
    has_ttl && !job.deleting && scope.admits(&judge(world, id))
}

/// Judges the DELETE. The controller has just read the stored Job (TT-06).
#[must_use]
pub fn judge(world: &World, id: JobId) -> Findings {
    let mut findings = Findings::new();
    if let Some(job) = &world.job_state(id).job {
        let deletion = JobDeletion {
            propagation: Some("Foreground".to_owned()),
            uid_precondition: Some(job.uid),
            request_known: true,
            latest: Some(world.now),
        };
        judge_ttl_deletion(&[job], &deletion, &mut findings);
    }
    findings
}

/// Deletes the Job in the foreground: it stays until its pods are gone.
pub fn apply(world: &mut World, id: JobId, scope: &Scope) {
    let now = world.now;
    let job_state = world.job_state_mut(id);
    let Some(job) = job_state.job.clone() else { return };
    job_state.ghost.ttl_deletion = Some(ttl_deletion(job_state, std::slice::from_ref(&job), now));
    job_state.set_job(deleted(&job, Propagation::Foreground), scope.job_lag);
}

/// The history of a deletion. `held` are the versions that etcd has held since the controller read the Job.
fn ttl_deletion(job_state: &JobState, held: &[Arc<Job>], clock: Time) -> TtlDeletion {
    let ended = job_state.ghost.ending.as_ref().and_then(|ending| ending.finished_at);
    let expired = |job: &Arc<Job>| {
        let ttl = job.spec.ttl_seconds_after_finished.map(i64::from);
        ended.zip(ttl).is_some_and(|(ended, ttl)| clock >= ended.plus(ttl))
    };
    TtlDeletion { finished: job_state.ghost.ending.is_some(), expired: held.iter().any(expired) }
}

/// A DELETE by a TTL-after-finished controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The UID that is a precondition, if one is.
    pub uid: Option<Uid>,
    /// True if it is a precondition that the Job has not changed since it was read (TT-06).
    pub if_unchanged: bool,
    /// True if the propagation policy is Foreground, false if it is Background.
    pub foreground: bool,
}

impl Request {
    /// The propagation policy.
    #[must_use]
    pub fn propagation(&self) -> &'static str {
        if self.foreground { "Foreground" } else { "Background" }
    }

    /// Returns true if the preconditions hold for this Job. `held` are the versions that etcd has held since
    /// the controller read it.
    #[must_use]
    pub fn fits(&self, job: &Job, held: &[Arc<Job>]) -> bool {
        let unchanged = held.len() <= 1 || !self.if_unchanged;
        self.uid.is_none_or(|uid| uid == job.uid) && unchanged
    }
}

/// Commits a DELETE, which is judged by the versions that etcd has held since the controller's GET. Returns
/// true if the preconditions held.
pub fn carry_out(
    job_state: &mut JobState,
    request: &Request,
    held: &[Arc<Job>],
    clock: Time,
    scope: &Scope,
) -> bool {
    let Some(job) = job_state.job.clone().filter(|job| request.fits(job, held)) else { return false };
    let findings = judge_request(request, held, clock);
    let broken = scope.verdict(findings).map(|broken| broken.req);
    job_state.ghost.objection = job_state.ghost.objection.or(broken);
    if !job.deleting {
        job_state.ghost.ttl_deletion = Some(ttl_deletion(job_state, held, clock));
    }
    let asked = if request.foreground { Propagation::Foreground } else { Propagation::Background };
    let after = deleted(&job, asked);
    // A second DELETE changes what happens to the pods, or nothing.
    if after.as_ref() != Some(&*job) {
        job_state.set_job(after, scope.job_lag);
    }
    true
}

/// Judges a DELETE by the versions that etcd has held since the controller's GET.
#[must_use]
pub fn judge_request(request: &Request, held: &[Arc<Job>], clock: Time) -> Findings {
    let deletion = JobDeletion {
        propagation: Some(request.propagation().to_owned()),
        uid_precondition: request.uid,
        request_known: true,
        latest: Some(clock),
    };
    let mut findings = Findings::new();
    let readable: Vec<&Job> = held.iter().map(AsRef::as_ref).collect();
    judge_ttl_deletion(&readable, &deletion, &mut findings);
    findings
}
