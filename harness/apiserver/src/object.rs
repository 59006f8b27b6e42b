//! Access to the members of objects that are JSON values.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

/// An entry of `ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// `uid`.
    pub uid: &'a str,
    /// `blockOwnerDeletion`. Absent: false.
    pub blocks: bool,
}

/// The text of a member of `metadata`. Empty if it is absent.
#[must_use]
pub fn meta<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// The text at a path. Empty if there is none.
#[must_use]
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at a path of members. `None` also for `null`.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The members of a value. Any other value is replaced by an empty object first.
pub fn members(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made an object")
}

/// The members of the member `key`, which is created if it is missing.
pub fn child<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    members(members(object).entry(key).or_insert(Value::Null))
}

/// The members of `metadata`.
pub fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    child(object, "metadata")
}

/// Sets a member. `None` removes it.
pub fn put(members: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            members.insert(key.to_owned(), value);
        }
        None => {
            members.remove(key);
        }
    }
}

/// `metadata.resourceVersion`. 0 if it is absent or not a number.
#[must_use]
pub fn version(object: &Value) -> u64 {
    meta(object, "resourceVersion").parse().unwrap_or(0)
}

/// `metadata.finalizers`.
#[must_use]
pub fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Sets `metadata.finalizers`. An empty list removes the member.
pub fn put_finalizers(object: &mut Value, finalizers: &[String]) {
    let value = (!finalizers.is_empty()).then(|| json!(finalizers));
    put(metadata(object), "finalizers", value);
}

/// Returns true if `metadata.deletionTimestamp` is set.
#[must_use]
pub fn is_deleting(object: &Value) -> bool {
    !meta(object, "deletionTimestamp").is_empty()
}

/// `metadata.ownerReferences`.
pub fn owners(object: &Value) -> impl Iterator<Item = Owner<'_>> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten().map(|owner| Owner {
        uid: owner["uid"].as_str().unwrap_or_default(),
        blocks: owner["blockOwnerDeletion"].as_bool() == Some(true),
    })
}

/// A time in the form of `metav1.Time`: whole seconds, truncated.
#[must_use]
pub fn time(now: Timestamp) -> Value {
    json!(now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A time in the form of `metav1.MicroTime`: six digits of a second.
#[must_use]
pub fn micro_time(now: Timestamp) -> Value {
    json!(now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

/// Parses a time.
#[must_use]
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// The key of an object in its resource, in etcd's order: `NAMESPACE/NAME`, or the name.
#[must_use]
pub fn key(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_truncated() {
        let now: Timestamp = "2026-11-21T00:00:01.999999999Z".parse().unwrap();
        assert_eq!(time(now), "2026-11-21T00:00:01Z");
        assert_eq!(micro_time(now), "2026-11-21T00:00:01.999999Z");
    }

    #[test]
    fn members_are_made_where_they_are_missing() {
        let mut object = json!({"metadata": null});
        metadata(&mut object).insert("name".into(), json!("a"));
        put_finalizers(&mut object, &["x/y".into()]);
        assert_eq!(finalizers(&object), ["x/y"]);
        put_finalizers(&mut object, &[]);
        assert_eq!(object, json!({"metadata": {"name": "a"}}));
        assert!(at(&json!({"a": null}), &["a"]).is_none());
    }
}
