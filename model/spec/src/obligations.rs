//! Obligations: writes that must still be made.
//!
//! A guard judges a write. An obligation asks for a write that nobody has made. It therefore shows only where nothing
//! more happens: at the end of a trace, or in a quiescent state of the explorer.
//!
//! These functions decide what is outstanding. The judge adds the time since which it is, and the explorer adds
//! whether a refusal or a bound of the scope prevents it.

use crate::catalogue::Req;
use crate::guards::adoption::matches;
use crate::guards::counting::delays_finalizer_removal;
use crate::guards::creation::want_active;
use crate::guards::decision::{Tally, decide};
use crate::guards::mirror::{agrees_with_suspend, is_at_end};
use crate::guards::mirror_counts::covers;
use crate::indexes::IndexSet;
use crate::job::{ConditionKind, Job, JobStatus, Text};
use crate::pod::Pod;
use crate::pods::Sums;
use crate::time::Time;
use crate::view::View;
use std::fmt;

/// The kinds of obligations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Obligation {
    /// Remove the finalizers of the pods of a Job that is gone.
    FinalizersOfDeletedJob,
    /// Delete an expired Job.
    DeleteExpiredJob,
    /// Remove the finalizers of the pods of a finished Job.
    FinalizersOfFinishedJob,
    /// Count terminated pods.
    Count,
    /// Create missing pods.
    Create,
    /// Delete surplus pods.
    DeleteSurplus,
    /// Report the numbers of living pods.
    Report,
    /// Drop the indexes at or above `spec.completions` from the status.
    DropIndexes,
    /// Write Failed.
    WriteFailed,
    /// Write Complete.
    WriteComplete,
    /// Write an interim condition.
    WriteInterim,
    /// Write FailureTarget after the deadline.
    FailAtDeadline,
    /// Delete the pods of a suspended Job.
    DeleteSuspended,
    /// Adopt ownerless pods.
    Adopt,
    /// Release pods.
    Release,
    /// Bring `active` and the condition Suspended in line with `spec.suspend`.
    ReportSuspension,
}

impl fmt::Display for Obligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obligation::FinalizersOfDeletedJob => {
                "remove the tracking finalizer of the pods of the deleted Job"
            }
            Obligation::DeleteExpiredJob => "delete the expired Job",
            Obligation::FinalizersOfFinishedJob => {
                "remove the tracking finalizer of the pods of the finished Job"
            }
            Obligation::Count => "count the terminated pods",
            Obligation::Create => "create the missing pods",
            Obligation::DeleteSurplus => "delete the surplus pods",
            Obligation::Report => "report active, ready, and terminating",
            Obligation::DropIndexes => "drop the indexes at or above completions from the status",
            Obligation::WriteFailed => {
                "write Failed: the Job is decided, and no pod is active or terminating"
            }
            Obligation::WriteComplete => {
                "write Complete: the Job is decided, and no pod is active or terminating"
            }
            Obligation::WriteInterim => "write the interim condition: its criterion is met",
            Obligation::FailAtDeadline => "write FailureTarget: the deadline passes",
            Obligation::DeleteSuspended => "delete the pods of the suspended Job",
            Obligation::Adopt => "adopt the ownerless pods that the selector matches",
            Obligation::Release => "release the pods that the selector does not match",
            Obligation::ReportSuspension => {
                "report the suspension: with spec.suspend, Suspended=True and active 0, and otherwise not Suspended=True"
            }
        })
    }
}

/// The requirement that asks to remove the tracking finalizer from all pods of a Job. `None` while the Job counts its
/// pods.
///
/// | Job | requirement |
/// | --- | --- |
/// | gone | FT-20 |
/// | finished | FT-23 |
/// | finished and being deleted | TT-15 |
/// | being deleted | FT-19 |
#[must_use]
pub fn finalizers(job: Option<&Job>) -> Option<Req> {
    let Some(job) = job else { return Some(Req::FT20) };
    match (job.status.is_finished(), job.deleting) {
        // TT-15: the foreground deletion waits for the pods.
        (true, true) => Some(Req::TT15),
        (true, false) => Some(Req::FT23),
        (false, true) => Some(Req::FT19),
        (false, false) => None,
    }
}

/// FT-02: returns true if a pod must be recorded, lose its finalizer, or be counted.
#[must_use]
pub fn must_count(view: &View<'_>, tally: &Tally) -> bool {
    let status = &view.job.status;
    let waits = |pod: &Pod| {
        let kept = !status.is_decided()
            && !status.is_recorded(pod.uid)
            && delays_finalizer_removal(view, pod, tally);
        let lives = pod.is_terminating() && !view.has_failed(pod) && !status.is_decided();
        kept || lives || view.is_settled(pod.uid)
    };
    let is_recorded = !status.uncounted_succeeded().is_empty() || !status.uncounted_failed().is_empty();
    is_recorded || view.cache.unaccounted().any(|pod| !waits(pod))
}

/// PC-04, RP-04: returns true if the Job needs more pods than it has. With `podReplacementPolicy: Failed`, terminating pods
/// take the place of new ones. Failed indexes get no pod (BI-04). Delays and refusals are not considered.
#[must_use]
pub fn must_create(view: &View<'_>, tally: &Tally) -> bool {
    missing(view, tally) > 0
}

/// The number of pods that the Job needs more than it has; negative if it has too many.
#[must_use]
pub fn missing(view: &View<'_>, tally: &Tally) -> i64 {
    let sums = view.cache.sums();
    let held = if view.spec().replaces_only_failed() { sums.active + sums.terminating } else { sums.active };
    let failed = tally.failed_indexes.as_ref().map_or(0, IndexSet::len);
    let left = view.spec().completions.map(|all| i64::from(all) - tally.succeeded - i64::from(failed));
    left.unwrap_or(i64::MAX).min(want_active(view, tally)) - i64::from(held)
}

/// The requirement that asks to delete an active pod: PC-06 if its completion index is invalid or taken, PC-04 if there
/// are too many pods.
#[must_use]
pub fn surplus(view: &View<'_>, tally: &Tally) -> Option<Req> {
    let completions = view.spec().completion_count();
    let is_misplaced = |pod: &Pod| match pod.valid_index(completions) {
        None => true,
        Some(index) => view.cache.index_use(index).active > 1,
    };
    let misplaced =
        view.spec().is_indexed() && view.cache.iter().any(|it| it.is_active() && is_misplaced(it));
    match () {
        () if misplaced => Some(Req::PC06),
        () if i64::from(view.cache.sums().active) > want_active(view, tally) => Some(Req::PC04),
        () => None,
    }
}

/// PC-01, PC-03, RP-08: the first number of a status that is not the number of pods.
#[must_use]
pub fn unreported(status: &JobStatus, pods: &Sums) -> Option<Req> {
    let is_right = |number: Option<i32>, sum: u32| i64::from(number.unwrap_or(0)) == i64::from(sum);
    match () {
        () if !is_right(Some(status.active), pods.active) => Some(Req::PC01),
        () if !is_right(status.ready, pods.ready) => Some(Req::PC03),
        () if !is_right(status.terminating, pods.terminating) => Some(Req::RP08),
        () => None,
    }
}

/// PC-23, BI-05: the list of a status that has an index at or above the completions. An Indexed Job was scaled down.
#[must_use]
pub fn outdated_indexes(job: &Job) -> Option<Req> {
    let completions = job.spec.completion_count().filter(|_| job.spec.is_indexed())?;
    let exceeds = |text: &str| IndexSet::read(text, None).last().is_some_and(|last| last >= completions);
    match () {
        () if exceeds(&job.status.completed_indexes) => Some(Req::PC23),
        () if exceeds(job.status.failed_indexes.as_deref().unwrap_or_default()) => Some(Req::BI05),
        () => None,
    }
}

/// The next condition of an unfinished Job. A decided Job gets its terminal condition once no pod is active or terminating
/// (TC-04). Any other Job gets an interim condition once a criterion is met (TC-14), or if it has no completions (PC-25).
#[must_use]
pub fn next_condition(view: &View<'_>) -> Option<(Req, Obligation)> {
    let (status, sums) = (&view.job.status, view.cache.sums());
    if status.is_decided() {
        let fails = status.is_true(&ConditionKind::FailureTarget);
        let obligation = if fails { Obligation::WriteFailed } else { Obligation::WriteComplete };
        return (sums.active == 0 && sums.terminating == 0).then_some((Req::TC04, obligation));
    }
    let req = if view.spec().completions == Some(0) { Req::PC25 } else { Req::TC14 };
    decide(view, &Tally::of(view)).map(|_| (req, Obligation::WriteInterim))
}

/// SU-10: the time at which an unfinished Job fails by `activeDeadlineSeconds`. A suspended Job has none.
#[must_use]
pub fn deadline(job: &Job) -> Option<Time> {
    let times = job.spec.active_deadline_seconds.zip(job.status.start_time);
    times.filter(|_| !job.spec.is_suspended()).map(|(seconds, start)| start.plus(seconds))
}

/// SU-01: returns true if active pods of a suspended Job must be deleted.
#[must_use]
pub fn must_suspend(job: &Job, pods: &Sums) -> bool {
    job.spec.is_suspended() && pods.active > 0
}

/// FT-24: returns true if an ownerless pod must be adopted. One with other labels may belong to somebody else, and a terminated
/// one may have been counted (S-05).
#[must_use]
pub fn must_adopt(job: &Job, pod: &Pod, labels: &[(Text, Text)]) -> bool {
    let is_free = !pod.controlled && !pod.deleting && !pod.is_terminated();
    !job.deleting && is_free && matches(&job.spec.selector, labels) == Some(true)
}

/// FT-26: returns true if a pod of the Job must be released.
#[must_use]
pub fn must_release(job: &Job, labels: &[(Text, Text)]) -> bool {
    !job.deleting && matches(&job.spec.selector, labels) == Some(false)
}

/// The next obligation of a manager that writes status alone, by the stored Job alone.
///
/// MR-08: a decided Job without active and terminating pods gets its terminal condition. TC-14: a Job whose counted
/// successes cover its completions gets the interim one. MR-13: `active` and the condition Suspended agree with
/// `spec.suspend`.
#[must_use]
pub fn mirrored(job: &Job) -> Option<(Req, Obligation)> {
    let status = &job.status;
    if status.is_finished() || job.deleting {
        return None;
    }
    if status.is_decided() {
        let fails = status.is_true(&ConditionKind::FailureTarget);
        let obligation = if fails { Obligation::WriteFailed } else { Obligation::WriteComplete };
        return is_at_end(status).then_some((Req::MR08, obligation));
    }
    let has_succeeded =
        job.spec.completion_count().is_some_and(|count| count > 0) && covers(&job.spec, status);
    if has_succeeded && is_at_end(status) {
        return Some((Req::TC14, Obligation::WriteInterim));
    }
    (!agrees_with_suspend(job)).then_some((Req::MR13, Obligation::ReportSuspension))
}

#[cfg(test)]
mod tests;
