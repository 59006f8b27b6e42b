//! Requests as `audit.k8s.io/v1` events, which `jobcheck replay` judges.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::micro_time;
use crate::request::{PatchKind, Reply, Request, Response, Verb};
use crate::resource::Resource;

/// The receiver of audit events.
pub struct AuditSink {
    take: Box<dyn FnMut(Value) + Send>,
    count: u64,
    reads: bool,
}

impl fmt::Debug for AuditSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditSink").field("count", &self.count).finish_non_exhaustive()
    }
}

impl AuditSink {
    /// Returns a sink for the events of writes. If `reads` is true, it also receives those of get, list, and
    /// watch.
    pub fn new(reads: bool, take: impl FnMut(Value) + Send + 'static) -> AuditSink {
        AuditSink { take: Box::new(take), count: 0, reads }
    }

    pub(crate) fn record(&mut self, now: Timestamp, request: &Request, response: &Response) {
        if !self.reads && !request.verb.writes() {
            return;
        }
        self.count += 1;
        let event = event(now, self.count, request, response);
        (self.take)(event);
    }
}

/// The event at the level `RequestResponse` and the stage `ResponseComplete`.
fn event(now: Timestamp, number: u64, request: &Request, response: &Response) -> Value {
    let facts = request.resource.facts();
    let mut reference = json!({"resource": facts.plural, "apiVersion": "v1"});
    let parts = [
        ("apiGroup", Some(facts.group).filter(|group| !group.is_empty())),
        ("namespace", request.namespace.as_deref()),
        ("name", request.name.as_deref()),
        ("subresource", request.subresource.map(|it| it.name())),
    ];
    for (key, value) in parts {
        if let Some(value) = value {
            reference[key] = json!(value);
        }
    }
    let mut status = json!({"metadata": {}, "code": code(response)});
    let id = request.audit_id.clone().unwrap_or_else(|| format!("00000000-0000-4000-8000-{number:012x}"));
    let mut event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "auditID": id, "verb": request.verb.name(),
        "requestURI": uri(request), "userAgent": request.user_agent, "objectRef": reference,
        "user": {"username": request.user, "groups": ["system:authenticated"]}, "sourceIPs": ["127.0.0.1"],
        "requestReceivedTimestamp": micro_time(now), "stageTimestamp": micro_time(now),
    });
    if let Some(body) = body(request) {
        event["requestObject"] = body;
    }
    match &response.outcome {
        Ok(Reply::Object { object, .. }) => event["responseObject"] = Value::clone(object),
        // As in upstream's log, the response of a deletion contains the list. The lists of reads are omitted:
        // they are long, and no requirement needs them.
        Ok(Reply::List(list)) if request.verb.writes() => {
            event["responseObject"] = serde_json::to_value(list).unwrap_or_default();
        }
        Ok(Reply::List(_) | Reply::Watch(_) | Reply::Dropped) => {}
        Err(error) => {
            let mut refusal = error.status();
            event["responseObject"] = refusal.clone();
            if let Some(members) = refusal.as_object_mut() {
                members.remove("kind");
                members.remove("apiVersion");
            }
            status = refusal;
        }
    }
    event["responseStatus"] = status;
    event
}

/// The code in the log. A response that was never sent is logged as a broken connection.
fn code(response: &Response) -> u16 {
    match response.code() {
        0 => 504,
        code => code,
    }
}

fn body(request: &Request) -> Option<Value> {
    match &request.verb {
        Verb::Create(body) | Verb::Update(body) | Verb::Patch { body, .. } => Some(body.clone()),
        Verb::Delete(options) | Verb::DeleteCollection(_, options) => {
            let mut body = serde_json::to_value(options).ok()?;
            body["kind"] = json!("DeleteOptions");
            body["apiVersion"] = json!(request.resource.api_version());
            Some(body)
        }
        Verb::Get { .. } | Verb::List(_) | Verb::Watch(_) => None,
    }
}

/// The path of the request, also for requests that were not sent over HTTP.
fn uri(request: &Request) -> String {
    let Request { resource, namespace, name, subresource, .. } = request;
    let facts = resource.facts();
    let mut uri =
        if facts.group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{}/v1", facts.group) };
    if let Some(namespace) = namespace.as_ref().filter(|_| *resource != Resource::Namespaces) {
        uri.push_str(&format!("/namespaces/{namespace}"));
    }
    uri.push_str(&format!("/{}", facts.plural));
    if let Some(name) = name {
        uri.push_str(&format!("/{name}"));
    }
    if let Some(subresource) = subresource {
        uri.push_str(&format!("/{}", subresource.name()));
    }
    match &request.verb {
        Verb::Watch(_) => uri.push_str("?watch=true"),
        Verb::Patch { kind: PatchKind::Apply, .. } => uri.push_str("?fieldManager=apply"),
        _ => {}
    }
    uri
}
