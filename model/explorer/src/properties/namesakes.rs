//! Jobs that are created again under their name.

use super::Property;
use crate::process::state::Process;
use crate::world::Life;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::Job;

/// BO-06: nothing that belonged to a former Job of the name holds the new one up.
pub const NO_DELAY_IS_INHERITED: Property = Property {
    req: Req::BO06,
    name: "a Job that is created again does not wait for its first pod",
    broken: |life| {
        let rests = !life.processes.is_empty() && life.processes.iter().all(has_seen_all_and_rests);
        (is_unserved(life) && rests).then(|| "its controller rests, and it never had a pod".to_owned())
    },
    premise: |it| is_unserved(it.life) && !it.life.processes.is_empty(),
};

/// Whether a Job of a name that others had before wants a pod, and never had any.
fn is_unserved(life: &Life) -> bool {
    let wants = |job: &Job| {
        let spec = &job.spec;
        let over = job.deleting || job.status.is_decided() || job.status.is_finished();
        !over && !spec.is_suspended() && spec.parallelism_count() > 0 && spec.completions != Some(0)
    };
    life.past.incarnation > 0 && life.past.pods.is_empty() && life.read_job().is_some_and(|job| wants(&job))
}

fn has_seen_all_and_rests(process: &Process) -> bool {
    let has_seen_all = process.job_behind.is_empty() && process.knowledge.behind.is_empty();
    has_seen_all && process.sync.is_none() && !process.queued
}
