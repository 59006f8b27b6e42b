//! The two status writes of a plan: the one before finalizers are removed, and the one after (FT-02).

use super::accounting::Accounting;
use super::conditions::{self, COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use super::indexes::IndexSet;
use super::observed::{Condition, StatusFacts, Uncounted};
use super::per_index::Indexes;
use super::termination::{Interim, Termination, running_since};
use super::view::View;
use crate::values::{Text, Time};

/// Whether a Job was suspended or resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// SU-01: its active pods have been deleted.
    Begins,
    /// SU-04.
    Ends,
    /// Neither, or it is not said now (SU-05).
    Unchanged,
}

/// What the condition Suspended becomes. Not at the end of a Job, nor while it is being deleted (SU-05).
///
/// It is True only where all active pods are being deleted: who takes that for free resources is not deceived.
#[must_use]
pub fn suspension(view: &View, termination: Option<&Termination>, stops: bool) -> Suspension {
    let job = view.job();
    let is_stopped = stops || view.active_count() == 0;
    let said = conditions::find_true(&job.status.conditions, SUSPENDED).is_some();
    if termination.is_some() || job.deletion.is_some() {
        Suspension::Unchanged
    } else if job.spec.suspend {
        if !said && is_stopped { Suspension::Begins } else { Suspension::Unchanged }
    } else if conditions::find_not_false(&job.status.conditions, SUSPENDED).is_some() {
        Suspension::Ends
    } else {
        Suspension::Unchanged
    }
}

/// The status before finalizers are removed: what there is, what has ended, and how it will end.
///
/// All numbers are those of the caches: creations and deletions come after it in the plan, and the next plan sees their
/// effects before it reports (PC-03, J-01, H2, H3, H4). Where the Job `stops`, each active pod has been deleted before,
/// and terminates.
#[must_use]
pub fn first(
    view: &View,
    indexes: &Indexes,
    termination: Option<&Termination>,
    accounting: &Accounting,
    stops: bool,
) -> StatusFacts {
    let before = &view.job().status;
    let suspension = suspension(view, termination, stops);
    let uncounted = Uncounted {
        succeeded: accounting.listed_succeeded.clone(),
        failed: accounting.listed_failed.clone(),
    };
    let (active, ready) = if stops { (0, 0) } else { (view.active_count(), view.ready_count()) };
    let status = StatusFacts {
        start_time: start_time(view, termination, suspension),
        conditions: conditions_before_removal(view, termination, suspension),
        active: int(active),
        ready: Some(int(ready)),
        // RP-06, UG-05.
        terminating: view.gates().pod_replacement_policy.then(|| int(terminating(view, stops))),
        failed: before.failed.saturating_add(int(accounting.counted_failed)),
        // FT-30.
        uncounted: Some(uncounted),
        ..before.clone()
    };
    if view.indexed() {
        with_indexes(view, indexes, status)
    } else {
        let succeeded = before.succeeded.saturating_add(int(accounting.counted_succeeded));
        StatusFacts { succeeded, ..status }
    }
}

/// PC-21, FT-12: all completed indexes are written at once, whatever the cap.
fn with_indexes(view: &View, indexes: &Indexes, status: StatusFacts) -> StatusFacts {
    let failed_indexes = indexes.failed.as_ref().map(text);
    if !holds_indexes(view, indexes) {
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

/// Whether the API server takes the completed indexes: `succeeded` may fall only while completions and parallelism are
/// equal (SS-28). If an Indexed Job is scaled down, and its parallelism alone is lowered before the controller writes, the
/// shorter list has to wait until it is as long as the stored one; the rest of the status does not.
#[must_use]
pub fn holds_indexes(view: &View, indexes: &Indexes) -> bool {
    let spec = &view.job().spec;
    let elastic = spec.completions == Some(spec.parallelism);
    elastic || int(indexes.completed.len()) >= view.job().status.succeeded
}

fn text(indexes: &IndexSet) -> Text {
    Text::from(indexes.to_string().as_str())
}

/// SU-02, SU-04; S-04: a Job that ends has a start, also while it is suspended: the time of its interim condition.
fn start_time(view: &View, termination: Option<&Termination>, suspension: Suspension) -> Option<Time> {
    let now = view.observed.now.truncated();
    let start = match suspension {
        Suspension::Begins => None,
        Suspension::Ends => running_since(view),
        Suspension::Unchanged => view.job().status.start_time.or_else(|| running_since(view)),
    };
    start.or_else(|| {
        termination.map(|termination| match termination.interim {
            Interim::Stored(since) => since.unwrap_or(now),
            Interim::New | Interim::None => now,
        })
    })
}

fn conditions_before_removal(
    view: &View,
    termination: Option<&Termination>,
    suspension: Suspension,
) -> Vec<Condition> {
    let before = &view.job().status.conditions;
    let now = view.observed.now.truncated();
    let suspended = |status, reason: &str, message: &str| {
        let (reason, message) = (Text::from(reason), Text::from(message));
        conditions::with(before, conditions::new(SUSPENDED, status, &reason, &message, now))
    };
    match (termination, suspension) {
        (Some(termination), _) if termination.interim == Interim::New => {
            let kind = if termination.succeeds { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET };
            conditions::with(
                before,
                conditions::new(kind, "True", &termination.reason, &termination.message, now),
            )
        }
        (Some(_), _) | (None, Suspension::Unchanged) => before.clone(),
        (None, Suspension::Begins) => suspended("True", "JobSuspended", "Job suspended"),
        (None, Suspension::Ends) => suspended("False", "JobResumed", "Job resumed"),
    }
}

/// The status after finalizers were removed: the counters, and the terminal condition if nothing is left to wait for.
#[must_use]
pub fn second(
    view: &View,
    termination: Option<&Termination>,
    accounting: &Accounting,
    first: &StatusFacts,
    stops: bool,
) -> StatusFacts {
    let after = accounting.after_removals();
    let indexed = view.indexed();
    // An Indexed Job counts its indexes (PC-21).
    let succeeded = if indexed { 0 } else { int(after.counted_succeeded) };
    let uncounted = Uncounted { succeeded: after.listed_succeeded, failed: after.listed_failed };
    let finishes = termination.filter(|_| ends_now(view, accounting, &uncounted, stops));
    let status = StatusFacts {
        succeeded: first.succeeded.saturating_add(succeeded),
        failed: first.failed.saturating_add(int(after.counted_failed)),
        uncounted: Some(uncounted),
        ..first.clone()
    };
    finishes.map_or(status.clone(), |termination| finished(view, termination, status))
}

/// TC-04, B05, B07, B18: no pod of the Job is at work or terminates, none keeps the finalizer, none is uncounted.
fn ends_now(view: &View, accounting: &Accounting, uncounted: &Uncounted, stops: bool) -> bool {
    let at_rest = stops || view.active_count() == 0;
    let ended = terminating(view, stops) == 0 || !view.delays_terminal();
    let counted = uncounted.succeeded.is_empty() && uncounted.failed.is_empty();
    at_rest && ended && counted && !accounting.finalizer_not_removed
}

/// Pods that terminate, with those that are deleted where the Job `stops`.
fn terminating(view: &View, stops: bool) -> usize {
    view.terminating_count() + if stops { view.active_count() } else { 0 }
}

/// TC-03, TC-05. The time is not before the start, whoever's clock that was (SS-11).
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

/// Whether two statuses differ in numbers of pods alone.
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
