//! A Job never comes to a standstill.

use crate::algorithm::ttl::clock;
use crate::guards::ttl::expiry;
use crate::job::Job;
use crate::scope::Scope;
use crate::script::shortfall;
use crate::step::Step;
use crate::world::{Life, World};

/// What a report calls it.
pub const STANDSTILL: &str = "no Job comes to a standstill";

/// Why a world in which only these steps are possible is one where a Job got stuck. This is not liveness:
/// controllers that go round in circles are not found. Nor is a Job stuck that
/// waits for a time, or for a pod, which the scope does not have any more.
#[must_use]
pub fn standstill(world: &World, steps: &[Step], scope: &Scope) -> Option<String> {
    if let Some(script) = &scope.script {
        return shortfall(script, world, steps, scope).map(|found| found.why);
    }
    if steps.is_empty() && world.lives.iter().any(|life| is_forgotten(life, world, scope)) {
        return Some("nothing can happen any more, and a Job whose TTL has passed is still there".to_owned());
    }
    let time_is_up = scope.ticks > 0 && world.now.0 >= scope.ticks;
    if !steps.is_empty() || time_is_up {
        return None;
    }
    let stuck = world.lives.iter().find(|life| is_unfinished(life) && has_room(life, scope))?;
    let job = stuck.job.as_ref()?;
    Some(format!("nothing can happen any more, and {} {}", job.name, predicament(job, stuck)))
}

/// What a Job that is stuck waits for.
fn predicament(job: &Job, life: &Life) -> String {
    if !job.deleting {
        return "is not finished".to_owned();
    }
    match life.pods.iter().find(|pod| pod.finalizer) {
        Some(pod) => {
            format!(
                "is being deleted and does not go: pod {} holds batch.kubernetes.io/job-tracking",
                pod.uid.0
            )
        }
        None => "is being deleted and does not go".to_owned(),
    }
}

/// TT-14.
fn is_forgotten(life: &Life, world: &World, scope: &Scope) -> bool {
    let expired = |job: &Job| expiry(job).is_some_and(|end| end <= clock(world.now, scope));
    life.ttl.is_some() && life.job.as_deref().is_some_and(|job| !job.deleting && expired(job))
}

/// Whether no bound on pods is reached.
fn has_room(life: &Life, scope: &Scope) -> bool {
    life.past.pods.len() < scope.pods && usize::from(life.past.strangers) < scope.pods
}

/// Whether somebody would still wait for this Job.
fn is_unfinished(life: &Life) -> bool {
    life.job.as_ref().is_some_and(|job| {
        let idle = job.spec.is_suspended() || job.spec.parallelism_count() == 0;
        // MB-11: for the Job of another manager nobody need do anything.
        let own = life.manager.gates.read(job).is_managed_by_built_in();
        job.deleting || (!job.status.is_finished() && !idle && own)
    })
}
