//! The fields that a PATCH of a pod contains.

use jobcheck_spec::pod::TRACKING_FINALIZER;
use serde_json::Value;

/// The first field that is neither a finalizer nor an owner reference; `None` if there is none, or if the text is no
/// patch.
///
/// Fields that only identify the pod count as absent. So do the directives of a strategic merge patch, such as
/// `$setElementOrder/finalizers`, and tests in a JSON patch.
pub fn other_field(patch: &str) -> Option<String> {
    match serde_json::from_str(patch).ok()? {
        Value::Object(members) => members.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => None,
            ("metadata", Value::Object(metadata)) => {
                metadata.keys().find(|key| !is_admitted(key)).map(|key| format!("metadata.{key}"))
            }
            (key, _) => Some(key.to_owned()),
        }),
        Value::Array(operations) => operations.iter().find_map(other_path),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns `true` if a PATCH lists a finalizer of somebody else.
pub fn lists_foreign_finalizer(patch: &str) -> bool {
    let Ok(patch) = serde_json::from_str::<Value>(patch) else { return false };
    let is_foreign = |name: &Value| name.as_str().is_some_and(|name| name != TRACKING_FINALIZER);
    let listed = patch.pointer("/metadata/finalizers").and_then(Value::as_array);
    listed.is_some_and(|listed| listed.iter().any(is_foreign))
}

/// Returns whether the controller may patch a field of `metadata`, or only identifies the pod by it.
fn is_admitted(key: &str) -> bool {
    const FIELDS: [&str; 7] =
        ["finalizers", "ownerReferences", "uid", "resourceVersion", "name", "namespace", "creationTimestamp"];
    key.starts_with('$') || FIELDS.contains(&key)
}

fn other_path(operation: &Value) -> Option<String> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let path = text("path").filter(|_| text("op") != Some("test"))?;
    let mut parts = path.trim_start_matches('/').split('/');
    let fits = parts.next() == Some("metadata") && parts.next().is_some_and(is_admitted);
    (!fits).then(|| path.trim_start_matches('/').replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_beside_finalizers_and_owners_are_found() {
        for (patch, expected) in [
            (r#"{"metadata":{"uid":"u","$deleteFromPrimitiveList/finalizers":["f"]}}"#, None),
            (r#"{"metadata":{"finalizers":["f"],"ownerReferences":[{"uid":"u"}]}}"#, None),
            (r#"{"metadata":{"labels":{"a":"b"}}}"#, Some("metadata.labels")),
            (r#"{"spec":{"activeDeadlineSeconds":1}}"#, Some("spec")),
            (r#"[{"op":"remove","path":"/metadata/finalizers/0"}]"#, None),
            (
                r#"[{"op":"test","path":"/spec"},{"op":"add","path":"/metadata/labels/a","value":"b"}]"#,
                Some("metadata.labels.a"),
            ),
            ("no patch", None),
        ] {
            assert_eq!(other_field(patch).as_deref(), expected, "{patch}");
        }
    }
}
