//! Requests as `audit.k8s.io/v1` events, which `jobcheck replay` judges.

use std::fmt;
use std::io;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::object::micro_time;
use crate::request::{PatchKind, Reply, Request, Response, Verb};
use crate::resource::Resource;

/// The size in bytes beyond which an event has no bodies. It is upstream's default with `--audit-log-truncate-enabled`.
const LONGEST: usize = 10 << 20;

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
    let id = request.audit_id.clone().unwrap_or_else(|| format!("00000000-0000-4000-8000-{number:012x}"));
    let mut event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "auditID": id, "verb": request.verb.name(),
        "requestURI": uri(request), "userAgent": request.user_agent, "objectRef": reference,
        "user": {"username": request.user, "groups": ["system:authenticated"]}, "sourceIPs": ["127.0.0.1"],
        "requestReceivedTimestamp": micro_time(now), "stageTimestamp": micro_time(now),
    });
    let mut status = short_status(response);
    if has_unlisted_objects(request, response) || !fits(request, response) {
        event["annotations"] = json!({"audit.k8s.io/truncated": "true"});
        event["responseStatus"] = status;
        return event;
    }
    if let Some(body) = body(request) {
        event["requestObject"] = body;
    }
    match &response.outcome {
        Ok(Reply::Object { object, .. }) => event["responseObject"] = Value::clone(object),
        Ok(Reply::List(list)) if is_logged(request) => {
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

/// The status without the message and the details of a refusal, which may quote the request.
fn short_status(response: &Response) -> Value {
    let mut status = json!({"metadata": {}, "code": code(response)});
    if let Err(error) = &response.outcome {
        status["status"] = json!("Failure");
        if !error.reason.is_empty() {
            status["reason"] = json!(error.reason);
        }
    }
    status
}

/// As in upstream's log, the response of a deletion contains the list. The lists of reads are omitted: they are long, and no
/// requirement needs them.
fn is_logged(request: &Request) -> bool {
    request.verb.writes()
}

/// Returns true if a collection was deleted, and the response does not list it.
fn has_unlisted_objects(request: &Request, response: &Response) -> bool {
    matches!(request.verb, Verb::DeleteCollection(..)) && matches!(response.outcome, Ok(Reply::Object { .. }))
}

/// Returns true if the bodies of a request and of its response are short enough for an event.
fn fits(request: &Request, response: &Response) -> bool {
    let mut room = Room(LONGEST);
    let is_short = match &request.verb {
        Verb::Create(body) | Verb::Update(body) | Verb::Patch { body, .. } => room.takes(body),
        Verb::Delete(options) | Verb::DeleteCollection(_, options) => room.takes(options),
        Verb::Get { .. } | Verb::List(_) | Verb::Watch(_) => true,
    };
    is_short
        && match &response.outcome {
            Ok(Reply::Object { object, .. }) => room.takes(&**object),
            Ok(Reply::List(list)) if is_logged(request) => room.takes(list),
            Ok(Reply::List(_) | Reply::Watch(_) | Reply::Dropped) => true,
            Err(error) => {
                // The event has a refusal twice: as the response, and as its status.
                let refusal = error.status();
                room.takes(&refusal) && room.takes(&refusal)
            }
        }
}

/// The bytes of JSON that still fit into an event. Nothing is kept of what is written.
struct Room(usize);

impl Room {
    fn takes(&mut self, value: &impl Serialize) -> bool {
        serde_json::to_writer(self, value).is_ok()
    }
}

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
