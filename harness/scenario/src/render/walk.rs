//! The way through a scope, step by step: which requests it is made of, and what the server answers.

mod claims;
mod disruptions;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jobcheck_explorer::alphabet::{Write, refusal};
use jobcheck_explorer::env::collector;
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::env::user::{self, UserAction, UserStep};
use jobcheck_explorer::mutations::Mutation;
use jobcheck_explorer::process::io::Call;
use jobcheck_explorer::process::steps::{
    Delivery, ProcessStep, RequestOutcome, exceeds_pod_bound, orphan_call, orphan_decision,
};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::{JobId, JobState, World};
use jobcheck_spec::job::{Job, JobSpec, JobStatus};
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Expected, FaultKind, Resource, Verb};
use serde_json::{Value, json};

use super::asked::{
    about_job, about_pod, conflict, invalid, namespace_terminating, not_found, pod_not_found, release,
    too_many_requests,
};
use super::job::{self, Stored};
use super::names::Names;
use super::pod::{self, Facts, GRACE};
use super::scribe::{Asked, Scribe, Told, Who};

mod deletions;

const STRATEGIC: Option<&str> = Some("application/strategic-merge-patch+json");

/// Takes the steps one by one and writes what the API server would have logged.
pub(super) fn walk(scope: &Scope, path: &[Step], expected: Option<&Expected>) -> io::Result<Vec<u8>> {
    let world = initial(scope);
    let known = world.job_states.iter().enumerate();
    let known =
        known.filter_map(|(number, job_state)| Some(Known::new(number, job_state.job.as_deref()?))).collect();
    let mut walker = Walker { scope, scribe: Scribe::new(scope, expected)?, world, known };
    for (number, spec) in scope.jobs.iter().enumerate() {
        walker.create_job(number, spec)?;
        walker.show_found(number)?;
    }
    for step in path {
        walker.step(step)?;
    }
    walker.scribe.finish()
}

/// What the server knows of a Job's objects and the model does not.
pub(super) struct Known {
    pub names: Names,
    /// The Job as it was last stored: its pods name it when it is gone.
    pub job: Arc<Job>,
    /// Those that had the name before, oldest first.
    former: Vec<Arc<Job>>,
    deleted: Option<Time>,
    /// The resourceVersions of the Job, oldest first.
    versions: Vec<u64>,
    pods: BTreeMap<Uid, Facts>,
    /// The resourceVersions of all changes of pods, oldest first.
    changes: Vec<u64>,
    /// What the status write under way was computed from, for each process.
    base: BTreeMap<u8, u64>,
    /// The same of a dead process, and when it died.
    late: Option<(u64, i64)>,
}

impl Known {
    fn new(number: usize, job: &Job) -> Known {
        Known {
            names: Names::new(number, job),
            job: Arc::new(job.clone()),
            former: Vec::new(),
            deleted: None,
            versions: Vec::new(),
            pods: BTreeMap::new(),
            changes: Vec::new(),
            base: BTreeMap::new(),
            late: None,
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

    /// The Job that the pod was created for (PC-29).
    fn job_of(&self, pod: &jobcheck_spec::pod::Pod) -> &Job {
        self.former.get(usize::from(pod.incarnation)).unwrap_or(&self.job)
    }

    /// Another Job of the name, beside whose pods are those that were left behind.
    fn again(&self, number: usize, job: &Job) -> Known {
        let former = self.former.iter().chain([&self.job]).cloned().collect();
        let (names, pods, changes) = (self.names.clone(), self.pods.clone(), self.changes.clone());
        Known { former, names, pods, changes, late: self.late, ..Known::new(number, job) }
    }
}

/// A request of the Job controller, and its circumstances.
struct Attempt<'a> {
    call: &'a Call,
    outcome: RequestOutcome,
    /// What a status write was computed from.
    base: u64,
    /// Whether the Job has another version by now.
    conflicts: bool,
    received: Option<i64>,
}

struct Walker<'a> {
    scope: &'a Scope,
    scribe: Scribe,
    world: World,
    known: Vec<Known>,
}

impl Walker<'_> {
    fn create_job(&mut self, number: usize, sent: &JobSpec) -> io::Result<()> {
        let version = self.scribe.next_version();
        let known = &mut self.known[number];
        known.versions.push(version);
        let request = job::request(&known.job, sent);
        let stored = known.render(&known.job, version);
        let asked = about_job(known, Who::User, Verb::Create, Some(request), Told::Created(stored));
        self.scribe.request(&asked)?;
        self.scribe.next_moment();
        Ok(())
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let after = self.world.apply(step, self.scope);
        self.scribe.tick(after.now);
        self.scribe.next_moment();
        match step {
            Step::Write(id, write) => self.write(*id, write, &after)?,
            Step::Expire(id) => self.expire(*id, &after)?,
            Step::Ttl(id, what) => self.ttl(*id, *what, &after)?,
            Step::Kubelet(id, uid, what) => self.kubelet(*id, *uid, *what, &after)?,
            Step::Disrupt(id, uid, what) => self.disrupt(*id, *uid, *what, &after)?,
            Step::User(id, _, UserStep::StripOwner(uid)) => self.owner_taken(*id, *uid, &after, Who::User)?,
            Step::User(id, _, UserStep::Relabel(uid)) => self.relabelled(*id, *uid, &after)?,
            Step::Collect(id, uid) if collector::orphans(self.job_state(*id)) => {
                self.owner_taken(*id, *uid, &after, Who::GarbageCollector)?;
            }
            Step::User(id, _, UserStep::DeletePod(uid)) => self.delete_pod(*id, *uid, &after, Who::User)?,
            Step::User(id, _, UserStep::Job(action)) => self.user(*id, *action, &after)?,
            Step::Collect(id, uid) => self.delete_pod(*id, *uid, &after, self.collector(*id))?,
            Step::RemoveJob(id) if user::namespace_goes(self.job_state(*id), self.scope) => {
                self.delete_job(*id, &after, Who::NamespaceController, "Background")?;
            }
            Step::RemoveJob(id) => self.remove_job(*id)?,
            Step::Process(id, number, what) => self.process(*id, *number, *what, &after)?,
            Step::HandleDelayed(id) => self.land(*id, &after)?,
            Step::Crash(_) => self.scribe.restart()?,
            Step::Rollout(id) => {
                let gates = |world: &World| self.scope.gates_after(world.job_state(*id).rollouts);
                let (before, now) = (gates(&self.world), gates(&after));
                self.scribe.roll_out(before, now)?;
            }
            Step::ShowPod(_) | Step::ShowJob(_) | Step::Tick | Step::Proceed => {}
        }
        self.world = after;
        Ok(())
    }

    fn known(&mut self, id: JobId) -> &mut Known {
        &mut self.known[usize::from(id.0)]
    }

    fn job_state(&self, id: JobId) -> &JobState {
        self.world.job_state(id)
    }

    /// The answer of a request that stores a Job.
    fn job_stored(&mut self, id: JobId, after: &World) -> Told {
        let version = self.scribe.next_version();
        let now = after.now;
        let known = self.known(id);
        known.versions.push(version);
        match &after.job_state(id).job {
            Some(job) => {
                known.job = job.clone();
                if job.deleting {
                    known.deleted.get_or_insert(now);
                }
                Told::Done(known.render(job, version))
            }
            None => Told::Gone,
        }
    }

    /// The answer of a request about a pod: the pod as it is then.
    fn pod_stored(&mut self, id: JobId, uid: Uid, after: &World) -> Told {
        let before = self.job_state(id).pods.get(uid).cloned();
        let pod = after.job_state(id).pods.get(uid);
        let changed = pod != before.as_ref();
        let version = changed.then(|| self.scribe.next_version());
        let known = self.known(id);
        known.changes.extend(version);
        let Some(pod) = pod else { return pod_not_found(known, uid) };
        let is_new = before.is_none();
        if is_new {
            known.names.born(pod);
        }
        let facts = known.pods.entry(uid).or_default();
        if facts.gone {
            return pod_not_found(known, uid);
        }
        if pod.deleting && facts.deleted.is_none() {
            // SY-12: a pod that has ended has no grace.
            let has_grace = !pod.is_terminated() && !pod.forced;
            (facts.deleted, facts.grace) = (Some(after.now), if has_grace { GRACE } else { 0 });
        }
        let is_held = pod.finalizer || pod.other_finalizers || facts.grace > 0;
        facts.gone = pod.deleting && !is_held;
        // The removal of the last finalizer answers with the version before.
        let is_last_patch = facts.gone && before.is_some_and(|before| before.deleting);
        facts.version = version.filter(|_| !is_last_patch).unwrap_or(facts.version);
        let object = known.render_pod(pod);
        if is_new { Told::Created(object) } else { Told::Done(object) }
    }

    fn delete_pod(&mut self, id: JobId, uid: Uid, after: &World, who: Who) -> io::Result<()> {
        let answer = self.pod_stored(id, uid, after);
        let known = &self.known[usize::from(id.0)];
        let options =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        self.scribe.request(&about_pod(known, who, Verb::Delete, uid, Some(options), answer))
    }

    fn kubelet(&mut self, id: JobId, uid: Uid, what: KubeletStep, after: &World) -> io::Result<()> {
        if what == KubeletStep::Remove {
            return self.remove_pod(id, uid);
        }
        let facts = self.known(id).pods.entry(uid).or_default();
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
        self.pod_status(id, uid, after, Who::Kubelet)
    }

    /// The kubelet deletes a pod that has ended without further grace.
    fn remove_pod(&mut self, id: JobId, uid: Uid) -> io::Result<()> {
        let version = self.scribe.next_version();
        let before = self.job_state(id).pods.get(uid).cloned();
        let known = self.known(id);
        known.changes.push(version);
        let facts = known.pods.entry(uid).or_default();
        if facts.gone {
            return Ok(());
        }
        (facts.version, facts.grace) = (version, 0);
        let answer = match &before {
            Some(pod) => Told::Done(known.render_pod(pod)),
            None => pod_not_found(known, uid),
        };
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": { "uid": known.names.uid(uid).to_string() } });
        let known = &self.known[usize::from(id.0)];
        self.scribe.request(&about_pod(known, Who::Kubelet, Verb::Delete, uid, Some(options), answer))
    }

    fn user(&mut self, id: JobId, action: UserAction, after: &World) -> io::Result<()> {
        let is_status = match action {
            UserAction::DeleteJob(asked)
            | UserAction::DeleteFinished(asked)
            | UserAction::DeleteAgain(asked) => {
                return self.delete_job(id, after, Who::User, asked.as_str());
            }
            UserAction::DeleteOwner => {
                return self.delete_job(id, after, Who::GarbageCollector, "Background");
            }
            UserAction::Recreate => return self.recreate(id, after),
            UserAction::DeleteNamespace => return Ok(()),
            UserAction::MirrorStarts
            | UserAction::MirrorAnnounces
            | UserAction::MirrorFinishes
            | UserAction::DenyFailureTarget
            | UserAction::DenyFailed => true,
            UserAction::Edit(_)
            | UserAction::DeletePod
            | UserAction::StripOwner
            | UserAction::Relabel
            | UserAction::DeleteEndedPod => false,
        };
        let base = self.known(id).version();
        let Some(sent) = after.job_state(id).job.clone() else { return Ok(()) };
        let answer = self.job_stored(id, after);
        let known = &self.known[usize::from(id.0)];
        let body = known.render(&sent, base);
        let asked = about_job(known, Who::User, Verb::Update, Some(body), answer);
        self.scribe.request(&Asked { is_status, ..asked })
    }

    /// A write of the specification's manager.
    fn write(&mut self, id: JobId, write: &Write, after: &World) -> io::Result<()> {
        let call = match write {
            Write::CreatePod(pod) => Call::CreatePod(0, pod.clone()),
            Write::DeletePod(uid) => Call::DeletePod(*uid),
            Write::RemoveFinalizer(uid) => Call::RemoveFinalizer(*uid),
            Write::AdoptPod(uid) => Call::AdoptPod(*uid),
            Write::ReleasePod(uid) => Call::ReleasePod(*uid),
            Write::Status(status) => Call::WriteStatus(status.clone()),
        };
        let base = self.known(id).version();
        let outcome = RequestOutcome::Handled;
        let attempt = Attempt { call: &call, outcome, base, conflicts: false, received: None };
        self.call(id, &attempt, after)
    }

    fn process(&mut self, id: JobId, number: u8, what: ProcessStep, after: &World) -> io::Result<()> {
        let process = self.job_state(id).processes()[usize::from(number)].clone();
        let base = self.known(id).base.get(&number).copied().unwrap_or_default();
        match what {
            ProcessStep::Sync(delivery) => self.sync(id, number, delivery),
            ProcessStep::Call(name, outcome) => {
                let Some(sync) = process.sync else { return Ok(()) };
                let Some(call) = sync.call(name) else { return Ok(()) };
                let versions = self.known(id).versions.len();
                let conflicts = sync.conflicts;
                let attempt = Attempt { call, outcome, base, conflicts, received: None };
                self.call(id, &attempt, after)?;
                let known = self.known(id);
                if outcome == RequestOutcome::Handled && known.versions.len() > versions {
                    let version = known.version();
                    known.base.insert(number, version);
                }
                Ok(())
            }
            ProcessStep::Orphan(uid, outcome) => {
                // A conflict changes nothing and is left out.
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
            ProcessStep::RelistPods => self.scribe.relist(Resource::Pods),
            ProcessStep::RelistJobs => self.scribe.relist(Resource::Jobs),
            ProcessStep::Crash | ProcessStep::ElectSecondLeader => self.scribe.restart(),
            ProcessStep::CrashInFlight(_) => {
                let moment = self.scribe.moment();
                self.known(id).late = Some((base, moment));
                self.scribe.next_moment();
                self.scribe.restart()
            }
        }
    }

    /// A sync reads both caches.
    fn sync(&mut self, id: JobId, number: u8, delivery: Delivery) -> io::Result<()> {
        let process = &self.job_state(id).processes()[usize::from(number)];
        let (jobs, pods) = (process.job_behind.len(), process.knowledge.behind.len());
        let (jobs, pods) = (jobs.saturating_sub(delivery.jobs), pods.saturating_sub(delivery.pods));
        let known = self.known(id);
        let seen = |versions: &[u64], behind: usize| {
            versions.len().checked_sub(behind + 1).map_or(0, |last| versions[last])
        };
        let (job, pod) = (seen(&known.versions, jobs), seen(&known.changes, pods));
        known.base.insert(number, job);
        let name = format!("{}/{}", known.names.namespace, known.names.job);
        self.scribe.observed(&name, Resource::Jobs, job)?;
        self.scribe.observed(&name, Resource::Pods, pod)?;
        self.scribe.next_moment();
        Ok(())
    }

    fn land(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let Some(late) = self.job_state(id).delayed().cloned() else { return Ok(()) };
        if exceeds_pod_bound(self.job_state(id), &late.call, self.scope) {
            return Ok(());
        }
        let Some((base, received)) = self.known(id).late.take() else { return Ok(()) };
        let attempt = Attempt {
            call: &late.call,
            outcome: RequestOutcome::Handled,
            base,
            conflicts: late.conflicts,
            received: Some(received),
        };
        self.call(id, &attempt, after)
    }

    /// A request of the Job controller.
    fn call(&mut self, id: JobId, attempt: &Attempt<'_>, after: &World) -> io::Result<()> {
        match attempt.outcome {
            RequestOutcome::Handled => {}
            RequestOutcome::Fails => {
                self.scribe.fault(Who::JobController, FaultKind::Rejected, "the request fails")?
            }
            RequestOutcome::ResponseLost => {
                let detail = "the answer to the next request is lost";
                self.scribe.fault(Who::JobController, FaultKind::LostResponse, detail)?;
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
        let answer = match attempt.outcome {
            RequestOutcome::Fails => too_many_requests(),
            RequestOutcome::Handled | RequestOutcome::ResponseLost if forbidden => {
                namespace_terminating(&self.known(id).names.namespace)
            }
            RequestOutcome::Handled | RequestOutcome::ResponseLost => self.pod_stored(id, uid, after),
        };
        let known = &self.known[usize::from(id.0)];
        let who = Who::JobController;
        let asked = match attempt.call {
            Call::CreatePod(_, pod) => {
                let born = jobcheck_spec::pod::Pod { uid, ..*pod.clone() };
                let body = pod::request(&born, known.job_of(&born), &{
                    let mut names = known.names.clone();
                    names.born(&born);
                    names
                });
                let asked = about_pod(known, who, Verb::Create, uid, Some(body), answer);
                if fails { Asked { name: String::new(), uid: None, ..asked } } else { asked }
            }
            Call::DeletePod(_) => about_pod(known, who, Verb::Delete, uid, None, answer),
            Call::RemoveFinalizer(_) => {
                let body = release(known, uid);
                Asked { patch_type: STRATEGIC, ..about_pod(known, who, Verb::Patch, uid, Some(body), answer) }
            }
            Call::AdoptPod(_) | Call::ReleasePod(_) | Call::WriteStatus(_) => return Ok(()),
        };
        self.scribe.request(&Asked { received: attempt.received, ..asked })
    }

    fn write_status(
        &mut self,
        id: JobId,
        status: &JobStatus,
        attempt: &Attempt<'_>,
        after: &World,
    ) -> io::Result<()> {
        let overwrites = self.scope.mutations().on(Mutation::OverwritesOnConflict);
        let stored = self.job_state(id).job.clone();
        let known = self.known(id);
        let base = if attempt.conflicts && overwrites { known.version() } else { attempt.base };
        let sent = Job { status: status.clone(), ..Job::clone(stored.as_ref().unwrap_or(&known.job)) };
        let body = known.render(&sent, base);
        let answer = match &stored {
            _ if attempt.outcome == RequestOutcome::Fails => too_many_requests(),
            None => not_found("jobs.batch", &known.names.job),
            Some(_) if attempt.conflicts && !overwrites => conflict(&known.names.job),
            Some(job) => match refusal(job, &sent, self.scope) {
                Some(broken) => invalid(&self.known(id).names.job, &broken),
                None => self.job_stored(id, after),
            },
        };
        let known = &self.known[usize::from(id.0)];
        let asked = about_job(known, Who::JobController, Verb::Update, Some(body), answer);
        self.scribe.request(&Asked { is_status: true, received: attempt.received, ..asked })
    }
}
