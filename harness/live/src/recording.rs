//! What happened in the namespace of a run: from the audit log where there is one, else from the watches.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Api, DeleteOptions, Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_faultproxy::{Asked, Verb as Sent};
use jobcheck_scenario::runtime::{Lines, announced_as};
use jobcheck_traces::Resource as Watched;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::error::Error;
use crate::trouble::Troubles;

/// A pod that there is not: the refusal to delete it is the last that the audit log tells of a run.
const LAST: &str = "jobcheck-end-of-recording";
/// How long the audit log may take to tell it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks at the audit log.
const LOOK: Duration = Duration::from_millis(100);

/// A recording under way.
pub(crate) struct Recording {
    lines: Lines,
    /// When it began.
    begun: Instant,
    audit: Option<Audit>,
    /// What is known of single requests beside the audit log, by the identifier that they have there.
    known: BTreeMap<String, Known>,
    /// Requests that a fault proxy has answered itself, as audit events.
    refused: Vec<Value>,
}

/// What the API server does not know of a request.
enum Known {
    /// Its answer was lost on the way to this controller.
    Lost { actor: String },
    /// It was sent then, and arrived much later.
    Sent { at: String },
}

/// An audit log, and where in it the run begins.
struct Audit {
    file: PathBuf,
    from: u64,
}

impl Recording {
    /// Begins: with this header, and this audit log if there is one.
    ///
    /// # Errors
    ///
    /// The audit log cannot be read.
    pub(crate) fn begin(header: Value, audit: Option<&Path>) -> Result<Recording, Error> {
        let begun = |file: &Path| {
            let from = std::fs::metadata(file).map_err(Error::file(file))?.len();
            Ok::<Audit, Error>(Audit { file: file.to_owned(), from })
        };
        let (lines, audit, begun) = (Lines::new(header), audit.map(begun).transpose()?, Instant::now());
        let mut recording = Recording { lines, begun, audit, known: BTreeMap::new(), refused: Vec::new() };
        recording.mark(json!({ "kind": "start" }));
        Ok(recording)
    }

    /// There is a controller of Jobs without `managedBy`, the harness is none, whatever it writes. How far its caches
    /// have come is not known.
    pub(crate) fn introduce(&mut self) {
        for resource in ["jobs", "pods"] {
            let line = json!({ "at": time(), "actor": "job-controller", "resource": resource, "resourceVersion": "1" });
            self.lines.note("observed", line);
        }
    }

    /// A mark in the trace.
    pub(crate) fn mark(&mut self, mut mark: Value) {
        mark["at"] = json!(time());
        self.lines.note("mark", mark);
    }

    /// A fault in the trace.
    pub(crate) fn fault(&mut self, kind: &str, actor: &str, detail: &str) {
        self.fault_at(&time(), kind, actor, detail);
    }

    fn fault_at(&mut self, at: &str, kind: &str, actor: &str, detail: &str) {
        let line = json!({ "at": at, "kind": kind, "actor": actor, "detail": detail });
        self.lines.note("fault", line);
    }

    /// The watch of a resource ends with 410 for the controllers of Jobs: they list.
    pub(crate) fn relists(&mut self, resource: Watched) {
        let (actor, resource) = ("job-controller", resource.name());
        let line = json!({ "at": time(), "kind": "relist", "actor": actor, "resource": resource });
        self.lines.note("fault", line);
    }

    /// Something has been missed of which nobody knows what, and why.
    pub(crate) fn gap(&mut self, why: &str) {
        self.mark(json!({ "kind": "gap", "reason": why }));
    }

    /// What has happened to the cluster in the meantime.
    pub(crate) fn tell(&mut self, troubles: &Troubles) {
        for it in troubles.since(self.begun) {
            let line = json!({ "at": it.at, "kind": "crash", "detail": it.what });
            self.lines.note("fault", line);
            it.gap.iter().for_each(|why| self.gap(why));
        }
    }

    /// This request of a controller is refused so by the proxy. Its sender cannot tell that from an answer of the API server,
    /// and what it does next follows from it: so it stands in the trace as any other refusal, behind a fault that announces
    /// it. Reads are in no trace.
    pub(crate) fn refused(&mut self, asked: &Asked, actor: &str, error: &ApiError) {
        if matches!(asked.verb, Sent::Get | Sent::List | Sent::Watch) {
            return;
        }
        let now = time();
        // Of one instant, so that nothing else of that controller comes between.
        self.fault_at(&now, announced_as(error.code), actor, "nothing was done");
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

    /// The answer to this request is lost on the way to that controller.
    pub(crate) fn loses_answer(&mut self, request: &str, actor: &str) {
        self.known.insert(request.to_owned(), Known::Lost { actor: actor.to_owned() });
    }

    /// This request was sent then, whenever it arrived.
    pub(crate) fn was_sent(&mut self, request: &str, at: &str) {
        self.known.insert(request.to_owned(), Known::Sent { at: at.to_owned() });
    }

    /// Adds what an audit event tells, and what is known of its request besides.
    fn heard(&mut self, mut event: Value) {
        match event["auditID"].as_str().and_then(|id| self.known.get(id)) {
            Some(Known::Lost { actor }) => {
                // It stands right before its request, which it is about.
                let (at, detail) = (&event["stageTimestamp"], "the answer does not arrive");
                let line = json!({ "at": at, "kind": "lostResponse", "actor": actor, "detail": detail });
                self.lines.note("fault", line);
            }
            Some(Known::Sent { at }) => event["requestReceivedTimestamp"] = json!(at),
            None => {}
        }
        self.lines.heard(&event);
    }

    /// A watch has shown something. The audit log tells more, where there is one.
    pub(crate) fn watched(&mut self, kind: &str, object: &Value) {
        if self.audit.is_none() {
            self.lines.note("watched", json!({ "at": time(), "type": kind, "object": object }));
        }
    }

    /// A watch has missed something. The audit log has not.
    pub(crate) fn missed(&mut self, resource: Watched, why: &str) {
        if self.audit.is_none() {
            self.mark(json!({ "kind": "gap", "resource": resource.name(), "reason": why }));
        }
    }

    /// Ends: what the audit log tells of the namespace is put between the rest. What is wrong with it, if anything.
    ///
    /// # Errors
    ///
    /// The audit log cannot be read.
    pub(crate) fn end(
        mut self,
        connection: &mut Connection,
        namespace: &str,
    ) -> Result<(Lines, Option<String>), Error> {
        let mut trouble = None;
        if let Some(audit) = self.audit.take() {
            let delete = Verb::Delete(DeleteOptions::default());
            let last = Request::new(Resource::Pods, Some(namespace), Some(LAST), delete);
            connection.handle(Timestamp::now(), &last);
            let (events, is_whole) = audit.events(namespace)?;
            let refused = std::mem::take(&mut self.refused);
            let refused = refused.into_iter().filter_map(|event| with_user(event, &events));
            refused.for_each(|event| self.lines.heard(&event));
            events.into_iter().for_each(|event| self.heard(event));
            if !is_whole {
                let why = "the audit log does not show the end of the run";
                self.gap(why);
                trouble = Some(why.to_owned());
            }
        }
        self.mark(json!({ "kind": "end" }));
        self.lines.sort();
        Ok((self.lines, trouble))
    }
}

impl Audit {
    /// The events of a namespace, and whether they go to the end of the run.
    fn events(&self, namespace: &str) -> Result<(Vec<Value>, bool), Error> {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text()?;
            let mut of_it = lines_of(&text, namespace);
            let last = of_it.iter().position(|event| event["objectRef"]["name"] == LAST);
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

    fn text(&self) -> Result<String, Error> {
        let mut file = File::open(&self.file).map_err(Error::file(&self.file))?;
        file.seek(SeekFrom::Start(self.from)).map_err(Error::file(&self.file))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::file(&self.file))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The complete lines about this namespace, as events.
fn lines_of(text: &str, namespace: &str) -> Vec<Value> {
    let mark = format!("\"namespace\":\"{namespace}\"");
    let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.contains(&mark));
    let events = complete.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["objectRef"]["namespace"] == namespace).collect()
}

/// A proxy does not know who its clients are: one with the same agent in the audit log is the same.
fn with_user(mut event: Value, events: &[Value]) -> Option<Value> {
    let of_it = events.iter().find(|other| other["userAgent"] == event["userAgent"])?;
    event["user"] = of_it["user"].clone();
    Some(event)
}

/// Now, as traces write it.
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
    fn what_the_api_server_does_not_know_of_a_request_is_told_with_it() {
        let mut recording = Recording::begin(json!({}), None).unwrap();
        recording.loses_answer("one", "job-controller");
        recording.was_sent("two", "2026-01-01T00:00:01.000000Z");
        ["one", "two", "three"].iter().for_each(|id| recording.heard(creation(id)));
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
    fn what_happened_to_the_cluster_is_told_with_the_gap_that_it_leaves() {
        let troubles = Troubles::default();
        drop(troubles.begin("before"));
        std::thread::sleep(std::time::Duration::from_millis(1));
        let mut recording = Recording::begin(json!({}), None).unwrap();
        drop(troubles.begin("etcd is restarted"));
        troubles.begin("kube-apiserver is restarted").leaves_gap("it had to be killed");
        recording.tell(&troubles);
        let text = String::from_utf8(recording.lines.bytes()).unwrap();
        let lines: Vec<Value> =
            text.lines().skip(2).map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<&Value> = lines.iter().filter_map(|line| line["fault"].get("detail")).collect();
        assert_eq!(told, ["etcd is restarted", "kube-apiserver is restarted"]);
        assert_eq!((lines.len(), &lines[2]["mark"]["reason"]), (3, &json!("it had to be killed")));
    }

    #[test]
    fn whose_request_a_proxy_has_answered_the_audit_log_tells() {
        let refused = json!({"userAgent": "a", "verb": "delete"});
        assert_eq!(with_user(refused.clone(), &[creation("one")]).unwrap()["user"]["username"], "u");
        assert_eq!(with_user(json!({"userAgent": "b"}), &[creation("one")]), None);
    }

    #[test]
    fn of_an_audit_log_the_complete_lines_about_the_namespace_are_read() {
        let line = |namespace: &str| format!("{{\"objectRef\":{{\"namespace\":\"{namespace}\"}}}}");
        let text = format!("{}\n{}\n{}", line("a"), line("b"), line("a"));
        assert_eq!(lines_of(&text, "a").len(), 1);
    }
}
