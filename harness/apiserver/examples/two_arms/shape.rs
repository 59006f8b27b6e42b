//! What of two answers is the same for any two servers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What one arm answered before, for later requests: `{uid:STEP}`, `{rv:STEP}`, `{name:STEP}`, `{continue:STEP}`.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<String, String>);

impl Known {
    /// Remembers the answer of a step.
    pub fn learn(&mut self, step: &str, body: &Value) {
        for (word, key) in
            [("uid", "uid"), ("rv", "resourceVersion"), ("name", "name"), ("continue", "continue")]
        {
            if let Some(value) = body["metadata"][key].as_str() {
                self.0.insert(format!("{{{word}:{step}}}"), value.to_owned());
            }
        }
    }

    /// Puts what is known into a text.
    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }
}

/// Members that differ between any two servers.
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

/// A body without what varies; known UIDs and versions in texts become their words.
pub fn shape(body: &Value, known: &Known) -> Value {
    match body {
        Value::Object(members) => {
            let generated = members.contains_key("generateName");
            let kept = members.iter().filter(|(key, value)| {
                let empty = value.is_null() || **value == Value::String(String::new());
                !VARYING.contains(&key.as_str()) && !(generated && *key == "name") && !empty
            });
            Value::Object(kept.map(|(key, value)| (key.clone(), shape(value, known))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| shape(item, known)).collect(),
        Value::String(text) => {
            let words = known.0.iter().filter(|(word, value)| !word.starts_with("{name:") && value.len() > 2);
            Value::String(words.fold(text.clone(), |text, (word, value)| {
                let word = word.split(':').next().unwrap_or_default();
                text.replace(value, word)
            }))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => body.clone(),
    }
}

/// The first place where two bodies differ.
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
