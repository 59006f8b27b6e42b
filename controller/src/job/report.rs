//! The events (family EV) and counters (family MX) that follow a successful status write.

use std::sync::Arc;

use super::command::{Command, Event, Metric, StatusWrite, Step};
use super::conditions::{COMPLETE, FAILED, SUSPENDED, find_true};
use super::indexes::IndexSet;
use super::observed::{Condition, StatusFacts};
use super::view::View;
use crate::values::Text;

/// The step that writes a status, with its events and counters; none if the status does not change.
#[must_use]
pub fn status_step(view: &View, before: &StatusFacts, after: &StatusFacts) -> Option<Step> {
    if before == after {
        return None;
    }
    let mut events = suspension_events(before, after);
    let mut metrics = pods_finished(view, before, after);
    if let Some((succeeded, condition)) = became_finished(before, after) {
        events.extend(finish_events(view, after, succeeded, condition));
        metrics.push(Metric::JobFinished {
            indexed: view.indexed(),
            succeeded,
            reason: condition.reason.clone(),
        });
    }
    let write = StatusWrite { before: before.clone(), after: after.clone() };
    Some(Step { command: Command::WriteStatus(Arc::new(write)), events, metrics })
}

/// EV-05, EV-06. The events follow the write, so that a conflict does not repeat them (SU-15).
fn suspension_events(before: &StatusFacts, after: &StatusFacts) -> Vec<Event> {
    let suspended = |status: &StatusFacts| find_true(&status.conditions, SUSPENDED).is_some();
    match (suspended(before), suspended(after)) {
        (false, true) => vec![Event::normal("Suspended", "Job suspended")],
        (true, false) => vec![Event::normal("Resumed", "Job resumed")],
        (true, true) | (false, false) => Vec::new(),
    }
}

fn became_finished<'a>(before: &StatusFacts, after: &'a StatusFacts) -> Option<(bool, &'a Condition)> {
    let new =
        |kind| find_true(&after.conditions, kind).filter(|_| find_true(&before.conditions, kind).is_none());
    new(COMPLETE).map(|it| (true, it)).or_else(|| new(FAILED).map(|it| (false, it)))
}

/// EV-07, EV-08, EV-09.
fn finish_events(view: &View, after: &StatusFacts, succeeded: bool, condition: &Condition) -> Vec<Event> {
    if !succeeded {
        return vec![Event::warning(&condition.reason, &condition.message)];
    }
    let too_many = view.job().spec.completions.is_some_and(|completions| after.succeeded > completions);
    let warning = too_many.then(|| {
        Event::warning(
            "TooManySucceededPods",
            "Too many succeeded pods running after completion count reached",
        )
    });
    warning.into_iter().chain([Event::normal("Completed", "Job completed")]).collect()
}

/// MX-04, MX-05. Neither number includes indexes that a scale-down dropped.
fn pods_finished(view: &View, before: &StatusFacts, after: &StatusFacts) -> Vec<Metric> {
    let indexed = view.indexed();
    let completed = |status: &StatusFacts| indexes(view, status.completed_indexes.as_ref());
    let failed_indexes = |status: &StatusFacts| indexes(view, status.failed_indexes.as_ref());
    let succeeded = if indexed {
        completed(after).saturating_sub(completed(before))
    } else {
        grown(before.succeeded, after.succeeded)
    };
    let failed = grown(before.failed, after.failed);
    let per_index = view.limit_per_index().is_some();
    let index_failures =
        if per_index { failed_indexes(after).saturating_sub(failed_indexes(before)) } else { 0 };
    let index_successes = if indexed { succeeded } else { 0 };
    [
        (succeeded, Metric::PodsFinished { indexed, succeeded: true, by: succeeded }),
        (failed, Metric::PodsFinished { indexed, succeeded: false, by: failed }),
        (index_successes, Metric::IndexesFinished { succeeded: true, per_index, by: index_successes }),
        (index_failures, Metric::IndexesFinished { succeeded: false, per_index, by: index_failures }),
    ]
    .into_iter()
    .filter(|(by, _)| *by > 0)
    .map(|(_, metric)| metric)
    .collect()
}

fn indexes(view: &View, text: Option<&Text>) -> u64 {
    text.map_or(0, |text| IndexSet::parse(text, view.completions()).len() as u64)
}

fn grown(before: i32, after: i32) -> u64 {
    u64::try_from(i64::from(after) - i64::from(before)).unwrap_or(0)
}
