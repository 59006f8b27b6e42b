//! A process of the shipped Job controller, moved by what a path says of it: what its caches show, when it syncs, which of
//! its requests is handled next, and what becomes of that.

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
use crate::calls::{Sent, Sync, number as number_of};
use crate::process::time;

/// A process of the Job controller, as far as one Job goes.
#[derive(Clone, Debug)]
pub struct Worker {
    /// What it was started with.
    pub settings: Arc<Settings>,
    /// What it remembers.
    pub memory: Memory,
    /// The newest versions of the Job and of its pods that an answer named (SY-03).
    pub written: (u64, u64),
    /// The plan under way.
    pub sync: Option<Sync>,
    /// What the plan under way was made from, beside the caches.
    pub began: Option<Began>,
    /// When the plan wants to be made again.
    pub wake: Option<Time>,
    /// Whether the Job was found to be gone, or another, before pods were adopted: the plan is over, though to the model
    /// each adoption fails for itself.
    pub looked_in_vain: bool,
    /// Why the process may decide otherwise than the path: what it has read is not what the model shows it.
    pub misled: Option<&'static str>,
}

/// What a plan is made from beside what the caches show.
#[derive(Clone, Debug)]
pub struct Began {
    /// What was remembered.
    pub memory: Memory,
    /// When the process wanted to wake.
    pub wake: Option<Time>,
    /// The clock of the model.
    pub now: Time,
}

impl Worker {
    /// A process that was just started.
    #[must_use]
    pub fn started(scope: &Scope, process: &Process) -> Worker {
        Worker {
            settings: Arc::new(options(&scope.constants, process.knowledge.gates)),
            memory: Memory::default(),
            written: (0, 0),
            sync: None,
            began: None,
            wake: None,
            looked_in_vain: false,
            misled: None,
        }
    }

    /// Notes why it may decide otherwise than the path, if there is a reason.
    pub fn excuse(&mut self, why: Option<&'static str>) {
        self.misled = self.misled.or(why);
    }

    /// The names of the calls that may be made next, those of equal creations the same.
    fn open(&self, replica: &[KnownPod]) -> Result<Vec<CallName>, Stop> {
        let Some(sync) = &self.sync else { return Ok(Vec::new()) };
        let mut names = sync.open().iter().map(|call| named(call, replica)).collect::<Result<Vec<_>, _>>()?;
        names.sort_unstable();
        Ok(names)
    }

    /// Whether the next call is the GET before an adoption, which the model makes one with it.
    fn is_to_look(&self) -> bool {
        self.sync.as_ref().is_some_and(|sync| matches!(sync.open(), [Call::ReadJob]))
    }
}

/// What the model calls a call.
fn named(call: &Call, pods: &[KnownPod]) -> Result<CallName, Stop> {
    let uid = |pod: &PodRef| {
        let known = pods.iter().find(|known| *known.name == *pod.name);
        known.map(|known| known.uid).ok_or_else(|| Stop::Differs(format!("nobody made {}", pod.name)))
    };
    Ok(match call {
        Call::ReadJob => return differs("the Job is asked for where the path has something else"),
        Call::WriteStatus(..) => CallName::WriteStatus,
        Call::CreatePod(pod, _) => CallName::CreatePod(pod.index.unwrap_or(0)),
        Call::RemoveFinalizer(release) => CallName::RemoveFinalizer(uid(&release.pod)?),
        Call::DeletePod(pod) => CallName::DeletePod(uid(pod)?),
        Call::AdoptPod(pod) => CallName::AdoptPod(uid(pod)?),
        Call::ReleasePod(pod) => CallName::ReleasePod(uid(pod)?),
    })
}

/// A name, those of equal creations the same.
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

/// An answer that says that nothing was done.
#[must_use]
pub fn failure() -> Response {
    Response { outcome: Err(ApiError::internal("injected: nothing was done")), warnings: Vec::new() }
}

/// A process of the Job.
///
/// # Errors
///
/// There is none of this number.
pub fn worker(replica: &mut Replica, number: usize) -> Result<&mut Worker, Stop> {
    replica.workers.get_mut(number).ok_or_else(|| Stop::Differs("there is no such process".to_owned()))
}

/// A request of a sync, and what becomes of it.
///
/// # Errors
///
/// The process does not want it, or it is answered otherwise than the path says.
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
        note_birth(bench, id, response, (before, after), scope)?;
    }
    let answer = match outcome {
        RequestOutcome::Handled => handled,
        RequestOutcome::Fails => Some(failure()),
        RequestOutcome::ResponseLost => None,
    };
    if answer.as_ref().is_some_and(|answer| answer.code() == 404) && is_of_a_ghost(name, before, id) {
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
        // The model starts no sync before the caches show what is stored.
        Some(Written::Unknown) | None => {}
    }
    Ok(())
}

/// Whether a request is about a pod that the model still has, and that nothing holds.
fn is_of_a_ghost(name: CallName, before: &World, id: JobId) -> bool {
    let (CallName::DeletePod(uid)
    | CallName::RemoveFinalizer(uid)
    | CallName::AdoptPod(uid)
    | CallName::ReleasePod(uid)) = name
    else {
        return false;
    };
    before.job_state(id).pods.get(uid).is_some_and(is_free)
}

/// The call of this name; none where the model's adoptions fail one by one, and the plan is over.
fn take(bench: &mut Bench, id: JobId, number: usize, name: CallName) -> Result<Option<Sent>, Stop> {
    look(bench, id, number)?;
    let replica = bench.replica_mut(id);
    let pods = &replica.pods;
    let worker = replica.workers.get_mut(number);
    let Some(worker) = worker else { return differs("there is no such process") };
    if worker.looked_in_vain && matches!(name, CallName::AdoptPod(_)) {
        return Ok(None);
    }
    let Some(sync) = &mut worker.sync else {
        return differs(format!("no sync is under way that makes {name:?}"));
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
        None => differs(format!("{name:?} is not wanted")),
    }
}

/// The GET before an adoption, which is one with the first of them in the model.
fn look(bench: &mut Bench, id: JobId, number: usize) -> Result<(), Stop> {
    if !worker(bench.replica_mut(id), number)?.is_to_look() {
        return Ok(());
    }
    let look = worker(bench.replica_mut(id), number)?.sync.as_mut().and_then(|sync| sync.take(0));
    let Some(look) = look else { return Ok(()) };
    let response = bench.ask(&look.request);
    let now = time(bench.now);
    let worker = worker(bench.replica_mut(id), number)?;
    let Some(sync) = &mut worker.sync else { return Ok(()) };
    sync.answered(&look, Some(&response), now);
    worker.looked_in_vain = sync.open().is_empty();
    Ok(())
}

/// The pod that the path has more is the one that was created.
fn note_birth(
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
    let born = after.job_state(id).pods.iter().find(|pod| old.get(pod.uid).is_none());
    let Some(born) = born.map(|pod| pod.uid) else { return differs("a pod was created") };
    bench.note_birth(id, born, response, scope);
    Ok(())
}

/// What the server answers is what the path says, where it says so: a sync that is over keeps no answers.
fn check_answer(
    before: &Process,
    after: &Process,
    name: CallName,
    answer: Option<&Response>,
) -> Result<(), Stop> {
    let stage = before.sync.as_ref().map(|sync| sync.replies.stage);
    let Some((stage, sync)) = stage.zip(after.sync.as_ref()) else { return Ok(()) };
    let Some(said) = sync.replies.answers.get(&(stage, name)) else { return Ok(()) };
    let code = answer.map(Response::code);
    let found = match code {
        Some(200..300) => Answer::Done,
        Some(404) => Answer::NotFound,
        Some(403) => Answer::NamespaceTerminating,
        _ => Answer::Error,
    };
    if found == *said {
        Ok(())
    } else {
        differs(format!("{name:?} is answered with {code:?}, the path says {said:?}"))
    }
}

/// A process dies, with this request on its way, and is started again.
///
/// # Errors
///
/// It does not want the request.
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
        bench.replica_mut(id).late = call.map(|sent| sent.request);
    }
    let started = Worker::started(scope, &after.job_state(id).processes()[number]);
    *worker(bench.replica_mut(id), number)? = started;
    Ok(())
}

/// The request of a dead process reaches the server, unless the scope's bound on pods holds it back.
///
/// # Errors
///
/// A pod is created that the path does not have.
pub fn land(
    bench: &mut Bench,
    id: JobId,
    (before, after): (&World, &World),
    scope: &Scope,
) -> Result<(), Stop> {
    let job_state = before.job_state(id);
    let held = job_state.delayed().is_some_and(|delayed| exceeds_pod_bound(job_state, &delayed.call, scope));
    let Some(request) = bench.replica_mut(id).late.take().filter(|_| !held) else { return Ok(()) };
    let response = bench.ask(&request);
    note_birth(bench, id, &response, (before, after), scope)
}

/// What the process wants next is what the path has next.
///
/// # Errors
///
/// It is not.
pub fn check(bench: &mut Bench, id: JobId, number: usize, after: &World) -> Result<(), Stop> {
    let process = &after.job_state(id).processes()[number];
    let replica = bench.replica_mut(id);
    let pods = &replica.pods;
    let Some(worker) = replica.workers.get_mut(number) else { return differs("there is no such process") };
    if worker.wake.is_some_and(|wake| wake <= after.now) {
        worker.wake = None;
    }
    if worker.wake != process.wake {
        return differs(format!("the process wakes at {:?}, the path says {:?}", worker.wake, process.wake));
    }
    let mut wanted: Vec<CallName> = match process.sync.as_ref().map(|sync| &sync.wait) {
        Some(Wait::Choice(_)) => return Ok(()),
        Some(Wait::Calls(calls)) => calls.iter().map(called).collect(),
        None => Vec::new(),
    };
    wanted.sort_unstable();
    let adopts = |name: &CallName| matches!(name, CallName::AdoptPod(_));
    if wanted.iter().any(adopts) && (worker.is_to_look() || worker.looked_in_vain) {
        return Ok(());
    }
    let open = worker.open(pods)?;
    if open != wanted {
        return differs(format!("the process wants {open:?}, the path has {wanted:?}"));
    }
    if process.sync.is_none()
        && let Some(sync) = worker.sync.take()
        && sync.has_failed()
        && !process.queued
    {
        return differs("the sync has failed, and is not to be tried again");
    }
    Ok(())
}
