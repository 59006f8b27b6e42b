//! Times that a manager writes: `startTime`, `completionTime`, and the times of conditions.

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, put};
use crate::recording::{Form, Recording, condition, has_true, stored};
use crate::time::{self, HOUR, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    start_time(all);
    completion_time(all);
    condition_times(all);
}

/// A time of a controller may be this far outside the interval of its request (`docs/reference/judging.md`).
const TOLERANCE: i64 = 5 * SECOND;
const START: &str = "/status/startTime";
const END: &str = "/status/completionTime";

fn moved(value: &Value, micros: i64) -> Option<Value> {
    Some(json!(time::moved(value.as_str()?, micros)?))
}

fn is_suspended(base: &Recording, at: usize) -> bool {
    stored(&base.lines[at])["spec"]["suspend"] == true
}

fn start_time(all: &mut Vec<Class>) {
    all.push(Class::new("startTime", "cleared", |base, at| {
        let before = base.previous_status(at)?;
        let had = base.status(before)["startTime"].is_string() && base.status(at)["startTime"].is_string();
        if !base.is_status_write(at) || !had || is_suspended(base, at) {
            return None;
        }
        let mut draft = Draft::of(base);
        draft.set(at, START, None);
        draft.done(Oracle::Wrong("SS-09"))
    }));
    all.push(Class::new("startTime", "never-set", |base, at| {
        let before = base.previous(at).map(|line| &base.status(line)["startTime"]);
        let is_first = base.is_status_write(at) && before.is_none_or(|it| !it.is_string());
        let mut draft = Draft::of(base);
        draft.set(at, START, None);
        let resumes = before.is_some() && base.previous_status(at).is_some();
        let oracle = if resumes || base.finishes(&base.events[at].uid) {
            Oracle::Wrong("SS-10")
        } else {
            Oracle::Undecidable("the Job does not finish")
        };
        is_first.then_some(draft)?.done(oracle)
    }));
    for (name, micros) in [
        ("an-hour-ahead", HOUR),
        ("an-hour-back", -HOUR),
        ("a-minute-ahead", 60 * SECOND),
        ("a-day-back", -24 * HOUR),
    ] {
        all.push(Class::new("startTime", name, move |base, at| {
            first_start(base, at, micros, Oracle::Wrong("SU-04"))
        }));
    }
    all.push(Class::new("startTime of 1 s off", "first", |base, at| {
        let deadline = stored(&base.lines[at])["spec"]["activeDeadlineSeconds"].is_number();
        let new = moved(&base.status(at)["startTime"], SECOND).and_then(|it| time::parse(it.as_str()?));
        let ends = |line: &usize| base.status(*line)["completionTime"].as_str().and_then(time::parse);
        let end = base.jobs.get(&base.events[at].uid).and_then(|lines| lines.iter().find_map(ends));
        let oracle = match () {
            () if deadline => Oracle::Undecidable("the deadline moves by a second too"),
            () if end.is_some() && end < new => Oracle::Wrong("SS-11"),
            () => Oracle::Legal("whole seconds and skew"),
        };
        first_start(base, at, SECOND, oracle)
    }));
    for (name, micros) in [("moved-by-a-second", SECOND), ("moved-by-an-hour", HOUR)] {
        all.push(Class::new("startTime", name, move |base, at| {
            let before = base.previous_status(at)?;
            let start = &base.status(at)["startTime"];
            if !base.is_status_write(at)
                || is_suspended(base, at)
                || base.status(before)["startTime"] != *start
            {
                return None;
            }
            let mut draft = Draft::of(base);
            draft.set(at, START, Some(&moved(start, micros)?));
            draft.done(Oracle::Wrong("SS-09"))
        }));
    }
}

fn first_start(base: &Recording, at: usize, micros: i64, oracle: Oracle) -> Option<Edited> {
    let start = base.is_status_write(at).then(|| &base.status(at)["startTime"])?;
    if base.previous(at).is_some_and(|line| base.status(line)["startTime"].is_string()) {
        return None;
    }
    let mut draft = Draft::of(base);
    draft.set(at, START, Some(&moved(start, micros)?));
    let oracle = match oracle {
        Oracle::Wrong(_) if base.is_mirror() => {
            Oracle::Undecidable("a mirror copies the times of another cluster")
        }
        // A watch has no times of its own; a start before all other times contradicts nothing there.
        Oracle::Wrong(rule) if base.form == Form::Watch && micros < 0 => {
            let created =
                stored(&base.lines[at])["metadata"]["creationTimestamp"].as_str().and_then(time::parse);
            let new = moved(start, micros).and_then(|it| time::parse(it.as_str()?));
            if new < created {
                Oracle::Wrong(rule)
            } else {
                Oracle::Undecidable("a watch does not show the time of the write")
            }
        }
        Oracle::Wrong(_) if base.form == Form::Watch => {
            let new = moved(start, micros).and_then(|it| time::parse(it.as_str()?));
            if is_contradicted(base, at, new) { oracle } else { NO_LATER_TIME }
        }
        other => other,
    };
    draft.done(oracle)
}

fn completion_time(all: &mut Vec<Class>) {
    all.push(Class::new("completionTime", "absent", |base, at| {
        let mut draft = Draft::of(base);
        draft.set(at, END, None);
        let complete = base.is_status_write(at) && has_true(base.status(at), "Complete");
        complete.then_some(draft)?.done(Oracle::Wrong("SS-25"))
    }));
    all.push(Class::new("completionTime", "without-Complete", |base, at| {
        let status = base.is_status_write(at).then(|| base.status(at))?;
        let start = status["startTime"].as_str().filter(|_| !status["completionTime"].is_string())?;
        let end =
            condition(status, "Failed").and_then(|it| it["lastTransitionTime"].as_str()).unwrap_or(start);
        let mut draft = Draft::of(base);
        draft.set(at, END, Some(&json!(end)));
        draft.done(Oracle::Wrong("SS-24"))
    }));
    for (name, micros, rule) in [
        ("an-hour-ahead", HOUR, "TC-05"),
        ("before-startTime", -HOUR, "SS-11"),
        ("a-minute-ahead", 60 * SECOND, "TC-05"),
    ] {
        all.push(Class::new("completionTime", name, move |base, at| {
            let end = base.is_status_write(at).then(|| &base.status(at)["completionTime"])?;
            let mut draft = Draft::of(base);
            draft.set(at, END, Some(&moved(end, micros)?));
            draft.done(Oracle::Wrong(rule))
        }));
    }
}

/// Changes the condition of a type in a status write, and in the later versions while it is the same.
pub fn change_condition(
    base: &Recording,
    at: usize,
    kind: &str,
    edit: &dyn Fn(&mut Value),
) -> Option<Edited> {
    let mut draft = Draft::of(base);
    let original = condition(base.status(at), kind)?;
    draft.carry(at, &|object| condition(&object["status"], kind) == Some(original), &|object| {
        let found = object["status"]["conditions"].as_array_mut();
        let found = found.and_then(|list| list.iter_mut().find(|it| it["type"] == kind));
        if let Some(found) = found {
            edit(found);
        }
    });
    draft.done(Oracle::Undecidable("no oracle yet"))
}

/// The types of conditions that a status write adds or changes.
#[must_use]
pub fn new_conditions(base: &Recording, at: usize) -> Vec<String> {
    if !base.is_status_write(at) {
        return Vec::new();
    }
    let before = base.previous(at).map(|line| base.status(line));
    let known = |kind: &str| before.and_then(|status| condition(status, kind));
    let list = base.status(at)["conditions"].as_array();
    let types = list.into_iter().flatten().filter_map(|it| it["type"].as_str().map(|kind| (it, kind)));
    types.filter(|(it, kind)| known(kind) != Some(it)).map(|(_, kind)| kind.to_owned()).collect()
}

fn condition_times(all: &mut Vec<Class>) {
    let new = |base: &Recording, at: usize| new_conditions(base, at).first().cloned();
    for (name, micros) in [
        ("an-hour-ahead", HOUR),
        ("an-hour-back", -HOUR),
        ("a-minute-ahead", 60 * SECOND),
        ("a-day-back", -24 * HOUR),
    ] {
        all.push(Class::new("condition times", name, move |base, at| {
            let kind = new(base, at)?;
            let mut edited = change_condition(base, at, &kind, &|it| shift_condition(it, micros))?;
            edited.oracle = off(base, at, micros, condition(base.status(at), &kind)?);
            Some(edited)
        }));
    }
    all.push(Class::new("condition times", "absent", move |base, at| {
        let kind = new(base, at)?;
        let mut edited = change_condition(base, at, &kind, &|it| put(it, "/lastTransitionTime", None))?;
        edited.oracle = if base.is_mirror() {
            Oracle::Undecidable("a mirror copies the times of another cluster")
        } else {
            Oracle::Wrong("TC-15")
        };
        Some(edited)
    }));
    all.push(Class::new("condition times of 1 s off", "first", move |base, at| {
        let kind = new(base, at)?;
        let mut edited = change_condition(base, at, &kind, &|it| shift_condition(it, SECOND))?;
        let expires = stored(&base.lines[at])["spec"]["ttlSecondsAfterFinished"].is_number();
        edited.oracle = if expires {
            Oracle::Undecidable("the expiry moves by a second too")
        } else {
            Oracle::Legal("whole seconds and skew")
        };
        Some(edited)
    }));

    for (name, by) in [("moved-later-to-now", None), ("moved-later-by-an-hour", Some(HOUR))] {
        all.push(Class::new("condition times", name, move |base, at| moved_later(base, at, by)));
    }
}

fn shift_condition(it: &mut Value, micros: i64) {
    if let Some(new) = moved(&it["lastTransitionTime"], micros) {
        it["lastTransitionTime"] = new;
    }
}

fn off(base: &Recording, at: usize, micros: i64, condition: &Value) -> Oracle {
    let new = moved(&condition["lastTransitionTime"], micros).and_then(|it| time::parse(it.as_str()?));
    match base.form {
        _ if base.is_mirror() => Oracle::Undecidable("a mirror copies the times of another cluster"),
        Form::Watch if micros < 0 => Oracle::Partial("TC-02, by the time of creation"),
        Form::Watch if !is_contradicted(base, at, new) => NO_LATER_TIME,
        _ => Oracle::Wrong("TC-02"),
    }
}

/// The oracle for a time ahead of a write in a watch, if no event behind it shows an earlier time.
const NO_LATER_TIME: Oracle = Oracle::Undecidable("a watch shows no earlier time behind it");

/// Returns true if a later event of a watch shows that this time had not come yet.
fn is_contradicted(base: &Recording, at: usize, new: Option<i64>) -> bool {
    new.is_some_and(|new| base.creates_before(at, new - TOLERANCE))
}

/// An old condition gets another time in a later write, without a transition.
fn moved_later(base: &Recording, at: usize, by: Option<i64>) -> Option<Edited> {
    let new = new_conditions(base, at);
    let before = base.previous_status(at)?;
    let status = base.is_status_write(at).then(|| base.status(at))?;
    let conditions = status["conditions"].as_array()?;
    let old =
        conditions.iter().find(|it| !new.contains(&it["type"].as_str().unwrap_or_default().to_owned()))?;
    let kind = old["type"].as_str()?;
    condition(base.status(before), kind)?;
    let stamp = old["lastTransitionTime"].as_str().and_then(time::parse)?;
    let now = base.events[at].interval.0;
    let target = by.map_or_else(|| if now > 0 { now } else { stamp + SECOND }, |by| stamp + by);
    let text = time::whole(target);
    let mut edited = change_condition(base, at, kind, &|it| it["lastTransitionTime"] = json!(text))?;
    edited.oracle = match target - stamp {
        _ if base.is_mirror() => Oracle::Undecidable("a mirror copies the times of another cluster"),
        ..=TOLERANCE => Oracle::Undecidable("it is within the tolerance of times"),
        _ => Oracle::Wrong("TC-09"),
    };
    Some(edited)
}
