//! The rendering of a path: the requests of each step, and the responses of the server.

mod claims;
mod disruptions;
mod status_write;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jobcheck_explorer::alphabet::Write;
use jobcheck_explorer::env::collector;
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::env::user::{self, UserAction, UserStep};
use jobcheck_explorer::process::io::Call;
use jobcheck_explorer::process::steps::{
    Delivery, ProcessStep, RequestOutcome, exceeds_pod_bound, orphan_call, orphan_decision,
};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::{JobId, JobState, World};
use jobcheck_spec::job::{Job, JobSpec};
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Expected, FaultKind, Resource, Verb};
use serde_json::{Value, json};

use super::job::{self, Stored};
use super::names::Names;
use super::pod::{self, Facts, GRACE};
use super::requests::{
    about_job, about_pod, namespace_terminating, pod_not_found, remove_finalizer_patch, too_many_requests,
};
use super::trace_writer::{Exchange, Response, Sender, TraceWriter};

mod deletions;

const STRATEGIC: Option<&str> = Some("application/strategic-merge-patch+json");

/// Applies the steps one by one, and writes the requests that an API server would log.
pub(super) fn walk(scope: &Scope, path: &[Step], expected: Option<&Expected>) -> io::Result<Vec<u8>> {
    let world = initial(scope);
    let records = world.job_states.iter().enumerate();
    let records = records
        .filter_map(|(number, job_state)| Some(JobRecord::new(number, job_state.job.as_deref()?)))
        .collect();
    let mut renderer = Renderer { scope, writer: TraceWriter::new(scope, expected)?, world, records };
    for (number, spec) in scope.jobs.iter().enumerate() {
        renderer.create_job(number, spec)?;
        renderer.create_initial_pods(number)?;
    }
    for step in path {
        renderer.step(step)?;
    }
    renderer.writer.finish()
}

/// The properties of a Job and its pods that the model does not have.
pub(super) struct JobRecord {
    pub names: Names,
    /// The last stored version of the Job. Its pods reference it also after it was removed.
    pub job: Arc<Job>,
    /// The previous Jobs of the name, oldest first.
    former: Vec<Arc<Job>>,
    deleted: Option<Time>,
    /// The resource versions of the Job, oldest first.
    versions: Vec<u64>,
    pods: BTreeMap<Uid, Facts>,
    /// The resource versions of all changes of pods, oldest first.
    changes: Vec<u64>,
    /// The version from which each process computes its status write.
    base: BTreeMap<u8, u64>,
    /// The same version of a terminated process, and the time of its end.
    delayed: Option<(u64, i64)>,
}

impl JobRecord {
    fn new(number: usize, job: &Job) -> JobRecord {
        JobRecord {
            names: Names::new(number, job),
            job: Arc::new(job.clone()),
            former: Vec::new(),
            deleted: None,
            versions: Vec::new(),
            pods: BTreeMap::new(),
            changes: Vec::new(),
            base: BTreeMap::new(),
            delayed: None,
        }
    }

    fn version(&self) -> u64 {
        self.versions.last().copied().unwrap_or_default()
    }

    fn render(&self, job: &Job, version: u64) -> Value {
        job::job(job, Stored { version: Some(version), deleted: self.deleted }, &self.names)
    }

    fn render_pod(&self, pod: &jobcheck_spec::pod::Pod) -> Value {
        let facts = self.pods.get(&pod.uid).copied().unwrap_or_default();
        pod::pod(pod, self.job_of(pod), facts, &self.names)
    }

    /// The Job for which the pod was created (PC-29).
    fn job_of(&self, pod: &jobcheck_spec::pod::Pod) -> &Job {
        self.former.get(usize::from(pod.incarnation)).unwrap_or(&self.job)
    }

    /// Returns the properties of a recreated Job. The pods of the previous Job stay.
    fn again(&self, number: usize, job: &Job) -> JobRecord {
        let former = self.former.iter().chain([&self.job]).cloned().collect();
        let (names, pods, changes) = (self.names.clone(), self.pods.clone(), self.changes.clone());
        JobRecord { former, names, pods, changes, delayed: self.delayed, ..JobRecord::new(number, job) }
    }
}

/// A request of the Job controller, with its circumstances.
struct Attempt<'a> {
    call: &'a Call,
    outcome: RequestOutcome,
    /// The version from which a status write was computed.
    base: u64,
    /// True if the Job has another version now.
    conflicts: bool,
    received: Option<i64>,
}

struct Renderer<'a> {
    scope: &'a Scope,
    writer: TraceWriter,
    world: World,
    records: Vec<JobRecord>,
}

impl Renderer<'_> {
    fn create_job(&mut self, number: usize, sent: &JobSpec) -> io::Result<()> {
        let version = self.writer.next_version();
        let record = &mut self.records[number];
        record.versions.push(version);
        let request = job::request(&record.job, sent);
        let stored = record.render(&record.job, version);
        let exchange = about_job(record, Sender::User, Verb::Create, Response::Created(stored));
        let exchange = Exchange { body: Some(request), ..exchange };
        self.writer.request(&exchange)?;
        self.writer.next_moment();
        Ok(())
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let after = self.world.apply(step, self.scope);
        self.writer.tick(after.now);
        self.writer.next_moment();
        match step {
            Step::Write(id, write) => self.write(*id, write, &after)?,
            Step::Expire(id) => self.expire(*id, &after)?,
            Step::Ttl(id, what) => self.ttl(*id, *what, &after)?,
            Step::Kubelet(id, uid, what) => self.kubelet(*id, *uid, *what, &after)?,
            Step::Disrupt(id, uid, what) => self.disrupt(*id, *uid, *what, &after)?,
            Step::User(id, _, UserStep::StripOwner(uid)) => {
                self.owner_removed(*id, *uid, &after, Sender::User)?
            }
            Step::User(id, _, UserStep::Relabel(uid)) => self.relabelled(*id, *uid, &after)?,
            Step::Collect(id, uid) if collector::orphans(self.job_state(*id)) => {
                self.owner_removed(*id, *uid, &after, Sender::GarbageCollector)?;
            }
            Step::User(id, _, UserStep::DeletePod(uid)) => {
                self.delete_pod(*id, *uid, &after, Sender::User)?
            }
            Step::User(id, _, UserStep::Job(action)) => self.user(*id, *action, &after)?,
            Step::Collect(id, uid) => self.delete_pod(*id, *uid, &after, self.collector(*id))?,
            Step::RemoveJob(id) if user::namespace_goes(self.job_state(*id), self.scope) => {
                self.delete_job(*id, &after, Sender::NamespaceController, "Background")?;
            }
            Step::RemoveJob(id) => self.remove_job(*id)?,
            Step::Process(id, number, what) => self.process(*id, *number, *what, &after)?,
            Step::HandleDelayed(id) => self.deliver_delayed(*id, &after)?,
            Step::Crash(_) => self.writer.restart()?,
            Step::Rollout(id) => {
                let gates = |world: &World| self.scope.gates_after(world.job_state(*id).rollouts);
                let (before, now) = (gates(&self.world), gates(&after));
                self.writer.roll_out(before, now)?;
            }
            Step::ShowPod(_) | Step::ShowJob(_) | Step::Tick | Step::Proceed => {}
        }
        self.world = after;
        Ok(())
    }

    fn record(&mut self, id: JobId) -> &mut JobRecord {
        &mut self.records[usize::from(id.0)]
    }

    fn job_state(&self, id: JobId) -> &JobState {
        self.world.job_state(id)
    }

    /// The response to a request that stores a Job.
    fn job_stored(&mut self, id: JobId, after: &World) -> Response {
        let version = self.writer.next_version();
        let now = after.now;
        let record = self.record(id);
        record.versions.push(version);
        match &after.job_state(id).job {
            Some(job) => {
                record.job = job.clone();
                if job.deleting {
                    record.deleted.get_or_insert(now);
                }
                Response::Done(record.render(job, version))
            }
            None => Response::Gone,
        }
    }

    /// The response to a request about a pod: the pod after the request.
    fn pod_stored(&mut self, id: JobId, uid: Uid, after: &World) -> Response {
        let before = self.job_state(id).pods.get(uid).cloned();
        let pod = after.job_state(id).pods.get(uid);
        let changed = pod != before.as_ref();
        let version = changed.then(|| self.writer.next_version());
        let record = self.record(id);
        record.changes.extend(version);
        let Some(pod) = pod else { return pod_not_found(record, uid) };
        let is_new = before.is_none();
        if is_new {
            record.names.name_pod(pod);
        }
        let facts = record.pods.entry(uid).or_default();
        if facts.gone {
            return pod_not_found(record, uid);
        }
        if pod.deleting && facts.deleted.is_none() {
            // SY-12: a terminated pod has no grace period.
            let has_grace = !pod.is_terminated() && !pod.forced;
            (facts.deleted, facts.grace) = (Some(after.now), if has_grace { GRACE } else { 0 });
        }
        let is_held = pod.finalizer || pod.other_finalizers || facts.grace > 0;
        facts.gone = pod.deleting && !is_held;
        // The response to the removal of the last finalizer has the previous version.
        let is_last_patch = facts.gone && before.is_some_and(|before| before.deleting);
        facts.version = version.filter(|_| !is_last_patch).unwrap_or(facts.version);
        let object = record.render_pod(pod);
        if is_new { Response::Created(object) } else { Response::Done(object) }
    }

    fn delete_pod(&mut self, id: JobId, uid: Uid, after: &World, sender: Sender) -> io::Result<()> {
        let response = self.pod_stored(id, uid, after);
        let record = &self.records[usize::from(id.0)];
        let options =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        let exchange = about_pod(record, sender, Verb::Delete, uid, response);
        self.writer.request(&Exchange { body: Some(options), ..exchange })
    }

    fn kubelet(&mut self, id: JobId, uid: Uid, what: KubeletStep, after: &World) -> io::Result<()> {
        if what == KubeletStep::Remove {
            return self.remove_pod(id, uid);
        }
        let facts = self.record(id).pods.entry(uid).or_default();
        match what {
            KubeletStep::Succeed => facts.exit_code = Some(0),
            KubeletStep::Fail(code) => facts.exit_code = Some(code),
            KubeletStep::Schedule
            | KubeletStep::Run
            | KubeletStep::Ready
            | KubeletStep::Unready
            | KubeletStep::Restart
            | KubeletStep::Flip
            | KubeletStep::Remove => {}
        }
        self.pod_status(id, uid, after, Sender::Kubelet)
    }

    /// The kubelet deletes a terminated pod without a grace period.
    fn remove_pod(&mut self, id: JobId, uid: Uid) -> io::Result<()> {
        let version = self.writer.next_version();
        let before = self.job_state(id).pods.get(uid).cloned();
        let record = self.record(id);
        record.changes.push(version);
        let facts = record.pods.entry(uid).or_default();
        if facts.gone {
            return Ok(());
        }
        (facts.version, facts.grace) = (version, 0);
        let response = match &before {
            Some(pod) => Response::Done(record.render_pod(pod)),
            None => pod_not_found(record, uid),
        };
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": { "uid": record.names.uid(uid).to_string() } });
        let record = &self.records[usize::from(id.0)];
        let exchange = about_pod(record, Sender::Kubelet, Verb::Delete, uid, response);
        self.writer.request(&Exchange { body: Some(options), ..exchange })
    }

    fn user(&mut self, id: JobId, action: UserAction, after: &World) -> io::Result<()> {
        let is_status = match action {
            UserAction::DeleteJob(exchange)
            | UserAction::DeleteFinished(exchange)
            | UserAction::DeleteAgain(exchange) => {
                return self.delete_job(id, after, Sender::User, exchange.as_str());
            }
            UserAction::DeleteOwner => {
                return self.delete_job(id, after, Sender::GarbageCollector, "Background");
            }
            UserAction::Recreate => return self.recreate(id, after),
            UserAction::DeleteNamespace => return Ok(()),
            UserAction::MirrorStarts
            | UserAction::MirrorAnnounces
            | UserAction::MirrorFinishes
            | UserAction::DenyFailureTarget
            | UserAction::DenyFailed => true,
            UserAction::Edit(_)
            | UserAction::HoldJob
            | UserAction::ReleaseJob
            | UserAction::DeletePod
            | UserAction::StripOwner
            | UserAction::Relabel
            | UserAction::DeleteEndedPod => false,
        };
        let base = self.record(id).version();
        let Some(sent) = after.job_state(id).job.clone() else { return Ok(()) };
        let response = self.job_stored(id, after);
        let record = &self.records[usize::from(id.0)];
        let body = record.render(&sent, base);
        let exchange = about_job(record, Sender::User, Verb::Update, response);
        self.writer.request(&Exchange { is_status, body: Some(body), ..exchange })
    }

    /// Writes a request of the specification's manager.
    fn write(&mut self, id: JobId, write: &Write, after: &World) -> io::Result<()> {
        let call = match write {
            Write::CreatePod(pod) => Call::CreatePod(0, pod.clone()),
            Write::DeletePod(uid) => Call::DeletePod(*uid),
            Write::RemoveFinalizer(uid) => Call::RemoveFinalizer(*uid),
            Write::AdoptPod(uid) => Call::AdoptPod(*uid),
            Write::ReleasePod(uid) => Call::ReleasePod(*uid),
            Write::Status(status) => Call::WriteStatus(status.clone()),
        };
        let base = self.record(id).version();
        let outcome = RequestOutcome::Handled;
        let attempt = Attempt { call: &call, outcome, base, conflicts: false, received: None };
        self.call(id, &attempt, after)
    }

    fn process(&mut self, id: JobId, number: u8, what: ProcessStep, after: &World) -> io::Result<()> {
        let process = self.job_state(id).processes()[usize::from(number)].clone();
        let base = self.record(id).base.get(&number).copied().unwrap_or_default();
        match what {
            ProcessStep::Sync(delivery) => self.sync(id, number, delivery),
            ProcessStep::Call(name, outcome) => {
                let Some(sync) = process.sync else { return Ok(()) };
                let Some(call) = sync.call(name) else { return Ok(()) };
                let versions = self.record(id).versions.len();
                let conflicts = sync.conflicts;
                let attempt = Attempt { call, outcome, base, conflicts, received: None };
                self.call(id, &attempt, after)?;
                let record = self.record(id);
                if outcome == RequestOutcome::Handled && record.versions.len() > versions {
                    let version = record.version();
                    record.base.insert(number, version);
                }
                Ok(())
            }
            ProcessStep::Orphan(uid, outcome) => {
                // A conflict changes nothing, and is omitted.
                let decision = orphan_decision(self.job_state(id), usize::from(number), uid, self.scope);
                let Some(call) = decision.and_then(|decision| orphan_call(decision, uid)) else {
                    return Ok(());
                };
                let attempt = Attempt { call: &call, outcome, base, conflicts: false, received: None };
                self.call(id, &attempt, after)
            }
            ProcessStep::Choose(_)
            | ProcessStep::ShowPod
            | ProcessStep::ShowJob
            | ProcessStep::StopOldLeader => Ok(()),
            ProcessStep::RelistPods => self.writer.relist(Resource::Pods),
            ProcessStep::RelistJobs => self.writer.relist(Resource::Jobs),
            ProcessStep::Crash | ProcessStep::ElectSecondLeader => self.writer.restart(),
            ProcessStep::CrashInFlight(_) => {
                let moment = self.writer.moment();
                self.record(id).delayed = Some((base, moment));
                self.writer.next_moment();
                self.writer.restart()
            }
        }
    }

    /// Writes the versions of both caches at the beginning of a sync.
    fn sync(&mut self, id: JobId, number: u8, delivery: Delivery) -> io::Result<()> {
        let process = &self.job_state(id).processes()[usize::from(number)];
        let (jobs, pods) = (process.job_behind.len(), process.knowledge.behind.len());
        let (jobs, pods) = (jobs.saturating_sub(delivery.jobs), pods.saturating_sub(delivery.pods));
        let record = self.record(id);
        let seen = |versions: &[u64], behind: usize| {
            versions.len().checked_sub(behind + 1).map_or(0, |last| versions[last])
        };
        let (job, pod) = (seen(&record.versions, jobs), seen(&record.changes, pods));
        record.base.insert(number, job);
        let name = format!("{}/{}", record.names.namespace, record.names.job);
        self.writer.observed(&name, Resource::Jobs, job)?;
        self.writer.observed(&name, Resource::Pods, pod)?;
        self.writer.next_moment();
        Ok(())
    }

    fn deliver_delayed(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let Some(delayed) = self.job_state(id).delayed().cloned() else { return Ok(()) };
        if exceeds_pod_bound(self.job_state(id), &delayed.call, self.scope) {
            return Ok(());
        }
        let Some((base, received)) = self.record(id).delayed.take() else { return Ok(()) };
        let attempt = Attempt {
            call: &delayed.call,
            outcome: RequestOutcome::Handled,
            base,
            conflicts: delayed.conflicts,
            received: Some(received),
        };
        self.call(id, &attempt, after)
    }

    /// Writes a request of the Job controller.
    fn call(&mut self, id: JobId, attempt: &Attempt<'_>, after: &World) -> io::Result<()> {
        match attempt.outcome {
            RequestOutcome::Handled => {}
            RequestOutcome::Fails => {
                self.writer.fault(Sender::JobController, FaultKind::Rejected, "the request fails")?
            }
            RequestOutcome::ResponseLost => {
                let detail = "the response to the next request is lost";
                self.writer.fault(Sender::JobController, FaultKind::LostResponse, detail)?;
            }
        }
        let job_state = self.job_state(id);
        let forbidden =
            matches!(attempt.call, Call::CreatePod(..)) && user::namespace_goes(job_state, self.scope);
        let fails = attempt.outcome == RequestOutcome::Fails || forbidden;
        let uid = match attempt.call {
            Call::CreatePod(_, pod) => job_state.ghost.uid_of(pod),
            Call::DeletePod(uid) | Call::RemoveFinalizer(uid) => *uid,
            Call::AdoptPod(uid) => return self.claim(id, *uid, true, attempt, after),
            Call::ReleasePod(uid) => return self.claim(id, *uid, false, attempt, after),
            Call::WriteStatus(status) => return self.write_status(id, status, attempt, after),
        };
        let response = match attempt.outcome {
            RequestOutcome::Fails => too_many_requests(),
            RequestOutcome::Handled | RequestOutcome::ResponseLost if forbidden => {
                namespace_terminating(&self.record(id).names.namespace)
            }
            RequestOutcome::Handled | RequestOutcome::ResponseLost => self.pod_stored(id, uid, after),
        };
        let record = &self.records[usize::from(id.0)];
        let sender = Sender::JobController;
        let exchange = match attempt.call {
            Call::CreatePod(_, pod) => {
                let created = jobcheck_spec::pod::Pod { uid, ..*pod.clone() };
                let body = pod::request(&created, record.job_of(&created), &{
                    let mut names = record.names.clone();
                    names.name_pod(&created);
                    names
                });
                let exchange =
                    Exchange { body: Some(body), ..about_pod(record, sender, Verb::Create, uid, response) };
                if fails { Exchange { name: String::new(), uid: None, ..exchange } } else { exchange }
            }
            Call::DeletePod(_) => about_pod(record, sender, Verb::Delete, uid, response),
            Call::RemoveFinalizer(_) => {
                let body = remove_finalizer_patch(record, uid);
                let exchange = about_pod(record, sender, Verb::Patch, uid, response);
                Exchange { patch_type: STRATEGIC, body: Some(body), ..exchange }
            }
            Call::AdoptPod(_) | Call::ReleasePod(_) | Call::WriteStatus(_) => return Ok(()),
        };
        self.writer.request(&Exchange { received: attempt.received, ..exchange })
    }
}
