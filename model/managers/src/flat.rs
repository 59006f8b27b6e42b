//! A status of a Job as a few numbers, because an exploration stores many.
//!
//! It has the fields of [`JobStatus`] that a mirror reads of a NonIndexed Job. `ready` is 0. Reasons and messages follow
//! from the type of a condition. UIDs of recorded pods follow from their number.

use std::sync::Arc;

use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, JobStatus, Uncounted};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A time of the model. 0 is no time.
pub type Instant = u8;

/// The last time of the model. Sets of times have a bit for each.
const LAST: Instant = 31;

/// The types of conditions, in the order of [`Flat::conditions`].
pub const KINDS: [ConditionKind; 5] = [
    ConditionKind::Suspended,
    ConditionKind::SuccessCriteriaMet,
    ConditionKind::FailureTarget,
    ConditionKind::Complete,
    ConditionKind::Failed,
];

/// The number of a type in [`KINDS`].
pub const SUSPENDED: usize = 0;
/// The number of a type in [`KINDS`].
pub const SUCCESS_CRITERIA_MET: usize = 1;
/// The number of a type in [`KINDS`].
pub const FAILURE_TARGET: usize = 2;
/// The number of a type in [`KINDS`].
pub const COMPLETE: usize = 3;
/// The number of a type in [`KINDS`].
pub const FAILED: usize = 4;

/// The type of a condition that another actor sets on the local Job.
pub const OTHER: &str = "example.com/seen";

/// A status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flat {
    /// `active`.
    pub active: u8,
    /// `terminating`.
    pub terminating: u8,
    /// True if `ready` and `terminating` are reported.
    pub reported: bool,
    /// `succeeded`.
    pub succeeded: u8,
    /// `failed`.
    pub failed: u8,
    /// The number of UIDs in `uncountedTerminatedPods.succeeded`.
    pub recorded: u8,
    /// `startTime`.
    pub start: Instant,
    /// `completionTime`.
    pub end: Instant,
    /// For each of [`KINDS`], the status of the condition and its time; the time is 0 if there is none.
    pub conditions: [(bool, Instant); 5],
    /// The time of the condition of another actor ([`OTHER`]).
    pub other: Instant,
}

impl Flat {
    /// Returns true if the condition of this number is True.
    #[must_use]
    pub fn is(&self, kind: usize) -> bool {
        self.conditions[kind].0
    }

    /// Sets a condition.
    pub fn set(&mut self, kind: usize, value: bool, time: Instant) {
        self.conditions[kind] = (value, time);
    }

    /// Returns true if an interim condition is True.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.is(SUCCESS_CRITERIA_MET) || self.is(FAILURE_TARGET) || self.is_finished()
    }

    /// Returns true if a terminal condition is True.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is(COMPLETE) || self.is(FAILED)
    }

    /// The number of pods that have not ended.
    #[must_use]
    pub fn living(&self) -> u8 {
        self.active + self.terminating
    }

    /// The times of `startTime` and `completionTime`, each as one bit.
    #[must_use]
    pub fn times(&self) -> u32 {
        [self.start, self.end].into_iter().filter(|time| *time > 0).fold(0, |bits, time| bits | bit(time))
    }

    /// All times, each as one bit.
    #[must_use]
    pub fn all_times(&self) -> u32 {
        let conditions = self.conditions.iter().map(|(_, time)| *time);
        conditions.filter(|time| *time > 0).fold(self.times(), |bits, time| bits | bit(time))
    }

    /// The status that this stands for.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        let uids = (0..self.recorded).map(|number| Uid(1000 + u128::from(self.succeeded + number)));
        let succeeded: Vec<Uid> = uids.collect();
        let known = KINDS.iter().zip(self.conditions);
        let mut conditions: Vec<Condition> = known
            .filter(|(_, it)| it.1 > 0)
            .map(|(kind, (is, time))| condition(kind.clone(), is, time))
            .collect();
        if self.other > 0 {
            conditions.push(condition(ConditionKind::Other(OTHER.into()), true, self.other));
        }
        JobStatus {
            active: i32::from(self.active),
            ready: self.reported.then_some(0),
            terminating: self.reported.then_some(i32::from(self.terminating)),
            succeeded: i32::from(self.succeeded),
            failed: i32::from(self.failed),
            start_time: time(self.start),
            completion_time: time(self.end),
            uncounted: (!succeeded.is_empty()).then(|| Uncounted { succeeded, failed: Vec::new() }),
            conditions,
            ..JobStatus::default()
        }
    }

    /// The numbers of a status. Counters and times that no behaviour of the model reaches become the largest ones.
    #[must_use]
    pub fn of(status: &JobStatus) -> Flat {
        let small = |count: i32| u8::try_from(count).unwrap_or(u8::MAX);
        let mut flat = Flat {
            active: small(status.active),
            terminating: small(status.terminating.unwrap_or(0)),
            reported: status.terminating.is_some(),
            succeeded: small(status.succeeded),
            failed: small(status.failed),
            recorded: u8::try_from(status.recorded()).unwrap_or(u8::MAX),
            start: instant(status.start_time),
            end: instant(status.completion_time),
            ..Flat::default()
        };
        for it in &status.conditions {
            let time = instant(it.last_transition_time);
            match KINDS.iter().position(|kind| *kind == it.kind) {
                Some(kind) => flat.set(kind, it.status == ConditionStatus::True, time),
                None => flat.other = time,
            }
        }
        flat
    }
}

fn bit(time: Instant) -> u32 {
    1 << time
}

/// The times of which the bits are set.
#[must_use]
pub fn times_of(bits: u32) -> Vec<Time> {
    (0..32).filter(|time| bits >> time & 1 == 1).map(Time).collect()
}

fn time(instant: Instant) -> Option<Time> {
    (instant > 0).then(|| Time(i64::from(instant)))
}

fn instant(time: Option<Time>) -> Instant {
    time.map_or(0, |time| Instant::try_from(time.0).map_or(LAST, |instant| instant.min(LAST)))
}

fn condition(kind: ConditionKind, is_true: bool, at: Instant) -> Condition {
    let status = if is_true { ConditionStatus::True } else { ConditionStatus::False };
    // An interim condition and its terminal one have the same reason (TC-03).
    let reason = match kind {
        ConditionKind::Complete | ConditionKind::SuccessCriteriaMet => "CompletionsReached",
        ConditionKind::Failed | ConditionKind::FailureTarget => "BackoffLimitExceeded",
        ConditionKind::Suspended if is_true => "JobSuspended",
        ConditionKind::Suspended => "JobResumed",
        ConditionKind::Other(_) => "Seen",
    };
    Condition {
        kind,
        status,
        reason: Arc::from(reason),
        message: Arc::from(""),
        last_transition_time: time(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_back_as_it_was() {
        let mut flat = Flat { active: 1, reported: true, recorded: 2, start: 3, other: 2, ..Flat::default() };
        flat.set(SUSPENDED, false, 4);
        flat.set(FAILURE_TARGET, true, 5);
        assert_eq!(Flat::of(&flat.status()), flat);
        assert_eq!(times_of(flat.all_times()), [Time(3), Time(4), Time(5)]);
    }
}
