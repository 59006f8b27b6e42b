//! Writes that no line of a recording has.

use serde_json::{Value, json};

use crate::class::{Edited, Oracle};
use crate::draft::{Draft, put};
use crate::recording::{Actor, Form, Recording, stored, stored_mut};

/// A write that no line of the recording has.
pub struct Write<'a> {
    /// A line of the sender.
    pub by: Value,
    /// `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The subresource, or an empty text.
    pub subresource: &'static str,
    /// The body of a request that is no update.
    pub patch: Value,
    /// The effect on the object.
    pub change: &'a dyn Fn(&mut Value),
    /// The rule that the write breaks.
    pub rule: &'static str,
}

/// A line of the Job controller, whose identity other lines take.
#[must_use]
pub fn by_the_controller(base: &Recording) -> Option<Value> {
    let at = base.events.iter().position(|event| event.actor == Actor::Controller)?;
    Some(base.lines[at].clone())
}

/// Makes the sender of one line that of another.
pub fn sign(line: &mut Value, by: &Value) {
    for name in ["user", "userAgent"] {
        line[name] = by[name].clone();
    }
}

/// Inserts a write of the object that a line stores, after that line. Later versions show the change, and later requests
/// refer to the new version, so that no conflict is due.
#[must_use]
pub fn insert_write(base: &Recording, at: usize, write: &Write) -> Option<Edited> {
    let object = stored(&base.lines[at]);
    if base.form == Form::Watch || !object["spec"].is_object() || base.events[at].code >= 300 {
        return None;
    }
    let mut draft = Draft::of(base);
    let mut changed = object.clone();
    (write.change)(&mut changed);
    let generations = u64::from(changed["spec"] != object["spec"]);
    let change = |object: &mut Value| {
        (write.change)(object);
        bump(object, generations);
    };
    for later in draft.later(at) {
        let line = &mut draft.lines[later];
        let full = |object: &Value| object["spec"].is_object();
        if full(&line["requestObject"]) {
            change(&mut line["requestObject"]);
        }
        if full(stored(line))
            && let Some(object) = stored_mut(line)
        {
            change(object);
        }
    }
    bump(&mut changed, generations);
    draft.insert(at + 1, request(base, at, changed, write));
    let version = |line: &Value| stored(line)["metadata"]["resourceVersion"].clone();
    let (old, new) = (version(&draft.lines[at]), version(&draft.lines[at + 1]));
    for line in &mut draft.lines[at + 2..] {
        for pointer in ["/requestObject/metadata/resourceVersion", "/objectRef/resourceVersion"] {
            if line.pointer(pointer) == Some(&old) {
                put(line, pointer, Some(new.clone()));
            }
        }
    }
    draft.done(Oracle::Wrong(write.rule))
}

fn bump(object: &mut Value, generations: u64) {
    if let Some(generation) = object["metadata"]["generation"].as_u64() {
        object["metadata"]["generation"] = json!(generation + generations);
    }
}

/// The line of a write of the object that a line stores.
fn request(base: &Recording, at: usize, changed: Value, write: &Write) -> Value {
    let object = stored(&base.lines[at]);
    let mut line = base.lines[at].clone();
    sign(&mut line, &write.by);
    let (uid, name) = (object["metadata"]["uid"].clone(), object["metadata"]["name"].clone());
    let version = object["metadata"]["resourceVersion"].clone();
    line["verb"] = json!(write.verb);
    line["requestObject"] = if write.verb == "update" { changed.clone() } else { write.patch.clone() };
    line["responseObject"] = changed;
    line["responseStatus"] = json!({"metadata": {}, "code": 200});
    let reference = &line["objectRef"];
    let text = |name: &str| reference[name].as_str().unwrap_or_default().to_owned();
    let (resource, namespace) = (text("resource"), text("namespace"));
    let group = if resource == "jobs" { "/apis/batch/v1" } else { "/api/v1" };
    let tail = if write.subresource.is_empty() { String::new() } else { format!("/{}", write.subresource) };
    let plain = name.as_str().unwrap_or_default();
    line["requestURI"] = json!(format!("{group}/namespaces/{namespace}/{resource}/{plain}{tail}"));
    let subresource = (!write.subresource.is_empty()).then(|| json!(write.subresource));
    put(&mut line, "/objectRef/subresource", subresource);
    put(&mut line, "/objectRef/name", Some(name));
    put(&mut line, "/objectRef/uid", Some(uid));
    put(&mut line, "/objectRef/resourceVersion", Some(version).filter(|_| write.verb == "update"));
    line
}
