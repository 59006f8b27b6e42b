//! The statuses that a manager may try to write.

use super::{State, pods};
use crate::flat::{COMPLETE, FAILED, FAILURE_TARGET, Flat, SUCCESS_CRITERIA_MET, SUSPENDED};

/// A status, with the UIDs that it records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Told {
    /// The status without UIDs.
    pub flat: Flat,
    /// The pods whose UIDs it records, a bit for each.
    pub listed: u8,
}

/// The bits of the pods that succeed, which are the even ones.
const SUCCEED: u8 = 0b0101_0101;

/// A change of one part of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `active` becomes 1 or 0.
    Active,
    /// `terminating` becomes 1 or 0.
    Terminating,
    /// The UID of a pod is recorded.
    Record(u8),
    /// A UID leaves the list.
    Drop(u8),
    /// A UID leaves the list, and the counter rises.
    Count(u8),
    /// `succeeded` (true) or `failed` rises by a pod that was never recorded.
    Raise(bool),
    /// `succeeded` (true) or `failed` becomes 0.
    Reset(bool),
    /// `startTime` is now.
    Start,
    /// There is no `startTime`.
    Unstart,
    /// The condition Suspended is set.
    Suspended(bool),
    /// A condition of the end is set to True.
    Set(usize),
    /// A condition of the end is set to False.
    Withdraw(usize),
    /// `completionTime` is set, or removed.
    CompletionTime,
    /// The terminal condition, with its interim condition and `completionTime`.
    End(usize),
}

/// All changes. A pod that has not ended cannot be in the status.
fn all(ended: u8) -> impl Iterator<Item = Change> {
    use Change::{
        Active, CompletionTime, Count, Drop, End, Raise, Record, Reset, Set, Start, Suspended, Terminating,
        Unstart, Withdraw,
    };
    let single = [Active, Terminating, Start, Unstart, CompletionTime];
    let of_pods = pods(ended).flat_map(|pod| [Record(pod), Drop(pod), Count(pod)]);
    let of_kinds = [true, false].into_iter().flat_map(|is| [Raise(is), Reset(is), Suspended(is)]);
    let conditions = [SUCCESS_CRITERIA_MET, FAILURE_TARGET, COMPLETE, FAILED];
    let of_conditions = conditions.into_iter().flat_map(|kind| [Set(kind), Withdraw(kind)]);
    let ends = [COMPLETE, FAILED].map(End);
    single.into_iter().chain(of_pods).chain(of_kinds).chain(of_conditions).chain(ends)
}

/// Calls a function with each status that one change or two lead to. A status is shown once.
pub fn writes(state: &State, mut found: impl FnMut(Change, Option<Change>, &Told)) {
    let mut seen = vec![state.told];
    let mut is_new = |new: &Told| {
        let is_new = !seen.contains(new);
        if is_new {
            seen.push(*new);
        }
        is_new
    };
    for first in all(state.ended) {
        if let Some(new) = written(state, first, None).filter(&mut is_new) {
            found(first, None, &new);
        }
    }
    for first in all(state.ended) {
        for second in all(state.ended) {
            if let Some(new) = written(state, first, Some(second)).filter(&mut is_new) {
                found(first, Some(second), &new);
            }
        }
    }
}

/// The status after one change or two. `None` if a change is not possible.
///
/// A UID that is recorded stays so until the next write. Otherwise no status would show it.
#[must_use]
pub fn written(state: &State, first: Change, second: Option<Change>) -> Option<Told> {
    let new = state.told.with(first, state)?;
    if let (Change::Record(pod), Some(Change::Count(left) | Change::Drop(left))) = (first, second)
        && pod == left
    {
        return None;
    }
    match second {
        Some(second) => new.with(second, state),
        None => Some(new),
    }
}

impl Told {
    /// The recorded pods that have succeeded, and those that have failed.
    #[must_use]
    pub fn lists(self) -> [u8; 2] {
        [self.listed & SUCCEED, self.listed & !SUCCEED]
    }

    fn has(self, pod: u8) -> bool {
        self.listed >> pod & 1 == 1
    }

    fn counter(&mut self, succeeds: bool) -> &mut u8 {
        if succeeds { &mut self.flat.succeeded } else { &mut self.flat.failed }
    }

    /// Returns true if pods have ended in this way that the status neither counts nor records.
    fn has_news(mut self, succeeds: bool, state: &State) -> bool {
        let number = |told: Told| told.lists()[usize::from(!succeeds)].count_ones();
        let ended = number(Told { listed: state.ended, ..self });
        u32::from(*self.counter(succeeds)) + number(self) < ended
    }

    /// The status after a change.
    fn with(mut self, change: Change, state: &State) -> Option<Told> {
        let now = state.now;
        self.flat.reported = true;
        let flat = &mut self.flat;
        match change {
            Change::Active => flat.active = 1 - flat.active,
            Change::Terminating => flat.terminating = 1 - flat.terminating,
            Change::Record(pod) => {
                // A pod that was counted is known to have ended.
                let may = self.has_news(succeeds(pod), state) || state.left_lists >> pod & 1 == 1;
                let has_ended = state.ended >> pod & 1 == 1;
                if !may || !has_ended || self.has(pod) {
                    return None;
                }
                self.listed |= 1 << pod;
            }
            Change::Drop(pod) | Change::Count(pod) => {
                if !self.has(pod) {
                    return None;
                }
                self.listed &= !(1 << pod);
                *self.counter(succeeds(pod)) += u8::from(matches!(change, Change::Count(_)));
            }
            Change::Raise(succeeds) => {
                if !self.has_news(succeeds, state) {
                    return None;
                }
                *self.counter(succeeds) += 1;
            }
            Change::Reset(succeeds) => *self.counter(succeeds) = 0,
            Change::Start => flat.start = now,
            Change::Unstart => flat.start = 0,
            Change::Suspended(is) => flat.set(SUSPENDED, is, now),
            Change::Set(kind) => flat.set(kind, true, now),
            Change::Withdraw(kind) if flat.is(kind) => flat.set(kind, false, now),
            Change::Withdraw(_) => return None,
            Change::CompletionTime => flat.end = if flat.end > 0 { 0 } else { now },
            Change::End(kind) => flat.end_with(kind, now),
        }
        Some(self)
    }
}

impl Flat {
    fn end_with(&mut self, kind: usize, now: u8) {
        let interim = if kind == COMPLETE { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET };
        for kind in [interim, kind] {
            if !self.is(kind) {
                self.set(kind, true, now);
            }
        }
        if kind == COMPLETE && self.end == 0 {
            self.end = now;
        }
    }
}

/// Returns true if this pod succeeds.
pub(super) fn succeeds(pod: u8) -> bool {
    SUCCEED >> pod & 1 == 1
}
