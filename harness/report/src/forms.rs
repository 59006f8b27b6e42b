//! JSON and YAML whose strings control no terminal.

use serde::Serialize;
use thiserror::Error;

use crate::text::{has_unsafe, in_json, in_yaml};

/// A report that cannot be written in a form.
#[derive(Debug, Error)]
pub enum FormError {
    /// JSON.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// YAML.
    #[error("cannot write the report as YAML")]
    Yaml(#[from] serde_saphyr::SerializeError),
}

/// A report as indented JSON, which ends with a newline.
///
/// # Errors
///
/// The report cannot be serialized.
pub fn json(report: &impl Serialize) -> Result<String, FormError> {
    Ok(in_json(serde_json::to_string_pretty(report)?) + "\n")
}

/// A report as YAML. If a plain scalar would contain an unsafe character, all are written as JSON, which is YAML, too.
///
/// # Errors
///
/// The report cannot be serialized.
pub fn yaml(report: &impl Serialize) -> Result<String, FormError> {
    let text = serde_saphyr::to_string(report)?;
    if !has_unsafe(&text) {
        return Ok(text);
    }
    Ok(in_yaml(serde_json::to_string_pretty(report)?) + "\n")
}
