//! Decoding of request bodies with the types of the API.
//!
//! A body is decoded into the generated type of its kind and encoded again. So values of a wrong type are refused,
//! and unknown fields are dropped. `null` and empty lists are removed, as by a round trip through Go.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::api::events::v1::Event as NewEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::events_api::stored;
use crate::object::members;
use crate::request::FieldValidation;
use crate::resource::Resource;

/// The maps of texts, in which an empty text is a value.
const TEXT_MAPS: [&str; 8] =
    ["labels", "annotations", "matchLabels", "nodeSelector", "data", "limits", "requests", "capacity"];
/// The fields that are pointers to texts in Go, in which an empty text is a value.
const TEXT_POINTERS: [&str; 8] = [
    "failedIndexes",
    "holderIdentity",
    "managedBy",
    "succeededIndexes",
    "completionMode",
    "podReplacementPolicy",
    "containerName",
    "runtimeClassName",
];
/// The numbers of a Job's status that are absent if they are 0.
const PLAIN_COUNTERS: [&str; 3] = ["active", "succeeded", "failed"];

/// Decodes the body of a create or an update to the stored form. The result has a kind and an API version, and no
/// fields that only the server sets.
pub(crate) fn read(
    resource: Resource,
    body: &Value,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, ApiError> {
    let facts = resource.facts();
    let version = resource.api_version();
    if !body.is_object() {
        let found = if body.is_null() { "nothing" } else { "no object" };
        return Err(ApiError::bad_request(format!(
            "the body of the request is {found}, it must be a {}",
            facts.kind
        )));
    }
    let member = |key: &str| body[key].as_str().unwrap_or_default();
    if !member("apiVersion").is_empty() && member("apiVersion") != version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({version})",
            member("apiVersion")
        )));
    }
    if !member("kind").is_empty() && member("kind") != facts.kind {
        return Err(ApiError::bad_request(format!(
            "{} in version \"v1\" cannot be handled as a {}",
            member("kind"),
            facts.kind
        )));
    }
    let mut sent = body.clone();
    members(&mut sent).insert("kind".to_owned(), json!(facts.kind));
    members(&mut sent).insert("apiVersion".to_owned(), json!(version));
    typed(resource, &sent, validation, warnings).map_err(|why| cannot_be_handled(resource, &why))
}

/// Returns the stored form of an object that was sent or patched. `validation` selects the treatment of unknown
/// fields.
pub(crate) fn typed(
    resource: Resource,
    sent: &Value,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, String> {
    check_micro_times(sent)?;
    let typed = through_type(resource, sent)?;
    let mut unknown = Vec::new();
    if validation != FieldValidation::Ignore {
        unknown_fields(sent, &typed, "", &mut unknown);
    }
    let unknown: Vec<String> = unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
    if validation == FieldValidation::Strict && !unknown.is_empty() {
        return Err(format!("strict decoding error: {}", unknown.join(", ")));
    }
    warnings.extend(unknown);
    Ok(normalised(resource, typed))
}

fn cannot_be_handled(resource: Resource, why: &str) -> ApiError {
    let kind = resource.facts().kind;
    ApiError::bad_request(format!("{kind} in version \"v1\" cannot be handled as a {kind}: {why}"))
}

fn normalised(resource: Resource, typed: Value) -> Value {
    let mut object = stored(resource, typed);
    prune(&mut object, "");
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
    }
    if resource == Resource::Jobs {
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            // A field of Kubernetes 1.37, unknown to 1.36.
            spec.remove("scheduling");
        }
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            status.retain(|key, value| !PLAIN_COUNTERS.contains(&key.as_str()) || *value != json!(0));
        }
    }
    object
}

/// Refuses a `metav1.MicroTime` without exactly six digits of a second.
fn check_micro_times(sent: &Value) -> Result<(), String> {
    const FIELDS: [&str; 4] =
        ["/spec/acquireTime", "/spec/renewTime", "/eventTime", "/series/lastObservedTime"];
    let six = |text: &str| {
        let fraction = text.split_once('.').map(|(_, fraction)| fraction);
        fraction.and_then(|it| it.find(|digit: char| !digit.is_ascii_digit())) == Some(6)
    };
    let wrong = |field: &str| sent.pointer(field).and_then(Value::as_str).is_some_and(|text| !six(text));
    match FIELDS.iter().find(|field| wrong(field)) {
        Some(field) => Err(format!(
            "{field}: a time with six digits of a second is expected, as in 2006-01-02T15:04:05.000000Z"
        )),
        None => Ok(()),
    }
}

fn through_type(resource: Resource, value: &Value) -> Result<Value, String> {
    match resource {
        Resource::Jobs => through::<Job>(value),
        Resource::Pods => through::<Pod>(value),
        Resource::Events => through::<Event>(value),
        Resource::NewEvents => through::<NewEvent>(value),
        Resource::Leases => through::<Lease>(value),
        Resource::Namespaces => through::<Namespace>(value),
        Resource::Nodes => through::<Node>(value),
        Resource::ServiceAccounts => through::<ServiceAccount>(value),
    }
}

fn through<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let typed = T::deserialize(value).map_err(|error| format!("json: {error}"))?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

/// Removes the values that Go omits: `null`, empty lists, and empty texts that are not pointers.
fn prune(value: &mut Value, key: &str) {
    match value {
        Value::Object(members) => {
            let keeps_texts = TEXT_MAPS.contains(&key);
            members.retain(|key, member| match member {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::String(text) => {
                    !text.is_empty() || keeps_texts || TEXT_POINTERS.contains(&key.as_str())
                }
                Value::Object(inner) => !inner.is_empty() || !TEXT_MAPS.contains(&key.as_str()),
                Value::Bool(_) | Value::Number(_) => true,
            });
            for (key, member) in members.iter_mut() {
                prune(member, key);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, "")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Collects the paths of the fields that the type dropped.
fn unknown_fields(sent: &Value, typed: &Value, path: &str, unknown: &mut Vec<String>) {
    match (sent, typed) {
        (Value::Object(sent), Value::Object(typed)) => {
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match typed.get(key) {
                    Some(typed) => unknown_fields(value, typed, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(typed)) => {
            for (place, (sent, typed)) in sent.iter().zip(typed).enumerate() {
                unknown_fields(sent, typed, &format!("{path}[{place}]"), unknown);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(body: &Value, validation: FieldValidation) -> Result<(Value, Vec<String>), ApiError> {
        let mut warnings = Vec::new();
        read(Resource::Jobs, body, validation, &mut warnings).map(|object| (object, warnings))
    }

    #[test]
    fn a_micro_time_has_six_digits() {
        for (time, fits) in [
            ("2026-11-22T00:00:00.000000Z", true),
            ("2026-11-22T00:00:00.000000+01:00", true),
            ("2026-11-22T00:00:00Z", false),
            ("2026-11-22T00:00:00.1Z", false),
            ("2026-11-22T00:00:00.000000000Z", false),
        ] {
            let lease = json!({"metadata": {"name": "a"}, "spec": {"renewTime": time}});
            let read = read(Resource::Leases, &lease, FieldValidation::Warn, &mut Vec::new());
            assert_eq!(read.map_err(|error| error.code).err(), (!fits).then_some(400), "{time}");
        }
    }

    #[test]
    fn unknown_fields_are_dropped_and_reported() {
        let body = json!({"spec": {"parallelism": 1, "foo": 2, "template": {"spec": {"containers": [{"name": "a", "bar": 1}]}}}});
        let (object, warnings) = job(&body, FieldValidation::Warn).unwrap();
        assert_eq!(object["spec"]["foo"], Value::Null);
        assert_eq!(
            warnings,
            ["unknown field \"spec.foo\"", "unknown field \"spec.template.spec.containers[0].bar\""]
        );
        let refused = job(&body, FieldValidation::Strict).unwrap_err();
        assert!(
            refused.message.contains("strict decoding error: unknown field \"spec.foo\""),
            "{}",
            refused.message
        );
        assert!(job(&body, FieldValidation::Ignore).unwrap().1.is_empty());
    }

    #[test]
    fn wrong_types_and_kinds_are_refused() {
        for body in [
            json!({"spec": {"parallelism": "1"}}),
            json!({"kind": "Pod"}),
            json!({"apiVersion": "v1"}),
            json!([]),
            json!(null),
            json!({"metadata": {"labels": {"a": 1}}}),
        ] {
            assert_eq!(job(&body, FieldValidation::Ignore).unwrap_err().code, 400, "{body}");
        }
    }

    #[test]
    fn values_that_go_omits_are_omitted() {
        let body = json!({
            "metadata": {"name": "a", "labels": {"x": ""}, "annotations": {}, "finalizers": [], "creationTimestamp": null,
                         "managedFields": [{"manager": "m"}]},
            "status": {"active": 0, "ready": 0, "failedIndexes": "", "completedIndexes": "", "conditions": [],
                       "uncountedTerminatedPods": {}},
        });
        let (object, _) = job(&body, FieldValidation::Ignore).unwrap();
        assert_eq!(object["metadata"], json!({"name": "a", "labels": {"x": ""}}));
        assert_eq!(object["status"], json!({"ready": 0, "failedIndexes": "", "uncountedTerminatedPods": {}}));
    }
}
