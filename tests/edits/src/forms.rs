//! The forms in which an edited trace is judged: as it is, and reduced or rewritten.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::class::{Edited, Oracle};
use crate::recording::stored;

/// A form of a judged trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// An audit log at level `RequestResponse`.
    Audit,
    /// A watch stream.
    Watch,
    /// The audit log as a native trace.
    Native,
    /// The audit log at level `Request`.
    Request,
    /// The audit log with pods at level `Metadata`.
    PodsMetadata,
    /// The audit log at level `Metadata`.
    Metadata,
}

/// All shapes, in the order of the table.
pub const SHAPES: [Shape; 6] =
    [Shape::Audit, Shape::Watch, Shape::Native, Shape::Request, Shape::PodsMetadata, Shape::Metadata];

impl Shape {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shape::Audit => "audit",
            Shape::Watch => "watch",
            Shape::Native => "native",
            Shape::Request => "request",
            Shape::PodsMetadata => "pods-metadata",
            Shape::Metadata => "metadata",
        }
    }

    /// Returns true if some of the evidence is missing, so that a wrong trace may be inconclusive.
    #[must_use]
    pub fn is_reduced(self) -> bool {
        matches!(self, Shape::Request | Shape::PodsMetadata | Shape::Metadata)
    }

    /// Rewrites the lines of an audit log.
    #[must_use]
    pub fn rewrite(self, lines: &[Value]) -> Vec<Value> {
        match self {
            Shape::Audit | Shape::Watch => lines.to_vec(),
            Shape::Native => native(lines),
            Shape::Request => lines.iter().map(|line| at_level(line, "Request")).collect(),
            Shape::Metadata => lines.iter().map(|line| at_level(line, "Metadata")).collect(),
            Shape::PodsMetadata => {
                let is_pod = |line: &Value| line["objectRef"]["resource"] == "pods";
                lines
                    .iter()
                    .map(|line| if is_pod(line) { at_level(line, "Metadata") } else { line.clone() })
                    .collect()
            }
        }
    }

    /// Rewrites an edited audit log. Returns `None` if this form does not show the edit, or hides a part of a right one.
    #[must_use]
    pub fn of(self, edited: &Edited, base: &[Value]) -> Option<Edited> {
        // Right edits at lower levels are classes of their own.
        let oracle = match edited.oracle {
            oracle if !self.is_reduced() => oracle,
            Oracle::Wrong(rule) | Oracle::Partial(rule) => Oracle::Partial(rule),
            Oracle::Advice(_) | Oracle::Legal(_) | Oracle::Undecidable(_) => return None,
        };
        // A class about marks makes a native trace, which has one form.
        if edited.files.iter().flatten().any(|line| line["format"].is_string()) {
            return (self == Shape::Native).then(|| edited.clone());
        }
        let files: Vec<Vec<Value>> = edited.files.iter().map(|lines| self.rewrite(lines)).collect();
        if self.is_reduced() && files.len() == 1 && files[0] == self.rewrite(base) {
            return None;
        }
        Some(Edited { files, oracle })
    }
}

/// An audit event at a lower level.
#[must_use]
pub fn at_level(line: &Value, level: &str) -> Value {
    let mut line = line.clone();
    if !line["level"].is_string() {
        return line;
    }
    line["level"] = json!(level);
    if let Some(fields) = line.as_object_mut() {
        fields.remove("responseObject");
        if level == "Metadata" {
            fields.remove("requestObject");
        }
    }
    line
}

/// An audit log as a native trace, whose writer leaves out copies of an event.
#[must_use]
pub fn native(lines: &[Value]) -> Vec<Value> {
    let mut trace = vec![json!({"format": "jobcheck.dev/trace", "version": "1.0", "kubernetes": "1.36"})];
    let (mut uids, mut ids) = (BTreeMap::new(), BTreeSet::new());
    let mut is_new = |line: &&Value| {
        line["auditID"].as_str().is_none_or(|id| ids.insert((id.to_owned(), line.to_string())))
    };
    let requests = lines.iter().filter(|line| is_request(line)).filter(|line| is_new(line));
    trace.extend(requests.map(|line| native_line(line, &mut uids)));
    trace
}

fn is_request(line: &Value) -> bool {
    let resource = &line["objectRef"]["resource"];
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    let verb = line["verb"].as_str().unwrap_or_default();
    (resource == "jobs" || resource == "pods")
        && line["stage"] == "ResponseComplete"
        && writes.contains(&verb)
}

/// The propagation policy of a deletion, which the body or the query names.
fn policy(line: &Value) -> Value {
    let query = line["requestURI"].as_str().and_then(|it| it.split_once("propagationPolicy="));
    let named = query.map(|(_, rest)| rest.split('&').next().unwrap_or_default());
    named.map_or_else(|| line["requestObject"]["propagationPolicy"].clone(), |it| json!(it))
}

fn native_line(line: &Value, uids: &mut BTreeMap<String, Value>) -> Value {
    let reference = &line["objectRef"];
    let status = &line["responseStatus"];
    let object = stored(line);
    let name = [&object["metadata"]["name"], &reference["name"]].into_iter().find(|it| it.is_string());
    let name = name.cloned().unwrap_or(Value::Null);
    if object["metadata"]["uid"].is_string() {
        uids.insert(name.to_string(), object["metadata"]["uid"].clone());
    }
    let mut request = json!({
        "received": line["requestReceivedTimestamp"], "done": line["stageTimestamp"], "level": line["level"],
        "user": line["user"]["username"], "agent": line["userAgent"], "verb": line["verb"],
        "resource": reference["resource"], "subresource": reference["subresource"],
        "namespace": reference["namespace"], "name": name, "uid": uids.get(&name.to_string()),
        "code": status["code"], "reason": status["reason"], "message": status["message"],
        "propagationPolicy": policy(line), "request": line["requestObject"], "response": line["responseObject"],
    });
    if let Some(fields) = request.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json!({ "request": request })
}
