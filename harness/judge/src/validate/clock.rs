//! The earliest time at which a sync read its clock, derived from the times of the writes that it had read (SU-08).
//!
//! A sync reads its caches before its clock, and a write can be read only after the API server has received it. A view
//! that contains a write is therefore at least as late as the write. Two kinds of entries give no bound:
//!
//! - entries that the view need not contain, since the search takes the oldest view that explains a decision;
//! - entries that may have been reordered.
//!
//! Times from the clocks of nodes, such as `finishedAt`, give no bound either. A watch shows only times of the API
//! server within objects, and only `creationTimestamp` is independent of grace periods.

use jobcheck_spec::job::{ConditionKind, Job};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::View;
use jobcheck_spec::{Findings, Time};
use serde::{Deserialize, Serialize};

use super::event::{Event, JobEvent};
use super::explain::Question;
use super::job_writes::By;
use super::observed::Bounds;
use super::pod_writes::of_pod;
use super::settings::Settings;
use super::track::Track;

/// Seconds by which the clocks of a controller and of the API server may differ. Times are truncated to seconds.
pub const TOLERANCE: i64 = 1;
/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// The time of a write, in microseconds, if the trace shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Lower bound.
    from: Option<i64>,
    /// Upper bound.
    until: Option<i64>,
}

impl Written {
    /// The time of an event. An event without a version of its own may have a later place than its write, so it has no
    /// time.
    #[must_use]
    pub fn by(event: &Event) -> Written {
        event.version.map_or_else(Written::default, |_| Written::end(event))
    }

    /// The end of a Job whose deletion, or removal, was answered by this event.
    #[must_use]
    pub fn end(event: &Event) -> Written {
        let when = event.when;
        Written { from: when.map(|when| when.received), until: when.map(|when| when.done) }
    }

    /// Lower bound, in microseconds.
    #[must_use]
    pub fn from(self) -> Option<i64> {
        self.from
    }

    /// Upper bound, in microseconds.
    #[must_use]
    pub fn until(self) -> Option<i64> {
        self.until
    }

    /// The time of a write that left this pod, which is no earlier than the pod's creation.
    #[must_use]
    pub fn leaves(self, pod: Option<&Pod>) -> Written {
        let created = pod.map(|pod| pod.created.0.saturating_mul(SECOND));
        Written { from: self.from.max(created), ..self }
    }

    /// The lower bound for a write behind others with the bound `before`. A bound above the end of this write comes
    /// from a repeated response, or from another clock.
    #[must_use]
    pub fn behind(self, before: Option<i64>) -> Option<i64> {
        let before = before.map(|before| self.until.map_or(before, |until| before.min(until)));
        before.max(self.from)
    }
}

/// Bounds of the clock of a sync that has no time of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Lower bound for the writes that the sync had read, in microseconds.
    pub written: Option<i64>,
    /// The time that the clock of its process had shown before.
    pub shown: Option<Time>,
}

/// The second before which the sync of a view did not read its clock. `None` if the trace states when the sync began,
/// and for a Job that is being resumed: versions before 1.36 set `startTime` only then (SU-11).
#[must_use]
pub fn not_before(clock: Clock, bounds: Bounds, job: &Job) -> Option<Time> {
    if bounds.tells_sync() || job.status.is_true(&ConditionKind::Suspended) {
        return None;
    }
    let read = clock.written.map(|micros| Time(micros.div_euclid(SECOND)).plus(-TOLERANCE));
    read.max(clock.shown).max(bounds.after_silence)
}

/// The deadline of a running Job.
#[must_use]
pub fn deadline(job: &Job) -> Option<Time> {
    let seconds = job.spec.active_deadline_seconds.filter(|_| !job.spec.is_suspended())?;
    job.status.start_time.map(|start| start.plus(seconds))
}

impl Track {
    /// Notes a status write without a `resourceVersion`, which may rest on an older Job version (SY-04).
    pub(super) fn note_base(&mut self, it: &JobEvent, by: By) {
        if by == By::Manager && it.base.is_none() {
            self.process.frontier.is_written_blindly();
        }
    }

    /// Notes that the manager has deleted an active pod. If only the deadline allows that, and no known deviation does,
    /// the manager's clock had shown the deadline.
    pub(super) fn note_passed_deadline(
        &mut self,
        event: &Event,
        settings: &Settings,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) {
        let is_unclear = self.process.late.possible
            || event.is_posthumous()
            || self.unheard(event)
            || !self.process.uncertain.is_empty();
        let Some(deadline) =
            self.process.frontier.unseen_deadline().filter(|_| self.coverage.complete && !is_unclear)
        else {
            return;
        };
        let kept = self.process.frontier.clone();
        let question = Question { latest: Some(deadline.plus(-1)), ..of_pod(event, settings, judge) };
        let has_another_reason = self.has_a_reason(&question);
        self.process.frontier = kept;
        if !has_another_reason {
            self.process.frontier.clock_shows(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: i64, until: i64) -> Written {
        Written { from: Some(from), until: Some(until) }
    }

    #[test]
    fn what_follows_a_write_is_as_late_as_its_request() {
        assert_eq!(written(5, 9).behind(None), Some(5));
        assert_eq!(written(5, 9).behind(Some(3)), Some(5));
        assert_eq!(written(5, 9).behind(Some(7)), Some(7));
    }

    #[test]
    fn a_write_without_a_time_takes_nothing_back() {
        assert_eq!(Written::default().behind(Some(7)), Some(7));
        assert_eq!(Written::default().behind(None), None);
    }

    #[test]
    fn what_was_answered_again_is_no_later_than_what_came_after_it() {
        // A request that changed nothing was received at 90, and its response repeats the version before the write.
        assert_eq!(written(5, 9).behind(Some(90)), Some(9));
    }
}
