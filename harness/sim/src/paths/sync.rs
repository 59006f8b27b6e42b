//! The begin of a sync: its reads, and the order of equal pods in its plan.

use std::sync::Arc;

use jobcheck_adapter::mutations::plan_with;
use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::{JobFacts, Observed, PodFacts};
use jobcheck_controller::values;
use jobcheck_explorer::process::state::Process;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::{Time, Uid};
use serde_json::Value;

use super::Rig;
use super::bench::{Bench, Replica, Stop, differs, timestamp};
use super::environment::is_free;
use super::read::ReadJob;
use super::worker::{SyncStart, Worker, worker};
use crate::calls::Sync;
use crate::process::time;
use crate::readings::matters;

/// The reason of a path's end: the server has removed a pod with its last finalizer, and the model removes it later.
pub const POD_REMOVED: &str =
    "a sync of the path has read a pod that the server has removed with its last finalizer";
/// The reason of a path's end: pods that are equal in the model have different times on the server.
pub const TIMES: &str = "pods that are equal to the path were created at different times";
/// The reason of a path's end: two processes depend on the order of UIDs.
const TWO_PLANS: &str = "the UIDs are in another order, and the plans of two processes depend on it";

/// Begins a sync: reads the caches, and plans.
///
/// # Errors
///
/// The caches do not show the process's own writes, or an object cannot be read.
pub fn start(bench: &mut Bench, id: JobId, number: usize, after: &World, rig: &mut Rig) -> Result<(), Stop> {
    let worker = worker(bench.replica_mut(id), number)?;
    let began = SyncStart { memory: worker.memory.clone(), wake: worker.wake, now: after.now };
    worker.began = Some(began);
    plan(bench, id, number, after, rig)
}

/// Plans with the caches and the memory at the begin of the sync.
fn plan(bench: &mut Bench, id: JobId, number: usize, world: &World, rig: &mut Rig) -> Result<(), Stop> {
    let process = &world.job_state(id).processes()[number];
    let newest = bench.server.revision();
    let replica = bench.replica(id);
    let jobs = replica.job_revision(process.job_behind.len(), newest);
    let pods = replica.pod_revision(process.knowledge.behind.len(), newest);
    let cached = bench.job_at(id, jobs);
    let objects = bench.pods_at(pods);
    let excuse_reason = excuse_for(process, &objects, world, id, bench.replica(id));
    let worker = worker(bench.replica_mut(id), number)?;
    (worker.adoption_job_missing, worker.excuse_reason) = (false, excuse_reason);
    let Some(began) = worker.began.clone() else { return differs("no sync has begun") };
    (worker.sync, worker.wake) = (None, began.wake);
    let Some(job) = cached else {
        worker.memory = Memory::default();
        return Ok(());
    };
    if jobs < worker.written.0 || pods < worker.written.1 {
        return differs("a sync begins before the caches show the writes of its process (SY-03)");
    }
    let job = rig.reader.job(&job).map_err(Stop::Differs)?;
    let seen = read(&objects, &job, rig)?;
    decide(worker, &job, &seen, &began, rig);
    Ok(())
}

/// The pods that the sync reads.
fn read(objects: &[Arc<Value>], job: &ReadJob, rig: &mut Rig) -> Result<Vec<PodFacts>, Stop> {
    let mut seen = Vec::new();
    for object in objects {
        let pod = rig.reader.pod(object).map_err(Stop::Differs)?;
        let facts = pod.facts(&job.facts.uid, &job.selector).map_err(Stop::Differs)?;
        seen.extend(Some(facts).filter(|facts| matters(facts, &job.facts)));
    }
    Ok(seen)
}

fn decide(worker: &mut Worker, job: &ReadJob, pods: &[PodFacts], began: &SyncStart, rig: &Rig) {
    let facts: &JobFacts = &job.facts;
    let plan = plan_with(
        &rig.mutations,
        &Observed {
            job: facts,
            pods,
            memory: &began.memory,
            caches_show_own_writes: true,
            now: time(timestamp(began.now)),
            settings: &worker.settings,
        },
    );
    if let Some(span) = plan.wake_after {
        let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
        let wake = began.now.plus(i64::try_from(seconds).unwrap_or(i64::MAX));
        worker.wake = Some(began.wake.map_or(wake, |known: Time| known.min(wake)));
    }
    worker.memory = plan.memory.clone();
    if !plan.is_empty() {
        worker.sync = Some(Sync::new(facts.clone(), Arc::clone(&job.template), plan));
    }
}

/// The reason why a sync may decide differently from the path, if there is one.
fn excuse_for(
    process: &Process,
    objects: &[Arc<Value>],
    world: &World,
    id: JobId,
    replica: &Replica,
) -> Option<&'static str> {
    let shown = process.cached_pods(&world.job_state(id).pods);
    let is_there = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
    let is_gone = |uid: Uid| !replica.known(uid).is_some_and(|known| is_there(&known.name));
    shown.iter().any(|pod| is_free(pod) && is_gone(pod.uid)).then_some(POD_REMOVED)
}

/// Chooses the first of the pods that a plan takes in the order of their UIDs. If the generated UIDs have another
/// order, two of them are swapped everywhere, and the sync plans again.
///
/// # Errors
///
/// Another process has a plan too, or an object cannot be read.
pub fn choose(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    first: Uid,
    before: &World,
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    let replica = bench.replica(id);
    let sync = before.job_state(id).processes()[number].sync.as_ref();
    let choice = sync.into_iter().flat_map(|sync| sync.choice());
    let known = choice.filter_map(|uid| replica.known(*uid));
    let Some((smallest, stored)) = known.map(|pod| (pod.uid, pod.stored)).min_by_key(|(_, stored)| *stored)
    else {
        return differs("there are no equal pods to choose from");
    };
    let births = sync.into_iter().flat_map(|sync| sync.choice()).filter_map(|uid| bench.pod(id, *uid));
    let mut births = births.map(|pod| pod["metadata"]["creationTimestamp"].clone());
    let oldest = births.next();
    let differ = births.any(|birth| Some(&birth) != oldest.as_ref()) && !scope.has_delays();
    if smallest == first {
        worker(bench.replica_mut(id), number)?.excuse(differ.then_some(TIMES));
        return Ok(());
    }
    let Some(other) = replica.known(first).map(|pod| pod.stored) else {
        return differs(format!("pod {} is not known", first.0));
    };
    let plans = |(place, worker): (usize, &Worker)| place != number && worker.sync.is_some();
    if replica.workers.iter().enumerate().any(plans) {
        return Err(Stop::Cut(TWO_PLANS));
    }
    exchange(bench, id, (stored, other));
    plan(bench, id, number, before, rig)?;
    worker(bench.replica_mut(id), number)?.excuse(differ.then_some(TIMES));
    Ok(())
}

/// Swaps the UIDs of two pods, on the server and in all memory.
fn exchange(bench: &mut Bench, id: JobId, (one, other): (Uid, Uid)) {
    let texts = (one.to_string(), other.to_string());
    bench.server.exchange_uids(&texts.0, &texts.1);
    let replica = bench.replica_mut(id);
    for pod in &mut replica.pods {
        pod.stored = match pod.stored {
            it if it == one => other,
            it if it == other => one,
            it => it,
        };
    }
    let uids = (values::Uid::new(&texts.0), values::Uid::new(&texts.1));
    for worker in &mut replica.workers {
        exchange_memory(&mut worker.memory, &uids);
        worker.began.iter_mut().for_each(|began| exchange_memory(&mut began.memory, &uids));
    }
    if let Some(delayed) = &mut replica.delayed {
        exchange_request(delayed, &texts);
    }
}

fn exchange_memory(memory: &mut Memory, (one, other): &(values::Uid, values::Uid)) {
    for uids in [&mut memory.finalizer_removed, &mut memory.deleted, &mut memory.backoff.pods] {
        match (uids.contains(one), uids.contains(other)) {
            (true, false) => {
                uids.remove(one);
                uids.insert(other.clone());
            }
            (false, true) => {
                uids.remove(other);
                uids.insert(one.clone());
            }
            (true, true) | (false, false) => {}
        }
    }
}

fn exchange_request(request: &mut Request, (one, other): &(String, String)) {
    match &mut request.verb {
        Verb::Create(body) | Verb::Update(body) | Verb::Patch { body, .. } => {
            jobcheck_apiserver::exchange_texts(body, one, other);
        }
        Verb::Delete(options) => {
            let uid = options.preconditions.as_mut().and_then(|it| it.uid.as_mut());
            if let Some(uid) = uid.filter(|uid| *uid == one || *uid == other) {
                *uid = if uid == one { other.clone() } else { one.clone() };
            }
        }
        Verb::Get { .. } | Verb::List(_) | Verb::Watch(_) | Verb::DeleteCollection(..) => {}
    }
}
