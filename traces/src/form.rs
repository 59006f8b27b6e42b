//! Recognises the form of a document by its content.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::{Fields, word};
use crate::error::{Defect, Problem, quoted};
use crate::native::FORMAT;
use crate::prefix::yaml;
use crate::record::Form;
use crate::text::Text;

/// `apiVersion` of the supported audit events.
pub(crate) const AUDIT_VERSION: &str = "audit.k8s.io/v1";

/// The fields that distinguish the forms.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Probe<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    event: Option<Text<'a>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    format: Option<Text<'a>>,
}

/// The form of a trace that begins with this document.
pub(crate) fn recognise(document: &str) -> Result<Form, Defect> {
    if let Some(found) = yaml(document) {
        return Err(Problem::UnknownForm { found: found.to_owned() }.into());
    }
    match probe(document) {
        Ok(Ok(form)) => Ok(form),
        Ok(Err(found)) if found.starts_with("audit.k8s.io/") => {
            Err(Problem::field(format!("audit events of {AUDIT_VERSION}"), found).into())
        }
        Ok(Err(found)) => Err(Problem::UnknownForm { found }.into()),
        Err(defect) => Err(defect),
    }
}

/// Returns `true` if an object with these fields is a line of a trace, and no envelope of one.
pub(crate) fn is_line_of_a_trace(fields: &Fields<'_>) -> bool {
    const NATIVE: [&str; 6] = ["request", "watched", "mark", "fault", "observed", "expected"];
    let has = |name: &str| fields.contains_key(name);
    (word(fields, "kind") == "Event" && word(fields, "apiVersion").starts_with("audit.k8s.io/"))
        || is_item(fields)
        || (has("type") && has("object"))
        || word(fields, "format") == FORMAT
        || (fields.len() == 1 && NATIVE.into_iter().any(has))
}

/// Returns `true` if these are the fields of an event of an `EventList`, which have no kind.
fn is_item(fields: &Fields<'_>) -> bool {
    let has = |name: &str| fields.contains_key(name);
    !has("kind") && has("level") && has("stage")
}

/// The form of a document that was taken out of a list or an envelope.
pub(crate) fn recognise_part(document: &str) -> Result<Form, Defect> {
    match serde_json::from_str::<Fields>(document) {
        Ok(fields) if is_item(&fields) => Ok(Form::Audit),
        _ => recognise(document),
    }
}

/// The error for a document in a file of another form.
pub(crate) fn mixed(form: Form, document: &str) -> Problem {
    let found = match probe(document) {
        Ok(Ok(Form::Audit)) if form != Form::Audit => "an audit event".to_owned(),
        Ok(Ok(Form::Watch)) => "a watch event".to_owned(),
        Ok(Ok(Form::Native)) => "the header of a native trace".to_owned(),
        Ok(Ok(Form::Audit)) => "a list in a list".to_owned(),
        Ok(Err(found)) => found,
        Err(_) => "something else".to_owned(),
    };
    Problem::Mixed { form, found }
}

/// The form of a document, or a description of a document of no known form.
fn probe(document: &str) -> Result<Result<Form, String>, Defect> {
    let Some(probe) = read_probe(document)? else { return Ok(Err(describe_other(document))) };
    let text = |text: &Option<Text>| text.as_ref().map(|t| t.as_str().to_owned()).unwrap_or_default();
    let (kind, api_version) = (text(&probe.kind), text(&probe.api_version));
    let is_audit = matches!(&*kind, "Event" | "EventList") && api_version.starts_with("audit.k8s.io/");
    Ok(if text(&probe.format) == FORMAT {
        Ok(Form::Native)
    } else if is_audit && api_version == AUDIT_VERSION {
        Ok(Form::Audit)
    } else if is_audit {
        Err(api_version)
    } else if probe.event.is_some() && probe.object.is_some() {
        Ok(Form::Watch)
    } else {
        Err(describe(&kind, &api_version))
    })
}

/// Returns `None` if the document is JSON, but no object with text in these fields.
fn read_probe(document: &str) -> Result<Option<Probe<'_>>, Defect> {
    match serde_json::from_str(document) {
        // serde accepts an array for a struct, too.
        Ok(probe) => Ok(document.trim_start().starts_with('{').then_some(probe)),
        Err(error) if error.is_data() => {
            // One field has another type; the rest may still be no JSON.
            serde_json::from_str::<serde::de::IgnoredAny>(document)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn describe(kind: &str, api_version: &str) -> String {
    match (kind, api_version) {
        ("", _) => "a JSON object without kind".to_owned(),
        ("Job" | "Pod" | "List" | "JobList" | "PodList", _) => format!(
            "a bare {kind}, which shows a state and no change; record with `kubectl get -w --output-watch-events -o json`"
        ),
        _ => format!("an object of kind {} and apiVersion {}", quoted(kind), quoted(api_version)),
    }
}

fn describe_other(document: &str) -> String {
    let what = match document.trim_start().as_bytes().first() {
        Some(b'{') => "a JSON object with other fields",
        Some(b'[') => "a JSON array",
        Some(b'"') => "a JSON string",
        Some(b't' | b'f') => "a JSON boolean",
        Some(b'n') => "null",
        _ => "a JSON number",
    };
    what.to_owned()
}
