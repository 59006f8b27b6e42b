//! The fields that a PATCH of a pod contains.

use jobcheck_spec::pod::TRACKING_FINALIZER;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The fields of a PATCH that the judge asks for.
#[derive(Debug, Default)]
pub struct PatchFacts {
    /// The first field beside finalizers and owners.
    pub other_field: Option<String>,
    /// The PATCH lists a finalizer of somebody else.
    pub lists_foreign_finalizer: bool,
    /// The PATCH removes all finalizers, whoever has set them.
    pub clears_finalizers: bool,
    /// The PATCH only removes the tracking finalizer.
    pub removes_finalizer_alone: bool,
}

impl PatchFacts {
    /// Reads the text of a PATCH. Nothing is known of a text that is no patch.
    #[must_use]
    pub fn of(text: &str) -> PatchFacts {
        let Ok(patch) = serde_json::from_str::<Value>(text) else { return PatchFacts::default() };
        PatchFacts {
            other_field: other_field(&patch),
            lists_foreign_finalizer: lists_foreign_finalizer(&patch),
            clears_finalizers: clears_finalizers(&patch),
            removes_finalizer_alone: removes_finalizer_alone(&patch),
        }
    }
}

/// The first field that is neither a finalizer nor an owner reference.
///
/// Fields that only identify the pod count as absent. So do the directives of a strategic merge patch, such as
/// `$setElementOrder/finalizers`, and tests in a JSON patch.
fn other_field(patch: &Value) -> Option<String> {
    match patch {
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
fn lists_foreign_finalizer(patch: &Value) -> bool {
    let is_foreign = |name: &Value| name.as_str().is_some_and(|name| name != TRACKING_FINALIZER);
    let listed = patch.pointer("/metadata/finalizers").and_then(Value::as_array);
    listed.is_some_and(|listed| listed.iter().any(is_foreign))
}

/// Returns `true` if a PATCH removes the list of finalizers as a whole. An empty list does so in some kinds of patches.
fn clears_finalizers(patch: &Value) -> bool {
    let is_whole = |operation: &Value| {
        operation["path"] == "/metadata/finalizers"
            && (operation["op"] == "remove" || operation["op"] == "replace")
    };
    match patch {
        Value::Array(operations) => operations.iter().any(is_whole),
        _ => patch.pointer("/metadata/finalizers").is_some_and(Value::is_null),
    }
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

/// A merge patch, or a strategic merge patch, of a pod.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    metadata: MetadataPatch,
    #[serde(rename = "apiVersion")]
    _api_version: Option<IgnoredAny>,
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetadataPatch {
    #[serde(default, deserialize_with = "stated")]
    finalizers: Option<Vec<String>>,
    #[serde(default, rename = "$deleteFromPrimitiveList/finalizers")]
    deleted: Vec<String>,
    #[serde(default, rename = "$setElementOrder/finalizers")]
    _order: Vec<String>,
    #[serde(rename = "uid")]
    _uid: Option<String>,
    #[serde(rename = "resourceVersion")]
    _version: Option<String>,
}

/// An absent field is `None`; `null` empties the list.
fn stated<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    Option::<Vec<String>>::deserialize(from).map(|list| Some(list.unwrap_or_default()))
}

/// Returns `true` if this PATCH removes the tracking finalizer and does nothing else.
fn removes_finalizer_alone(patch: &Value) -> bool {
    let Ok(Patch { metadata, .. }) = Patch::deserialize(patch) else { return false };
    let is_tracking = |name: &String| name == TRACKING_FINALIZER;
    metadata.deleted.iter().any(is_tracking)
        || metadata.finalizers.is_some_and(|left| !left.iter().any(is_tracking))
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
            assert_eq!(PatchFacts::of(patch).other_field.as_deref(), expected, "{patch}");
        }
    }

    #[test]
    fn a_patch_that_removes_the_whole_list_is_found() {
        for (patch, expected) in [
            (r#"{"metadata":{"finalizers":null}}"#, true),
            (r#"[{"op":"remove","path":"/metadata/finalizers"}]"#, true),
            (r#"[{"op":"remove","path":"/metadata/finalizers/0"}]"#, false),
            (r#"{"metadata":{"finalizers":["f"]}}"#, false),
            (r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["f"]}}"#, false),
        ] {
            assert_eq!(PatchFacts::of(patch).clears_finalizers, expected, "{patch}");
        }
    }

    fn removes(patch: &str) -> bool {
        PatchFacts::of(patch).removes_finalizer_alone
    }

    #[test]
    fn a_removal_is_read_from_the_patches_that_controllers_send() {
        let tracking = TRACKING_FINALIZER;
        for patch in [
            format!(r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{tracking}"],"uid":"a"}}}}"#),
            r#"{"metadata":{"finalizers":null}}"#.to_owned(),
            r#"{"metadata":{"resourceVersion":"5","finalizers":["example.com/other"]}}"#.to_owned(),
        ] {
            assert!(removes(&patch), "{patch}");
        }
    }

    #[test]
    fn what_does_something_else_or_cannot_be_read_is_unknown() {
        let tracking = TRACKING_FINALIZER;
        for patch in [
            format!(r#"{{"metadata":{{"finalizers":["{tracking}"]}}}}"#),
            format!(
                r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{tracking}"],"ownerReferences":[]}}}}"#
            ),
            r#"{"metadata":{"finalizers":null},"spec":{}}"#.to_owned(),
            r#"[{"op":"remove","path":"/metadata/finalizers/0"}]"#.to_owned(),
            r#"{"metadata":{}}"#.to_owned(),
            "null".to_owned(),
        ] {
            assert!(!removes(&patch), "{patch}");
        }
    }
}
