//! Times in the status write of a manager that writes status alone (MR-04, MR-05, MR-14).
//!
//! The clock of another cluster has set them. They may differ by [`MirrorWrite::skew`] from the clock of this one.

use std::collections::BTreeSet;

use crate::catalogue::Req;
use crate::guards::mirror::MirrorWrite;
use crate::job::{Condition, ConditionKind, ConditionStatus, Conditions, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::time::Time;

/// Judges the times of a status write.
pub fn judge_mirrored_times(write: &MirrorWrite<'_>, findings: &mut Findings, advice: &mut Findings) {
    judge_incarnation(write, findings);
    judge_start(write, findings);
    judge_future(write, findings);
    let old = Conditions::of(&write.job.status.conditions);
    let new = Conditions::of(&write.new.conditions);
    for condition in &write.new.conditions {
        let is_only = old.count(&condition.kind) <= 1 && new.count(&condition.kind) <= 1;
        if is_only && !old.contains(condition) {
            judge_condition(write, old.only(&condition.kind), condition, findings, advice);
        }
    }
}

/// The times of a status, each with its name.
fn times(status: &JobStatus) -> impl Iterator<Item = (&'static str, Time)> + '_ {
    let own = [("startTime", status.start_time), ("completionTime", status.completion_time)];
    let of_conditions = known(status).map(|it| ("lastTransitionTime", it.last_transition_time));
    own.into_iter().chain(of_conditions).filter_map(|(what, time)| Some((what, time?)))
}

/// The conditions that a Job controller sets.
fn known(status: &JobStatus) -> impl Iterator<Item = &Condition> {
    status.conditions.iter().filter(|condition| !matches!(condition.kind, ConditionKind::Other(_)))
}

/// All times of a status, for the next Job with this name.
#[must_use]
pub fn all_times(status: &JobStatus) -> Vec<Time> {
    times(status).map(|(_, time)| time).collect()
}

/// MR-04: no time that the write sets is before the creation of the Job, with a grant for another clock. The times of the
/// previous Job with this name get no grant.
fn judge_incarnation(write: &MirrorWrite<'_>, findings: &mut Findings) {
    let stored: BTreeSet<Time> = times(&write.job.status).map(|(_, time)| time).collect();
    let created = write.job.created;
    let is_early = |time: Time| {
        let is_former = write.past.former.contains(&time);
        if is_former { time < created } else { time.plus(write.skew) < created }
    };
    let mut set = times(write.new).filter(|(_, time)| !stored.contains(time)).peekable();
    if set.peek().is_none() {
        return;
    }
    findings.premise(Req::MR04);
    let Some((what, time)) = set.find(|(_, time)| is_early(*time)) else { return };
    let whose =
        if write.past.former.contains(&time) { ", a time of the previous Job with this name" } else { "" };
    let expected = format!("{created}, the creation of the Job, or later");
    findings.require(Req::MR04, false, what, expected, format!("{time}{whose}"));
}

/// MR-14: `startTime` and `completionTime` are not in the future.
fn judge_future(write: &MirrorWrite<'_>, findings: &mut Findings) {
    let Some(until) = write.until else { return };
    let (old, new) = (&write.job.status, write.new);
    for (what, old, new) in [
        ("startTime", old.start_time, new.start_time),
        ("completionTime", old.completion_time, new.completion_time),
    ] {
        let Some(time) = new.filter(|_| new != old) else { continue };
        let expected = Operand::lazy(|| format!("{until}, the time of the response, or earlier"));
        findings.require(Req::MR14, time <= until.plus(write.skew), what, expected, time);
    }
}

fn suspended(status: &JobStatus) -> Option<&Condition> {
    status.condition(&ConditionKind::Suspended)
}

/// MR-05: `startTime` is set once for each unsuspended period, and the write that resumes the Job moves it. On a suspended
/// Job it may be absent, and a Job that was never unsuspended has none, unless the write decides its end.
fn judge_start(write: &MirrorWrite<'_>, findings: &mut Findings) {
    let (old, new) = (&write.job.status, write.new);
    let what = "startTime";
    let found = || new.start_time.map_or(Operand::Words("none"), Operand::Time);
    let is = |status: &JobStatus, value: ConditionStatus| {
        suspended(status).is_some_and(|condition| condition.status == value)
    };
    if is(old, ConditionStatus::True) && is(new, ConditionStatus::False) {
        let resumed = suspended(new).and_then(|condition| condition.last_transition_time);
        let moves = new.start_time.is_some_and(|start| {
            old.start_time != Some(start) || resumed.is_some_and(|resumed| start >= resumed)
        });
        let expected = "a new time, because the write resumes the Job";
        findings.require(Req::MR05, moves, what, expected, Operand::lazy(found));
    } else if let Some(start) = old.start_time.filter(|_| !write.job.spec.is_suspended()) {
        findings.require(Req::MR05, new.start_time == Some(start), what, start, Operand::lazy(found));
    } else if write.past.never_ran && old.start_time.is_none() && !new.is_decided() {
        let expected = "none, because the Job has been suspended since its creation";
        findings.require(Req::MR05, new.start_time.is_none(), what, expected, Operand::lazy(found));
    }
}

/// MR-14: the status of a condition is one that the API defines. Its time is set, is not in the future, and changes with
/// the status alone.
///
/// A condition that changed and changed back between two writes has a later time. That is possible for Suspended only,
/// and gives advice. `before`: the stored condition of this type.
fn judge_condition(
    write: &MirrorWrite<'_>,
    before: Option<&Condition>,
    condition: &Condition,
    findings: &mut Findings,
    advice: &mut Findings,
) {
    // A changed condition of another actor breaks MR-06.
    let is_foreign = matches!(&condition.kind, ConditionKind::Other(name) if !write.past.own_types.contains(name))
        && before.is_some();
    if is_foreign {
        return;
    }
    let is_defined = condition.status != ConditionStatus::Undefined;
    findings.require(
        Req::MR14,
        is_defined,
        "status of a condition",
        "True, False or Unknown",
        "another value",
    );
    let what = "lastTransitionTime";
    let Some(time) = condition.last_transition_time else {
        findings.require(Req::MR14, false, what, "a time", "none");
        return;
    };
    if let Some(until) = write.until {
        let expected = Operand::lazy(|| format!("{until}, the time of the response, or earlier"));
        findings.require(Req::MR14, time <= until.plus(write.skew), what, expected, time);
    }
    let before = before.filter(|before| before.status == condition.status);
    let Some(stored) = before.and_then(|before| before.last_transition_time).filter(|stored| *stored != time)
    else {
        return;
    };
    let may_have_changed = condition.kind == ConditionKind::Suspended && time > stored;
    let which = if may_have_changed { advice } else { findings };
    which.require(Req::MR14, false, what, stored, time);
}
