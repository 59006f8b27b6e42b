//! When a sync looked at its clock at the earliest, by the times of what it had read (SU-08).
//!
//! A sync reads its caches first, and whoever has read a write did so after the API server had received the request for
//! it. So a view that shows a write is as late as that. What a view need not show says nothing: the search takes the
//! oldest view that explains a decision, and of what may have come early or late only what stands at its own place counts.
//!
//! Clocks of nodes say nothing either: `finishedAt` and what else a kubelet writes may be ahead. A watch has no times
//! but those of the API server in the objects, and of these `creationTimestamp` alone does not depend on a grace period.

use jobcheck_spec::job::{ConditionKind, Job};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::View;
use jobcheck_spec::{Findings, Time};

use super::event::{Event, JobEvent};
use super::job_writes::By;
use super::observed::Bounds;
use super::settings::Settings;
use super::track::Track;

/// The clocks of a controller and of the API server may be so many seconds apart, and times are cut to whole ones.
pub const TOLERANCE: i64 = 1;
/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// When a write was made, in microseconds, as far as the trace tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Not before this.
    from: Option<i64>,
    /// Not after this.
    until: Option<i64>,
}

impl Written {
    /// The write of an event. One without a resourceVersion of its own may stand at a later place than it was made.
    #[must_use]
    pub fn by(event: &Event) -> Written {
        let when = event.when.filter(|_| event.version.is_some());
        Written { from: when.map(|when| when.received), until: when.map(|when| when.done) }
    }

    /// The same if it left this pod, which is no older than its creation.
    #[must_use]
    pub fn leaves(self, pod: Option<&Pod>) -> Written {
        let created = pod.map(|pod| pod.created.0.saturating_mul(SECOND));
        Written { from: self.from.max(created), ..self }
    }

    /// When it was made at the earliest, if what was made before it was made at `before` or later. What seems to be of
    /// later than the end of this write was answered again, or timed by another clock.
    #[must_use]
    pub fn behind(self, before: Option<i64>) -> Option<i64> {
        let before = before.map(|before| self.until.map_or(before, |until| before.min(until)));
        before.max(self.from)
    }
}

/// What is known of the clock of a sync without any time of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// When what it had read was written, at the earliest, in microseconds.
    pub written: Option<i64>,
    /// What the clock of its process had shown before.
    pub shown: Option<Time>,
}

/// The second before which the sync of a view did not look at its clock. Where the trace tells what the sync had read, it
/// tells when it began; and a Job that is resumed is at a new beginning, though versions before 1.36 leave `startTime` to
/// that (SU-11).
#[must_use]
pub fn not_before(clock: Clock, bounds: Bounds, job: &Job) -> Option<Time> {
    if bounds.tells_sync() || job.status.is_true(&ConditionKind::Suspended) {
        return None;
    }
    let read = clock.written.map(|micros| Time(micros.div_euclid(SECOND)).plus(-TOLERANCE));
    read.max(clock.shown)
}

/// When the deadline of a Job passes, if it runs.
#[must_use]
pub fn deadline(job: &Job) -> Option<Time> {
    let seconds = job.spec.active_deadline_seconds.filter(|_| !job.spec.is_suspended())?;
    job.status.start_time.map(|start| start.plus(seconds))
}

impl Track {
    /// Whoever writes the status without saying on which version may have read an older one (SY-04).
    pub(super) fn note_base(&mut self, it: &JobEvent, by: By) {
        if by == By::Manager && it.base.is_none() {
            self.frontier.is_written_blindly();
        }
    }

    /// The manager has deleted an active pod. If nothing but the deadline allows that, and no known deviation, its clock had
    /// shown the deadline, and shows no earlier time after that.
    pub(super) fn note_passed_deadline(
        &mut self,
        event: &Event,
        settings: &Settings,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) {
        let is_unclear =
            self.late.possible || event.posthumous || self.unheard(event) || !self.uncertain.is_empty();
        let Some(deadline) = self.frontier.unseen_deadline().filter(|_| self.complete && !is_unclear) else {
            return;
        };
        let kept = self.frontier.clone();
        let has_another_reason = self.has_a_reason(settings, Some(deadline.plus(-1)), judge);
        self.frontier = kept;
        if !has_another_reason {
            self.frontier.clock_shows(deadline);
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
        // A request that changed nothing was received at 90, and its answer repeats what stood before the write.
        assert_eq!(written(5, 9).behind(Some(90)), Some(9));
    }
}
