//! The recording of a run: from the audit log if there is one, otherwise from the watches.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Api, DeleteOptions, Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_faultproxy::{RequestInfo, Verb as Sent};
use jobcheck_record::AuditTail;
use jobcheck_scenario::runtime::{TraceLines, fault_kind};
use jobcheck_traces::Resource as Watched;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::disruption::Disruptions;
use crate::error::Error;

/// The time in which the mark of the end must appear in the audit log.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which the audit log is read.
const LOOK: Duration = Duration::from_millis(100);

/// A recording in progress.
pub(crate) struct Recording {
    lines: TraceLines,
    /// The time of its start.
    begun: Instant,
    audit: Option<AuditTail>,
    /// The facts about requests that are not in the audit log, by their audit ids.
    facts: BTreeMap<String, Fact>,
    /// The requests that a fault proxy has refused, as audit events.
    refused: Vec<Value>,
}

/// A fact about a request that the API server does not know.
enum Fact {
    /// The response was lost on its way to this controller.
    Lost { actor: String },
    /// The request was sent at this time, and was delivered much later.
    Sent { at: String },
}

impl Recording {
    /// Begins a recording with this header, and with this audit log if there is one.
    ///
    /// # Errors
    ///
    /// The audit log cannot be read.
    pub(crate) fn begin(header: Value, audit: Option<&Path>) -> Result<Recording, Error> {
        let audit = audit.map(|file| AuditTail::begin(file).map_err(Error::file(file))).transpose()?;
        let (lines, begun) = (TraceLines::new(header), Instant::now());
        let mut recording = Recording { lines, begun, audit, facts: BTreeMap::new(), refused: Vec::new() };
        recording.mark(json!({ "kind": "start" }));
        Ok(recording)
    }

    /// Records that a Job controller exists. Otherwise the harness, which also writes to Jobs, could be mistaken
    /// for it. The state of the controller's caches is unknown.
    pub(crate) fn introduce_controller(&mut self) {
        for resource in ["jobs", "pods"] {
            let line = json!({ "at": time(), "actor": "job-controller", "resource": resource, "resourceVersion": "1" });
            self.lines.note("observed", line);
        }
    }

    /// Adds a mark to the trace.
    pub(crate) fn mark(&mut self, mut mark: Value) {
        mark["at"] = json!(time());
        self.lines.note("mark", mark);
    }

    /// Adds a fault to the trace.
    pub(crate) fn fault(&mut self, kind: &str, actor: &str, detail: &str) {
        self.fault_at(&time(), kind, actor, detail);
    }

    fn fault_at(&mut self, at: &str, kind: &str, actor: &str, detail: &str) {
        let line = json!({ "at": at, "kind": kind, "actor": actor, "detail": detail });
        self.lines.note("fault", line);
    }

    /// Records that the controllers relist a resource after their watch has ended with 410.
    pub(crate) fn relists(&mut self, resource: Watched) {
        let (actor, resource) = ("job-controller", resource.name());
        let line = json!({ "at": time(), "kind": "relist", "actor": actor, "resource": resource });
        self.lines.note("fault", line);
    }

    /// Records a gap: changes may be missing, for this reason.
    pub(crate) fn gap(&mut self, why: &str) {
        self.mark(json!({ "kind": "gap", "reason": why }));
    }

    /// Adds the disruptions of the cluster during the recording.
    pub(crate) fn add_disruptions(&mut self, disruptions: &Disruptions) {
        for it in disruptions.since(self.begun) {
            let line = json!({ "at": it.at, "kind": "crash", "detail": it.what });
            self.lines.note("fault", line);
            it.gap.iter().for_each(|why| self.gap(why));
        }
    }

    /// Records that the proxy refuses a request of a controller. To its sender this is a refusal of the API
    /// server. So the trace has it as a refusal, after a fault that announces it. Traces contain no reads.
    pub(crate) fn refused(&mut self, asked: &RequestInfo, actor: &str, error: &ApiError) {
        if matches!(asked.verb, Sent::Get | Sent::List | Sent::Watch) {
            return;
        }
        let now = time();
        // Both lines have the same time, so that no other line of the controller is between them.
        self.fault_at(&now, fault_kind(error.code), actor, "nothing was done");
        let about = json!({
            "resource": asked.resource, "subresource": asked.subresource, "namespace": asked.namespace,
            "name": asked.name,
        });
        self.refused.push(json!({
            "auditID": asked.id, "level": "RequestResponse", "verb": asked.verb.name(), "objectRef": about,
            "userAgent": asked.agent, "requestReceivedTimestamp": now, "stageTimestamp": now,
            "responseStatus": {"code": error.code, "reason": error.reason, "message": error.message},
            "requestObject": asked.json(), "responseObject": error.status(),
        }));
    }

    /// Records that the response to this request is lost on its way to a controller.
    pub(crate) fn loses_response(&mut self, request: &str, actor: &str) {
        self.facts.insert(request.to_owned(), Fact::Lost { actor: actor.to_owned() });
    }

    /// Records the time at which a delayed request was sent.
    pub(crate) fn was_sent(&mut self, request: &str, at: &str) {
        self.facts.insert(request.to_owned(), Fact::Sent { at: at.to_owned() });
    }

    /// Adds an audit event, with the facts about its request.
    fn add_event(&mut self, mut event: Value) {
        match event["auditID"].as_str().and_then(|id| self.facts.get(id)) {
            Some(Fact::Lost { actor }) => {
                // The fault precedes its request directly.
                let (at, detail) = (&event["stageTimestamp"], "the response is lost");
                let line = json!({ "at": at, "kind": "lostResponse", "actor": actor, "detail": detail });
                self.lines.note("fault", line);
            }
            Some(Fact::Sent { at }) => event["requestReceivedTimestamp"] = json!(at),
            None => {}
        }
        self.lines.add_event(&event);
    }

    /// Adds a change from a watch, unless there is an audit log, which has more information.
    pub(crate) fn watched(&mut self, kind: &str, object: &Value) {
        if self.audit.is_none() {
            self.lines.note("watched", json!({ "at": time(), "type": kind, "object": object }));
        }
    }

    /// Adds a gap of a watch, unless there is an audit log, which has no gap.
    pub(crate) fn missed(&mut self, resource: Watched, why: &str) {
        if self.audit.is_none() {
            self.mark(json!({ "kind": "gap", "resource": resource.name(), "reason": why }));
        }
    }

    /// Ends the recording, and adds the events of the audit log. Returns the lines, and the reason if the
    /// recording is incomplete.
    ///
    /// # Errors
    ///
    /// The audit log cannot be read.
    pub(crate) fn end(
        mut self,
        connection: &mut Connection,
        namespace: &str,
    ) -> Result<(TraceLines, Option<String>), Error> {
        let mut incomplete = None;
        if let Some(audit) = self.audit.take() {
            let delete = Verb::Delete(DeleteOptions::default());
            let last = Request::new(Resource::Pods, Some(namespace), Some(AuditTail::END), delete);
            connection.handle(Timestamp::now(), &last);
            let (events, is_whole) = events(&audit, namespace)?;
            let refused = std::mem::take(&mut self.refused);
            let refused = refused.into_iter().filter_map(|event| with_user(event, &events));
            refused.for_each(|event| self.lines.add_event(&event));
            events.into_iter().for_each(|event| self.add_event(event));
            if !is_whole {
                let why = "the audit log does not show the end of the run";
                self.gap(why);
                incomplete = Some(why.to_owned());
            }
        }
        self.mark(json!({ "kind": "end" }));
        self.lines.sort();
        Ok((self.lines, incomplete))
    }
}

/// The events of a namespace, and true if they include the end of the run.
fn events(audit: &AuditTail, namespace: &str) -> Result<(Vec<Value>, bool), Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        let lines = audit.lines_of(namespace).map_err(Error::file(audit.file()))?;
        let mut of_it = events_of(&lines, namespace);
        let last = of_it.iter().position(|event| event["objectRef"]["name"] == AuditTail::END);
        if let Some(last) = last {
            of_it.truncate(last);
            return Ok((of_it, true));
        }
        if Instant::now() >= end {
            return Ok((of_it, false));
        }
        std::thread::sleep(LOOK);
    }
}

/// The events whose object is in this namespace. Other events may mention it.
fn events_of(lines: &[String], namespace: &str) -> Vec<Value> {
    let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["objectRef"]["namespace"] == namespace).collect()
}

/// Adds the user to an event of the proxy, which does not know users. Another event with the same user agent has it.
/// `None`: there is no such event.
fn with_user(mut event: Value, events: &[Value]) -> Option<Value> {
    let of_it = events.iter().find(|other| other["userAgent"] == event["userAgent"])?;
    event["user"] = of_it["user"].clone();
    Some(event)
}

/// The current time, in the format of traces.
pub(crate) fn time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creation(id: &str) -> Value {
        json!({
            "auditID": id, "objectRef": {"resource": "pods", "namespace": "n"}, "verb": "create",
            "requestReceivedTimestamp": "2026-01-01T00:00:05.000000Z",
            "stageTimestamp": "2026-01-01T00:00:05.500000Z", "userAgent": "a", "user": {"username": "u"},
        })
    }

    #[test]
    fn facts_that_the_api_server_does_not_know_are_added_to_the_request() {
        let mut recording = Recording::begin(json!({}), None).unwrap();
        recording.loses_response("one", "job-controller");
        recording.was_sent("two", "2026-01-01T00:00:01.000000Z");
        ["one", "two", "three"].iter().for_each(|id| recording.add_event(creation(id)));
        let text = String::from_utf8(recording.lines.bytes()).unwrap();
        let lines: Vec<Value> =
            text.lines().skip(2).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0]["fault"]["kind"], "lostResponse");
        assert_eq!(lines[0]["fault"]["at"], lines[1]["request"]["done"]);
        assert_eq!(lines[2]["request"]["received"], "2026-01-01T00:00:01.000000Z");
        assert_eq!(lines[3]["request"]["received"], "2026-01-01T00:00:05.000000Z");
    }

    #[test]
    fn a_disruption_is_recorded_with_its_gap() {
        let disruptions = Disruptions::default();
        drop(disruptions.begin("before"));
        std::thread::sleep(std::time::Duration::from_millis(1));
        let mut recording = Recording::begin(json!({}), None).unwrap();
        drop(disruptions.begin("etcd is restarted"));
        disruptions.begin("kube-apiserver is restarted").leaves_gap("it had to be killed");
        recording.add_disruptions(&disruptions);
        let text = String::from_utf8(recording.lines.bytes()).unwrap();
        let lines: Vec<Value> =
            text.lines().skip(2).map(|line| serde_json::from_str(line).unwrap()).collect();
        let details: Vec<&Value> = lines.iter().filter_map(|line| line["fault"].get("detail")).collect();
        assert_eq!(details, ["etcd is restarted", "kube-apiserver is restarted"]);
        assert_eq!((lines.len(), &lines[2]["mark"]["reason"]), (3, &json!("it had to be killed")));
    }

    #[test]
    fn the_user_of_a_refused_request_is_found_in_the_audit_log() {
        let refused = json!({"userAgent": "a", "verb": "delete"});
        assert_eq!(with_user(refused.clone(), &[creation("one")]).unwrap()["user"]["username"], "u");
        assert_eq!(with_user(json!({"userAgent": "b"}), &[creation("one")]), None);
    }

    #[test]
    fn an_event_that_only_mentions_the_namespace_is_left_out() {
        let line = |of: &str, with: &str| format!("{{\"objectRef\":{{\"namespace\":\"{of}\"}}{with}}}\n");
        let lines = [line("a", ""), line("b", ",\"requestObject\":{\"namespace\":\"a\"}")];
        assert_eq!(events_of(&lines, "a").len(), 1);
    }
}
