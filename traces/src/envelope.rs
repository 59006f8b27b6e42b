//! Envelopes: what log systems put around an event. An envelope is a path to a text or an object that holds the event.
//!
//! The rows of [`ENVELOPES`] are tried in their order. Envelopes may be within one another, such as a line of a
//! container in an event of CloudWatch Logs. Lists of envelopes are cut by `documents`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::cloud_logging;
use crate::columns;
use crate::error::{Defect, Problem};
use crate::exports::Row;
use crate::form::is_line_of_a_trace;
use crate::prefix;
use crate::scan::holds_a_list;
use crate::text::Text;

/// The fields of an object, by their names.
pub(crate) type Fields<'a> = BTreeMap<Text<'a>, &'a RawValue>;

/// A kind of envelope.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// Its name in messages.
    pub name: &'static str,
    /// The fields by which it is recognised: all of them are there.
    marks: &'static [&'static str],
    /// The path to what it holds.
    content: &'static [&'static str],
    /// Returns `true` if it says of itself that it holds no audit event.
    is_other: fn(&Fields<'_>) -> bool,
    /// Long texts are spread over several envelopes.
    is_split: bool,
    /// A command that exports audit events alone.
    pub remedy: &'static str,
}

const CLOUDWATCH: &str = "export the streams of the audit log alone: aws logs filter-log-events --log-group-name GROUP --log-stream-name-prefix kube-apiserver-audit --output json";
const INSIGHTS: &str =
    "query the audit log alone: fields @message | filter @logStream like /kube-apiserver-audit/";
const AZURE: &str = "export the category kube-audit alone";
const CONTAINER: &str = "keep the lines of the audit log: grep -F audit.k8s.io FILE | jobcheck replay -";
const SEARCH: &str = "search for audit.k8s.io, and export the whole text of each event";
const SPLUNK: &str = "a result of Splunk";
/// The path to the event in a row of an export of Splunk.
const RESULT: &[&str] = &["result", "_raw"];
const CLOUD: &str = "read the audit log alone: gcloud logging read 'protoPayload.serviceName=\"k8s.io\"' --order=asc --format=json";

/// An envelope that is never split, and says nothing of what it holds.
const fn plain(
    name: &'static str,
    marks: &'static [&'static str],
    content: &'static [&'static str],
    remedy: &'static str,
) -> Envelope {
    Envelope { name, marks, content, is_other: |_| false, is_split: false, remedy }
}

/// An envelope of a line of a container.
const fn container(
    name: &'static str,
    marks: &'static [&'static str],
    content: &'static [&'static str],
) -> Envelope {
    Envelope { is_other: is_standard_error, is_split: true, ..plain(name, marks, content, CONTAINER) }
}

/// An envelope of CloudWatch Logs.
const fn cloudwatch(marks: &'static [&'static str]) -> Envelope {
    Envelope {
        is_other: is_other_stream,
        ..plain("an event of CloudWatch Logs", marks, &["message"], CLOUDWATCH)
    }
}

/// The envelopes, each after those that share its fields. The public page about each is named behind it.
pub(crate) static ENVELOPES: [Envelope; 26] = [
    // "LogEntry" and "Text, JSON or proto payload", Cloud Logging. `protoPayload` is not here: see `cloud_logging`.
    plain("an entry of Cloud Logging", &["jsonPayload", "logName"], &["jsonPayload"], CLOUD),
    plain("an entry of Cloud Logging", &["textPayload", "logName"], &["textPayload"], CLOUD),
    // "filter-log-events" and "get-log-events", AWS CLI Command Reference.
    cloudwatch(&["message", "eventId"]),
    cloudwatch(&["message", "ingestionTime"]),
    // "Validate the flow of log events", Amazon CloudWatch Logs User Guide.
    cloudwatch(&["message", "id", "timestamp"]),
    // "get-query-results", AWS CLI Command Reference: a row is a list of fields.
    Envelope {
        is_other: |fields| word(fields, "field") != "@message",
        ..plain("a field of CloudWatch Logs Insights", &["field", "value"], &["value"], INSIGHTS)
    },
    plain("a row of CloudWatch Logs Insights", &["@message"], &["@message"], INSIGHTS),
    // "Azure resource logs" and "Monitor AKS", Azure Monitor: to a storage account or an event hub, and the table
    // AzureDiagnostics.
    Envelope {
        is_other: |fields| !word(fields, "category").starts_with("kube-audit"),
        ..plain("a record of Azure Monitor", &["category", "properties"], &["properties", "log"], AZURE)
    },
    Envelope {
        is_other: |fields| {
            fields.contains_key("Category") && !word(fields, "Category").starts_with("kube-audit")
        },
        ..plain("a row of Azure Monitor", &["log_s"], &["log_s"], AZURE)
    },
    // "JSON File logging driver", Docker.
    container("a line of a Docker log", &["log", "stream", "time"], &["log"]),
    // "Exporting search results" and "Format events for HTTP Event Collector", Splunk.
    plain(SPLUNK, &["result"], RESULT, SEARCH),
    plain(SPLUNK, &["_raw"], &["_raw"], SEARCH),
    // "Search API", Elasticsearch and OpenSearch. elasticdump writes one hit per line.
    plain("a hit of Elasticsearch", &["_source"], &["_source"], SEARCH),
    plain("a hit of Elasticsearch", &["fields", "_index"], &["fields"], SEARCH),
    // "Event fields", Elastic Common Schema, and "audit_logs" of its integration "Kubernetes".
    plain("a document of Elastic Agent", &["event"], &["event", "original"], SEARCH),
    plain("a document of Elastic Agent", &["kubernetes"], &["kubernetes", "audit"], SEARCH),
    plain("an event for Splunk", &["event", "sourcetype"], &["event"], SEARCH),
    plain("an event for Splunk", &["event", "host"], &["event"], SEARCH),
    plain("an event for Splunk", &["event", "source"], &["event"], SEARCH),
    plain("an event for Splunk", &["event", "index"], &["event"], SEARCH),
    plain("an event for Splunk", &["event", "time"], &["event"], SEARCH),
    // "LogCLI", Grafana Loki: --output=jsonl.
    container("a line of Loki", &["line", "labels"], &["line"]),
    container("a line of Loki", &["line", "timestamp"], &["line"]),
    // "Journal Export Formats", systemd: journalctl --output=json.
    plain("an entry of the journal", &["MESSAGE"], &["MESSAGE"], CONTAINER),
    // "Kubernetes filter", Fluent Bit: `log`, or `message` behind the parser `cri` and in Fluentd and Vector.
    container("a record of Fluent Bit", &["log"], &["log"]),
    container("a record of Fluentd", &["message"], &["message"]),
];

/// The kind of a document.
#[derive(Debug)]
pub(crate) enum Opening {
    /// A line of a trace.
    Bare,
    /// A list, or an object with a list, of documents.
    List,
    /// An envelope that holds no audit event by its own words.
    Other,
    /// A row of an export, with the text in it. A preview is not opened: it comes again.
    Row { row: Row, content: Option<(String, Origin)> },
    /// An envelope, with the text in it.
    Holds(String, Origin),
    /// An envelope with a part of a text. `None`: nothing says whether it is the last one.
    Piece { text: String, is_last: Option<bool>, origin: Origin },
    /// Anything else.
    Unknown,
}

/// The name of an envelope, and a command that exports audit events alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub name: &'static str,
    pub remedy: &'static str,
}

/// Looks into a document.
pub(crate) fn open(document: &str) -> Result<Opening, Defect> {
    match document.trim_start().as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => return Ok(Opening::List),
        Some(b'"') => return Ok(text_of_text(document)),
        _ => return Ok(prefix::open(document, CONTAINER)),
    }
    let fields: Fields = match serde_json::from_str(document) {
        Ok(fields) => fields,
        Err(_) => return Ok(Opening::Unknown),
    };
    if is_line_of_a_trace(&fields) {
        return Ok(Opening::Bare);
    }
    if let Some(payload) = fields.get("protoPayload") {
        let origin = Origin { name: "an entry of Cloud Logging", remedy: CLOUD };
        return Ok(match cloud_logging::event(&fields, payload)? {
            Some(event) => Opening::Holds(event, origin),
            None => Opening::Other,
        });
    }
    if let Some(event) = columns::event(&fields) {
        return Ok(Opening::Holds(event, Origin { name: "a row of Azure Monitor", remedy: AZURE }));
    }
    if let Some(opening) = row(&fields) {
        return Ok(opening);
    }
    for envelope in &ENVELOPES {
        if let Some(opening) = envelope.open(&fields) {
            return Ok(opening);
        }
    }
    Ok(if holds_a_list(document) { Opening::List } else { Opening::Unknown })
}

/// Opens a row of an export of Splunk. `None`: the fields are of something else.
fn row(fields: &Fields<'_>) -> Option<Opening> {
    let row = Row::of(fields)?;
    if row.is_preview || !fields.contains_key("result") {
        return Some(Opening::Row { row, content: None });
    }
    let text = content(at(fields, RESULT)?)?;
    Some(Opening::Row { row, content: Some((text, Origin { name: SPLUNK, remedy: SEARCH })) })
}

impl Envelope {
    /// Opens the envelope that has these fields. `None`: they are of another one.
    fn open(&self, fields: &Fields<'_>) -> Option<Opening> {
        if !self.marks.iter().all(|mark| fields.contains_key(*mark)) {
            return None;
        }
        if (self.is_other)(fields) {
            return Some(Opening::Other);
        }
        let text = content(at(fields, self.content)?)?;
        let origin = Origin { name: self.name, remedy: self.remedy };
        if !self.is_split {
            return Some(Opening::Holds(text, origin));
        }
        let is_last = text.ends_with('\n').then_some(true);
        Some(Opening::Piece { text, is_last, origin })
    }
}

/// The field at a path.
fn at<'a>(fields: &Fields<'a>, path: &[&str]) -> Option<&'a RawValue> {
    let (first, rest) = path.split_first()?;
    let mut found = *fields.get(*first)?;
    for name in rest {
        let inner: Fields<'a> = serde_json::from_str(found.get()).ok()?;
        found = inner.get(*name)?;
    }
    Some(found)
}

/// The text of a field, or an object as text. In a list, the first one: the search of Elasticsearch makes lists of all
/// fields.
fn content(field: &RawValue) -> Option<String> {
    match field.get().as_bytes().first()? {
        b'"' => serde_json::from_str(field.get()).ok(),
        b'{' => Some(field.get().to_owned()),
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(field.get()).ok()?;
            content(items.first()?)
        }
        _ => None,
    }
}

/// The text of a field; empty if it is absent or no text.
pub(crate) fn word(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A text in quotes, as `jq` prints it without `-r`.
fn text_of_text(document: &str) -> Opening {
    let origin = Origin { name: "a JSON string", remedy: "print it without quotes: jq -r" };
    match serde_json::from_str::<String>(document) {
        Ok(text) if text.trim_start().starts_with(['{', '[', '"']) => Opening::Holds(text, origin),
        _ => Opening::Unknown,
    }
}

/// A container writes its audit log to standard output, and other messages to standard error.
fn is_standard_error(fields: &Fields<'_>) -> bool {
    word(fields, "stream") == "stderr"
}

fn is_other_stream(fields: &Fields<'_>) -> bool {
    is_other_component(&word(fields, "logStreamName"))
}

/// Returns `true` for the name of a log stream of another component. The names are of "Send control plane logs to
/// CloudWatch Logs", Amazon EKS.
pub(crate) fn is_other_component(stream: &str) -> bool {
    const OTHERS: [&str; 5] = [
        "kube-apiserver-",
        "authenticator-",
        "kube-controller-manager-",
        "cloud-controller-manager-",
        "kube-scheduler-",
    ];
    !stream.starts_with("kube-apiserver-audit-") && OTHERS.iter().any(|other| stream.starts_with(other))
}

/// The problem of a document within an envelope.
pub(crate) fn within(origin: Origin, problem: Problem) -> Problem {
    Problem::Within { problem: Box::new(problem), name: origin.name, remedy: origin.remedy }
}
