//! The executor on a worker, coarsened to the statuses that it writes.
//!
//! A pod is only a number in a counter. Each [`Move`] is one status write; a write of a real executor may be several of
//! them at once, which a cache that lags cannot distinguish from several writes.
//!
//! # Guarantees
//!
//! Every sequence of statuses that the specification of an executor allows is a sequence of moves. The moves leave out
//! `ready`, and count failed UIDs that are recorded as failed. `tests/coarsening.rs` holds the moves against scopes of the explorer.
//!
//! # Caveats
//!
//! - The moves allow more than an executor may do: a Job may fail at any time, since nothing here shows the reason.
//! - They leave out one thing: with `podReplacementPolicy: TerminatingOrFailed` an executor may count more successes than
//!   `completions`. MR-01 forbids a manager to report them.

use crate::flat::{COMPLETE, FAILED, FAILURE_TARGET, Flat, Instant, SUCCESS_CRITERIA_MET, SUSPENDED};

/// The parts of a Job that its executor reads, apart from the status.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// `completions`.
    pub completions: u8,
    /// `parallelism`.
    pub parallelism: u8,
    /// The number of pods that may still be created.
    pub pods_left: u8,
    /// `spec.suspend`.
    pub suspended: bool,
    /// True if the Job is being deleted.
    pub deleting: bool,
}

/// A status, and the pods that it does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shown {
    /// The status.
    pub status: Flat,
    /// The number of pods that the status does not show: too new, or ended and not counted yet. A pod that is counted and
    /// still shown as active is subtracted.
    pub hidden: i8,
}

/// A status write of an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// Sets `startTime`, and the numbers that are reported from then on.
    Start,
    /// Sets Suspended to True.
    Suspend,
    /// Clears `startTime` of a suspended Job (SS-09).
    Unstart,
    /// Sets Suspended to False, and `startTime` again.
    Resume,
    /// A pod was created. The status does not show it yet.
    Create,
    /// A pod that the status did not show is active.
    Activate,
    /// A pod is being deleted.
    Terminate,
    /// An active pod has ended. The status does not show it any more, and does not count it yet.
    End,
    /// A pod that was being deleted has ended.
    EndLate,
    /// A pod that has ended is recorded as succeeded.
    Succeed,
    /// A recorded success is counted.
    Count,
    /// A pod that has ended is counted as failed.
    Fail,
    /// The Job has its successes: SuccessCriteriaMet.
    Accept,
    /// The Job is going to fail: FailureTarget.
    Reject,
    /// The terminal condition of a decided Job.
    Finish,
}

impl Move {
    /// All moves.
    pub const ALL: [Move; 15] = [
        Move::Start,
        Move::Suspend,
        Move::Unstart,
        Move::Resume,
        Move::Create,
        Move::Activate,
        Move::Terminate,
        Move::End,
        Move::EndLate,
        Move::Succeed,
        Move::Count,
        Move::Fail,
        Move::Accept,
        Move::Reject,
        Move::Finish,
    ];

    /// Returns true if the executor may write this next.
    #[must_use]
    pub fn is_enabled(self, task: &Task, shown: &Shown) -> bool {
        let Shown { status, hidden } = shown;
        let undecided = !status.is_decided();
        let runs = status.start > 0 && undecided;
        let reached = status.succeeded + status.recorded;
        let wanted = task.completions.saturating_sub(reached).min(task.parallelism);
        let exists = i16::from(*hidden) + i16::from(status.living()) > 0;
        let can = match self {
            Move::Start => status.start == 0 && undecided && !task.deleting,
            Move::Unstart => status.start > 0 && status.is(SUSPENDED) && undecided && task.suspended,
            Move::Suspend => task.suspended && !status.is(SUSPENDED) && undecided,
            Move::Resume => !task.suspended && status.is(SUSPENDED) && undecided,
            Move::Create => {
                undecided && !task.deleting && !task.suspended && task.pods_left > 0 && status.active < wanted
            }
            Move::Activate => {
                let ended = i16::from(reached) + i16::from(status.failed);
                i16::from(*hidden) + ended > 0 && exists && status.active < task.parallelism
            }
            Move::Terminate | Move::End => status.active > 0,
            Move::EndLate => status.terminating > 0,
            Move::Succeed => exists && reached < task.completions,
            Move::Fail => exists,
            Move::Count => status.recorded > 0,
            Move::Accept => runs && reached >= task.completions,
            Move::Reject => runs,
            Move::Finish => !undecided && status.living() == 0 && status.recorded == 0,
        };
        can && !status.is_finished()
    }

    /// The status after the write.
    #[must_use]
    pub fn apply(self, shown: &Shown, now: Instant) -> Shown {
        let mut shown = *shown;
        let Shown { status: new, hidden } = &mut shown;
        new.reported |= self != Move::Create;
        match self {
            Move::Start => new.start = now,
            Move::Suspend => new.set(SUSPENDED, true, now),
            Move::Unstart => new.start = 0,
            Move::Resume => {
                new.set(SUSPENDED, false, now);
                new.start = now;
            }
            Move::Create => *hidden += 1,
            Move::Activate => {
                *hidden -= 1;
                new.active += 1;
            }
            Move::Terminate => {
                new.active -= 1;
                new.terminating += 1;
            }
            Move::End => {
                new.active -= 1;
                *hidden += 1;
            }
            Move::EndLate => {
                new.terminating -= 1;
                *hidden += 1;
            }
            Move::Succeed => {
                *hidden -= 1;
                new.recorded += 1;
            }
            Move::Count => {
                new.recorded -= 1;
                new.succeeded += 1;
            }
            Move::Fail => {
                *hidden -= 1;
                new.failed += 1;
            }
            Move::Accept => new.set(SUCCESS_CRITERIA_MET, true, now),
            Move::Reject => new.set(FAILURE_TARGET, true, now),
            Move::Finish if new.is(FAILURE_TARGET) => new.set(FAILED, true, now),
            Move::Finish => {
                new.set(COMPLETE, true, now);
                new.end = now;
            }
        }
        shown
    }

    /// Returns true if the write must come eventually, because the executor and its pods never stop. A pod need not be
    /// deleted, and a Job fails only once it has no other way to its end.
    #[must_use]
    pub fn is_due(self, task: &Task, shown: &Shown) -> bool {
        let status = &shown.status;
        match self {
            Move::Terminate => task.suspended || task.deleting || status.is_decided(),
            Move::Reject => {
                let rests = status.living() == 0 && status.recorded == 0 && shown.hidden == 0;
                rests
                    && task.pods_left == 0
                    && !task.deleting
                    && !task.suspended
                    && status.succeeded < task.completions
            }
            Move::Activate | Move::Create => !task.suspended,
            Move::Start => !task.suspended,
            Move::Unstart => false,
            Move::Accept => !task.suspended,
            Move::Suspend
            | Move::Resume
            | Move::End
            | Move::EndLate
            | Move::Succeed
            | Move::Count
            | Move::Fail
            | Move::Finish => true,
        }
    }
}
