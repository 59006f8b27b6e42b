//! Status writes of a process whose feature gates require no interim condition (UG-07), and its decisions without one.

use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::guards::status::judge_status_write;
use jobcheck_spec::guards::without_interim::{
    Guards, WithoutInterim, job_with_unwritten_decision, unwritten_decision,
};
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::view::View;
use jobcheck_spec::{Findings, Time};

use super::track::Track;

/// Judges a status write against a view, by the gates of its process.
pub fn judge_decision(view: &View<'_>, new: &JobStatus, findings: &mut Findings) {
    if view.gates.delays_terminal_condition() {
        return judge_status_write(view, new, findings);
    }
    let guards = WithoutInterim {
        with_interim: &|job, new, findings| judge_status_write(&View { job, ..*view }, new, findings),
        // This guard concerns the write, not the view.
        truth: &|_, _, _| {},
        unwritten_decision: &|| unwritten_decision(view, now(view)),
    };
    guards.judge(view.job, new, findings);
}

/// Judges a decision that may rest on an outcome that the process has not written.
pub fn with_the_job_in_mind(view: &View<'_>, judge: impl FnOnce(&View<'_>)) {
    match job_with_unwritten_decision(view, now(view)) {
        Some(job) => judge(&View { job: &job, ..*view }),
        None => judge(view),
    }
}

fn now(view: &View<'_>) -> Time {
    view.latest.unwrap_or_default()
}

/// Judges a status write by guards that no stale cache excuses: `truth` for executors, and the contract of all
/// managers.
pub fn judge_truth(
    track: &Track,
    gates: Gates,
    before: &Job,
    new: &JobStatus,
    truth: Guards<'_>,
    findings: &mut Findings,
) {
    let every = |job: &Job, new: &JobStatus, findings: &mut Findings| {
        judge_contract(&job.status, new, track.manager.executor, findings);
        if track.manager.executor {
            truth(job, new, findings);
        }
    };
    if gates.delays_terminal_condition() || !track.manager.executor {
        return every(before, new, findings);
    }
    let guards = WithoutInterim { with_interim: &every, truth: &every, unwritten_decision: &|| None };
    guards.judge(before, new, findings);
}
