//! What kind of object a text is.

use serde::Deserialize;

use super::wire::{Str, is};

/// A kind that the projection knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// `batch/v1` Job.
    Job,
    /// `v1` Pod.
    Pod,
    /// `v1` Status: the API's answer to a refused request, or to a deletion.
    Status(StatusAnswer),
    /// `meta.k8s.io/v1` PartialObjectMetadata: the answer to the garbage collector's requests.
    PartialObjectMetadata,
    /// Anything else, also a patch and a list.
    Other,
}

/// A `Status`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StatusAnswer {
    /// `code`, 0 where absent.
    pub code: i32,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireType<'a> {
    #[serde(borrow)]
    kind: Option<Str<'a>>,
    #[serde(borrow)]
    api_version: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct WireStatus<'a> {
    code: Option<i32>,
    #[serde(borrow)]
    reason: Option<Str<'a>>,
    #[serde(borrow)]
    message: Option<Str<'a>>,
}

/// Openings as Go's encoder and as a sorting one write them: the kind without a pass over the object.
const OPENINGS: [(&str, ObjectKind); 4] = [
    (r#"{"kind":"Pod","apiVersion":"v1","#, ObjectKind::Pod),
    (r#"{"kind":"Job","apiVersion":"batch/v1","#, ObjectKind::Job),
    (r#"{"apiVersion":"v1","kind":"Pod","#, ObjectKind::Pod),
    (r#"{"apiVersion":"batch/v1","kind":"Job","#, ObjectKind::Job),
];

/// The kind of an object. The API group counts: other groups have kinds named Job.
#[must_use]
pub fn kind_of(text: &str) -> ObjectKind {

    if let Some((_, kind)) = OPENINGS.iter().find(|(opening, _)| text.starts_with(opening)) {
        return kind.clone();
    }
    let Ok(wire) = serde_json::from_str::<WireType>(text) else { return ObjectKind::Other };
    let is_kind = |version, kind| is(wire.api_version.as_ref(), version) && is(wire.kind.as_ref(), kind);
    if is_kind("v1", "Pod") {
        ObjectKind::Pod
    } else if is_kind("batch/v1", "Job") {
        ObjectKind::Job
    } else if is_kind("meta.k8s.io/v1", "PartialObjectMetadata") {
        ObjectKind::PartialObjectMetadata
    } else if is_kind("v1", "Status") {
        serde_json::from_str(text).map_or(ObjectKind::Other, |status| ObjectKind::Status(answer(&status)))
    } else {
        ObjectKind::Other
    }
}

fn answer(wire: &WireStatus<'_>) -> StatusAnswer {
    let owned =
        |text: &Option<Str<'_>>| text.as_ref().map_or_else(String::new, |text| text.as_ref().to_owned());
    StatusAnswer { code: wire.code.unwrap_or(0), reason: owned(&wire.reason), message: owned(&wire.message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ObjectKind {
        kind_of(serde_json::from_str(text).expect("the sample is JSON"))
    }

    #[test]
    fn kinds_are_told_by_kind_and_group() {
        let table = [
            (r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#, ObjectKind::Pod),
            (r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{}}"#, ObjectKind::Job),
            (r#"{ "metadata": {}, "kind": "Job", "apiVersion": "batch/v1" }"#, ObjectKind::Job),
            (r#"{"kind":"Job","apiVersion":"batch.volcano.sh/v1alpha1","metadata":{}}"#, ObjectKind::Other),
            (r#"{"kind":"PodList","apiVersion":"v1","items":[]}"#, ObjectKind::Other),
            (r#"{"metadata":{"finalizers":null}}"#, ObjectKind::Other),
            (r#"{"kind":3}"#, ObjectKind::Other),
            ("[]", ObjectKind::Other),
            ("null", ObjectKind::Other),
            (
                r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"}"#,
                ObjectKind::PartialObjectMetadata,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_tells_code_and_reason() {
        let text = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"jobs.batch \"job\" already exists","reason":"AlreadyExists","details":{"name":"job"},"code":409}"#;
        let expected = StatusAnswer {
            code: 409,
            reason: "AlreadyExists".into(),
            message: "jobs.batch \"job\" already exists".into(),
        };
        assert_eq!(kind(text), ObjectKind::Status(expected));
    }
}
