//! The status of a Job as the sum of those of its parts.

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::parts::{self, number};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Defect {
    /// A part that is being deleted counts twice: as one that is there, and as one that has left.
    CountsTwice,
    /// Each success counts twice, up to `completions`.
    Doubles,
    /// Jobs with another manager are taken, too.
    TakesStrangers,
    /// A condition of its own gets a new time again and again.
    Restless,
    /// The counts of a part are lost with it.
    Forgets,
    /// The Job fails at once with its first part, while others run.
    FailsAtOnce,
    /// The Job succeeds with its last pods still terminating.
    IgnoresTerminating,
    /// If a part does not count terminating pods, the end is written as such an old Kubernetes would: without the interim
    /// condition.
    ImitatesOlder,
    /// A list without parts is the end.
    EndsWhenEmpty,
    /// The Job starts anew with each part that starts.
    MovesStart,
    /// The terminal condition is written without the interim one.
    LeavesOutInterim,
}

/// The patch that writes the sum of these parts. `None`: it is stored already.
pub fn patch(local: &Value, own: &[&Value], defect: Option<Defect>) -> Option<Value> {
    let stored = &local["status"];
    if ["Complete", "Failed"].iter().any(|it| is_true(stored, it)) {
        return None;
    }
    let (mut counted, old) = (parts::counted(local), parts::counted(local));
    for part in own.iter().filter(|part| parts::is_leaving(part)) {
        let status = &part["status"];
        let counts = (number(status, "succeeded"), number(status, "failed"));
        counted.entry(parts::uid(part).to_owned()).or_insert(counts);
    }
    if defect == Some(Defect::Forgets) {
        counted.values_mut().for_each(|counts| *counts = (0, 0));
    }
    let is_twice = defect == Some(Defect::CountsTwice);
    let present: Vec<&Value> = own.iter().copied().filter(|it| is_twice || !parts::is_leaving(it)).collect();
    let sum = |field: &str| present.iter().map(|it| number(&it["status"], field)).sum::<i64>();
    let mut succeeded = counted.values().map(|it| it.0).sum::<i64>() + sum("succeeded");
    if defect == Some(Defect::Doubles) {
        succeeded = (2 * succeeded).min(number(&local["spec"], "completions"));
    }
    let failed = counted.values().map(|it| it.1).sum::<i64>() + sum("failed");
    let mut new = stored.clone();
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let has_started = |it: &&Value| it["status"]["startTime"].is_string();
    if present.iter().any(has_started) && !stored["startTime"].is_string() {
        new["startTime"] = json!(now);
        (new["ready"], new["terminating"]) = (json!(0), json!(0));
    }
    if defect == Some(Defect::MovesStart) {
        let starts = present.iter().filter_map(|it| it["status"]["startTime"].as_str());
        starts.max().into_iter().for_each(|last| new["startTime"] = json!(last));
    }
    let parts_of = ["active", "ready", "terminating"].map(|field| (field, sum(field)));
    for (field, value) in parts_of.into_iter().chain([("succeeded", succeeded), ("failed", failed)]) {
        if value != number(&new, field) {
            new[field] = json!(value);
        }
    }
    decide(&mut new, local, &present, defect, &now);
    if defect == Some(Defect::Restless) {
        new["conditions"].as_array_mut().into_iter().for_each(|all| all.retain(|it| it["type"] != "Seen"));
        add(&mut new, "Seen", &now);
    }
    if new == *stored && counted == old {
        return None;
    }
    let annotations = json!({parts::COUNTED: json!(counted).to_string()});
    let metadata =
        json!({"resourceVersion": local["metadata"]["resourceVersion"], "annotations": annotations});
    Some(json!({"metadata": metadata, "status": new}))
}

/// Adds the interim condition, and in a later write the terminal one.
fn decide(new: &mut Value, local: &Value, present: &[&Value], defect: Option<Defect>, now: &str) {
    let stored = &local["status"];
    let has = |kind: &str| present.iter().any(|it| is_true(&it["status"], kind));
    let is_enough = number(new, "succeeded") >= number(&local["spec"], "completions");
    let is_empty = defect == Some(Defect::EndsWhenEmpty) && present.is_empty();
    let fails = is_true(stored, "FailureTarget") || has("FailureTarget") || has("Failed");
    if !stored["startTime"].is_string() || !(fails || is_enough || is_empty) {
        return;
    }
    let (interim, end) = if fails { ("FailureTarget", "Failed") } else { ("SuccessCriteriaMet", "Complete") };
    let rest = ["active", "ready", "terminating"].map(|field| number(new, field));
    let is_old = present.iter().any(|it| it["status"]["terminating"].is_null());
    match defect {
        Some(Defect::FailsAtOnce) if fails => end_with(new, &[interim, end], now),
        Some(Defect::IgnoresTerminating) if rest[0] == 0 => end_with(new, &[interim, end], now),
        Some(Defect::EndsWhenEmpty) if is_empty => end_with(new, &[interim, end], now),
        Some(Defect::LeavesOutInterim) if rest == [0; 3] => end_with(new, &[end], now),
        Some(Defect::LeavesOutInterim) => {}
        Some(Defect::ImitatesOlder) if is_old => end_with(new, &[end], now),
        _ if !is_true(stored, interim) => add(new, interim, now),
        _ if rest == [0; 3] => end_with(new, &[end], now),
        _ => {}
    }
}

fn end_with(new: &mut Value, conditions: &[&str], now: &str) {
    conditions.iter().for_each(|kind| add(new, kind, now));
    for field in ["active", "ready", "terminating"] {
        new[field] = json!(0);
    }
    if conditions.contains(&"Complete") {
        new["completionTime"] = json!(now);
    }
}

fn add(new: &mut Value, kind: &str, now: &str) {
    if is_true(new, kind) {
        return;
    }
    let mut all = new["conditions"].as_array().cloned().unwrap_or_default();
    all.push(json!({
        "type": kind, "status": "True", "reason": "Summed", "message": "the parts of the Job have decided",
        "lastProbeTime": now, "lastTransitionTime": now,
    }));
    new["conditions"] = json!(all);
}

/// Returns true if the Job will end.
pub fn is_decided(status: &Value) -> bool {
    ["FailureTarget", "SuccessCriteriaMet", "Complete", "Failed"].iter().any(|kind| is_true(status, kind))
}

fn is_true(status: &Value, kind: &str) -> bool {
    let all = status["conditions"].as_array().into_iter().flatten();
    all.into_iter().any(|it| it["type"] == kind && it["status"] == "True")
}
