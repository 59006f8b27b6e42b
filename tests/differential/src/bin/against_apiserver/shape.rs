//! The parts of a response that are equal for any two servers, and their comparison.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Values from earlier responses of one server. Later requests contain them as `{uid:STEP}`, `{rv:STEP}`, `{name:STEP}`
/// and `{continue:STEP}`.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<String, String>);

impl Known {
    /// Stores the values of the response to a step.
    pub fn learn(&mut self, step: &str, body: &Value) {
        for (word, key) in
            [("uid", "uid"), ("rv", "resourceVersion"), ("name", "name"), ("continue", "continue")]
        {
            if let Some(value) = body["metadata"][key].as_str() {
                self.0.insert(format!("{{{word}:{step}}}"), value.to_owned());
            }
        }
    }

    /// Replaces the placeholders in a text with the stored values.
    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }
}

/// Fields that differ between any two servers.
const VARYING: [&str; 11] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "continue",
    "lastTransitionTime",
    "remainingItemCount",
    "retryAfterSeconds",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
];

/// Returns a body without empty fields, [`VARYING`] fields, and generated names. Its texts are [`masked`].
pub fn shape(body: &Value) -> Value {
    match body {
        Value::Object(members) => {
            let generated = members.contains_key("generateName");
            let kept = members.iter().filter(|(key, value)| {
                let empty = value.is_null() || **value == Value::String(String::new());
                !(empty || VARYING.contains(&key.as_str()) || generated && *key == "name")
            });
            Value::Object(kept.map(|(key, value)| (key.clone(), shape(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(text) => Value::String(masked(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => body.clone(),
    }
}

/// Returns a text with `UID` in place of each UID, and `VERSION` in place of each value in `in record (...)`.
fn masked(text: &str) -> String {
    const TOLD: &str = "in record (";
    let mut plain = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let uid = rest.get(..36).filter(|part| is_uid(part));
        let told = rest.strip_prefix(TOLD).and_then(|after| after.find(')'));
        let taken = match (uid, told) {
            (Some(_), _) => {
                plain.push_str("UID");
                36
            }
            (None, Some(end)) => {
                plain.push_str("in record (VERSION");
                TOLD.len() + end
            }
            (None, None) => {
                plain.push(character);
                character.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    plain
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Returns the field and the reason of each cause of a refusal.
pub fn named(status: &Value) -> BTreeSet<String> {
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let said = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    causes.iter().map(|cause| format!("{} {}", said(cause, "field"), said(cause, "reason"))).collect()
}

/// Returns the first path at which two bodies differ, with both values. Returns `None` if they are equal.
pub fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    if ours == theirs {
        return None;
    }
    match (ours, theirs) {
        (Value::Object(one), Value::Object(two)) => {
            let keys = one.keys().chain(two.keys());
            keys.into_iter().find_map(|key| {
                let nothing = Value::Null;
                let (one, two) = (one.get(key).unwrap_or(&nothing), two.get(key).unwrap_or(&nothing));
                difference(&format!("{path}.{key}"), one, two)
            })
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => one
            .iter()
            .zip(two)
            .enumerate()
            .find_map(|(place, (one, two))| difference(&format!("{path}[{place}]"), one, two)),
        (_, _) => Some(format!("{path}: ours {ours}, theirs {theirs}")),
    }
}
