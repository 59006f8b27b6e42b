//! Answers of Kubernetes 1.38 to requests that remove an object: they carry the version of the removal, or none if the object
//! was gone already. Before, they repeat an older version (kubernetes#138724).

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::Draft;
use crate::recording::{Form, Recording};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    all.push(Class::new("answers of 1.38", "version-of-the-removal", |base, at| {
        let version = removal(base, at)?;
        answered(base, at, |answer| answer["metadata"]["resourceVersion"] = json!(version.to_string()))
    }));
    all.push(Class::new("answers of 1.38", "removal-of-a-pod-that-was-gone", |base, at| {
        let is_pod = base.lines[at]["responseObject"]["kind"] == "Pod";
        let without = |answer: &mut Value| {
            answer["metadata"].as_object_mut().map(|metadata| metadata.remove("resourceVersion"));
        };
        is_pod.then(|| answered(base, at, without))?
    }));
}

/// Changes the answer of a request that removed its object.
fn answered(base: &Recording, at: usize, change: impl FnOnce(&mut Value)) -> Option<Edited> {
    if !removes(base, at) {
        return None;
    }
    let mut draft = Draft::of(base);
    change(&mut draft.lines[at]["responseObject"]);
    draft.done(Oracle::Legal("1.38 answers like this"))
}

/// Returns true if the object is gone with this request.
fn removes(base: &Recording, at: usize) -> bool {
    let (event, line) = (&base.events[at], &base.lines[at]);
    let answer = &line["responseObject"];
    if base.form == Form::Watch || event.code >= 300 || line["objectRef"]["resource"] == "namespaces" {
        return false;
    }
    let metadata = &answer["metadata"];
    let is_held = metadata["finalizers"].as_array().is_some_and(|them| !them.is_empty());
    match &*event.verb {
        "delete" => answer["kind"] == "Status" && event.subresource.is_empty(),
        "patch" | "update" => metadata["deletionTimestamp"].is_string() && !is_held,
        _ => false,
    }
}

/// A version that etcd may have given to the removal: no other line has it.
fn removal(base: &Recording, at: usize) -> Option<u64> {
    let (received, done) = base.events[at].interval;
    let all = || base.events.iter().filter(|it| it.version > 0);
    let before = all().filter(|it| it.interval.1 <= received).map(|it| it.version).max()?;
    let after = all().filter(|it| it.interval.0 >= done).map(|it| it.version).filter(|it| *it > before).min();
    let after = after.unwrap_or(before + 100);
    (before + 1..after).find(|version| all().all(|it| it.version != *version))
}
