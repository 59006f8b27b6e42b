//! The four kinds of PATCH.

mod strategic;

use json_patch::{Patch, PatchOperation};
use serde_json::{Value, json};

use crate::error::{ApiError, FieldError};
use crate::object::metadata;
use crate::request::PatchKind;
use crate::resource::Resource;

/// The maximum number of operations of a JSON patch (`jsonPatchMaxOperations`).
const MOST_OPERATIONS: usize = 10_000;
/// The maximum size in bytes of all that the `copy` operations of a JSON patch copy, which is that of a body upstream
/// (`AccumulatedCopySizeLimit`). Without it, each operation can double the object.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// Returns the object with a patch applied.
pub(crate) fn apply(
    kind: PatchKind,
    resource: Resource,
    object: &Value,
    body: &Value,
) -> Result<Value, ApiError> {
    if kind != PatchKind::Json && !body.is_object() {
        return Err(ApiError::bad_request("error decoding patch: the patch is not an object"));
    }
    let mut patched = object.clone();
    match kind {
        PatchKind::Json => apply_json(&mut patched, body)?,
        PatchKind::Merge => json_patch::merge(&mut patched, body),
        PatchKind::Strategic => strategic::merge(&mut patched, body)?,
        PatchKind::Apply => apply_configuration(resource, &mut patched, body)?,
    }
    Ok(patched)
}

fn apply_json(object: &mut Value, body: &Value) -> Result<(), ApiError> {
    let patch: Patch = serde_json::from_value(body.clone())
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if patch.len() > MOST_OPERATIONS {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            patch.len()
        );
        return Err(ApiError {
            code: 413,
            reason: "RequestEntityTooLarge",
            ..ApiError::bad_request(message)
        });
    }
    let refused = |error: String| {
        let message = format!("the server rejected our request due to an error in our request: {error}");
        ApiError { code: 422, reason: "Invalid", details: Some(json!({})), ..ApiError::bad_request(message) }
    };
    let mut copied = 0;
    for (number, operation) in patch.iter().enumerate() {
        if let PatchOperation::Copy(copy) = operation {
            copied += object.pointer(copy.from.as_str()).map_or(0, |value| value.to_string().len());
            if copied > MOST_COPIED {
                return Err(refused(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the \
                     limit {MOST_COPIED}"
                )));
            }
        }
        // The object is a copy, so that nothing must be undone; undoing a move to a strange path can panic.
        json_patch::patch_unsafe(object, std::slice::from_ref(operation))
            .map_err(|error| refused(format!("operation {number}: {}", error.kind)))?;
    }
    Ok(())
}

/// Server-side apply without field ownership. The configuration is merged, and nothing that an earlier one set is
/// removed. There are no field managers, so there are no conflicts between them.
fn apply_configuration(resource: Resource, object: &mut Value, body: &Value) -> Result<(), ApiError> {
    let wanted = [("kind", resource.facts().kind.to_owned()), ("apiVersion", resource.api_version())];
    for (key, expected) in wanted {
        if body[key] != expected {
            let found = body[key].as_str().unwrap_or_default();
            return Err(ApiError::bad_request(format!(
                "{key} of the applied configuration is \"{found}\", it must be \"{expected}\""
            )));
        }
    }
    if body["metadata"].get("managedFields").is_some() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let mut configuration = body.clone();
    if body["metadata"].get("uid").is_some_and(|uid| *uid != object["metadata"]["uid"]) {
        let error = FieldError::invalid("metadata.uid", json!(body["metadata"]["uid"]), "field is immutable");
        let facts = resource.facts();
        return Err(ApiError::invalid(
            facts.kind,
            facts.group,
            crate::object::meta(object, "name"),
            &[error],
        ));
    }
    metadata(&mut configuration).remove("creationTimestamp");
    strategic::merge(object, &configuration)
}
