//! The replay of one step, with the comparison.

use std::sync::Arc;

use jobcheck_explorer::process::steps::ProcessStep;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::{JobId, JobState, World};

use super::bench::{Bench, Stop, differs, timestamp};
use super::compare::compare;
use super::worker::Worker;
use super::{Rig, environment, orphan, sync, ttl, worker};

/// Replays a step, and compares the result with the path.
///
/// # Errors
///
/// The path ends, or the result differs from it.
pub fn replay(
    bench: &mut Bench,
    step: &Step,
    (before, after): (&World, &World),
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    clear_excuses(bench);
    let was_misled = excuse_reason(bench);
    let came = step_and_compare(bench, step, (before, after), scope, rig);
    match (came, was_misled.or_else(|| excuse_reason(bench))) {
        (Err(Stop::Differs(_)), Some(why)) => Err(Stop::Cut(why)),
        (came, _) => came,
    }
}

/// Clears the excuses of finished syncs.
fn clear_excuses(bench: &mut Bench) {
    for worker in bench.replicas.iter_mut().flat_map(|replica| &mut replica.workers) {
        let is_of_a_sync = |why: &str| [sync::POD_REMOVED, sync::TIMES].contains(&why);
        worker.excuse_reason = worker.excuse_reason.filter(|why| !is_of_a_sync(why) || worker.sync.is_some());
    }
}

/// The reason why a process may decide differently from the path, if there is one.
fn excuse_reason(bench: &Bench) -> Option<&'static str> {
    bench.replicas.iter().flat_map(|replica| &replica.workers).find_map(|worker| worker.excuse_reason)
}

fn step_and_compare(
    bench: &mut Bench,
    step: &Step,
    (before, after): (&World, &World),
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    bench.now = timestamp(after.now);
    let revision = bench.server.revision();
    perform(bench, step, (before, after), scope, rig)?;
    for (id, job_state) in after.numbered() {
        note(bench, id, before.job_state(id), job_state);
        if job_state.ttl.controller().is_some() {
            ttl::look(bench, id, after);
        }
        for number in 0..job_state.processes().len() {
            worker::check(bench, id, number, after)?;
        }
        if bench.replica(id).workers.len() != job_state.processes().len() {
            return differs("the number of processes differs");
        }
        if bench.server.revision() != revision || has_changed(before.job_state(id), job_state) {
            compare(bench, id, after, scope, rig)?;
        }
    }
    Ok(())
}

fn perform(
    bench: &mut Bench,
    step: &Step,
    worlds: (&World, &World),
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    let (before, after) = worlds;
    match step {
        Step::Kubelet(id, uid, what) => environment::kubelet(bench, *id, *uid, *what, before),
        Step::Disrupt(id, uid, what) => environment::disrupt(bench, *id, *uid, *what, before),
        Step::User(id, _, what) => environment::user(bench, *id, what, worlds, scope),
        Step::Collect(id, uid) => environment::collect(bench, *id, *uid, before, scope),
        Step::RemoveJob(id) => environment::remove_job(bench, *id, before, scope),
        Step::Expire(id) => ttl::expire(bench, *id, rig),
        Step::Ttl(id, what) => ttl::step(bench, *id, *what, after, scope, rig),
        Step::Process(id, number, what) => {
            process(bench, *id, usize::from(*number), *what, worlds, scope, rig)
        }
        Step::HandleDelayed(id) => worker::deliver_delayed(bench, *id, worlds, scope),
        Step::Rollout(id) => worker::crash(bench, *id, 0, None, worlds, scope),
        Step::Tick => Ok(()),
        Step::Write(..) | Step::ShowPod(_) | Step::ShowJob(_) | Step::Crash(_) | Step::Proceed => {
            differs("no algorithm takes such a step")
        }
    }
}

fn process(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    what: ProcessStep,
    worlds: (&World, &World),
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    let (before, after) = worlds;
    match what {
        ProcessStep::Sync(_) => sync::start(bench, id, number, after, rig),
        ProcessStep::Choose(uid) => sync::choose(bench, id, number, uid, before, scope, rig),
        ProcessStep::Call(name, outcome) => {
            worker::call(bench, id, number, (name, outcome), worlds, scope, rig)
        }
        ProcessStep::Orphan(uid, outcome) => {
            orphan::step(bench, id, number, (uid, outcome), before, scope, rig)
        }
        // The contents of caches follow from the lag in the path.
        ProcessStep::ShowPod | ProcessStep::ShowJob | ProcessStep::RelistPods | ProcessStep::RelistJobs => {
            Ok(())
        }
        ProcessStep::Crash => worker::crash(bench, id, number, None, worlds, scope),
        ProcessStep::CrashInFlight(name) => worker::crash(bench, id, number, Some(name), worlds, scope),
        ProcessStep::ElectSecondLeader => {
            let second = after.job_state(id).processes().last();
            let second = second.map(|process| Worker::started(scope, process));
            bench.replica_mut(id).workers.extend(second);
            Ok(())
        }
        ProcessStep::StopOldLeader => {
            bench.replica_mut(id).workers.remove(number);
            Ok(())
        }
    }
}

/// Records the changes that caches may lack.
fn note(bench: &mut Bench, id: JobId, before: &JobState, after: &JobState) {
    let revision = bench.server.revision();
    let (jobs, pods) = changes(before, after);
    let replica = bench.replica_mut(id);
    replica.job_log.extend(jobs.then_some(revision));
    replica.pod_log.extend(pods.then_some(revision));
}

/// Returns true for the Job and for pods if they have changed.
fn changes(before: &JobState, after: &JobState) -> (bool, bool) {
    let same_job = match (&before.job, &after.job) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after),
        (None, None) => true,
        _ => false,
    };
    (!same_job, !Arc::ptr_eq(&before.pods, &after.pods) && before.pods != after.pods)
}

fn has_changed(before: &JobState, after: &JobState) -> bool {
    let (job, pods) = changes(before, after);
    job || pods
}
