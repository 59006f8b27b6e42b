//! Two Jobs in one trace: recordings side by side, and statuses exchanged between them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, put, walk};
use crate::recording::{Form, Recording, stored};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    all.push(Class::new("two namespaces", "side-by-side", |base, at| {
        let lines = doubled(base).filter(|_| at == 0)?;
        Some(Edited { files: vec![lines], oracle: Oracle::Legal("Jobs do not depend on each other") })
    }));
    all.push(Class::new("cross-Job", "uncounted-of-the-other-Job", |base, at| {
        let lists = &base.status(at)["uncountedTerminatedPods"];
        if !base.is_status_write(at)
            || lists.as_object().is_none_or(serde_json::Map::is_empty)
            || base.is_mirror()
        {
            return None;
        }
        let lists = lists.clone();
        let mut draft = Draft::of(base);
        draft.carry(at, &|object| object["status"]["uncountedTerminatedPods"] == lists, &|object| {
            let mut other = lists.clone();
            walk(&mut other, &mut |_, value| {
                if let Some(text) = value.as_str() {
                    *value = json!(copy(text, "other"));
                }
            });
            put(object, "/status/uncountedTerminatedPods", Some(other));
        });
        let lines = joined(base, draft.lines)?;
        Some(Edited { files: vec![lines], oracle: Oracle::Wrong("FT-02") })
    }));
    all.push(Class::new("cross-Job", "statuses-exchanged", |base, at| {
        let next = base.next_status(at).filter(|_| base.is_status_write(at) && !base.is_mirror())?;
        let (first, second) = (base.status(at).clone(), base.status(next).clone());
        let mut draft = Draft::of(base);
        // This Job gets the status that its copy has one write later.
        draft.carry(at, &|object| object["status"] == first, &|object| object["status"] = second.clone());
        let mut other = Draft::of(base);
        other.carry(next, &|object| object["status"] == second, &|object| object["status"] = first.clone());
        let mut copy = other.lines;
        rename(&mut copy, "other");
        let lines = interleaved(base, draft.lines, copy)?;
        let same = first["uncountedTerminatedPods"] == second["uncountedTerminatedPods"]
            && first["succeeded"] == second["succeeded"]
            && first["failed"] == second["failed"]
            && first["completedIndexes"] == second["completedIndexes"];
        let oracle = if same { Oracle::Undecidable("only gauges differ") } else { Oracle::Wrong("FT-02") };
        Some(Edited { files: vec![lines], oracle })
    }));
}

/// The recording and its copy in another namespace, interleaved line by line.
fn doubled(base: &Recording) -> Option<Vec<Value>> {
    joined(base, base.lines.clone())
}

/// Some lines, and the unedited copy of the recording.
fn joined(base: &Recording, lines: Vec<Value>) -> Option<Vec<Value>> {
    let mut copy = base.lines.clone();
    rename(&mut copy, "other");
    interleaved(base, lines, copy)
}

fn interleaved(base: &Recording, lines: Vec<Value>, copy: Vec<Value>) -> Option<Vec<Value>> {
    // A recording of several Jobs or without UIDs in its names is large enough as it is.
    if base.lines.len() > 120 {
        return None;
    }
    let mut pair = Vec::new();
    for (mut one, mut two) in lines.into_iter().zip(copy) {
        renumber(&mut one, &|version| version * 2);
        renumber(&mut two, &|version| version * 2 + 1);
        if base.form == Form::Audit {
            // The request of the copy follows at once.
            for name in ["requestReceivedTimestamp", "stageTimestamp"] {
                let moved = two[name].as_str().and_then(|text| crate::time::moved(text, 1));
                two[name] = moved.map_or(Value::Null, Value::String);
            }
        }
        pair.extend([one, two]);
    }
    Some(pair)
}

fn renumber(line: &mut Value, map: &dyn Fn(u64) -> u64) {
    walk(line, &mut |name, value| {
        let old = value.as_str().and_then(|text| text.parse::<u64>().ok());
        if let (true, Some(old)) = (name == "resourceVersion", old) {
            *value = json!(map(old).to_string());
        }
    });
}

/// The UID in a copy: each digit of the first group moves by the same step.
fn copy(text: &str, suffix: &str) -> String {
    let is_uid = text.len() == 36 && text.bytes().filter(|it| *it == b'-').count() == 4;
    if !is_uid {
        return text.to_owned();
    }
    let step = 1 + suffix.bytes().map(u32::from).sum::<u32>() % 15;
    let turn = |digit: char| {
        digit.to_digit(16).and_then(|it| char::from_digit((it + step) % 16, 16)).unwrap_or(digit)
    };
    text.chars().enumerate().map(|(at, it)| if at < 8 { turn(it) } else { it }).collect()
}

/// Renames the namespaces and UIDs of a trace. References and names that contain them follow.
pub fn rename(lines: &mut [Value], suffix: &str) {
    let mut namespaces = BTreeMap::new();
    for line in lines.iter() {
        for name in [&stored(line)["metadata"]["namespace"], &line["objectRef"]["namespace"]] {
            if let Some(name) = name.as_str() {
                namespaces.insert(name.to_owned(), format!("{name}-{suffix}"));
            }
        }
    }
    for line in lines {
        walk(line, &mut |name, value| {
            let Some(text) = value.as_str() else { return };
            let mut new = copy(text, suffix);
            if name == "auditID" {
                new.replace_range(..1, "f");
            }
            for (old, other) in &namespaces {
                let is_path = name == "requestURI" || name == "message";
                if new == *old || is_path {
                    new = new.replace(old.as_str(), other);
                }
            }
            *value = json!(new);
        });
    }
}
