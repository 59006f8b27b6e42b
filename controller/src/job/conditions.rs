//! Conditions of a Job: looked up, set, one for each type (S-12).

use super::observed::Condition;
use crate::values::{Text, Time};

/// `SuccessCriteriaMet`: the Job will be Complete.
pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// `FailureTarget`: the Job will be Failed.
pub const FAILURE_TARGET: &str = "FailureTarget";
/// `Complete`: the Job has succeeded and has ended.
pub const COMPLETE: &str = "Complete";
/// `Failed`: the Job has failed and has ended.
pub const FAILED: &str = "Failed";
/// `Suspended`.
pub const SUSPENDED: &str = "Suspended";

/// The condition of a type that is True.
///
/// Any entry is looked at, not the first one alone: a list may hold a type twice (S-12).
#[must_use]
pub fn find_true<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|it| &*it.kind == kind && &*it.status == "True")
}

/// The first condition of a type that is not False.
#[must_use]
pub fn find_not_false<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|it| &*it.kind == kind && &*it.status != "False")
}

/// Whether a Job has a terminal condition.
#[must_use]
pub fn finished(conditions: &[Condition]) -> bool {
    find_true(conditions, COMPLETE).is_some() || find_true(conditions, FAILED).is_some()
}

/// A condition that came about now.
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

/// The conditions with one set as the last: behind the interim condition, where somebody had set a terminal one to False
/// before there was an interim one (TC-09).
#[must_use]
pub fn with_last(conditions: &[Condition], condition: Condition) -> Vec<Condition> {
    let others = conditions.iter().filter(|it| it.kind != condition.kind).cloned();
    others.chain([condition.clone()]).collect()
}

/// The conditions with one set: in the place of the first entry of its type, else at the end (S-12, TC-10).
#[must_use]
pub fn with(conditions: &[Condition], condition: Condition) -> Vec<Condition> {
    let mut all = conditions.to_vec();
    match all.iter_mut().find(|it| it.kind == condition.kind) {
        Some(entry) => *entry = condition,
        None => all.push(condition),
    }
    all
}
