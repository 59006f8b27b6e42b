//! Media types of requests and responses.

use crate::error::ApiError;
use crate::request::PatchKind;

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The object.
    Object,
    /// `as=Table`, for `kubectl get`.
    Table,
    /// `as=PartialObjectMetadata` or its list.
    Metadata,
}

const ACCEPTED: &str = "application/json";

/// The first form that the client accepts and this server supports.
pub(super) fn accepted(header: &str) -> Result<Form, ApiError> {
    if header.trim().is_empty() {
        return Ok(Form::Object);
    }
    header.split(',').find_map(form).ok_or_else(|| ApiError::not_acceptable(ACCEPTED))
}

fn form(entry: &str) -> Option<Form> {
    let mut parts = entry.split(';').map(str::trim);
    let kind = parts.next()?;
    if !matches!(kind, "application/json" | "application/*" | "*/*") {
        return None;
    }
    let (mut shape, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => shape = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            // Weights are ignored: clients send their choices in order.
            Some(_) | None => {}
        }
    }
    match (shape, group, version) {
        ("", _, _) => Some(Form::Object),
        ("Table", "meta.k8s.io", "v1") => Some(Form::Table),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => Some(Form::Metadata),
        _ => None,
    }
}

/// Refuses a body that is not JSON. A body without a media type is treated as JSON.
pub(super) fn check_body(content_type: &str) -> Result<(), ApiError> {
    match media_type(content_type) {
        "" | "application/json" => Ok(()),
        _ => Err(ApiError::unsupported_media(ACCEPTED)),
    }
}

/// The kind of patch for a media type.
pub(super) fn patch_kind(content_type: &str) -> Result<PatchKind, ApiError> {
    match media_type(content_type) {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        _ => Err(ApiError::unsupported_media(
            "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
             application/apply-patch+yaml",
        )),
    }
}

fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_form_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(accepted(table), Ok(Form::Table));
        assert_eq!(accepted("application/vnd.kubernetes.protobuf, application/json"), Ok(Form::Object));
        assert_eq!(accepted("application/json;as=Table;v=v2;g=meta.k8s.io,*/*"), Ok(Form::Object));
        assert_eq!(
            accepted("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Ok(Form::Metadata)
        );
        assert_eq!(accepted(""), Ok(Form::Object));
        assert_eq!(accepted("application/vnd.kubernetes.protobuf").unwrap_err().code, 406);
        assert!(check_body("application/json; charset=utf-8").is_ok());
        assert_eq!(check_body("application/yaml").unwrap_err().code, 415);
        assert_eq!(patch_kind("text/plain").unwrap_err().code, 415);
    }
}
