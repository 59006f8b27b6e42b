//! The trace of a worker: a Job with pods, whose executor does what the model's does.

use std::io;

use jobcheck_managers::executor::Move;
use jobcheck_managers::flat::Flat;
use jobcheck_managers::protocol::{Base, copy_spec};
use jobcheck_managers::world::Copied;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::job::{Job, JobSpec, JobStatus, Uncounted};
use jobcheck_spec::pod::{Phase, Pod, TRACKING_FINALIZER};
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Resource, Verb};
use serde_json::{Value, json};

use super::objects;
use crate::render::job::{self, Stored};
use crate::render::names::Names;
use crate::render::pod::{self, Facts, GRACE};
use crate::render::trace_writer::{Exchange, Response, Sender, TraceWriter};

/// The finalizer of the manager.
const FINALIZER: &str = "example.com/mirror";
/// The label with the UID of the local Job.
const ORIGIN: &str = "example.com/origin";
/// The annotation with the counts of earlier copies: succeeded, failed.
const BASE: &str = "example.com/base";
pub(super) const MERGE: Option<&str> = Some("application/merge-patch+json");
const STRATEGIC: Option<&str> = Some("application/strategic-merge-patch+json");

/// The trace of a worker.
pub(super) struct Worker {
    pub(super) writer: TraceWriter,
    rules: RuleSet,
    copy: Option<Copy>,
}

/// The Job on a worker, with its pods.
struct Copy {
    job: Job,
    version: u64,
    deleted: Option<Time>,
    origin: Option<Uid>,
    base: (u8, u8),
    names: Names,
    pods: Vec<PodRecord>,
    /// The pods in `uncountedTerminatedPods.succeeded`.
    recorded: Vec<Uid>,
    /// The pods that were ever recorded as succeeded.
    successes: Vec<Uid>,
}

struct PodRecord {
    pod: Pod,
    facts: Facts,
    /// Its end was recorded.
    is_recorded: bool,
}

/// The DELETE of a Job. The TTL-after-finished controller deletes in foreground (TT-06).
pub(super) fn deletion(job: &Job, sender: Sender, response: Response) -> Exchange<'static> {
    let propagation = if sender == Sender::TtlController { "Foreground" } else { "Background" };
    let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation,
        "preconditions": { "uid": job.uid.to_string() } });
    let exchange = super::about(job, sender, Verb::Delete, response);
    Exchange { body: Some(options), propagation: Some(propagation), ..exchange }
}

impl Copy {
    fn whole(&self) -> Value {
        let stored = Stored { version: Some(self.version), deleted: self.deleted };
        let mut object = job::job(&self.job, stored, &self.names);
        self.mark(&mut object);
        object
    }

    /// Adds what the manager stores in a copy.
    fn mark(&self, object: &mut Value) {
        if let Some(origin) = self.origin {
            object["metadata"]["labels"] = json!({ ORIGIN: origin.to_string() });
            object["metadata"]["annotations"] = json!({ BASE: format!("{},{}", self.base.0, self.base.1) });
        }
    }

    fn pod(&self, at: usize) -> Value {
        let PodRecord { pod, facts, .. } = &self.pods[at];
        pod::pod(pod, &self.job, *facts, &self.names)
    }

    /// The first pod of which this holds.
    fn find(&self, holds: impl Fn(&PodRecord) -> bool) -> Option<usize> {
        self.pods.iter().position(holds)
    }

    /// The pod that ends next, or whose end is recorded next, with this outcome.
    fn next(&self, phase: Phase, deleting_first: bool) -> Option<usize> {
        let ended = self.find(|it| it.pod.phase == phase && !it.is_recorded);
        let lives = |deleting: bool| self.find(|it| !it.pod.is_terminated() && it.pod.deleting == deleting);
        ended.or_else(|| lives(deleting_first)).or_else(|| lives(!deleting_first))
    }

    fn about_pod(&self, at: usize, sender: Sender, verb: Verb, response: Response) -> Exchange<'static> {
        let uid = self.pods[at].pod.uid;
        Exchange {
            resource: Resource::Pods,
            name: self.names.pod(uid),
            uid: Some(self.names.uid(uid).to_string()),
            ..super::about(&self.job, sender, verb, response)
        }
    }
}

impl Worker {
    pub(super) fn new(writer: TraceWriter, rules: &RuleSet) -> Worker {
        Worker { writer, rules: *rules, copy: None }
    }

    /// The pods of its Job that were ever recorded as succeeded.
    pub(super) fn successes(&self) -> Option<&Vec<Uid>> {
        self.copy.as_ref().map(|copy| &copy.successes)
    }

    /// Creates a copy, or a Job of somebody else. `local` is the specification of the local Job.
    pub(super) fn create(
        &mut self,
        sender: Sender,
        copied: &Copied,
        local: &JobSpec,
        origin: Option<Uid>,
        (number, now): (usize, Time),
    ) -> io::Result<()> {
        let base = Base { succeeded: i32::from(copied.base.0), failed: i32::from(copied.base.1) };
        let sent = objects::sent(&copy_spec(local, base));
        let finalizers = copied.finalizer.then(|| FINALIZER.into()).into_iter().collect();
        let job = objects::stored(&self.rules, objects::copy_uid(number), &sent, now, finalizers);
        let copy = Copy {
            names: Names::new(0, &job),
            version: self.writer.next_version(),
            deleted: None,
            origin,
            base: copied.base,
            pods: Vec::new(),
            recorded: Vec::new(),
            successes: Vec::new(),
            job,
        };
        let exchange = super::about(&copy.job, sender, Verb::Create, Response::Created(copy.whole()));
        let mut body = job::request(&copy.job, &sent);
        copy.mark(&mut body);
        if copied.finalizer {
            body["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        self.writer.request(&Exchange { body: Some(body), ..exchange })?;
        self.copy = Some(copy);
        Ok(())
    }

    /// The manager changes `spec.suspend` of the copy.
    pub(super) fn suspend(&mut self, suspended: bool) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        copy.job = objects::suspended(&copy.job, suspended);
        let body = copy.whole();
        copy.version = self.writer.next_version();
        let response = Response::Done(copy.whole());
        let exchange = super::about(&copy.job, Sender::MirrorOfWorker, Verb::Update, response);
        self.writer.request(&Exchange { body: Some(body), ..exchange })
    }

    /// Somebody deletes the Job. It stays if it has the finalizer of the manager.
    pub(super) fn delete(&mut self, sender: Sender, is_gone: bool, now: Time) -> io::Result<()> {
        let in_foreground = sender == Sender::TtlController;
        let Some(copy) = &mut self.copy else { return Ok(()) };
        if is_gone && !in_foreground {
            self.writer.request(&deletion(&copy.job, sender, Response::Gone))?;
            return self.collect(now);
        }
        copy.deleted = Some(now);
        copy.job = objects::deleting(&copy.job, in_foreground);
        copy.version = self.writer.next_version();
        self.writer.request(&deletion(&copy.job, sender, Response::Done(copy.whole())))?;
        self.writer.next_moment();
        if in_foreground { self.end_foreground(is_gone, now) } else { Ok(()) }
    }

    /// The garbage collector has deleted the pods, and removes its finalizer from the Job.
    fn end_foreground(&mut self, is_gone: bool, now: Time) -> io::Result<()> {
        self.collect_pods(now)?;
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let body = objects::without_foreground(&mut copy.job, copy.version);
        if !is_gone {
            copy.version = self.writer.next_version();
        }
        let response = Response::Done(copy.whole());
        let exchange = super::about(&copy.job, Sender::GarbageCollector, Verb::Patch, response);
        self.writer.request(&Exchange { patch_type: MERGE, body: Some(body), ..exchange })?;
        if is_gone {
            self.copy = None;
        }
        Ok(())
    }

    /// The manager removes its finalizer.
    pub(super) fn release(&mut self, is_gone: bool) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let body = json!({ "metadata": { "uid": copy.job.uid.to_string(),
            "resourceVersion": copy.version.to_string(), "finalizers": null } });
        copy.job.finalizers.clear();
        // The response to the removal of the last finalizer of a deleted Job has the previous version.
        if !is_gone {
            copy.version = self.writer.next_version();
        }
        let now = copy.deleted.unwrap_or(copy.job.created);
        let exchange =
            super::about(&copy.job, Sender::MirrorOfWorker, Verb::Patch, Response::Done(copy.whole()));
        self.writer.request(&Exchange { patch_type: MERGE, body: Some(body), ..exchange })?;
        if is_gone { self.collect(now) } else { Ok(()) }
    }

    /// The Job is gone, and so are its pods.
    fn collect(&mut self, now: Time) -> io::Result<()> {
        self.collect_pods(now)?;
        self.copy = None;
        Ok(())
    }

    /// The pods are deleted, lose their finalizers, and are removed.
    fn collect_pods(&mut self, now: Time) -> io::Result<()> {
        let pods = self.copy.as_ref().map_or(0, |copy| copy.pods.len());
        for at in 0..pods {
            self.delete_pod(at, Sender::GarbageCollector, now)?;
            self.remove_finalizer(at)?;
            self.remove_pod(at)?;
        }
        Ok(())
    }

    /// A step of the executor and of the pods, without its status write. `status` is the status after it.
    pub(super) fn execute(
        &mut self,
        it: Move,
        status: &Flat,
        next: &[bool],
        now: Time,
        pods: &mut u128,
    ) -> io::Result<()> {
        match it {
            Move::Create => {
                *pods += 1;
                self.create_pod(Uid(*pods), now)?;
            }
            Move::Terminate => self.terminate(status, now)?,
            Move::End | Move::EndLate => self.end(it == Move::EndLate, next, now)?,
            Move::Succeed => {
                if let Some(uid) = self.record(Phase::Succeeded, now)?
                    && let Some(copy) = &mut self.copy
                {
                    copy.recorded.push(uid);
                    copy.successes.push(uid);
                }
            }
            Move::Fail => {
                let failed = Vec::from_iter(self.record(Phase::Failed, now)?);
                let before = Flat { failed: status.failed - 1, ..*status };
                self.put_status(&before, &failed)?;
                self.release_pods(&failed)?;
            }
            Move::Count => {
                let counted: Vec<Uid> = self.copy.iter_mut().map(|copy| copy.recorded.remove(0)).collect();
                self.release_pods(&counted)?;
            }
            Move::Start
            | Move::Suspend
            | Move::Unstart
            | Move::Resume
            | Move::Activate
            | Move::Accept
            | Move::Reject
            | Move::Finish => {}
        }
        Ok(())
    }

    /// The Job controller writes the status. `failed` are the pods that are recorded as failed.
    pub(super) fn put_status(&mut self, flat: &Flat, failed: &[Uid]) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let lists = Uncounted { succeeded: copy.recorded.clone(), failed: failed.to_vec() };
        copy.job.status = JobStatus { uncounted: Some(lists), ..objects::status(flat.status()) };
        let body = copy.whole();
        copy.version = self.writer.next_version();
        let response = Response::Done(copy.whole());
        let exchange = super::about(&copy.job, Sender::JobController, Verb::Update, response);
        self.writer.request(&Exchange { is_status: true, body: Some(body), ..exchange })?;
        self.writer.next_moment();
        Ok(())
    }

    fn create_pod(&mut self, uid: Uid, now: Time) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let pod = Pod { finalizer: true, scheduled: true, created: now, ..Pod::new(uid) };
        copy.names.name_pod(&pod);
        let facts = Facts { version: self.writer.next_version(), ..Facts::default() };
        let body = pod::request(&pod, &copy.job, &copy.names);
        copy.pods.push(PodRecord { pod, facts, is_recorded: false });
        let at = copy.pods.len() - 1;
        let exchange =
            copy.about_pod(at, Sender::JobController, Verb::Create, Response::Created(copy.pod(at)));
        self.writer.request(&Exchange { body: Some(body), ..exchange })
    }

    /// The Job controller deletes a pod. That of a decided Job keeps its finalizer until it is counted (FT-17), and others
    /// lose theirs first (FT-16).
    fn terminate(&mut self, status: &Flat, now: Time) -> io::Result<()> {
        let lives = |it: &PodRecord| !it.pod.is_terminated() && !it.pod.deleting;
        let Some(at) = self.copy.as_ref().and_then(|copy| copy.find(lives)) else { return Ok(()) };
        if !status.is_decided() {
            self.remove_finalizer(at)?;
        }
        self.delete_pod(at, Sender::JobController, now)
    }

    fn delete_pod(&mut self, at: usize, sender: Sender, now: Time) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let PodRecord { pod, facts, .. } = &mut copy.pods[at];
        if pod.deleting || facts.gone {
            return Ok(());
        }
        pod.deleting = true;
        facts.deleted = Some(now);
        facts.grace = if pod.is_terminated() { 0 } else { GRACE };
        facts.gone = facts.grace == 0 && !pod.finalizer;
        pod.finished = pod.finished.or(Some(now));
        facts.version = self.writer.next_version();
        let options =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        let exchange = copy.about_pod(at, sender, Verb::Delete, Response::Done(copy.pod(at)));
        self.writer.request(&Exchange { body: Some(options), ..exchange })?;
        self.writer.next_moment();
        Ok(())
    }

    /// A pod ends. `next` are the outcomes of pods in the order in which they are recorded.
    fn end(&mut self, is_late: bool, next: &[bool], now: Time) -> io::Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let waiting = copy.pods.iter().filter(|it| it.pod.is_terminated() && !it.is_recorded).count();
        let phase = if *next.get(waiting).unwrap_or(&!is_late) { Phase::Succeeded } else { Phase::Failed };
        let Some(at) = copy.find(|it| !it.pod.is_terminated() && it.pod.deleting == is_late) else {
            return Ok(());
        };
        self.finish_pod(at, phase, now)?;
        if is_late { self.remove_pod(at) } else { Ok(()) }
    }

    /// The kubelet reports the end of a pod.
    fn finish_pod(&mut self, at: usize, phase: Phase, now: Time) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let PodRecord { pod, facts, .. } = &mut copy.pods[at];
        (pod.phase, pod.finished) = (phase, Some(now));
        facts.exit_code = Some(i32::from(phase == Phase::Failed));
        facts.version = self.writer.next_version();
        let object = copy.pod(at);
        let exchange = copy.about_pod(at, Sender::Kubelet, Verb::Patch, Response::Done(object.clone()));
        let body = Some(json!({ "status": object["status"] }));
        self.writer.request(&Exchange { is_status: true, patch_type: STRATEGIC, body, ..exchange })?;
        self.writer.next_moment();
        Ok(())
    }

    /// Chooses the pod whose end is recorded now.
    fn record(&mut self, phase: Phase, now: Time) -> io::Result<Option<Uid>> {
        let deleting_first = phase == Phase::Failed;
        let Some(at) = self.copy.as_ref().and_then(|copy| copy.next(phase, deleting_first)) else {
            return Ok(None);
        };
        if self.copy.as_ref().is_some_and(|copy| !copy.pods[at].pod.is_terminated()) {
            self.finish_pod(at, phase, now)?;
        }
        let Some(copy) = &mut self.copy else { return Ok(None) };
        copy.pods[at].is_recorded = true;
        Ok(Some(copy.pods[at].pod.uid))
    }

    /// The Job controller removes the tracking finalizers of pods.
    fn release_pods(&mut self, uids: &[Uid]) -> io::Result<()> {
        for uid in uids {
            let at = self.copy.as_ref().and_then(|copy| copy.find(|it| it.pod.uid == *uid));
            at.map_or(Ok(()), |at| self.remove_finalizer(at))?;
        }
        Ok(())
    }

    fn remove_finalizer(&mut self, at: usize) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let PodRecord { pod, facts, .. } = &mut copy.pods[at];
        if !pod.finalizer {
            return Ok(());
        }
        pod.finalizer = false;
        facts.gone = pod.deleting && facts.grace == 0;
        // The response to the removal of the last finalizer of a deleted pod has the previous version.
        if !facts.gone {
            facts.version = self.writer.next_version();
        }
        let uid = copy.names.uid(pod.uid).to_string();
        let body = json!({ "metadata": { "uid": uid,
            "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER] } });
        let exchange = copy.about_pod(at, Sender::JobController, Verb::Patch, Response::Done(copy.pod(at)));
        self.writer.request(&Exchange { patch_type: STRATEGIC, body: Some(body), ..exchange })?;
        self.writer.next_moment();
        Ok(())
    }

    /// The kubelet removes a pod that has been deleted.
    fn remove_pod(&mut self, at: usize) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let PodRecord { pod, facts, .. } = &mut copy.pods[at];
        if facts.gone {
            return Ok(());
        }
        (facts.gone, facts.grace, facts.version) = (!pod.finalizer, 0, self.writer.next_version());
        let uid = copy.names.uid(copy.pods[at].pod.uid).to_string();
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": { "uid": uid } });
        let exchange = copy.about_pod(at, Sender::Kubelet, Verb::Delete, Response::Done(copy.pod(at)));
        self.writer.request(&Exchange { body: Some(options), ..exchange })?;
        self.writer.next_moment();
        Ok(())
    }
}
