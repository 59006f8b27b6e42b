//! Digests of JSON values. They are equal for equal content in any order of keys.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use serde_json::Value;

use super::wire::Pairs;

/// The digest of a list of optional values.
pub(super) fn of_values<'a>(values: impl IntoIterator<Item = Option<&'a Value>>) -> u64 {
    let mut hasher = FxHasher::default();
    for value in values {
        write(&mut hasher, value.unwrap_or(&Value::Null));
    }
    hasher.finish()
}

/// The digest of labels and annotations.
pub(super) fn of_pairs(labels: Option<&Pairs<'_>>, annotations: Option<&Pairs<'_>>) -> u64 {
    let mut hasher = FxHasher::default();
    for pairs in [labels, annotations] {
        pairs.map_or(&[][..], |pairs| &pairs.0).hash(&mut hasher);
    }
    hasher.finish()
}

/// The digest of a value of the specification.
pub(super) fn of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hashes a value. Tags at the beginning and at the end keep different values apart.
fn write(hasher: &mut FxHasher, value: &Value) {
    match value {
        Value::Null => hasher.write_u8(1),
        Value::Bool(value) => hasher.write_u8(2 + u8::from(*value)),
        Value::Number(number) => {
            hasher.write_u8(4);
            number.to_string().hash(hasher);
        }
        Value::String(text) => {
            hasher.write_u8(5);
            text.hash(hasher);
        }
        Value::Array(items) => {
            hasher.write_u8(6);
            items.iter().for_each(|item| write(hasher, item));
            hasher.write_u8(7);
        }
        Value::Object(members) => {
            hasher.write_u8(8);
            let mut members: Vec<_> = members.iter().filter(|(_, value)| !is_absent(value)).collect();
            // The order of the map depends on a feature of serde_json, which any crate of the build can
            // enable.
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                key.hash(hasher);
                write(hasher, value);
            }
            hasher.write_u8(9);
        }
    }
}

/// Returns `true` for `null` and an empty list, which Kubernetes treats as absent. An empty object may be a
/// choice, as in `emptyDir: {}`.
fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digests_tell_content_apart_and_nothing_else() {
        let of = |value: Value| of_values([Some(&value)]);
        let same = [
            of(json!({"a": 1, "b": {"c": [1, 2]}})),
            of(json!({"b": {"c": [1, 2], "x": null}, "a": 1})),
            of(json!({"b": {"c": [1, 2], "y": []}, "a": 1})),
        ];
        assert!(same.iter().all(|digest| *digest == same[0]));
        let mut others = vec![
            of(json!({"a": 1, "b": {"c": [2, 1]}})),
            of(json!({"a": 1, "b": {"c": [1], "d": 2}})),
            of(json!({"a": "1", "b": {"c": [1, 2]}})),
            of(json!({"a": 1, "b": {"c": [1, 2]}, "e": {}})),
            of(json!({"a": 1, "b": {}, "c": [1, 2]})),
            of(json!(null)),
            of_values([None, None]),
            of_values([]),
            same[0],
        ];
        let count = others.len();
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), count);
    }
}
