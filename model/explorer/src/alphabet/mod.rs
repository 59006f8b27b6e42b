//! The manager of a Job in the specification: every write that it may make, each with its guards and its
//! effect.
//!
//! Candidates come from an alphabet that also contains wrong writes, and the guards of
//! [`jobcheck_spec::guards`] choose among them. A missing guard therefore admits a wrong write, which breaks
//! a property.

mod adoption;
mod create;
mod delete;
mod finalizer_removal;
mod status;

use std::sync::Arc;

use crate::knowledge::{Knowledge, PodCache};
use crate::scope::Scope;
use crate::world::{Driver, JobId, JobState, World};
use jobcheck_spec::backoff::BackoffRecord;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::ownership::judge_intrusion;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::View;

pub use status::{has_refusable_candidate, refusal};

/// A write of a manager.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// Creates this pod.
    CreatePod(Box<Pod>),
    /// Deletes a pod.
    DeletePod(Uid),
    /// Removes the tracking finalizer of a pod.
    RemoveFinalizer(Uid),
    /// Adopts a pod: adds the controller reference.
    AdoptPod(Uid),
    /// Releases a pod: removes the controller reference.
    ReleasePod(Uid),
    /// Writes the Job's status.
    Status(Box<JobStatus>),
}

/// Everything on which the judgement of a manager's write depends.
struct DecisionContext<'a> {
    job_state: &'a JobState,
    seen: PodCache,
    /// The feature gates of the manager's process.
    gates: Gates,
    /// The Job in the Job cache, as these gates show it.
    cached: Option<Arc<Job>>,
    /// The stored Job, as these gates show it.
    stored: Option<Arc<Job>>,
    /// SY-04: true if the Job cache shows the stored version.
    is_current: bool,
    record: &'a BackoffRecord,
    deletes_failed: bool,
    /// True if a creation was refused because the namespace is being deleted.
    namespace_goes: bool,
    /// The time of that refusal, if it was in an earlier sync and the subject remembers it (PC-12).
    refused: Option<Time>,
    /// True if the Pod cache is the input of a sync.
    in_sync: bool,
    /// The start of that sync.
    began: Option<Time>,
    now: Time,
    scope: &'a Scope,
}

impl<'a> DecisionContext<'a> {
    /// The specification's manager of a Job; `None` if processes manage the Job.
    fn of(world: &'a World, job: JobId, scope: &'a Scope) -> Option<DecisionContext<'a>> {
        let job_state = world.job_state(job);
        let Driver::Specification(knowledge) = &job_state.driver else { return None };
        Some(DecisionContext::with_knowledge(job_state, knowledge, world.now, scope))
    }

    /// A manager of the specification that has this knowledge.
    fn with_knowledge(
        job_state: &'a JobState,
        knowledge: &'a Knowledge,
        now: Time,
        scope: &'a Scope,
    ) -> DecisionContext<'a> {
        let (gates, stored) = (knowledge.gates, job_state.job.as_ref());
        DecisionContext {
            job_state,
            seen: knowledge.pod_cache(&job_state.pods, stored),
            gates,
            cached: knowledge.cached_job(stored).map(|job| gates.read(job)),
            stored: stored.map(|job| gates.read(job)),
            is_current: knowledge.old_job.is_none(),
            record: &knowledge.backoff,
            deletes_failed: false,
            namespace_goes: false,
            refused: None,
            in_sync: false,
            began: None,
            now,
            scope,
        }
    }

    /// A process, in a sync or between two syncs.
    fn of_process(
        job_state: &'a JobState,
        by: usize,
        now: Time,
        scope: &'a Scope,
    ) -> Option<DecisionContext<'a>> {
        let process = job_state.processes().get(by)?;
        let (seen, cached, deletes_failed) = match &process.sync {
            Some(sync) => (sync.seen.clone(), sync.job(), sync.deletes_failed),
            None => {
                let cached = process.cached_job(job_state.job.as_ref());
                let incarnation = incarnation::of(cached.map(AsRef::as_ref));
                (PodCache::of(&job_state.pods, &process.knowledge.behind, incarnation), cached, false)
            }
        };
        let gates = process.knowledge.gates;
        Some(DecisionContext {
            job_state,
            seen,
            gates,
            cached: cached.map(|job| gates.read(job)),
            // PC-29: the cache knows nothing of a recreated Job.
            stored: job_state.job.as_ref().filter(|job| is_same(cached, job)).map(|job| gates.read(job)),
            is_current: true,
            record: &process.knowledge.backoff,
            deletes_failed,
            namespace_goes: process.memory.namespace_goes(now),
            refused: process.sync.as_ref().and_then(|sync| sync.read.own_requests.refused),
            in_sync: process.sync.is_some(),
            began: process.sync.as_ref().map(|sync| sync.read.now),
            now,
            scope,
        })
    }

    /// The context at the start of the sync, for subjects that write the status before they create and delete
    /// pods. Such a subject takes all decisions at the start. The status that it has written since then
    /// counts pods that the caches show as uncounted. `None` if the sync has written no status.
    fn before_own_writes(self, by: usize) -> Option<DecisionContext<'a>> {
        let process = self.job_state.processes().get(by)?;
        let sync = process.sync.as_ref()?;
        let algorithm = self.scope.algorithm()?;
        let wrote = algorithm.decisions.writes_first() && sync.replies.has_written();
        let read = sync.read.job.as_ref().filter(|_| wrote)?;
        Some(DecisionContext { cached: Some(self.gates.read(read)), ..self })
    }

    /// MB-03: returns true if the Job has another manager, by the gates of the process (UG-14, UG-15).
    fn is_of_another_manager(&self) -> bool {
        self.stored.as_ref().is_some_and(|job| !job.is_managed_by_built_in())
    }

    /// The view of the manager, which reads this version of the Job.
    fn view<'b>(&'b self, job: &'b Job) -> View<'b> {
        let view = self.seen.view(job, self.now, self.record, &self.scope.constants);
        let (deletes_failed, namespace_terminating) = (self.deletes_failed, self.namespace_goes);
        View { earliest: self.began, deletes_failed, namespace_terminating, gates: self.gates, ..view }
    }

    /// The view of a decision about pods, which may rest on an old version of the Job.
    fn cached_view(&self) -> Option<View<'_>> {
        self.cached.as_ref().map(|job| self.view(job))
    }

    /// SY-04: the stored Job, if the manager may write its status because the Job cache shows it.
    fn writable_job(&self) -> Option<&Job> {
        self.stored.as_deref().filter(|_| self.is_current)
    }
}

/// Returns true if the cache shows this Job or none.
fn is_same(cached: Option<&Arc<Job>>, job: &Job) -> bool {
    cached.is_none_or(|cached| cached.uid == job.uid)
}

/// The writes that the specification admits; none if processes manage the Job.
#[must_use]
pub fn admitted(world: &World, job: JobId, scope: &Scope) -> Vec<Write> {
    let Some(context) = DecisionContext::of(world, job, scope) else { return Vec::new() };
    if context.is_of_another_manager() && !scope.without.contains(&Req::MB03) {
        return Vec::new();
    }
    create::admitted(&context)
        .into_iter()
        .map(|pod| Write::CreatePod(Box::new(pod)))
        .chain(delete::admitted(&context).into_iter().map(Write::DeletePod))
        .chain(finalizer_removal::admitted(&context).into_iter().map(Write::RemoveFinalizer))
        .chain(adoption::admitted(&context))
        .chain(status::admitted(&context).into_iter().map(|status| Write::Status(Box::new(status))))
        .collect()
}

/// Returns true if a creation is admitted, but exceeds the scope's bound on pods.
#[must_use]
pub fn pod_bound_reached(world: &World, job: JobId, scope: &Scope) -> bool {
    DecisionContext::of(world, job, scope)
        .is_some_and(|context| !context.is_of_another_manager() && create::pod_bound_reached(&context))
}

/// Judges a write of the specification's manager.
#[must_use]
pub fn judge(world: &World, job: JobId, write: &Write, scope: &Scope) -> Findings {
    DecisionContext::of(world, job, scope).map_or_else(Findings::new, |context| judge_at(&context, write))
}

/// Judges a write of a process by the same guards.
#[must_use]
pub fn judge_by(job_state: &JobState, by: usize, write: &Write, now: Time, scope: &Scope) -> Findings {
    let Some(context) = DecisionContext::of_process(job_state, by, now, scope) else {
        return Findings::new();
    };
    let findings = judge_at(&context, write);
    if scope.admits(&findings) || matches!(write, Write::Status(_)) {
        return findings;
    }
    match context.before_own_writes(by) {
        Some(earlier) => Some(judge_at(&earlier, write)).filter(|it| scope.admits(it)).unwrap_or(findings),
        None => findings,
    }
}

fn judge_at(context: &DecisionContext<'_>, write: &Write) -> Findings {
    let mut findings = Findings::new();
    judge_intrusion(true, context.is_of_another_manager(), "a write", &mut findings);
    if !findings.is_clean() {
        return findings;
    }
    match write {
        Write::CreatePod(pod) => create::judge(context, pod),
        Write::DeletePod(uid) => delete::judge(context, *uid),
        Write::RemoveFinalizer(uid) => finalizer_removal::judge(context, *uid),
        Write::AdoptPod(uid) => adoption::judge(context, *uid),
        Write::ReleasePod(uid) => adoption::judge_release(context, *uid),
        Write::Status(status) => status::judge(context, status),
    }
}

/// Commits a write, as the API server does.
pub fn apply(world: &mut World, job: JobId, write: &Write, scope: &Scope) {
    let now = world.now;
    let job_state = world.job_state_mut(job);
    let Some(manager) = Manager::of(job_state) else { return };
    job_state.ghost.built_in_wrote(manager.gates, job_state.job.as_deref());
    match write {
        Write::CreatePod(pod) => create::apply(job_state, &manager, pod, scope),
        Write::DeletePod(uid) => delete::apply(job_state, &manager, *uid, now, scope),
        Write::RemoveFinalizer(uid) => finalizer_removal::apply(job_state, &manager, *uid, scope),
        Write::AdoptPod(uid) => adoption::apply(job_state, *uid, true, scope),
        Write::ReleasePod(uid) => adoption::apply(job_state, *uid, false, scope),
        Write::Status(status) => status::apply(job_state, &manager, status, now, scope),
    }
}

/// The manager that makes a write, as the history variables need it.
struct Manager {
    gates: Gates,
    /// True if its caches show everything.
    fresh: bool,
    /// The stored Job, as its gates show it.
    job: Option<Arc<Job>>,
}

impl Manager {
    fn of(job_state: &JobState) -> Option<Manager> {
        let Driver::Specification(knowledge) = &job_state.driver else { return None };
        let stored = job_state.job.as_ref();
        Some(Manager {
            gates: knowledge.gates,
            fresh: knowledge.is_up_to_date(),
            job: stored.map(|job| knowledge.gates.read(job)),
        })
    }
}

/// The Pod cache of the specification's manager.
fn pod_cache(job_state: &JobState) -> Option<PodCache> {
    let Driver::Specification(knowledge) = &job_state.driver else { return None };
    Some(knowledge.pod_cache(&job_state.pods, job_state.job.as_ref()))
}

/// The findings of a write that the manager cannot make in this state.
fn out_of_reach(what: &'static str) -> Findings {
    let mut findings = Findings::new();
    findings.require(Req::SY04, false, what, "a Job that the cache shows", "none");
    findings
}
