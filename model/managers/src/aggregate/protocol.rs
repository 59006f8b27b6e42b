//! The sum protocol: a pure function that makes the status of a Job from those of several copies, its members.
//!
//! [`decide`] reads what the caches show and returns the requests to send. It is level-triggered. The Job carries the
//! counts of members that have left in an annotation ([`LocalView::counted`]), which the status write sets as well.
//!
//! # Guarantees
//!
//! - The function shares no decision with the specification. It calls no guard and no rule of the API server.
//! - Each pod counts once: with its member, or with the annotation after its member has left.
//!
//! # Assumptions
//!
//! - The status and the annotation are written together, with the resourceVersion of the cached Job.
//! - A member is created with a finalizer of the manager, and is deleted with foreground propagation. So it stays until its
//!   pods are gone and its counts are stored.
//! - A cache shows nothing until it was filled, and its objects never become older.

use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus};
use jobcheck_spec::time::Time;

/// Successes and failures.
pub type Counts = (i32, i32);

/// The Job on the manager cluster, as the cache shows it.
#[derive(Clone, Debug)]
pub struct LocalView {
    /// The Job.
    pub job: Job,
    /// The counts of the members that have left, by their UIDs.
    pub counted: Vec<(u8, Counts)>,
}

/// A member, as the cache of its cluster shows it.
#[derive(Clone, Debug)]
pub struct MemberView {
    /// The UID.
    pub uid: u8,
    /// Its `completions`.
    pub share: i32,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// True if it is being deleted, and the garbage collector has removed its pods.
    pub drained: bool,
    /// True if it has the finalizer of the manager.
    pub finalizer: bool,
    /// `status`.
    pub status: JobStatus,
}

/// The content of the cache of a cluster.
#[derive(Clone, Debug)]
pub enum ClusterView {
    /// The cache is not filled yet.
    Unknown,
    /// The member, if there is one.
    Known(Option<Box<MemberView>>),
}

/// A request of the manager. The number is that of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Write the status of the Job, with the annotation.
    Write(JobStatus, Vec<(u8, Counts)>),
    /// Create a member with a finalizer, for this number of successes.
    Create(usize, i32),
    /// Delete the member, with foreground propagation.
    Delete(usize),
    /// Remove the finalizer from the member.
    Release(usize),
}

/// The requests to send, given what the caches show. Their order does not matter.
///
/// `awaited` are the clusters to which a creation was sent, and whose list was not read since.
#[must_use]
pub fn decide(local: &LocalView, clusters: &[ClusterView], awaited: &[usize], now: Time) -> Vec<Request> {
    let Some(members) = members(clusters) else { return Vec::new() };
    if let Some(write) = sum(local, &members, awaited, now) {
        return vec![write];
    }
    let status = &local.job.status;
    let fails = status.is_true(&ConditionKind::FailureTarget);
    let mut requests = Vec::new();
    for (cluster, member) in &members {
        let has_left = local.counted.iter().any(|(uid, _)| *uid == member.uid);
        if member.finalizer && (has_left || status.is_finished()) {
            requests.push(Request::Release(*cluster));
        } else if fails && !member.deleting && !member.status.is_finished() {
            requests.push(Request::Delete(*cluster));
        }
    }
    if !status.is_decided() && awaited.is_empty() {
        requests.extend(missing(local, clusters, &members));
    }
    requests
}

/// All members, with their clusters. `None` if a cache is not filled yet.
fn members(clusters: &[ClusterView]) -> Option<Vec<(usize, &MemberView)>> {
    let mut members = Vec::new();
    for (cluster, view) in clusters.iter().enumerate() {
        match view {
            ClusterView::Unknown => return None,
            ClusterView::Known(member) => members.extend(member.iter().map(|it| (cluster, &**it))),
        }
    }
    Some(members)
}

/// Members for the successes that no member will have, on the clusters that have none.
fn missing(local: &LocalView, clusters: &[ClusterView], members: &[(usize, &MemberView)]) -> Vec<Request> {
    let free: Vec<usize> =
        (0..clusters.len()).filter(|cluster| members.iter().all(|(of, _)| of != cluster)).collect();
    let counted: i32 = local.counted.iter().map(|(_, counts)| counts.0).sum();
    let present = members.iter().filter(|(_, it)| local.counted.iter().all(|(uid, _)| *uid != it.uid));
    let planned: i32 = present.map(|(_, it)| it.share).sum();
    let mut left = local.job.spec.completions.unwrap_or(1) - counted - planned;
    let mut requests = Vec::new();
    for (place, cluster) in free.iter().enumerate() {
        let clusters_left = i32::try_from(free.len() - place).unwrap_or(1);
        let share = (left + clusters_left - 1) / clusters_left;
        if share > 0 {
            requests.push(Request::Create(*cluster, share));
            left -= share;
        }
    }
    requests
}

/// The write that the members demand. `None` if the Job shows it already.
///
/// A member that was created, and that no cache shows yet, may run: the Job does not end before.
fn sum(local: &LocalView, members: &[(usize, &MemberView)], awaited: &[usize], now: Time) -> Option<Request> {
    let old = &local.job.status;
    if old.is_finished() {
        return None;
    }
    let mut counted = local.counted.clone();
    for (_, member) in members.iter().filter(|(_, member)| member.drained) {
        if counted.iter().all(|(uid, _)| *uid != member.uid) {
            counted.push((member.uid, (member.status.succeeded, member.status.failed)));
        }
    }
    let has_left = |member: &MemberView| counted.iter().any(|(uid, _)| *uid == member.uid);
    let present: Vec<&MemberView> = members.iter().map(|(_, it)| *it).filter(|it| !has_left(it)).collect();
    let total = |number: fn(&JobStatus) -> i32| present.iter().map(|it| number(&it.status)).sum::<i32>();
    let mut new = JobStatus {
        active: total(|status| status.active),
        succeeded: counted.iter().map(|(_, it)| it.0).sum::<i32>() + total(|status| status.succeeded),
        failed: counted.iter().map(|(_, it)| it.1).sum::<i32>() + total(|status| status.failed),
        ..old.clone()
    };
    // An executor may report a pod before its startTime.
    let has_pods = new.active + new.succeeded + new.failed > 0;
    let has_started = members.iter().any(|(_, it)| it.status.start_time.is_some());
    if old.start_time.is_some() || has_started || has_pods {
        new.start_time = old.start_time.or(Some(now));
        new.ready = Some(total(|status| status.ready.unwrap_or(0)));
        new.terminating = Some(total(|status| status.terminating.unwrap_or(0)));
        let fails = members.iter().any(|(_, it)| has_failed(&it.status));
        let may_end = awaited.is_empty() && present.iter().all(|member| member.status.is_finished());
        decide_end(&local.job, may_end, fails, now, &mut new);
    }
    (new != *old || counted != local.counted).then_some(Request::Write(new, counted))
}

fn has_failed(status: &JobStatus) -> bool {
    status.is_true(&ConditionKind::FailureTarget) || status.is_true(&ConditionKind::Failed)
}

/// The interim condition is written first. The terminal one waits until each member has ended, or has left.
fn decide_end(job: &Job, may_end: bool, fails: bool, now: Time, new: &mut JobStatus) {
    let old = &job.status;
    let is_enough = new.succeeded >= job.spec.completions.unwrap_or(1);
    let interim = match () {
        () if old.is_true(&ConditionKind::SuccessCriteriaMet) => ConditionKind::SuccessCriteriaMet,
        () if old.is_true(&ConditionKind::FailureTarget) || fails => ConditionKind::FailureTarget,
        () if is_enough => ConditionKind::SuccessCriteriaMet,
        () => return,
    };
    if !old.is_true(&interim) {
        return new.conditions.push(condition(interim, now));
    }
    let is_at_rest = new.active == 0 && new.terminating.unwrap_or(0) == 0;
    if is_at_rest && may_end {
        let succeeds = interim == ConditionKind::SuccessCriteriaMet;
        let terminal = if succeeds { ConditionKind::Complete } else { ConditionKind::Failed };
        new.completion_time = succeeds.then_some(now);
        new.conditions.push(condition(terminal, now));
    }
}

/// A condition that is True, as the protocol writes it.
pub(super) fn condition(kind: ConditionKind, now: Time) -> Condition {
    let succeeds = matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::Complete);
    let reason = if succeeds { "CompletionsReached" } else { "BackoffLimitExceeded" };
    Condition {
        kind,
        status: ConditionStatus::True,
        reason: reason.into(),
        message: "".into(),
        last_transition_time: Some(now),
    }
}
