//! The mirror protocol: a pure function that copies the status of a Job on a worker to the Job on the manager cluster.
//!
//! [`decide`] reads what the caches show and returns the requests to send. It is level-triggered. It remembers only the
//! creations that no cache has shown yet ([`Memory`]).
//! `docs/guide/mirror-protocol.md` explains it to the author of a manager.
//!
//! # Guarantees
//!
//! - The function shares no decision with the specification. It calls no guard and no rule of the API server.
//! - Every counter of [`status`] was counted by a copy, and none falls.
//!
//! # Assumptions
//!
//! - The status is written with the resourceVersion of the cached Job. The finalizer of a copy is removed with the
//!   resourceVersion of the cached copy.
//! - A cache shows nothing until it was filled, and its objects never become older.
//! - A copy is deleted with foreground propagation and by UID, so that its pods end before it goes.

use std::sync::Arc;

use jobcheck_spec::IndexSet;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The Job on the manager cluster, as the cache shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalView {
    /// The Job.
    pub job: Job,
    /// The worker that the dispatcher has chosen.
    pub assigned: Option<usize>,
}

/// The Job of this name on a worker, as the cache shows it.
#[derive(Clone, Debug)]
pub struct CopyView {
    /// The UID of the local Job, which the copy carries in a label. `None` for a Job of somebody else.
    pub origin: Option<Uid>,
    /// The counts of earlier copies of the local Job. The copy carries them in an annotation.
    pub base: Base,
    /// `spec.suspend`.
    pub suspended: bool,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// True if the copy has the finalizer of the manager.
    pub finalizer: bool,
    /// `status`.
    pub status: JobStatus,
}

/// The counters of a local Job before a copy was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Base {
    /// `succeeded`; 0 for an Indexed Job, because the new copy runs all indexes again.
    pub succeeded: i32,
    /// `failed`.
    pub failed: i32,
}

/// The content of a worker's cache.
#[derive(Clone, Debug)]
pub enum WorkerView {
    /// The cache is not filled yet.
    Unknown,
    /// The Job of this name, if there is one.
    Known(Option<Box<CopyView>>),
}

/// The memory of a process between two decisions. A new process begins with an empty memory and empty caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The workers to which a creation was sent, and whose list was not read since.
    pub awaited: Vec<usize>,
}

/// A request of the manager. The number is that of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Write the status of the local Job.
    Write(JobStatus),
    /// Create the copy, with the finalizer, for the successes that are missing ([`copy_spec`]).
    Create(usize, Base),
    /// Set `spec.suspend` of the copy.
    Suspend(usize, bool),
    /// Delete the copy, with foreground propagation.
    Delete(usize),
    /// Remove the finalizer from the copy.
    Release(usize),
}

/// The requests to send, given what the caches show. Their order does not matter.
///
/// `local` is `None` if the cache of the manager cluster is not filled yet, and `Some(None)` if it shows no Job.
#[must_use]
pub fn decide(
    local: Option<Option<&LocalView>>,
    workers: &[WorkerView],
    memory: &Memory,
    now: Time,
) -> Vec<Request> {
    let Some(local) = local else { return Vec::new() };
    let uid = local.map(|local| local.job.uid);
    let known = || workers.iter().enumerate().filter_map(|(worker, view)| Some((worker, copy_in(view)?)));
    let is_orphan = |copy: &CopyView| copy.origin.is_some() && copy.origin != uid;
    let mut requests: Vec<Request> = known()
        .filter(|(_, copy)| is_orphan(copy))
        .filter_map(|(worker, copy)| remove(worker, copy))
        .collect();
    let Some(local) = local else { return requests };
    match known().find(|(_, copy)| copy.origin == uid) {
        Some((worker, copy)) => requests.extend(mirror(local, worker, copy)),
        None => requests.extend(without_copy(local, workers, memory, now)),
    }
    requests
}

fn copy_in(view: &WorkerView) -> Option<&CopyView> {
    match view {
        WorkerView::Unknown | WorkerView::Known(None) => None,
        WorkerView::Known(Some(copy)) => Some(&**copy),
    }
}

/// Removes a copy that has nothing left to report.
fn remove(worker: usize, copy: &CopyView) -> Option<Request> {
    match (copy.deleting, copy.finalizer) {
        (false, _) => Some(Request::Delete(worker)),
        (true, true) => Some(Request::Release(worker)),
        (true, false) => None,
    }
}

/// Reports the copy first. Only a copy whose status has arrived is changed, released, or deleted.
fn mirror(local: &LocalView, worker: usize, copy: &CopyView) -> Option<Request> {
    if let Some(status) = status(&local.job, copy) {
        return Some(Request::Write(status));
    }
    let suspended = local.job.spec.is_suspended();
    let is_left = copy.deleting || local.assigned != Some(worker);
    if local.job.status.is_finished() {
        return copy.finalizer.then_some(Request::Release(worker));
    }
    if copy.status.is_decided() {
        // The end comes, and arrives while the finalizer keeps the copy.
        return None;
    }
    if is_left {
        if !copy.deleting {
            return Some(Request::Delete(worker));
        }
        let is_quiet = copy.status.active == 0 && copy.status.terminating.unwrap_or(0) == 0;
        let is_counted = copy.status.recorded() == 0;
        return (is_quiet && is_counted && copy.finalizer).then_some(Request::Release(worker));
    }
    // A resumption is passed on after the suspension was reported, because startTime can move only then.
    let passes = suspended || local.job.status.is_true(&ConditionKind::Suspended);
    (copy.suspended != suspended && passes).then_some(Request::Suspend(worker, suspended))
}

/// Creates a copy once every worker is known to have none. A suspended Job without a copy is reported as suspended.
fn without_copy(local: &LocalView, workers: &[WorkerView], memory: &Memory, now: Time) -> Option<Request> {
    let job = &local.job;
    let all_known = workers.iter().all(|view| matches!(view, WorkerView::Known(_)));
    if job.deleting || job.status.is_finished() || !all_known || !memory.awaited.is_empty() {
        return None;
    }
    if job.spec.is_suspended() {
        let mut status = job.status.clone();
        set(&mut status, suspended(ConditionStatus::True, Some(now)));
        return (!job.status.is_true(&ConditionKind::Suspended)).then_some(Request::Write(status));
    }
    let worker = local.assigned?;
    let is_free = matches!(workers.get(worker), Some(WorkerView::Known(None)));
    is_free.then(|| Request::Create(worker, base_of(job)))
}

/// The base of a new copy: everything that the local Job has counted. Its earlier copies are gone, and were reported
/// before.
#[must_use]
pub fn base_of(job: &Job) -> Base {
    let succeeded = if job.spec.is_indexed() { 0 } else { job.status.succeeded };
    Base { succeeded, failed: job.status.failed }
}

/// The specification of a copy. It asks for the successes, and grants the failures, that are left. The executor of the
/// worker runs it, so it has no `managedBy`.
#[must_use]
pub fn copy_spec(spec: &JobSpec, base: Base) -> JobSpec {
    let left = |whole: i32, counted: i32| whole.saturating_sub(counted).max(0);
    JobSpec {
        completions: spec.completions.map(|completions| left(completions, base.succeeded)),
        backoff_limit: spec.backoff_limit.map(|limit| left(limit, base.failed)),
        managed_by: None,
        ..spec.clone()
    }
}

/// The status to write for what a copy shows. Returns `None` if the local Job shows it already.
#[must_use]
pub fn status(job: &Job, copy: &CopyView) -> Option<JobStatus> {
    let (old, theirs) = (&job.status, &copy.status);
    if old.is_finished() {
        return None;
    }
    let mut new = JobStatus {
        active: theirs.active,
        ready: theirs.ready,
        terminating: theirs.terminating,
        failed: old.failed.max(copy.base.failed.saturating_add(theirs.failed)),
        succeeded: old.succeeded.max(copy.base.succeeded.saturating_add(theirs.succeeded)),
        start_time: old.start_time.or(theirs.start_time),
        ..old.clone()
    };
    if job.spec.is_indexed() {
        unite_indexes(&mut new, theirs);
    }
    apply_suspension(old, theirs, &mut new);
    apply_end(&job.spec, old, theirs, &mut new);
    (new != *old).then_some(new)
}

/// An index that any copy has completed stays completed.
fn unite_indexes(new: &mut JobStatus, theirs: &JobStatus) {
    let completed = union(new.completed(None), &theirs.completed(None));
    let failed = union(new.failed_set(None), &theirs.failed_set(None)).minus(&completed);
    new.succeeded = i32::try_from(completed.len()).unwrap_or(i32::MAX);
    new.completed_indexes = text(&completed);
    if theirs.failed_indexes.is_some() || new.failed_indexes.is_some() {
        new.failed_indexes = Some(text(&failed));
    }
}

fn union(mut one: IndexSet, other: &IndexSet) -> IndexSet {
    other.iter().for_each(|index| one.insert(index));
    one
}

fn text(indexes: &IndexSet) -> Arc<str> {
    indexes.to_string().into()
}

/// The condition Suspended follows the copy. The write that resumes the Job moves `startTime` with it, and `startTime`
/// moves in no other write.
fn apply_suspension(old: &JobStatus, theirs: &JobStatus, new: &mut JobStatus) {
    let was = old.is_true(&ConditionKind::Suspended);
    let is = theirs.is_true(&ConditionKind::Suspended);
    let time = theirs.condition(&ConditionKind::Suspended).and_then(|it| it.last_transition_time);
    if is && !was {
        set(new, suspended(ConditionStatus::True, time));
    }
    let is_new = |start: &Time| old.start_time != Some(*start) || time.is_some_and(|time| *start >= time);
    let moved = theirs.start_time.filter(is_new);
    if was
        && !is
        && let Some(start) = moved
    {
        set(new, suspended(ConditionStatus::False, time.or(Some(start))));
        new.start_time = Some(start);
    }
}

/// The interim condition is written first, and the terminal one afterwards. Both wait until the counters and the pods
/// agree with them.
fn apply_end(spec: &JobSpec, old: &JobStatus, theirs: &JobStatus, new: &mut JobStatus) {
    let ends = [
        (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        (ConditionKind::FailureTarget, ConditionKind::Failed),
    ];
    let decided = |(interim, terminal): &(ConditionKind, ConditionKind)| {
        theirs.is_true(interim) || theirs.is_true(terminal)
    };
    let Some((interim, terminal)) = ends.into_iter().find(decided) else { return };
    if interim == ConditionKind::SuccessCriteriaMet && spec.success_policy.is_none() && !is_enough(spec, new)
    {
        return;
    }
    let Some(cause) = theirs.condition(&interim).or_else(|| theirs.condition(&terminal)) else { return };
    if !old.is_true(&interim) {
        set(new, Condition { kind: interim, ..cause.clone() });
    } else if theirs.is_true(&terminal) && new.active == 0 && new.terminating.unwrap_or(0) == 0 {
        let time = theirs.condition(&terminal).and_then(|it| it.last_transition_time);
        let first = old.condition(&interim).unwrap_or(cause).clone();
        set(new, Condition { kind: terminal, last_transition_time: time, ..first });
        new.completion_time = theirs.completion_time;
    }
}

fn is_enough(spec: &JobSpec, status: &JobStatus) -> bool {
    match spec.completions {
        None => status.succeeded >= 1,
        Some(completions) => status.succeeded >= completions,
    }
}

fn suspended(status: ConditionStatus, time: Option<Time>) -> Condition {
    let (reason, message) = match status {
        ConditionStatus::True => ("JobSuspended", "Job suspended"),
        ConditionStatus::False | ConditionStatus::Unknown | ConditionStatus::Undefined => {
            ("JobResumed", "Job resumed")
        }
    };
    let (reason, message) = (reason.into(), message.into());
    Condition { kind: ConditionKind::Suspended, status, reason, message, last_transition_time: time }
}

/// Sets one condition, and leaves all others as they are.
fn set(status: &mut JobStatus, condition: Condition) {
    match status.conditions.iter_mut().find(|it| it.kind == condition.kind) {
        Some(entry) => *entry = condition,
        None => status.conditions.push(condition),
    }
}
