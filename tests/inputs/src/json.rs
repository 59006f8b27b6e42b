//! Places within JSON values.

use serde_json::Value;

/// The pointers to everything within a value, parents behind their members.
pub(crate) fn pointers(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    collect(value, "", &mut all);
    all
}

fn collect(value: &Value, at: &str, into: &mut Vec<String>) {
    let mut enter = |key: &str, inner: &Value| {
        let pointer = format!("{at}/{key}");
        collect(inner, &pointer, into);
        into.push(pointer);
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, inner)| enter(&key.replace('~', "~0").replace('/', "~1"), inner));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| enter(&at.to_string(), inner)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes what a pointer names.
pub(crate) fn remove(whole: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match whole.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.remove(&key)),
        Some(Value::Array(items)) => {
            if let Some(index) = key.parse().ok().filter(|index: &usize| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}
