//! The contract of a manager between two clusters: a Job here, and its copies on workers (MR-20 to MR-27,
//! `docs/reference/managers.md`).
//!
//! | requirement | compared | decided by |
//! | --- | --- | --- |
//! | MR-20 | statuses, where neither has changed for a while | [`judge_copies`] |
//! | MR-21 | the end of a copy and the end of the Job | the same |
//! | MR-22 | the end of a copy and the creation of the next one | the same |
//! | MR-23 | the times in the status and those of copies of another Job with this name | the same |
//! | MR-24 | the counters, after a redispatch | the same |
//! | MR-24, MR-27 | refused status writes after a redispatch, and after a change of `suspend` | the same |
//! | MR-27 | `suspend` of a Job that is suspended here, and of its copy | the same |
//! | MR-25 | the removal of the Job and that of its copies | the same |
//! | MR-26 | the removal of a copy by its TTL and the end of the Job | the same |
//!
//! Clocks of two clusters differ, so times are compared with the skew that the user grants. An end, a difference or a
//! removal counts only if the manager was seen to work afterwards for as long as it may take. `copies_before` compares what
//! was gone by the end of the traces, and `copies_equal` two statuses.

use super::copies_before::{judge_earlier_equality, judge_late_end, judge_late_removal};
pub use super::copies_equal::is_decided_alike;
use super::copies_equal::{Others, difference};
use super::work::Work;
use crate::catalogue::Req;
use crate::job::{ConditionKind, JobSpec, JobStatus};
use crate::requirement::Findings;
use crate::time::Time;

/// A span of time in microseconds since 1970, or a point in it.
pub type Micros = i64;

/// The bounds of what is compared.
#[derive(Clone, Copy, Debug)]
pub struct Grants {
    /// The time that a manager may take.
    pub patience: Micros,
    /// The difference between the clocks of two clusters.
    pub skew: Micros,
}

/// A version of a Job, and the time from which on it was stored.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// When the server had stored it.
    pub at: Micros,
    /// Its status.
    pub status: &'a JobStatus,
    /// Its specification.
    pub spec: &'a JobSpec,
}

/// A copy of a Job on a worker.
#[derive(Clone, Debug)]
pub struct Copy<'a> {
    /// The number of its worker.
    pub worker: usize,
    /// Its creation.
    pub created: Micros,
    /// Its last status.
    pub status: &'a JobStatus,
    /// The last change of its status.
    pub changed: Micros,
    /// The first status with a terminal condition.
    pub ended: Option<Micros>,
    /// Its deletion or removal.
    pub gone: Option<Micros>,
    /// Its removal. A finalizer may have kept it after its deletion.
    pub removed: Option<Micros>,
    /// Since when it has been left to its manager: nobody deletes it, or it is deleted and a finalizer of its creator alone keeps
    /// it. `None` if it is removed, or something else keeps it.
    pub left: Option<Micros>,
    /// Its creator has deleted it without its pods, which still run.
    pub orphans_pods: bool,
    /// Its removal, if the TTL-after-finished controller has deleted it. A finalizer may have kept it until then.
    pub expired: Option<Micros>,
    /// The time up to which the trace of its worker reaches.
    pub seen_until: Micros,
    /// `spec.suspend` is true.
    pub is_suspended: bool,
    /// Its versions, in order. Without them, only the end of the trace is compared.
    pub versions: Vec<Version<'a>>,
    /// The work of the creator of the copies on its worker.
    pub work: Work,
    /// The spans in which its status is not known.
    pub unknown: Vec<(Micros, Micros)>,
}

/// A Job whose manager writes status alone.
#[derive(Clone, Debug)]
pub struct Local<'a> {
    /// Its last status.
    pub status: &'a JobStatus,
    /// The last change of its status.
    pub changed: Micros,
    /// The first status with a terminal condition.
    pub ended: Option<Micros>,
    /// Its deletion or removal.
    pub gone: Option<Micros>,
    /// Its removal. A finalizer may have kept it after its deletion.
    pub removed: Option<Micros>,
    /// `spec.suspend` is true.
    pub is_suspended: bool,
    /// The last change of `spec.suspend`.
    pub suspend_changed: Option<Micros>,
    /// Its specification has a TTL.
    pub has_ttl: bool,
    /// Its versions, in order. Without them, only the end of the trace is compared.
    pub versions: Vec<Version<'a>>,
    /// The work of its manager on its cluster.
    pub work: Work,
    /// Status writes that validation refused, without an accepted one after them.
    pub refused: Vec<Micros>,
    /// The copies, in the order of their creation.
    pub copies: Vec<Copy<'a>>,
    /// `startTime` and `completionTime` that its own copies have had.
    pub own_times: Vec<Time>,
    /// The Jobs of others with this name.
    pub foreign: Foreign,
    /// The spans in which its status is not known.
    pub unknown: Vec<(Micros, Micros)>,
}

/// Jobs of others on the workers that have the name of a Job.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// `startTime` and `completionTime` of copies of other Jobs.
    pub times: Vec<Time>,
    /// The creator of the copies has deleted one that is no copy.
    pub is_deleted: bool,
}

/// The version that is stored at a time.
pub(super) fn at<'a, 'b>(versions: &'b [Version<'a>], time: Micros) -> Option<&'b Version<'a>> {
    versions[..versions.partition_point(|version| version.at <= time)].last()
}

impl<'a> Copy<'a> {
    /// All statuses that it has had.
    pub(super) fn statuses(&self) -> impl Iterator<Item = &'a JobStatus> {
        self.versions.iter().map(|version| version.status).chain([self.status])
    }

    /// Returns `true` if all its statuses up to this time are known. It may be gone.
    fn is_known_until(&self, at: Micros, grants: Grants) -> bool {
        let until = at.saturating_add(grants.skew);
        let is_shown = self.removed.is_some_and(|removed| removed <= until) || self.seen_until >= until;
        is_shown && self.unknown.iter().all(|(since, _)| *since > until)
    }

    /// Returns `true` if the trace of its worker shows what happened long after this time.
    fn is_seen_after(&self, since: Micros, grants: Grants) -> bool {
        self.seen_until >= since.saturating_add(grants.patience).saturating_sub(grants.skew)
    }
}

impl<'a> Local<'a> {
    /// The version that is stored at a time.
    pub(super) fn at(&self, time: Micros) -> Option<&Version<'a>> {
        at(&self.versions, time)
    }

    /// Returns `true` if the manager has worked for long after this time.
    fn has_had_time(&self, since: Micros, grants: Grants) -> bool {
        self.work.had_time(since, grants.patience)
    }

    /// Status writes that were refused after this time, if there are several.
    fn refused_since(&self, since: Micros) -> usize {
        self.refused.iter().filter(|at| **at >= since).count()
    }
}

/// Judges a Job beside its copies.
pub fn judge_copies(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    if !local.copies.is_empty() {
        judge_equality(local, grants, findings);
        if !differs(findings) {
            judge_earlier_equality(local, grants, findings);
        }
        judge_end(local, grants, findings);
        judge_late_end(local, grants, findings);
        judge_repetition(local, grants, findings);
        judge_refusals(local, findings);
        judge_suspension(local, grants, findings);
        judge_removal(local, grants, findings);
        judge_late_removal(local, grants, findings);
        judge_expiry(local, grants, findings);
    }
    judge_identity(local, findings);
}

/// Judges a Job beside its members, except for the sum of their statuses ([`super::sums`]).
pub fn judge_members(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    if !local.copies.is_empty() {
        judge_refusals(local, findings);
        judge_removal(local, grants, findings);
        judge_late_removal(local, grants, findings);
    }
    judge_identity(local, findings);
}

/// MR-20, MR-24: at quiescence the status equals that of the last copy that is there. After a redispatch the counters contain
/// those of the others.
fn judge_equality(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let mut copies = local.copies.iter().enumerate().rev();
    let Some((position, copy)) = copies.find(|(_, copy)| copy.gone.is_none() && local.gone.is_none()) else {
        return;
    };
    let known = |unknown: &[(Micros, Micros)]| unknown.last().map_or(Micros::MIN, |(_, until)| *until);
    let known = known(&local.unknown).max(known(&copy.unknown));
    let since = local.changed.max(copy.changed).max(known);
    let rests = known < Micros::MAX && local.has_had_time(since, grants) && copy.is_seen_after(since, grants);
    if !rests || copy.is_suspended != local.is_suspended {
        return;
    }
    let others = Others::of(local, position, Micros::MAX, grants);
    match difference(local.status, copy.status, &others, local.is_suspended) {
        Some(it) => findings.require(it.req, false, it.what, it.expected, it.found),
        None => findings.require(Req::MR20, true, "status", "", ""),
    };
}

/// MR-20: a manager may delete the copy once it has reported its end. Neither status changes after the end.
///
/// The explorer keeps no statuses of deleted Jobs, so that this is about traces alone.
pub fn judge_last_equality(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let Some((position, copy)) = local.copies.iter().enumerate().next_back() else { return };
    if differs(findings) {
        return;
    }
    let have_ended = local.ended.is_some() && copy.ended.is_some();
    let is_failed = |status: &JobStatus| status.is_true(&ConditionKind::Failed);
    // Another end than that of the copy breaks MR-21.
    if !have_ended || is_failed(local.status) != is_failed(copy.status) {
        return;
    }
    let others = Others::of(local, position, Micros::MAX, grants);
    if let Some(it) = difference(local.status, copy.status, &others, false) {
        findings.require(it.req, false, it.what, it.expected, it.found);
    }
}

/// Returns `true` if a difference between the statuses was found.
fn differs(findings: &Findings) -> bool {
    findings.broken.iter().any(|broken| matches!(broken.req, Req::MR20 | Req::MR24))
}

/// MR-21: the end of a copy arrives, and it is the end of a copy.
fn judge_end(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let mut ended = local.copies.iter().filter_map(|copy| Some((copy.ended?, copy.status)));
    let what = "terminal condition of the Job";
    let Some((first, _)) = ended.clone().min_by_key(|(at, _)| *at) else {
        let is_seen = |at: Micros| local.copies.iter().all(|copy| copy.is_known_until(at, grants));
        if local.ended.is_some_and(is_seen) {
            findings.require(Req::MR21, false, what, "that of a copy", "one, although no copy has ended");
        }
        return;
    };
    if local.ended.is_some() {
        let is_failed = |status: &JobStatus| status.is_true(&ConditionKind::Failed);
        let fits = ended.any(|(_, status)| is_failed(status) == is_failed(local.status));
        let word = |failed: bool| if failed { "Failed" } else { "Complete" };
        let failed = is_failed(local.status);
        findings.require(Req::MR21, fits, what, word(!failed), word(failed));
        return;
    }
    let is_open = local.unknown.last().is_some_and(|(_, until)| *until == Micros::MAX);
    let is_late = local.gone.is_none() && !is_open && local.has_had_time(first, grants);
    let found = "none, although the manager was active for 120 s or more after the end of the copy";
    findings.require(Req::MR21, !is_late, what, "that of its copy", found);
}

/// MR-22: no copy is created while another one is left on the same worker. Nor does one stay for long beside a later one on another
/// worker, if its manager reaches both. A manager cannot delete a copy on a worker that it does not reach.
///
/// The explorer keeps no times at which copies are deleted. It counts the copies itself, so that this is about traces alone.
pub fn judge_simultaneity(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let until =
        |copy: &Copy<'_>| [copy.ended, copy.gone].into_iter().flatten().min().unwrap_or(copy.seen_until);
    let is_beside = |copy: &Copy<'_>, later: &Copy<'_>| {
        let both = until(copy).min(until(later));
        match later.worker == copy.worker {
            true => copy.created < later.created && later.created < both,
            false => copy.work.worked(later.created.saturating_add(grants.skew), both) >= grants.patience,
        }
    };
    for (position, copy) in local.copies.iter().enumerate() {
        let later = local.copies[position + 1..].iter().find(|later| is_beside(copy, later));
        let found = later
            .map_or_else(String::new, |later| format!("another one, created at {}", time(later.created)));
        let what = "copies of the Job that have not ended";
        findings.require(Req::MR22, later.is_none(), what, "one at a time", found);
    }
}

/// MR-22: nothing is created again after the end of a copy.
fn judge_repetition(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    for (position, copy) in local.copies.iter().enumerate() {
        let Some(ended) = copy.ended else { continue };
        let is_again = |later: &&Copy<'_>| {
            let skew = if later.worker == copy.worker { 0 } else { grants.skew };
            later.created > ended + skew
        };
        let again = local.copies[position + 1..].iter().find(is_again);
        let found = again.map_or_else(String::new, |later| {
            format!(
                "a copy created at {}, after another one had ended at {}",
                time(later.created),
                time(ended)
            )
        });
        findings.require(
            Req::MR22,
            again.is_none(),
            "copies of the Job",
            "none after the end of a copy",
            found,
        );
    }
}

/// MR-23: the status has no time of a copy that belongs to another Job with this name.
fn judge_identity(local: &Local<'_>, findings: &mut Findings) {
    if local.foreign.times.is_empty() {
        return;
    }
    let is_foreign = |time: &Time| local.foreign.times.contains(time) && !local.own_times.contains(time);
    let found =
        [local.status.start_time, local.status.completion_time].into_iter().flatten().find(is_foreign);
    let words = found
        .map_or_else(String::new, |time| format!("{time}, from the copy of the previous Job with this name"));
    findings.require(Req::MR23, found.is_none(), "times in the status", "those of a copy of this Job", words);
}

/// MR-24 and MR-27: after a redispatch, and after a change of `suspend`, no status write is refused for ever.
fn judge_refusals(local: &Local<'_>, findings: &mut Findings) {
    let has_counted = |copy: &Copy<'_>| copy.status.succeeded > 0 || copy.status.failed > 0;
    let what = "status writes that validation refuses, without an accepted one after them";
    let redispatched =
        local.copies.windows(2).filter(|pair| has_counted(&pair[0])).map(|pair| pair[1].created);
    if let Some(since) = redispatched.min() {
        let refused = local.refused_since(since);
        findings.require(Req::MR24, refused < 2, what, "none after a redispatch", refused);
    } else if let Some(since) = local.suspend_changed {
        let refused = local.refused_since(since);
        findings.require(Req::MR27, refused < 2, what, "none after suspend was changed", refused);
    }
}

/// MR-27: the suspension of a Job passes on to its copy. A copy may stay suspended for reasons of its worker.
fn judge_suspension(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let is_open = |status: &JobStatus, gone: Option<Micros>| gone.is_none() && !status.is_finished();
    let is_suspended = local.is_suspended && is_open(local.status, local.gone);
    let is_there = |copy: &&Copy<'_>| is_suspended && copy.gone.is_none();
    let copy = local.copies.iter().rev().find(is_there);
    let Some(copy) = copy.filter(|copy| is_open(copy.status, copy.gone)) else { return };
    let since = local.suspend_changed.unwrap_or(copy.created).max(copy.created);
    let runs = !copy.is_suspended && copy.status.active > 0;
    let had_time = copy.is_seen_after(since, grants)
        && [&local.work, &copy.work].iter().all(|work| work.had_time(since, grants.patience));
    let found =
        "false, although the manager was active on both clusters for 120 s or more after the suspension";
    findings.require(Req::MR27, !(runs && had_time), "spec.suspend of the copy", "true, as here", found);
}

/// MR-25: the removal of a Job removes its copies, and nothing else.
fn judge_removal(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    if local.foreign.is_deleted {
        let what = "Jobs of somebody else that the creator of the copies deleted";
        findings.require(Req::MR25, false, what, "none", "one with the name of this Job");
    }
    let Some(gone) = local.removed else { return };
    let is_left = |copy: &Copy<'_>| {
        let since = copy.left.map(|left| left.max(gone));
        since.is_some_and(|since| copy.is_seen_after(since, grants) && local.has_had_time(since, grants))
    };
    let left = local.copies.iter().any(is_left);
    let found = "a copy is left, although the manager was active for 120 s or more after the removal";
    findings.require(Req::MR25, !left, "copies of the removed Job", "none", found);
    let orphans = local.copies.iter().any(|copy| copy.orphans_pods);
    let found = "some, since its manager deleted it with the propagation policy Orphan";
    findings.require(Req::MR25, !orphans, "running pods of a deleted copy", "none", found);
}

/// MR-26: with a TTL on both sides, the end arrives before the copy expires.
fn judge_expiry(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    for copy in local.copies.iter().filter(|copy| copy.ended.is_some() && local.has_ttl) {
        let expired = copy.expired;
        let arrived = local.ended.into_iter().chain(local.gone).min();
        let holds = expired.is_none_or(|at| arrived.is_some_and(|arrived| arrived <= at + grants.skew));
        let found = expired.map_or_else(String::new, |at| format!("the copy expired at {} before", time(at)));
        findings.require(Req::MR26, holds, "end of the Job", "written while the copy is there", found);
    }
}

fn time(micros: Micros) -> Time {
    Time(micros.div_euclid(1_000_000))
}
