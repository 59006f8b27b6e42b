//! Job conditions: lookup and change, with one condition for each type (S-12).

use super::observed::Condition;
use crate::values::{Text, Time};

/// The interim condition of a Job that will be Complete.
pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// The interim condition of a Job that will be Failed.
pub const FAILURE_TARGET: &str = "FailureTarget";
/// The terminal condition of a Job that succeeded.
pub const COMPLETE: &str = "Complete";
/// The terminal condition of a Job that failed.
pub const FAILED: &str = "Failed";
/// The condition of a Job that is suspended.
pub const SUSPENDED: &str = "Suspended";

/// The first condition of a type with status True.
///
/// It need not be the first condition of that type: a list may contain a type twice (S-12).
#[must_use]
pub fn find_true<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|it| &*it.kind == kind && &*it.status == "True")
}

/// The first condition of a type with a status other than False.
#[must_use]
pub fn find_not_false<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|it| &*it.kind == kind && &*it.status != "False")
}

/// Returns true if the conditions contain a terminal condition with status True.
#[must_use]
pub fn finished(conditions: &[Condition]) -> bool {
    find_true(conditions, COMPLETE).is_some() || find_true(conditions, FAILED).is_some()
}

/// Returns a condition with `now` as its probe and transition time.
#[must_use]
pub fn new(kind: &str, status: &str, reason: &Text, message: &Text, now: Time) -> Condition {
    Condition {
        kind: Text::from(kind),
        status: Text::from(status),
        reason: reason.clone(),
        message: message.clone(),
        last_probe: Some(now),
        last_transition: Some(now),
    }
}

/// Returns the conditions with one of them replaced and moved to the end.
///
/// A terminal condition that a user had set to False then follows the interim condition (TC-09).
#[must_use]
pub fn with_last(conditions: &[Condition], condition: Condition) -> Vec<Condition> {
    let others = conditions.iter().filter(|it| it.kind != condition.kind).cloned();
    others.chain([condition.clone()]).collect()
}

/// Returns the conditions with one of them replaced at the place of its type, or appended (S-12, TC-10).
#[must_use]
pub fn with(conditions: &[Condition], condition: Condition) -> Vec<Condition> {
    let mut all = conditions.to_vec();
    match all.iter_mut().find(|it| it.kind == condition.kind) {
        Some(entry) => *entry = condition,
        None => all.push(condition),
    }
    all
}
