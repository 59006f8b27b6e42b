//! The two status writes of a plan: one before the finalizer removals, and one after them (FT-02).

use super::accounting::Accounting;
use super::conditions::{self, COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use super::indexes::IndexSet;
use super::observed::{Condition, StatusFacts, Uncounted};
use super::per_index::Indexes;
use super::termination::{Interim, Termination, running_since};
use super::view::{PodCounts, View};
use crate::values::{Text, Time};

/// Everything that the status writes of a plan report.
#[derive(Clone, Copy, Debug)]
pub struct NewStatus<'s, 'a> {
    /// The Job and its pods.
    pub view: &'s View<'a>,
    /// The indexes of the Job.
    pub indexes: &'s Indexes<'a>,
    /// The records, the counters, and the finalizer removals.
    pub accounting: &'s Accounting<'a>,
    /// The termination of the Job; none if it is not decided, or is not to be reported.
    pub termination: Option<&'s Termination>,
    /// The numbers of pods, from the caches. They do not include the creations and surplus deletions of the same plan,
    /// whose effects the next plan reports (PC-03, J-01, H2, H3, H4).
    pub pods: PodCounts,
}

/// A change of the condition Suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspension {
    /// The condition becomes True: all active pods have been deleted (SU-01).
    Begins,
    /// The condition becomes False (SU-04).
    Ends,
    /// The condition stays as it is (SU-05).
    Unchanged,
}

impl NewStatus<'_, '_> {
    /// The status before the finalizer removals: the numbers of pods, the new records, and the interim condition.
    #[must_use]
    pub fn before_removals(&self) -> StatusFacts {
        let (view, accounting) = (self.view, self.accounting);
        let before = &view.job().status;
        let suspension = self.suspension();
        let uncounted = Uncounted {
            succeeded: accounting.recorded_succeeded.clone(),
            failed: accounting.recorded_failed.clone(),
        };
        let status = StatusFacts {
            start_time: self.start_time(suspension),
            conditions: self.conditions_before_removals(suspension),
            active: int(self.pods.active),
            ready: Some(int(self.pods.ready)),
            // RP-06, UG-05.
            terminating: view.gates().pod_replacement_policy.then(|| int(self.pods.terminating)),
            failed: before.failed.saturating_add(int(accounting.counted_failed)),
            // FT-30.
            uncounted: Some(uncounted),
            ..before.clone()
        };
        if view.indexed() {
            with_indexes(view, self.indexes, status)
        } else {
            let succeeded = before.succeeded.saturating_add(int(accounting.counted_succeeded));
            StatusFacts { succeeded, ..status }
        }
    }

    /// The status after the finalizer removals: the counters, and the terminal condition if nothing delays it.
    ///
    /// `first` is the status that was written before the removals.
    #[must_use]
    pub fn after_removals(&self, first: &StatusFacts) -> StatusFacts {
        let after = self.accounting.after_removals();
        // An Indexed Job counts its indexes (PC-21).
        let succeeded = if self.view.indexed() { 0 } else { int(after.counted_succeeded) };
        let uncounted = Uncounted { succeeded: after.recorded_succeeded, failed: after.recorded_failed };
        let finishes = self.termination.filter(|_| self.ends_now(&uncounted));
        let status = StatusFacts {
            succeeded: first.succeeded.saturating_add(succeeded),
            failed: first.failed.saturating_add(int(after.counted_failed)),
            uncounted: Some(uncounted),
            ..first.clone()
        };
        finishes.map_or(status.clone(), |termination| finished(self.view, termination, status))
    }

    /// The change of the condition Suspended; none when the Job ends or is being deleted (SU-05).
    ///
    /// True requires that no pod is active any more: other programs read it as "the resources are free".
    fn suspension(&self) -> Suspension {
        let job = self.view.job();
        let is_stored = conditions::find_true(&job.status.conditions, SUSPENDED).is_some();
        if self.termination.is_some() || job.deletion.is_some() {
            Suspension::Unchanged
        } else if job.spec.suspend {
            if !is_stored && self.pods.active == 0 { Suspension::Begins } else { Suspension::Unchanged }
        } else if conditions::find_not_false(&job.status.conditions, SUSPENDED).is_some() {
            Suspension::Ends
        } else {
            Suspension::Unchanged
        }
    }

    /// SU-02, SU-04. A Job that ends has a start time even if it is suspended: the time of its interim condition (S-04).
    fn start_time(&self, suspension: Suspension) -> Option<Time> {
        let view = self.view;
        let now = view.observed.now.truncated();
        let start = match suspension {
            Suspension::Begins => None,
            Suspension::Ends => running_since(view),
            Suspension::Unchanged => view.job().status.start_time.or_else(|| running_since(view)),
        };
        start.or_else(|| {
            self.termination.map(|termination| match termination.interim {
                Interim::Stored(since) => since.unwrap_or(now),
                Interim::New | Interim::None => now,
            })
        })
    }

    fn conditions_before_removals(&self, suspension: Suspension) -> Vec<Condition> {
        let before = &self.view.job().status.conditions;
        let now = self.view.observed.now.truncated();
        let suspended = |status, reason: &str, message: &str| {
            let (reason, message) = (Text::from(reason), Text::from(message));
            conditions::with(before, conditions::new(SUSPENDED, status, &reason, &message, now))
        };
        match (self.termination, suspension) {
            (Some(Termination { succeeds, reason, message, interim: Interim::New }), _) => {
                let kind = if *succeeds { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET };
                conditions::with(before, conditions::new(kind, "True", reason, message, now))
            }
            (Some(_), _) | (None, Suspension::Unchanged) => before.clone(),
            (None, Suspension::Begins) => suspended("True", "JobSuspended", "Job suspended"),
            (None, Suspension::Ends) => suspended("False", "JobResumed", "Job resumed"),
        }
    }

    /// TC-04, B05, B07, B18: no pod is active or terminating, none keeps the finalizer, and none is uncounted.
    fn ends_now(&self, uncounted: &Uncounted) -> bool {
        let terminated = self.pods.terminating == 0 || !self.view.delays_terminal();
        let counted = uncounted.succeeded.is_empty() && uncounted.failed.is_empty();
        self.pods.active == 0 && terminated && counted && !self.accounting.finalizer_remains
    }
}

/// PC-21, FT-12: the status stores all completed indexes at once, whatever the cap of the records.
fn with_indexes(view: &View, indexes: &Indexes, status: StatusFacts) -> StatusFacts {
    let failed_indexes = indexes.failed.as_ref().map(text);
    if !accepts_indexes(view, indexes) {
        return StatusFacts { failed_indexes, ..status };
    }
    let completed = (!indexes.completed.is_empty()).then(|| text(&indexes.completed));
    StatusFacts {
        completed_indexes: completed,
        succeeded: int(indexes.completed.len()),
        failed_indexes,
        ..status
    }
}

/// Returns true if the API server accepts the completed indexes.
///
/// `succeeded` may decrease only while completions and parallelism are equal (SS-28). An Indexed Job may be scaled down,
/// and its parallelism alone lowered before the controller writes. The shorter list then waits until it is as long as the
/// stored one; the rest of the status does not wait.
#[must_use]
pub fn accepts_indexes(view: &View, indexes: &Indexes) -> bool {
    let spec = &view.job().spec;
    let elastic = spec.completions == Some(spec.parallelism);
    elastic || int(indexes.completed.len()) >= view.job().status.succeeded
}

fn text(indexes: &IndexSet) -> Text {
    Text::from(indexes.to_string().as_str())
}

/// TC-03, TC-05. The end is not before the start, even if another clock set the start (SS-11).
fn finished(view: &View, termination: &Termination, status: StatusFacts) -> StatusFacts {
    let now = view.observed.now.truncated();
    let at = status.start_time.map_or(now, |start| start.max(now));
    let kind = if termination.succeeds { COMPLETE } else { FAILED };
    let condition = conditions::new(kind, "True", &termination.reason, &termination.message, at);
    let completion_time = if termination.succeeds { Some(at) } else { status.completion_time };
    StatusFacts {
        conditions: conditions::with_last(&status.conditions, condition),
        completion_time,
        ..status
    }
}

/// Returns true if two statuses differ at most in the numbers of pods.
#[must_use]
pub fn differ_in_pods_alone(one: &StatusFacts, other: &StatusFacts) -> bool {
    let same = StatusFacts {
        active: other.active,
        ready: other.ready,
        terminating: other.terminating,
        ..one.clone()
    };
    same == *other
}

fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
