//! Conditions of a Job: dropped, early, late, twice, with another status, reason or message.

use serde_json::{Value, json};

use super::times::{change_condition, new_conditions};
use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, put};
use crate::recording::{Form, Recording, condition, has_true, stored};
use crate::time;

const INTERIM: [&str; 2] = ["SuccessCriteriaMet", "FailureTarget"];
const TERMINAL: [&str; 2] = ["Complete", "Failed"];

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    let new = |base: &Recording, at: usize| new_conditions(base, at).first().cloned();
    all.push(Class::new("conditions dropped", "first", move |base, at| dropped(base, at, &new(base, at)?)));
    all.push(Class::new("conditions late", "first", move |base, at| late(base, at, &new(base, at)?)));
    all.push(Class::new("conditions early", "first", move |base, at| early(base, at, &new(base, at)?)));
    all.push(Class::new("conditions twice", "first", move |base, at| twice(base, at, &new(base, at)?)));
    for text in ["true", "Unknown", "opposite", ""] {
        all.push(Class::new("condition status", format!("{text:?}"), move |base, at| {
            status(base, at, &new(base, at)?, text)
        }));
    }
    for field in ["reason", "message"] {
        all.push(Class::new("condition texts", field, move |base, at| {
            let kind = new(base, at)?;
            let mut edited = change_condition(base, at, &kind, &|it| it[field] = json!("Other"))?;
            edited.oracle = texts(base, at, &kind);
            Some(edited)
        }));
    }

    added(all);
}

fn edit_conditions(object: &mut Value, edit: &dyn Fn(&mut Vec<Value>)) {
    let mut list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    edit(&mut list);
    put(object, "/status/conditions", (!list.is_empty()).then_some(Value::Array(list)));
}

fn has(object: &Value, kind: &str) -> bool {
    condition(&object["status"], kind).is_some()
}

fn dropped(base: &Recording, at: usize, kind: &str) -> Option<Edited> {
    let original = condition(base.status(at), kind)?;
    let mut draft = Draft::of(base);
    draft.carry(at, &|object| condition(&object["status"], kind) == Some(original), &|object| {
        edit_conditions(object, &|list| list.retain(|it| it["type"] != kind));
        if kind == "Complete" {
            put(object, "/status/completionTime", None);
        }
    });
    let finishes = base.finishes(&base.events[at].uid);
    let oracle = match kind {
        "Suspended" if !base.is_mirror() => Oracle::Wrong("SU-01"),
        _ if INTERIM.contains(&kind) && finishes => Oracle::Wrong("SS-20"),
        _ => Oracle::Undecidable("the trace ends before the condition is due"),
    };
    draft.done(oracle)
}

/// The condition is missing in its first write, and present in the next one.
fn late(base: &Recording, at: usize, kind: &str) -> Option<Edited> {
    let next = base.next_status(at)?;
    let before = base.previous(at)?;
    if TERMINAL.contains(&kind) || !has(stored(&base.lines[next]), kind) {
        return None;
    }
    let (old, original) = (condition(base.status(before), kind).cloned(), base.status(at).clone());
    let mut draft = Draft::of(base);
    draft.carry(at, &|object| object["status"] == original, &|object| {
        edit_conditions(object, &|list| {
            list.retain(|it| it["type"] != kind);
            list.extend(old.clone());
        });
    });
    let changes = stored(&draft.lines[at])["status"] != *base.status(before);
    let by_deadline = condition(base.status(at), kind).is_some_and(|it| it["reason"] == "DeadlineExceeded");
    let oracle = match base.form {
        _ if base.is_mirror() => Oracle::Undecidable("MR-07: a mirror may coalesce"),
        Form::Watch if by_deadline => Oracle::Undecidable("a watch does not show the time of the write"),
        _ => Oracle::Wrong("TC-14"),
    };
    changes.then_some(draft)?.done(oracle)
}

/// The condition is already in the previous status write, and in all versions from there.
fn early(base: &Recording, at: usize, kind: &str) -> Option<Edited> {
    let before = base.previous_status(at)?;
    let new = condition(base.status(at), kind)?.clone();
    if condition(base.status(before), kind).is_some_and(|it| it["status"] == new["status"]) {
        return None;
    }
    let mut moved = new.clone();
    let moment = base.events[before].interval.0;
    if moment > 0 {
        moved["lastTransitionTime"] = json!(time::whole(moment));
    }
    let end = moved["lastTransitionTime"].clone();
    let mut draft = Draft::of(base);
    let original = condition(base.status(before), kind).cloned();
    draft.carry(before, &|object| condition(&object["status"], kind) == original.as_ref(), &|object| {
        edit_conditions(object, &|list| {
            list.retain(|it| it["type"] != kind);
            list.push(moved.clone());
        });
        if kind == "Complete" {
            put(object, "/status/completionTime", Some(end.clone()));
        }
    });
    let is_terminal = TERMINAL.contains(&kind);
    let oracle = match kind {
        _ if is_terminal && !open(base, before) && (base.is_mirror() || was_decided(base, before)) => {
            Oracle::Undecidable("nothing was left to wait for")
        }
        _ if is_terminal => Oracle::Wrong("SS-34"),
        _ if base.is_mirror() => Oracle::Undecidable("the decision is made elsewhere"),
        "Suspended" => suspended_early(base, before, &new),
        _ => decided_early(base, before, at),
    };
    draft.done(oracle)
}

/// Returns true if the version before a line has an interim condition.
fn was_decided(base: &Recording, at: usize) -> bool {
    base.previous(at).is_some_and(|line| INTERIM.iter().any(|it| has_true(base.status(line), it)))
}

/// Returns true if the status still has active, terminating or uncounted pods.
fn open(base: &Recording, at: usize) -> bool {
    let status = base.status(at);
    let lists = &status["uncountedTerminatedPods"];
    count(status, "active") + count(status, "terminating") > 0
        || lists.as_object().is_some_and(|it| !it.is_empty())
}

fn suspended_early(base: &Recording, before: usize, new: &Value) -> Oracle {
    let demanded = stored(&base.lines[before])["spec"]["suspend"] == true;
    let claimed = new["status"] == "True";
    if demanded == claimed {
        Oracle::Undecidable("the spec demanded it already")
    } else {
        Oracle::Wrong("SU-01")
    }
}

/// An interim condition is early for certain if more pods end between the two writes, and no deadline decides.
fn decided_early(base: &Recording, before: usize, at: usize) -> Oracle {
    let ended = |line: usize| {
        let over = |it: &Option<usize>| it.is_some_and(|it| base.precedes(it, line));
        let pods = base.pods_of(&base.events[at].uid);
        pods.filter(|pod| over(&pod.ended.as_ref().map(|it| it.0)) || over(&pod.deleted)).count()
    };
    let by_pods =
        condition(base.status(at), "SuccessCriteriaMet").or(condition(base.status(at), "FailureTarget"));
    let by_deadline = by_pods.is_some_and(|it| it["reason"] == "DeadlineExceeded");
    if ended(before) < ended(at) && !by_deadline {
        Oracle::Wrong("TC-01")
    } else {
        Oracle::Undecidable("the decision may hold already")
    }
}

fn twice(base: &Recording, at: usize, kind: &str) -> Option<Edited> {
    let original = condition(base.status(at), kind)?.clone();
    let mut draft = Draft::of(base);
    draft.carry(at, &|object| condition(&object["status"], kind) == Some(&original), &|object| {
        edit_conditions(object, &|list| list.push(original.clone()));
    });
    draft.done(Oracle::Wrong("S-12"))
}

fn status(base: &Recording, at: usize, kind: &str, text: &str) -> Option<Edited> {
    let opposite = if has_true(base.status(at), kind) { "False" } else { "True" };
    let value = if text == "opposite" { opposite } else { text };
    let mut edited = change_condition(base, at, kind, &|it| it["status"] = json!(value))?;
    let is_own = kind == "Suspended" || INTERIM.contains(&kind) || TERMINAL.contains(&kind);
    edited.oracle = match () {
        () if !is_own => Oracle::Undecidable("a condition of somebody else"),
        () if base.is_mirror() && text != "opposite" => {
            Oracle::Undecidable("the API does not check the text")
        }
        () if base.is_mirror() && !base.finishes(&base.events[at].uid) => {
            Oracle::Undecidable("nothing follows")
        }
        () => Oracle::Wrong("TC-02"),
    };
    Some(edited)
}

fn texts(base: &Recording, at: usize, kind: &str) -> Oracle {
    let pair = INTERIM.contains(&kind) && base.finishes(&base.events[at].uid) || TERMINAL.contains(&kind);
    match () {
        () if base.is_mirror() && !pair => Oracle::Undecidable("a mirror chooses its texts"),
        () => Oracle::Wrong("TC-02"),
    }
}

/// Conditions that no write of the recording has.
fn added(all: &mut Vec<Class>) {
    let stamped = |base: &Recording, at: usize, kind: &str| {
        let time = base.status(at)["startTime"].as_str().unwrap_or("2026-11-21T00:00:00Z");
        let reason = if kind == "Suspended" { "JobSuspended" } else { "CompletionsReached" };
        json!({"type": kind, "status": "True", "reason": reason, "message": "x",
            "lastProbeTime": time, "lastTransitionTime": time})
    };
    for (kind, with, rule) in [
        ("FailureTarget", Some("SuccessCriteriaMet"), "SS-04"),
        ("SuccessCriteriaMet", Some("FailureTarget"), "SS-04"),
        ("Failed", Some("Complete"), "SS-22"),
        ("Complete", Some("Failed"), "SS-22"),
        ("Suspended", None, "SU-01"),
        ("Complete", None, "SS-21"),
        ("Failed", None, "SS-20"),
    ] {
        let name = format!("{kind}-added-to-{}", with.unwrap_or("a-running-Job"));
        all.push(Class::new("conditions added", name, move |base, at| {
            let status = base.is_status_write(at).then(|| base.status(at))?;
            let decided = INTERIM.iter().any(|it| has_true(status, it));
            if status["conditions"].as_array().is_some_and(|it| it.iter().any(|it| it["type"] == kind))
                || with.is_some_and(|other| !has_true(status, other))
                || with.is_none() && (decided || stored(&base.lines[at])["spec"]["suspend"] == true)
                || base.is_mirror() && kind == "Suspended"
            {
                return None;
            }
            let added = stamped(base, at, kind);
            let mut draft = Draft::of(base);
            let original = base.status(at)["conditions"].clone();
            draft.carry(at, &|object| object["status"]["conditions"] == original, &|object| {
                edit_conditions(object, &|list| list.push(added.clone()));
            });
            draft.done(Oracle::Wrong(rule))
        }));
    }
    all.push(Class::new("finished too early", "uncounted-kept", |base, at| {
        let before = base.previous_status(at)?;
        let kept = &base.status(before)["uncountedTerminatedPods"];
        let terminal = TERMINAL.iter().any(|it| has_true(base.status(at), it));
        let full = kept.as_object().is_some_and(|it| !it.is_empty());
        if !base.is_status_write(at)
            || !terminal
            || !full
            || *kept == base.status(at)["uncountedTerminatedPods"]
        {
            return None;
        }
        let mut draft = Draft::of(base);
        draft.carry(at, &|_| true, &|object| {
            put(object, "/status/uncountedTerminatedPods", Some(kept.clone()));
        });
        draft.done(Oracle::Wrong("SS-13"))
    }));
}
