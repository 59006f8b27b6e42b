//! Rendering of a behaviour of the world of two clusters ([`jobcheck_managers`]) as native traces, one for each cluster.
//!
//! # Guarantees
//!
//! - Every status of a Job in the traces is the model's, with the times of the trace. UIDs of recorded pods are those of
//!   pods in the trace of the worker.
//! - The traces have one clock. A time of the model is 60 s, which exceeds the skew that the judge grants.
//! - If nothing more has to happen, the traces go on for 160 s in which the manager works, so that the judge sees
//!   quiescence.
//!
//! # Caveats
//!
//! - The executor of a trace has pods, finalizers, and lists of uncounted pods. Steps between which nobody else takes one
//!   become one status write, as far as a Job controller does so.
//! - The model allows an executor more than a Job controller may do. Then the trace of the worker violates, too.
//! - The choice of the dispatcher is in objects that no trace shows, such as Kueue's Workload.
//! - A copy with an origin stores its UID in a label. A manager that finds copies by name stores none.

mod objects;
mod worker;

use std::io;

use jobcheck_judge::replay::Subject;
use jobcheck_managers::executor::Move;
use jobcheck_managers::protocol::Request;
use jobcheck_managers::scope::Scope;
use jobcheck_managers::step::{Caches, Call, Step};
use jobcheck_managers::subject::Mutation;
use jobcheck_managers::world::World;
use jobcheck_spec::Time;
use jobcheck_spec::apiserver::would_refuse_status;
use jobcheck_spec::job::{Job, JobStatus, Uncounted};
use jobcheck_traces::{MarkKind, Resource, Verb};
use serde_json::Value;

use self::objects::{NAME, NAMESPACE};
use self::worker::Worker;
use super::job::{self, Stored};
use super::names::Names;
use super::requests::{conflict, invalid, not_found};
use super::trace_writer::{Exchange, Response, Sender, TraceWriter};

/// The number of requests that show a manager at work at the end of the traces.
const BEATS: usize = 4;
/// The seconds between them.
const BEAT: i64 = 40;

/// The native traces of a behaviour.
#[derive(Clone, Debug)]
pub struct ClusterTraces {
    /// The trace of the manager cluster.
    pub manager: Vec<u8>,
    /// The trace of each worker.
    pub workers: Vec<Vec<u8>>,
}

/// Returns the native traces of a behaviour. Each step must be enabled.
///
/// # Errors
///
/// Never in practice: the traces are written to memory.
pub fn native_clusters(scope: &Scope, path: &[Step]) -> io::Result<ClusterTraces> {
    let world = World::initial(scope);
    let workers: io::Result<Vec<Worker>> =
        (0..scope.workers).map(|_| Ok(Worker::new(begin(scope)?, &scope.rules))).collect();
    let mut renderer = Renderer {
        scope,
        writer: begin(scope)?,
        world,
        local: None,
        former: None,
        workers: workers?,
        copies: 0,
        pods: 0,
    };
    renderer.start_second();
    renderer.create_local()?;
    for (at, step) in path.iter().enumerate() {
        renderer.step(step, &path[at + 1..])?;
    }
    renderer.rest()?;
    let workers: io::Result<Vec<Vec<u8>>> =
        renderer.workers.into_iter().map(|worker| worker.writer.finish()).collect();
    Ok(ClusterTraces { manager: renderer.writer.finish()?, workers: workers? })
}

fn begin(scope: &Scope) -> io::Result<TraceWriter> {
    let subject = Subject { rules: scope.rules, ..Subject::default() };
    TraceWriter::of(subject, scope.name, None)
}

/// The stored local Job, and its version.
struct Record {
    job: Job,
    version: u64,
}

struct Renderer<'a> {
    scope: &'a Scope,
    /// The trace of the manager cluster.
    writer: TraceWriter,
    world: World,
    local: Option<Record>,
    /// The last local Job that was removed.
    former: Option<Record>,
    workers: Vec<Worker>,
    /// The number of Jobs on workers so far.
    copies: usize,
    /// The number of pods so far.
    pods: u128,
}

impl Renderer<'_> {
    /// Writes the requests of a step. `rest` are the steps after it.
    fn step(&mut self, step: &Step, rest: &[Step]) -> io::Result<()> {
        let before = match step {
            Step::Request(caches, _) => self.world.refreshed(*caches),
            _ => self.world.clone(),
        };
        self.world = self.world.apply(step, self.scope);
        self.start_second();
        match step {
            Step::Request(_, call) => self.request(*call, &before)?,
            Step::Execute(worker, it) => {
                let Some(copy) = self.world.workers[*worker].copy else { return Ok(()) };
                let now = self.now();
                self.workers[*worker].execute(
                    *it,
                    &copy.status,
                    &outcomes(rest, *worker),
                    now,
                    &mut self.pods,
                )?;
                if !is_in_the_next_write(*it, rest, *worker) {
                    self.workers[*worker].put_status(&copy.status, &[])?;
                }
            }
            Step::Suspend(suspended) => self.suspend(*suspended)?,
            Step::Delete => self.delete(Sender::User)?,
            Step::Expire => self.delete(Sender::TtlController)?,
            Step::Recreate => self.create_local()?,
            Step::SetCondition => self.write_status(Sender::Checker)?,
            Step::DeleteCopy(worker) => self.delete_copy(*worker, Sender::UserOfWorker)?,
            Step::ExpireCopy(worker) => self.delete_copy(*worker, Sender::TtlController)?,
            Step::CreateStranger(worker) => self.create_copy(*worker, Sender::UserOfWorker)?,
            Step::Crash => {
                self.writer
                    .mark(MarkKind::Restart { actor: "mirror".to_owned(), assume: Default::default() })?;
            }
            Step::Assign(_) | Step::Evict | Step::Disconnect(_) | Step::Reconnect(_) => {}
        }
        self.end_moment();
        Ok(())
    }

    /// The time of the model, in seconds since the epoch of the trace.
    fn now(&self) -> Time {
        objects::time(Time(i64::from(self.world.now)))
    }

    /// Begins a second of the model on each cluster.
    fn start_second(&mut self) {
        let now = self.now();
        self.writer.tick(now);
        self.workers.iter_mut().for_each(|worker| worker.writer.tick(now));
    }

    /// Advances the time of each cluster to that of the last request.
    fn end_moment(&mut self) {
        self.writer.next_moment();
        let moments = self.workers.iter().map(|worker| worker.writer.moment());
        let latest = moments.fold(self.writer.moment(), i64::max);
        self.writer.catch_up(latest);
        self.workers.iter_mut().for_each(|worker| worker.writer.catch_up(latest));
    }

    /// A request of the manager, sent in this state.
    fn request(&mut self, call: Call, before: &World) -> io::Result<()> {
        match call {
            Call::Write => self.mirror(before),
            Call::Create(worker) => self.create_copy(worker, Sender::MirrorOfWorker),
            Call::Suspend(worker) => {
                let suspended = self.world.workers[worker].copy.is_some_and(|copy| copy.suspended);
                self.workers[worker].suspend(suspended)
            }
            Call::Delete(worker) => self.delete_copy(worker, Sender::MirrorOfWorker),
            Call::Release(worker) => {
                let is_gone = self.world.workers[worker].copy.is_none();
                self.workers[worker].release(is_gone)
            }
        }
    }

    /// The status write of the manager.
    fn mirror(&mut self, before: &World) -> io::Result<()> {
        let requests = before.requests(self.scope);
        let sent = requests.iter().find_map(|request| match request {
            Request::Write(status) => Some(status),
            _ => None,
        });
        let (Some(status), Some(local)) = (sent, before.local) else { return Ok(()) };
        let (old, new) = (local.job(self.scope), local.with_status(self.scope, status.clone()));
        match would_refuse_status(&self.scope.rules, &old, &new) {
            Some(broken) => {
                let sent = self.of_a_trace(status.clone());
                self.put_status(Sender::Mirror, &sent, invalid(NAME, &broken))
            }
            None => self.write_status(Sender::Mirror),
        }
    }

    /// Stores the status of the model.
    fn write_status(&mut self, sender: Sender) -> io::Result<()> {
        let Some(local) = self.world.local else { return Ok(()) };
        let status = self.of_a_trace(local.status.status());
        let Some(record) = &self.local else { return Ok(()) };
        // A write that changes nothing makes no version.
        let is_new = record.job.status != status;
        let version = if is_new { self.writer.next_version() } else { record.version };
        let stored = Record { job: Job { status: status.clone(), ..record.job.clone() }, version };
        self.put_status(sender, &status, Response::Done(whole(&stored, None)))?;
        self.local = Some(stored);
        Ok(())
    }

    fn put_status(&mut self, sender: Sender, status: &JobStatus, response: Response) -> io::Result<()> {
        let Some(record) = &self.local else { return Ok(()) };
        let sent = Job { status: status.clone(), ..record.job.clone() };
        let body = whole(&Record { job: sent, version: record.version }, None);
        let exchange = about(&record.job, sender, Verb::Update, response);
        self.writer.request(&Exchange { is_status: true, body: Some(body), ..exchange })
    }

    /// A status of the local Job in the model, as it is in a trace. The UIDs that a copy has recorded are those of its pods.
    fn of_a_trace(&self, status: JobStatus) -> JobStatus {
        let copied = status.uncounted.as_ref().map(|lists| {
            let first = usize::try_from(status.succeeded).unwrap_or(0);
            let all = self.workers.iter().filter_map(Worker::successes);
            let successes = all.into_iter().find(|list| list.len() >= first + lists.succeeded.len());
            let recorded = successes.map(|list| &list[first..first + lists.succeeded.len()]);
            Uncounted { succeeded: recorded.unwrap_or_default().to_vec(), failed: Vec::new() }
        });
        JobStatus { uncounted: copied, ..objects::status(status) }
    }

    fn create_local(&mut self) -> io::Result<()> {
        let Some(local) = self.world.local else { return Ok(()) };
        let (sent, uid) = (objects::sent(&local.job(self.scope).spec), objects::local_uid(local.incarnation));
        let created = objects::time(Time(i64::from(local.created)));
        let job = objects::stored(&self.scope.rules, uid, &sent, created, Vec::new());
        let record = Record { version: self.writer.next_version(), job };
        let exchange =
            about(&record.job, Sender::User, Verb::Create, Response::Created(whole(&record, None)));
        let body = Some(job::request(&record.job, &sent));
        self.writer.request(&Exchange { body, ..exchange })?;
        self.local = Some(record);
        self.end_moment();
        Ok(())
    }

    fn suspend(&mut self, suspended: bool) -> io::Result<()> {
        let Some(record) = &self.local else { return Ok(()) };
        let job = objects::suspended(&record.job, suspended);
        let body = whole(&Record { job: job.clone(), version: record.version }, None);
        let record = Record { job, version: self.writer.next_version() };
        let exchange = about(&record.job, Sender::User, Verb::Update, Response::Done(whole(&record, None)));
        self.writer.request(&Exchange { body: Some(body), ..exchange })?;
        self.local = Some(record);
        Ok(())
    }

    fn delete(&mut self, sender: Sender) -> io::Result<()> {
        let (now, Some(mut record)) = (self.now(), self.local.take()) else { return Ok(()) };
        if sender == Sender::TtlController {
            self.delete_in_foreground(&mut record, now)?;
        } else {
            self.writer.request(&worker::deletion(&record.job, sender, Response::Gone))?;
        }
        self.former = Some(record);
        Ok(())
    }

    /// The TTL-after-finished controller deletes a Job, and the garbage collector removes it.
    fn delete_in_foreground(&mut self, record: &mut Record, now: Time) -> io::Result<()> {
        record.version = self.writer.next_version();
        record.job = objects::deleting(&record.job, true);
        let response = Response::Done(whole(record, Some(now)));
        self.writer.request(&worker::deletion(&record.job, Sender::TtlController, response))?;
        self.writer.next_moment();
        let body = objects::without_foreground(&mut record.job, record.version);
        let response = Response::Done(whole(record, Some(now)));
        let exchange = about(&record.job, Sender::GarbageCollector, Verb::Patch, response);
        self.writer.request(&Exchange { patch_type: worker::MERGE, body: Some(body), ..exchange })
    }

    /// Creates the Job that the model has on a worker.
    fn create_copy(&mut self, worker: usize, sender: Sender) -> io::Result<()> {
        let Some(copy) = self.world.workers[worker].copy else { return Ok(()) };
        let finds_by_name = self.scope.subject.has(Mutation::FindsByName);
        let origin = copy.of.filter(|_| !finds_by_name).map(objects::local_uid);
        let spec = jobcheck_managers::world::spec(self.scope, false);
        let number = self.copies;
        self.copies += 1;
        let now = self.now();
        self.workers[worker].create(sender, &copy, &spec, origin, (number, now))
    }

    fn delete_copy(&mut self, worker: usize, sender: Sender) -> io::Result<()> {
        let (is_gone, now) = (self.world.workers[worker].copy.is_none(), self.now());
        self.workers[worker].delete(sender, is_gone, now)
    }

    /// Shows the manager at work after the last step, if nothing more has to happen.
    fn rest(&mut self) -> io::Result<()> {
        let (scope, world) = (self.scope, self.world.clone());
        let requests = || world.enabled(scope).into_iter().filter(|step| matches!(step, Step::Request(..)));
        let changes_nothing = |step: &Step| {
            matches!(step, Step::Request(_, Call::Write)) && world.apply(step, scope).local == world.local
        };
        if !requests().all(|step| changes_nothing(&step)) {
            return Ok(());
        }
        let caches = requests().find_map(|step| match step {
            Step::Request(caches, _) => Some(caches),
            _ => None,
        });
        for _ in 0..BEATS {
            self.writer.wait(BEAT);
            self.beat(caches)?;
            self.end_moment();
        }
        Ok(())
    }

    /// A request that changes nothing: the same refused write again, or a write of an old version or of a removed Job.
    fn beat(&mut self, refused: Option<Caches>) -> io::Result<()> {
        if let Some(caches) = refused {
            let world = self.world.refreshed(caches);
            return self.mirror(&world);
        }
        let (record, response) = match (&self.local, &self.former) {
            (Some(record), _) => (record, conflict(NAME)),
            (None, Some(record)) => (record, not_found("jobs.batch", NAME)),
            (None, None) => return Ok(()),
        };
        let body = whole(&Record { job: record.job.clone(), version: record.version - 1 }, None);
        let exchange = about(&record.job, Sender::Mirror, Verb::Update, response);
        self.writer.request(&Exchange { is_status: true, body: Some(body), ..exchange })
    }
}

/// Returns true if the executor's next write has the effect of this step, too. A counted pod was recorded in an earlier
/// write, and an end was decided in one.
fn is_in_the_next_write(it: Move, rest: &[Step], worker: usize) -> bool {
    let Some(Step::Execute(number, next)) = rest.first() else { return false };
    let is_apart = match next {
        Move::Count => true,
        Move::Finish => it != Move::Count,
        _ => false,
    };
    *number == worker && !is_apart
}

/// For the rest of a behaviour, whether the pods that are recorded on a worker have succeeded.
fn outcomes(rest: &[Step], worker: usize) -> Vec<bool> {
    let of_worker = rest.iter().filter_map(|step| match step {
        Step::Execute(number, it) if *number == worker => Some(*it),
        _ => None,
    });
    let recorded = of_worker.filter(|it| matches!(it, Move::Succeed | Move::Fail));
    recorded.map(|it| it == Move::Succeed).collect()
}

/// The whole local Job. `deleted` is the time of its deletion.
fn whole(record: &Record, deleted: Option<Time>) -> Value {
    let stored = Stored { version: Some(record.version), deleted };
    job::job(&record.job, stored, &Names::new(0, &record.job))
}

/// A request about a Job.
fn about(job: &Job, sender: Sender, verb: Verb, response: Response) -> Exchange<'static> {
    Exchange {
        sender,
        verb,
        resource: Resource::Jobs,
        is_status: false,
        namespace: NAMESPACE,
        name: NAME.to_owned(),
        uid: Some(job.uid.to_string()),
        propagation: None,
        patch_type: None,
        body: None,
        received: None,
        response,
    }
}
