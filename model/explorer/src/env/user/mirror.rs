//! A mirror: another manager, which copies the status of a Job from elsewhere (KEP-4368).
//!
//! # Caveats
//!
//! The copied Job always fails by its deadline elsewhere, so that no pod of this cluster is in the reported
//! numbers. The mirror reads the stored Job, and never conflicts.

use super::UserAction;
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::apiserver::{status_updated, would_refuse_status};
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus, Text};
use jobcheck_spec::time::Time;

/// Returns true if the mirror may report this now. It writes to its own Jobs only (MB-09), makes each report
/// once, and writes what the API server accepts.
pub fn is_possible(job: &Job, action: UserAction, scope: &Scope) -> bool {
    let status = &job.status;
    let announced = status.is_true(&ConditionKind::FailureTarget);
    let next = match action {
        UserAction::MirrorStarts => !announced,
        UserAction::MirrorAnnounces => status.start_time.is_some() && !announced,
        _ => announced,
    };
    let own = !job.is_managed_by_built_in() && !status.is_finished();
    own && next && would_refuse_status(&scope.rules, job, &reported(job, action, Time(0))).is_none()
}

/// Stores the report.
pub fn apply(job_state: &mut JobState, action: UserAction, now: Time, scope: &Scope) {
    let Some(job) = job_state.job.clone() else { return };
    let sent = reported(&job, action, now);
    job_state.ghost.status_written(&job.spec, &job.status, &sent.status, &job_state.pods, now);
    job_state.ghost.writers.external = true;
    job_state.set_job(Some(status_updated(&job, &sent)), scope.job_lag);
}

fn reported(job: &Job, action: UserAction, now: Time) -> Job {
    let status = job.status.clone();
    let quiet = JobStatus { active: 0, ready: Some(0), terminating: Some(0), ..status.clone() };
    let status = match action {
        UserAction::MirrorStarts => {
            JobStatus { active: 1, start_time: status.start_time.or(Some(now)), ..quiet }
        }
        UserAction::MirrorAnnounces => with(quiet, ConditionKind::FailureTarget, now),
        _ => with(quiet, ConditionKind::Failed, now),
    };
    Job { status, ..job.clone() }
}

fn with(mut status: JobStatus, kind: ConditionKind, now: Time) -> JobStatus {
    status.conditions.push(Condition {
        kind,
        status: ConditionStatus::True,
        reason: Text::from("DeadlineExceeded"),
        message: Text::from("Job was active longer than specified deadline"),
        last_transition_time: Some(now),
    });
    status
}
