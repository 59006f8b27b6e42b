//! The TTL-after-finished controller: its one write, guard and effect.

use crate::apiserver::{Propagation, finalizers_after_delete};
use crate::guards::ttl::{JobDeletion, judge_ttl_deletion};
use crate::job::Job;
use crate::past::Removal;
use crate::requirement::Findings;
use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobId, World};

/// The DELETE, where the specification admits it.
pub fn enabled(world: &World, id: JobId, scope: &Scope, steps: &mut Vec<Step>) {
    let Some(job) = &world.life(id).job else { return };
    let concerned = job.spec.ttl_seconds_after_finished.is_some();
    if concerned && !job.deleting && scope.admits(&judge(world, id)) {
        steps.push(Step::Expire(id));
    }
}

/// Judges the DELETE by the stored Job: the controller has just read it afresh (TT-06).
#[must_use]
pub fn judge(world: &World, id: JobId) -> Findings {
    let mut findings = Findings::new();
    if let Some(job) = &world.life(id).job {
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

/// The Job waits for its pods.
pub fn apply(world: &mut World, id: JobId, scope: &Scope) {
    let now = world.now;
    let life = world.life_mut(id);
    let Some(job) = life.job.clone() else { return };
    let ttl = job.spec.ttl_seconds_after_finished.map_or(i64::MAX, i64::from);
    let ended = life.past.ending.as_ref().and_then(|ending| ending.said);
    life.past.removal = Some(Removal {
        finished: ended.is_some(),
        expired: ended.is_some_and(|ended| now >= ended.plus(ttl)),
    });
    life.set_job(Some(deleted_in_foreground(&job)), scope.job_lag);
}

/// The Job after a DELETE in the foreground.
#[must_use]
pub fn deleted_in_foreground(job: &Job) -> Job {
    let finalizers = finalizers_after_delete(Some(Propagation::Foreground), job);
    Job { deleting: true, finalizers, generation: job.generation + 1, ..job.clone() }
}
