//! A status, or the change of a status, as one line.

use std::fmt::Write as _;

use super::name;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, JobStatus};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A status as one line. Empty fields are left out.
#[must_use]
pub fn status_text(status: &JobStatus) -> String {
    let mut text = format!(
        "active={} ready={} terminating={} succeeded={} failed={}",
        status.active,
        or_nil(status.ready),
        or_nil(status.terminating),
        status.succeeded,
        status.failed
    );
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = write!(text, " {name}={value}");
        }
    };
    add("uncounted.succeeded", uids(status.uncounted_succeeded()));
    add("uncounted.failed", uids(status.uncounted_failed()));
    add("completedIndexes", status.completed_indexes.to_string());
    add("failedIndexes", status.failed_indexes.as_deref().map_or(String::new(), quoted));
    add("startTime", status.start_time.map_or(String::new(), seconds));
    add("completionTime", status.completion_time.map_or(String::new(), seconds));
    for it in &status.conditions {
        let _ = write!(text, " {}", condition(it));
    }
    text
}

/// The change of a status, field by field: `active 0 -> 2, uncounted.succeeded +pod 1`. A new nil is shown. A
/// missing `startTime` is shown with the conditions that need it (SS-10).
#[must_use]
pub fn change(old: &JobStatus, new: &JobStatus) -> String {
    let mut parts = Vec::new();
    number("active", Some(old.active), Some(new.active), &mut parts);
    number("ready", old.ready, new.ready, &mut parts);
    number("terminating", old.terminating, new.terminating, &mut parts);
    number("succeeded", Some(old.succeeded), Some(new.succeeded), &mut parts);
    number("failed", Some(old.failed), Some(new.failed), &mut parts);
    list("uncounted.succeeded", old.uncounted_succeeded(), new.uncounted_succeeded(), &mut parts);
    list("uncounted.failed", old.uncounted_failed(), new.uncounted_failed(), &mut parts);
    if old.completed_indexes != new.completed_indexes {
        parts.push(format!("completedIndexes={}", quoted(&new.completed_indexes)));
    }
    if old.failed_indexes != new.failed_indexes {
        let text = new.failed_indexes.as_deref().map_or_else(|| "nil".to_owned(), quoted);
        parts.push(format!("failedIndexes={text}"));
    }
    let conditions = conditions(&old.conditions, &new.conditions);
    let decides = is_decided(new) && !conditions.is_empty() && new.start_time.is_none();
    if old.start_time != new.start_time || decides {
        parts.push(format!("startTime={}", new.start_time.map_or_else(|| "nil".to_owned(), seconds)));
    }
    if old.completion_time != new.completion_time {
        let time = new.completion_time.map_or_else(|| "nil".to_owned(), seconds);
        parts.push(format!("completionTime={time}"));
    }
    parts.extend(conditions);
    match () {
        () if old == new => "no change".to_owned(),
        () if parts.is_empty() => "only times of conditions change".to_owned(),
        () => parts.join(", "),
    }
}

/// Returns true if the status has an interim or terminal condition.
fn is_decided(status: &JobStatus) -> bool {
    use ConditionKind::{Complete, Failed, FailureTarget, SuccessCriteriaMet};
    [Complete, Failed, FailureTarget, SuccessCriteriaMet].iter().any(|kind| status.is_true(kind))
}

fn or_nil(value: Option<i32>) -> String {
    value.map_or_else(|| "nil".to_owned(), |value| value.to_string())
}

fn number(name: &str, old: Option<i32>, new: Option<i32>, parts: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Some(old), Some(new)) => parts.push(format!("{name} {old} -> {new}")),
        (None, _) | (_, None) => parts.push(format!("{name}={}", or_nil(new))),
    }
}

/// The UIDs that a list gains and loses. A UID that occurs twice is gained twice.
fn list(list: &str, old: &[Uid], new: &[Uid], parts: &mut Vec<String>) {
    let surplus = |of: &[Uid], over: &[Uid], sign: &str| {
        let mut rest = over.to_vec();
        let mut words = Vec::new();
        for uid in of {
            match rest.iter().position(|other| other == uid) {
                Some(place) => {
                    rest.remove(place);
                }
                None => words.push(format!("{sign}{}", name(*uid))),
            }
        }
        words
    };
    let words = [surplus(new, old, "+"), surplus(old, new, "-")].concat();
    if !words.is_empty() {
        parts.push(format!("{list} {}", words.join(" ")));
    }
}

/// The new conditions, and the removed conditions that no condition of their type replaces.
fn conditions(old: &[Condition], new: &[Condition]) -> Vec<String> {
    let same =
        |a: &Condition, b: &Condition| (&a.kind, a.status, &a.reason) == (&b.kind, b.status, &b.reason);
    let mut words = Vec::new();
    for (place, it) in new.iter().enumerate() {
        let count = |among: &[Condition]| among.iter().filter(|other| same(other, it)).count();
        if count(&new[..=place]) <= count(old) {
            continue;
        }
        let beside = new[..place].iter().any(|other| other.kind == it.kind);
        let beside = if beside { ", next to an existing condition of this type" } else { "" };
        words.push(format!("{}{beside}", condition(it)));
    }
    for (place, it) in old.iter().enumerate() {
        let count = |among: &[Condition]| among.iter().filter(|other| other.kind == it.kind).count();
        match count(new) {
            // Each type is shown once.
            _ if count(&old[..place]) > 0 => {}
            0 => words.push(format!("no {}", it.kind.as_str())),
            left if left < count(old) => words.push(format!("fewer conditions of type {}", it.kind.as_str())),
            _ => {}
        }
    }
    words
}

/// A condition as `Type=True (reason)`.
fn condition(it: &Condition) -> String {
    let status = match it.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
        ConditionStatus::Undefined => "undefined",
    };
    let reason = if it.reason.is_empty() { String::new() } else { format!(" ({})", it.reason) };
    format!("{}={status}{reason}", it.kind.as_str())
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn seconds(time: Time) -> String {
    format!("{} s", time.0)
}

fn uids(uids: &[Uid]) -> String {
    uids.iter().map(|uid| uid.0.to_string()).collect::<Vec<_>>().join(",")
}

/// The old values that an older status shows.
#[must_use]
pub fn older(old: &JobStatus, new: &JobStatus) -> Option<String> {
    if old == new {
        return None;
    }
    let mut parts = Vec::new();
    for (name, old, new) in [
        ("active", Some(old.active), Some(new.active)),
        ("ready", old.ready, new.ready),
        ("terminating", old.terminating, new.terminating),
        ("succeeded", Some(old.succeeded), Some(new.succeeded)),
        ("failed", Some(old.failed), Some(new.failed)),
    ] {
        if old != new {
            parts.push(format!("{name}={}", or_nil(old)));
        }
    }
    let recorded = |status: &JobStatus| [status.uncounted_succeeded(), status.uncounted_failed()].concat();
    if recorded(old) != recorded(new) {
        let pods: Vec<String> = recorded(old).into_iter().map(name).collect();
        let pods = if pods.is_empty() { "no pods".to_owned() } else { pods.join(", ") };
        parts.push(format!("{pods} uncounted"));
    }
    if old.completed_indexes != new.completed_indexes {
        parts.push(format!("completedIndexes={}", quoted(&old.completed_indexes)));
    }
    let missing =
        new.conditions.iter().filter(|it| !old.conditions.iter().any(|other| other.kind == it.kind));
    parts.extend(missing.map(|it| format!("no {}", it.kind.as_str())));
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobcheck_spec::job::Uncounted;

    fn entry(kind: ConditionKind, status: ConditionStatus) -> Condition {
        let reason = "why".into();
        Condition { kind, status, reason, message: "".into(), last_transition_time: None }
    }

    #[test]
    fn a_change_names_only_the_changed_fields() {
        let old = JobStatus { active: 2, ready: Some(0), ..JobStatus::default() };
        let lists = Uncounted { succeeded: vec![Uid(1)], failed: Vec::new() };
        let new = JobStatus { active: 1, uncounted: Some(lists), terminating: Some(0), ..old.clone() };
        assert_eq!(change(&old, &new), "active 2 -> 1, terminating=0, uncounted.succeeded +pod 1");
        assert_eq!(change(&new, &old), "active 1 -> 2, terminating=nil, uncounted.succeeded -pod 1");
        assert_eq!(change(&old, &old), "no change");
    }

    #[test]
    fn a_change_shows_a_second_condition_of_a_type_and_a_missing_start_time() {
        let denied = entry(ConditionKind::FailureTarget, ConditionStatus::False);
        let old = JobStatus { conditions: vec![denied.clone()], ..JobStatus::default() };
        let interim = entry(ConditionKind::FailureTarget, ConditionStatus::True);
        let replaced = JobStatus { conditions: vec![interim.clone()], ..JobStatus::default() };
        let appended = JobStatus { conditions: vec![denied, interim], ..JobStatus::default() };
        assert_eq!(change(&old, &replaced), "startTime=nil, FailureTarget=True (why)");
        let second = "FailureTarget=True (why), next to an existing condition of this type";
        assert!(change(&old, &appended).ends_with(second), "{}", change(&old, &appended));
        assert_eq!(change(&appended, &old), "fewer conditions of type FailureTarget");
        assert_eq!(change(&old, &JobStatus::default()), "no FailureTarget");
    }

    #[test]
    fn a_change_shows_a_uid_that_is_added_twice() {
        let lists = |failed: &[Uid]| {
            let lists = Uncounted { succeeded: Vec::new(), failed: failed.to_vec() };
            JobStatus { uncounted: Some(lists), ..JobStatus::default() }
        };
        assert_eq!(change(&lists(&[Uid(2)]), &lists(&[Uid(2), Uid(2)])), "uncounted.failed +pod 2");
    }
}
