//! Consistent changes of a recording: what a write stores is in all later versions until it is written again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::recording::{Actor, Form, Recording, Resource, stored, stored_mut};
use crate::time;

/// The lines of a recording that is being edited. Line numbers are those of the recording until lines are inserted or
/// removed, so a class changes values first.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The unedited recording.
    pub base: &'a Recording,
    /// The edited lines.
    pub lines: Vec<Value>,
}

/// Sets or removes a field by its pointer. Missing objects are created. `-` appends to a list, and creates a missing one.
/// Nothing happens if an entry of a list is missing.
pub fn put(object: &mut Value, pointer: &str, value: Option<Value>) {
    let mut parts: Vec<String> =
        pointer.split('/').skip(1).map(|it| it.replace("~1", "/").replace("~0", "~")).collect();
    let Some(last) = parts.pop() else { return };
    let mut place = object;
    for part in parts {
        let entry = part.parse::<usize>().ok();
        let inner = match (place, entry) {
            (Value::Array(list), Some(at)) => list.get_mut(at),
            (_, Some(_)) | (Value::Array(_), None) => None,
            (other, None) => Some(&mut other[part.as_str()]),
        };
        let Some(inner) = inner else { return };
        place = inner;
    }
    if last == "-" && place.is_null() {
        *place = json!([]);
    }
    match (place, value) {
        (Value::Array(list), Some(value)) if last == "-" => list.push(value),
        (Value::Array(list), value) => {
            let Some(at) = last.parse::<usize>().ok().filter(|at| *at < list.len()) else { return };
            if let Some(value) = value { list[at] = value } else { drop(list.remove(at)) }
        }
        (place, Some(value)) => place[last.as_str()] = value,
        (Value::Object(fields), None) => drop(fields.remove(&last)),
        _ => {}
    }
}

/// A counter of a status; an absent one is 0.
#[must_use]
pub fn count(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

/// A counter as the API writes it: absent if it is 0, except those that are pointers.
#[must_use]
pub fn counter(field: &str, value: i64) -> Option<Value> {
    let is_pointer = field == "ready" || field == "terminating";
    (value != 0 || is_pointer).then(|| json!(value))
}

impl<'a> Draft<'a> {
    /// Begins with the unedited recording.
    #[must_use]
    pub fn of(base: &'a Recording) -> Draft<'a> {
        Draft { base, lines: base.lines.clone() }
    }

    /// Changes the object in the request and in the response of one line.
    pub fn alter(&mut self, at: usize, edit: &dyn Fn(&mut Value)) {
        let line = &mut self.lines[at];
        if let Some(request) = line.get_mut("requestObject").filter(|it| it.is_object()) {
            edit(request);
        }
        if let Some(object) = stored_mut(line) {
            edit(object);
        }
    }

    /// The later versions of the object of a line, and the refused writes to it, in etcd's order.
    #[must_use]
    pub fn later(&self, at: usize) -> Vec<usize> {
        let events = &self.base.events;
        let of_same = |line: &usize| {
            let event = &events[*line];
            event.uid == events[at].uid
                && event.resource == events[at].resource
                && event.rank > events[at].rank
        };
        let mut later: Vec<usize> = (0..events.len()).filter(of_same).collect();
        later.sort_by_key(|line| events[*line].rank);
        later
    }

    /// Changes the object of a line, and that of all later versions for which `persists` holds in the recording. The
    /// first stored version for which it does not hold ends this.
    pub fn carry(&mut self, at: usize, persists: &dyn Fn(&Value) -> bool, edit: &dyn Fn(&mut Value)) {
        self.alter(at, edit);
        for later in self.later(at) {
            let original = &self.base.lines[later];
            let shows = |object: &Value| object["kind"] == "Job" || object["kind"] == "Pod";
            if shows(&original["requestObject"]) && persists(&original["requestObject"]) {
                edit(&mut self.lines[later]["requestObject"]);
            }
            if !shows(stored(original)) {
                continue;
            }
            if !persists(stored(original)) {
                return;
            }
            if let Some(object) = stored_mut(&mut self.lines[later]) {
                edit(object);
            }
        }
    }

    /// Sets a field at one write, and in the later versions until the recording has another value there.
    pub fn set(&mut self, at: usize, pointer: &str, value: Option<&Value>) {
        let original = stored(&self.base.lines[at]).pointer(pointer).cloned();
        let same = |object: &Value| object.pointer(pointer) == original.as_ref();
        self.carry(at, &same, &|object| put(object, pointer, value.cloned()));
    }

    /// Sets a field at one status write, and in the later versions until the next status write.
    pub fn set_once(&mut self, at: usize, pointer: &str, value: Option<&Value>) {
        let status = self.base.status(at).clone();
        self.carry(at, &|object| object["status"] == status, &|object| put(object, pointer, value.cloned()));
    }

    /// Changes every version of an object, requests included.
    pub fn everywhere(&mut self, uid: &str, edit: &dyn Fn(&mut Value)) {
        let base = self.base;
        let is_its = |at: usize| base.events[at].uid == uid;
        for at in (0..self.lines.len()).filter(|at| is_its(*at)) {
            let line = &mut self.lines[at];
            for name in ["requestObject", "responseObject", "object"] {
                let kind = line[name]["kind"].clone();
                if kind == "Job" || kind == "Pod" {
                    edit(&mut line[name]);
                }
            }
        }
    }

    /// Moves a line to the place before another one. Its times precede those of that line, and the versions of all
    /// lines in between follow the new order.
    pub fn move_before(&mut self, from: usize, to: usize) {
        let line = self.lines.remove(from);
        let to = if from < to { to - 1 } else { to };
        self.lines.insert(to, line);
        let (first, last) = if from < to { (from, to) } else { (to, from) };
        if from < to {
            self.clock(to, to - 1, 1);
        } else {
            self.clock(to, to + 1, -1);
        }
        self.sort_versions(first, last);
    }

    /// Gives a line times just before (`side` -1) or just after (1) those of another line.
    pub fn clock(&mut self, at: usize, other: usize, side: i64) {
        let name = if side < 0 { "requestReceivedTimestamp" } else { "stageTimestamp" };
        let Some(moment) = self.lines[other][name].as_str().and_then(time::parse) else { return };
        let (received, done) = if side < 0 { (moment - 2, moment - 1) } else { (moment + 1, moment + 2) };
        self.lines[at]["requestReceivedTimestamp"] = json!(time::precise(received));
        self.lines[at]["stageTimestamp"] = json!(time::precise(done));
    }

    /// Deals out the versions that some neighbouring lines introduce in the order of the lines. Each version keeps its
    /// references.
    fn sort_versions(&mut self, first: usize, last: usize) {
        let of = |line: &Value| stored(line)["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
        let found: Vec<u64> = self.lines[first..=last].iter().filter_map(of).collect();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        let map: BTreeMap<u64, u64> = found.into_iter().zip(sorted).collect();
        self.renumber(&|version| map.get(&version).copied().unwrap_or(version));
    }

    /// Replaces each resource version, in references too.
    pub fn renumber(&mut self, map: &dyn Fn(u64) -> u64) {
        for line in &mut self.lines {
            walk(line, &mut |name, value| {
                let old = value.as_str().and_then(|text| text.parse::<u64>().ok());
                if let (true, Some(old)) = (name == "resourceVersion", old) {
                    *value = json!(map(old).to_string());
                }
            });
        }
    }

    /// Moves all times of the lines from one on that are not before `moment`.
    pub fn shift(&mut self, from: usize, moment: i64, micros: i64) {
        for line in &mut self.lines[from..] {
            walk(line, &mut |_, value| {
                let Some(text) = value.as_str() else { return };
                if let Some(new) = time::moved(text, micros).filter(|_| time::parse(text) >= Some(moment)) {
                    *value = json!(new);
                }
            });
        }
    }

    /// Inserts a line before another one, with times just after those of the line before it.
    ///
    /// If the line stores an object, the object gets a version that no other line has. All versions are multiplied by 10
    /// to make room for it.
    pub fn insert(&mut self, at: usize, mut line: Value) {
        if stored(&line)["metadata"]["resourceVersion"].is_string() {
            self.lines.push(line);
            self.renumber(&|version| version * 10);
            line = self.lines.pop().unwrap_or_default();
            let of = |line: &Value| stored(line)["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
            let version = self.lines[..at].iter().filter_map(of).max().unwrap_or(0) + 1;
            if let Some(object) = stored_mut(&mut line) {
                object["metadata"]["resourceVersion"] = json!(version.to_string());
            }
        }
        if line["auditID"].is_string() {
            line["auditID"] = json!(format!("ed170000-0000-4000-8000-{:012}", self.lines.len()));
        }
        self.lines.insert(at, line);
        if self.base.form == Form::Watch {
            return;
        }
        if at > 0 {
            self.clock(at, at - 1, 1);
        } else {
            self.clock(at, at + 1, -1);
        }
    }
}

/// Calls a function for each field of a value, with its name.
pub fn walk(value: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                visit(name, field);
                walk(field, visit);
            }
        }
        Value::Array(list) => {
            for entry in list {
                visit("", entry);
                walk(entry, visit);
            }
        }
        _ => {}
    }
}

/// Turns a line of an audit log into a refusal.
pub fn refuse(line: &mut Value, code: u64, reason: &str, message: &str) {
    let mut status = json!({"metadata": {}, "status": "Failure", "code": code});
    for (name, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            status[name] = json!(text);
        }
    }
    line["responseStatus"] = status.clone();
    status["kind"] = json!("Status");
    status["apiVersion"] = json!("v1");
    line["responseObject"] = status;
}

/// Returns true if the line is an accepted write of the Job controller.
#[must_use]
pub fn is_by_controller(base: &Recording, at: usize, resource: Resource) -> bool {
    let event = &base.events[at];
    event.actor == Actor::Controller && event.resource == resource && event.code < 300
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_set_and_removed_by_its_pointer() {
        let mut object = json!({"a": {"list": [1, 2]}});
        put(&mut object, "/a/b/c", Some(json!(3)));
        put(&mut object, "/a/list/-", Some(json!(4)));
        put(&mut object, "/a/list/0", None);
        put(&mut object, "/a/new/-", Some(json!("x")));
        put(&mut object, "/a/new/7/name", Some(json!("nowhere")));
        put(&mut object, "/a/annotations/example.com~1team", Some(json!("y")));
        let expected = json!({"a": {"list": [2, 4], "b": {"c": 3}, "new": ["x"],
            "annotations": {"example.com/team": "y"}}});
        assert_eq!(object, expected);
        put(&mut object, "/a", None);
        assert_eq!(object, json!({}));
    }
}
