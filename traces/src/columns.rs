//! Rows of the tables `AKSAudit` and `AKSAuditAdmin` ("AKSAudit", Azure Monitor Logs reference), whose columns are the
//! fields of audit events under other names.

use crate::envelope::Fields;
use crate::form::AUDIT_VERSION;

/// Column, and field of an audit event.
const COLUMNS: [(&str, &str); 13] = [
    ("Level", "level"),
    ("AuditId", "auditID"),
    ("Stage", "stage"),
    ("RequestUri", "requestURI"),
    ("Verb", "verb"),
    ("User", "user"),
    ("UserAgent", "userAgent"),
    ("SourceIps", "sourceIPs"),
    ("ObjectRef", "objectRef"),
    ("ResponseStatus", "responseStatus"),
    ("RequestObject", "requestObject"),
    ("ResponseObject", "responseObject"),
    ("RequestReceivedTime", "requestReceivedTimestamp"),
];
const STAGE_TIME: (&str, &str) = ("StageReceivedTime", "stageTimestamp");

/// The audit event in a row; `None` if these are other fields.
pub(crate) fn event(row: &Fields<'_>) -> Option<String> {
    let is_row = ["AuditId", "Stage", STAGE_TIME.0].iter().all(|column| row.contains_key(*column));
    let mut event = is_row.then(|| format!("{{\"kind\":\"Event\",\"apiVersion\":\"{AUDIT_VERSION}\""))?;
    for (column, field) in COLUMNS.iter().chain([&STAGE_TIME]) {
        let Some(value) = row.get(*column).map(|raw| raw.get()) else { continue };
        // An export has an object or a list as text, and an absent one as an empty text.
        let text = serde_json::from_str::<String>(value).ok();
        let value = match text.as_deref() {
            Some("") => continue,
            Some(object) if object.starts_with(['{', '[']) => object,
            _ if value == "null" => continue,
            _ => value,
        };
        event.push_str(&format!(",\"{field}\":{value}"));
    }
    event.push('}');
    Some(event)
}
