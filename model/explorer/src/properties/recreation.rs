//! Jobs that are created again under the same name.

use super::Property;
use crate::process::state::Process;
use crate::world::{Driver, JobState};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::Job;

/// BO-06: a recreated Job inherits no delay, no expectation and no backoff record from a previous Job.
pub const NO_DELAY_IS_INHERITED: Property = Property {
    req: Req::BO06,
    name: "a recreated Job does not wait for its first pod",
    needs_processes: true,
    broken: |job_state| {
        let Driver::Processes { processes, .. } = &job_state.driver else { return None };
        let rests = processes.iter().all(has_seen_all_and_rests);
        (is_unserved(job_state) && rests)
            .then(|| "its controller is idle, but the Job never had a pod".to_owned())
    },
    premise: |it| is_unserved(it.job_state) && matches!(it.job_state.driver, Driver::Processes { .. }),
};

/// Returns true if the Job has a previous Job, wants a pod, and never had one.
fn is_unserved(job_state: &JobState) -> bool {
    let wants = |job: &Job| {
        let spec = &job.spec;
        let over = job.deleting || job.status.is_decided() || job.status.is_finished();
        !over && !spec.is_suspended() && spec.parallelism_count() > 0 && spec.completions != Some(0)
    };
    job_state.ghost.incarnation > 0
        && job_state.ghost.pods.is_empty()
        && job_state.read_job().is_some_and(|job| wants(&job))
}

fn has_seen_all_and_rests(process: &Process) -> bool {
    let has_seen_all = process.job_behind.is_empty() && process.knowledge.behind.is_empty();
    has_seen_all && process.sync.is_none() && !process.queued
}
