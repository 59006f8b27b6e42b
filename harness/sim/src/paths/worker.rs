//! A process of the shipped Job controller, driven by the steps of a path: caches, syncs, and the order and the outcomes of
//! requests.

use std::sync::Arc;

use jobcheck_adapter::sync::options;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::Response;
use jobcheck_controller::job::call::{Call, Written};
use jobcheck_controller::job::command::PodRef;
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::Settings;
use jobcheck_explorer::process::io::{self, Answer, CallName, Wait};
use jobcheck_explorer::process::state::Process;
use jobcheck_explorer::process::steps::{RequestOutcome, exceeds_pod_bound};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Time;

use super::Rig;
use super::bench::{Bench, KnownPod, Replica, Stop, differs};
use super::environment::{GONE, is_free};
use crate::calls::{CallRequest, Sync, number as number_of};
use crate::process::time;

/// The state of a Job controller for one Job.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The settings.
    pub settings: Arc<Settings>,
    /// The in-memory expectations and other memory.
    pub memory: Memory,
    /// The newest versions of the Job and of its pods in responses (SY-03).
    pub written: (u64, u64),
    /// The plan in progress.
    pub sync: Option<Sync>,
    /// The inputs of that plan, except the caches.
    pub began: Option<SyncStart>,
    /// The time of the next sync.
    pub wake: Option<Time>,
    /// True if the GET before adoptions found no such Job. The plan has ended then, while each adoption fails
    /// separately in the model.
    pub adoption_job_missing: bool,
    /// The reason why the process may decide differently from the path: it has read something that the model does
    /// not show.
    pub excuse_reason: Option<&'static str>,
}

/// The inputs of a plan, except the caches.
#[derive(Clone, Debug)]
pub struct SyncStart {
    /// The memory.
    pub memory: Memory,
    /// The time of the next sync.
    pub wake: Option<Time>,
    /// The time of the model.
    pub now: Time,
}

impl Worker {
    /// Returns a new process.
    #[must_use]
    pub fn started(scope: &Scope, process: &Process) -> Worker {
        Worker {
            settings: Arc::new(options(&scope.constants, process.knowledge.gates)),
            memory: Memory::default(),
            written: (0, 0),
            sync: None,
            began: None,
            wake: None,
            adoption_job_missing: false,
            excuse_reason: None,
        }
    }

    /// Records the reason why the process may decide differently from the path, if there is one.
    pub fn excuse(&mut self, why: Option<&'static str>) {
        self.excuse_reason = self.excuse_reason.or(why);
    }

    /// The names of the calls that can be sent next. Equal creations have the same name.
    fn open(&self, replica: &[KnownPod]) -> Result<Vec<CallName>, Stop> {
        let Some(sync) = &self.sync else { return Ok(Vec::new()) };
        let mut names = sync.open().iter().map(|call| named(call, replica)).collect::<Result<Vec<_>, _>>()?;
        names.sort_unstable();
        Ok(names)
    }

    /// Returns true if the next call is the GET before an adoption, which is one step with the adoption in the
    /// model.
    fn is_adoption_read(&self) -> bool {
        self.sync.as_ref().is_some_and(|sync| matches!(sync.open(), [Call::ReadJob]))
    }
}

/// The name of a call in the model.
fn named(call: &Call, pods: &[KnownPod]) -> Result<CallName, Stop> {
    let uid = |pod: &PodRef| {
        let known = pods.iter().find(|known| *known.name == *pod.name);
        known.map(|known| known.uid).ok_or_else(|| Stop::Differs(format!("the path has no pod {}", pod.name)))
    };
    Ok(match call {
        Call::ReadJob => return differs("the process reads the Job, and the path has another call"),
        Call::WriteStatus(..) => CallName::WriteStatus,
        Call::CreatePod(pod, _) => CallName::CreatePod(pod.index.unwrap_or(0)),
        Call::RemoveFinalizer(release) => CallName::RemoveFinalizer(uid(&release.pod)?),
        Call::DeletePod(pod) => CallName::DeletePod(uid(pod)?),
        Call::AdoptPod(pod) => CallName::AdoptPod(uid(pod)?),
        Call::ReleasePod(pod) => CallName::ReleasePod(uid(pod)?),
    })
}

/// The name of a call, where equal creations have the same name.
fn normal(name: CallName, process: &Process) -> CallName {
    let CallName::CreatePod(_) = name else { return name };
    let Some(Wait::Calls(calls)) = process.sync.as_ref().map(|sync| &sync.wait) else { return name };
    let call = calls.iter().find(|call| call.name() == name);
    call.map_or(name, called)
}

fn called(call: &io::Call) -> CallName {
    match call {
        io::Call::CreatePod(_, pod) => CallName::CreatePod(pod.index.unwrap_or(0)),
        other => other.name(),
    }
}

/// The response of a request that was not carried out.
#[must_use]
pub fn failure() -> Response {
    Response { outcome: Err(ApiError::internal("injected: nothing was done")), warnings: Vec::new() }
}

/// The process with this number.
///
/// # Errors
///
/// There is no such process.
pub fn worker(replica: &mut Replica, number: usize) -> Result<&mut Worker, Stop> {
    replica.workers.get_mut(number).ok_or_else(|| Stop::Differs("there is no such process".to_owned()))
}

/// Replays a request of a sync with its outcome.
///
/// # Errors
///
/// The process does not send the request, or its response differs from the path.
pub fn call(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    (name, outcome): (CallName, RequestOutcome),
    (before, after): (&World, &World),
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    let process = &before.job_state(id).processes()[number];
    let Some(sent) = take(bench, id, number, normal(name, process))? else { return Ok(()) };
    let mut request = sent.request.clone();
    if let Some(tamper) = rig.tamper {
        tamper(&mut request);
    }
    let handled = (outcome != RequestOutcome::Fails).then(|| bench.ask(&request));
    if let Some(response) = &handled {
        add_created_pod(bench, id, response, (before, after), scope)?;
    }
    let answer = match outcome {
        RequestOutcome::Handled => handled,
        RequestOutcome::Fails => Some(failure()),
        RequestOutcome::ResponseLost => None,
    };
    if answer.as_ref().is_some_and(|answer| answer.code() == 404) && concerns_removed_pod(name, before, id) {
        return Err(Stop::Cut(GONE));
    }
    check_answer(process, &after.job_state(id).processes()[number], name, answer.as_ref())?;
    let now = time(bench.now);
    let worker = worker(bench.replica_mut(id), number)?;
    let Some(sync) = &mut worker.sync else { return Ok(()) };
    let written = sync.answered(&sent, answer.as_ref(), now);
    worker.memory = sync.memory().clone();
    let (jobs, pods) = &mut worker.written;
    match written {
        Some(Written::Job(version)) => *jobs = number_of(&version).max(*jobs),
        Some(Written::Pod(version)) => *pods = number_of(&version).max(*pods),
        // The model starts no sync before the caches show the stored objects.
        Some(Written::Unknown) | None => {}
    }
    Ok(())
}

/// Returns true if a request concerns a pod that the server may have removed and the model still has.
fn concerns_removed_pod(name: CallName, before: &World, id: JobId) -> bool {
    let (CallName::DeletePod(uid)
    | CallName::RemoveFinalizer(uid)
    | CallName::AdoptPod(uid)
    | CallName::ReleasePod(uid)) = name
    else {
        return false;
    };
    before.job_state(id).pods.get(uid).is_some_and(is_free)
}

/// Starts the call with this name. `None` if the plan has ended while the model's adoptions fail one by one.
fn take(bench: &mut Bench, id: JobId, number: usize, name: CallName) -> Result<Option<CallRequest>, Stop> {
    look(bench, id, number)?;
    let replica = bench.replica_mut(id);
    let pods = &replica.pods;
    let worker = replica.workers.get_mut(number);
    let Some(worker) = worker else { return differs("there is no such process") };
    if worker.adoption_job_missing && matches!(name, CallName::AdoptPod(_)) {
        return Ok(None);
    }
    let Some(sync) = &mut worker.sync else {
        return differs(format!("no sync is running that could make the call {name:?}"));
    };
    let mut place = None;
    for (number, call) in sync.open().iter().enumerate() {
        if named(call, pods)? == name {
            place = Some(number);
            break;
        }
    }
    match place.and_then(|place| sync.take(place)) {
        Some(sent) => Ok(Some(sent)),
        None => differs(format!("the process does not make the call {name:?}")),
    }
}

/// Replays the GET before adoptions, which is one step with the first adoption in the model.
fn look(bench: &mut Bench, id: JobId, number: usize) -> Result<(), Stop> {
    if !worker(bench.replica_mut(id), number)?.is_adoption_read() {
        return Ok(());
    }
    let look = worker(bench.replica_mut(id), number)?.sync.as_mut().and_then(|sync| sync.take(0));
    let Some(look) = look else { return Ok(()) };
    let response = bench.ask(&look.request);
    let now = time(bench.now);
    let worker = worker(bench.replica_mut(id), number)?;
    let Some(sync) = &mut worker.sync else { return Ok(()) };
    sync.answered(&look, Some(&response), now);
    worker.adoption_job_missing = sync.open().is_empty();
    Ok(())
}

/// Adds the created pod: the new one in the path.
fn add_created_pod(
    bench: &mut Bench,
    id: JobId,
    response: &Response,
    (before, after): (&World, &World),
    scope: &Scope,
) -> Result<(), Stop> {
    if response.code() != 201 {
        return Ok(());
    }
    let old = &before.job_state(id).pods;
    let created = after.job_state(id).pods.iter().find(|pod| old.get(pod.uid).is_none());
    let Some(created) = created.map(|pod| pod.uid) else {
        return differs("a pod was created that the path lacks");
    };
    bench.add_created_pod(id, created, response, scope);
    Ok(())
}

/// Compares the response with the path. A finished sync of the path has no responses.
fn check_answer(
    before: &Process,
    after: &Process,
    name: CallName,
    answer: Option<&Response>,
) -> Result<(), Stop> {
    let stage = before.sync.as_ref().map(|sync| sync.replies.stage);
    let Some((stage, sync)) = stage.zip(after.sync.as_ref()) else { return Ok(()) };
    let Some(expected) = sync.replies.answers.get(&(stage, name)) else { return Ok(()) };
    let code = answer.map(Response::code);
    let found = match code {
        Some(200..300) => Answer::Done,
        Some(404) => Answer::NotFound,
        Some(403) => Answer::NamespaceTerminating,
        _ => Answer::Error,
    };
    if found == *expected {
        Ok(())
    } else {
        differs(format!("{name:?} gets the response {code:?}, the path has {expected:?}"))
    }
}

/// Replays a crash of the process during this request.
///
/// # Errors
///
/// The process does not send the request.
pub fn crash(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    in_flight: Option<CallName>,
    (before, after): (&World, &World),
    scope: &Scope,
) -> Result<(), Stop> {
    if let Some(name) = in_flight {
        let name = normal(name, &before.job_state(id).processes()[number]);
        let call = take(bench, id, number, name)?;
        bench.replica_mut(id).delayed = call.map(|sent| sent.request);
    }
    let started = Worker::started(scope, &after.job_state(id).processes()[number]);
    *worker(bench.replica_mut(id), number)? = started;
    Ok(())
}

/// Replays the handling of a delayed request, unless the scope's bound on pods prevents it.
///
/// # Errors
///
/// A pod is created that the path does not have.
pub fn deliver_delayed(
    bench: &mut Bench,
    id: JobId,
    (before, after): (&World, &World),
    scope: &Scope,
) -> Result<(), Stop> {
    let job_state = before.job_state(id);
    let held = job_state.delayed().is_some_and(|delayed| exceeds_pod_bound(job_state, &delayed.call, scope));
    let Some(request) = bench.replica_mut(id).delayed.take().filter(|_| !held) else { return Ok(()) };
    let response = bench.ask(&request);
    add_created_pod(bench, id, &response, (before, after), scope)
}

/// Compares the next calls of the process with the path.
///
/// # Errors
///
/// They differ.
pub fn check(bench: &mut Bench, id: JobId, number: usize, after: &World) -> Result<(), Stop> {
    let process = &after.job_state(id).processes()[number];
    let replica = bench.replica_mut(id);
    let pods = &replica.pods;
    let Some(worker) = replica.workers.get_mut(number) else { return differs("there is no such process") };
    if worker.wake.is_some_and(|wake| wake <= after.now) {
        worker.wake = None;
    }
    if worker.wake != process.wake {
        return differs(format!("the process wakes at {:?}, the path has {:?}", worker.wake, process.wake));
    }
    let mut wanted: Vec<CallName> = match process.sync.as_ref().map(|sync| &sync.wait) {
        Some(Wait::Choice(_)) => return Ok(()),
        Some(Wait::Calls(calls)) => calls.iter().map(called).collect(),
        None => Vec::new(),
    };
    wanted.sort_unstable();
    let adopts = |name: &CallName| matches!(name, CallName::AdoptPod(_));
    if wanted.iter().any(adopts) && (worker.is_adoption_read() || worker.adoption_job_missing) {
        return Ok(());
    }
    let open = worker.open(pods)?;
    if open != wanted {
        return differs(format!("the process makes the calls {open:?}, the path has {wanted:?}"));
    }
    if process.sync.is_none()
        && let Some(sync) = worker.sync.take()
        && sync.has_failed()
        && !process.queued
    {
        return differs("the sync has failed, and the path does not retry it");
    }
    Ok(())
}
