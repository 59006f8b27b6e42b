//! The native trace of a run.

use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_apiserver::audit::AuditSink;
use serde_json::{Map, Value, json};

/// What happened so far, in lines of the native format (`docs/trace-format.md`).
#[derive(Debug)]
pub struct Recorder {
    lines: Vec<Value>,
    /// Audit events that are no lines yet.
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// A trace that begins with this header.
    #[must_use]
    pub fn new(header: Value) -> Recorder {
        Recorder { lines: vec![header], heard: Arc::default() }
    }

    /// Where the API server sends its audit events.
    #[must_use]
    pub fn sink(&self) -> AuditSink {
        let heard = Arc::clone(&self.heard);
        AuditSink::new(false, move |event| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        })
    }

    /// Makes lines of what the API server has heard.
    pub fn gather(&mut self) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        self.lines.extend(heard.iter().filter_map(request));
    }

    /// Adds a line of its own.
    pub fn note(&mut self, kind: &str, line: Value) {
        self.gather();
        self.lines.push(json!({ kind: line }));
    }

    /// The request of this agent that was answered last had been on its way since then.
    pub fn was_received(&mut self, agent: &str, time: &str) {
        self.gather();
        let requests = self.lines.iter_mut().rev().filter_map(|line| line.get_mut("request"));
        if let Some(request) = requests.into_iter().find(|request| request["agent"] == agent) {
            request["received"] = json!(time);
        }
    }

    /// Requests so far.
    pub fn requests(&mut self) -> usize {
        self.gather();
        self.lines.iter().filter(|line| line.get("request").is_some()).count()
    }

    /// The trace as a file holds it.
    pub fn bytes(&mut self) -> Vec<u8> {
        self.gather();
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// The line of an audit event; `None` for what no trace holds.
fn request(event: &Value) -> Option<Value> {
    let about = &event["objectRef"];
    let resource = about["resource"].as_str().filter(|it| matches!(*it, "jobs" | "pods"))?;
    let answer = &event["responseObject"];
    let stored = answer["kind"] != "Status";
    let mut line = Map::new();
    let mut put = |name: &str, value: &Value| {
        if !value.is_null() {
            line.insert(name.to_owned(), value.clone());
        }
    };
    put("received", &event["requestReceivedTimestamp"]);
    put("done", &event["stageTimestamp"]);
    put("level", &event["level"]);
    put("user", &event["user"]["username"]);
    put("agent", &event["userAgent"]);
    put("verb", &event["verb"]);
    put("resource", &json!(resource));
    put("subresource", &about["subresource"]);
    put("namespace", &about["namespace"]);
    let named = &about["name"];
    put("name", if named.is_null() { &answer["metadata"]["name"] } else { named });
    put("uid", if stored { &answer["metadata"]["uid"] } else { &Value::Null });
    put("code", &event["responseStatus"]["code"]);
    put("reason", &event["responseStatus"]["reason"]);
    put("message", &event["responseStatus"]["message"]);
    put("propagationPolicy", &event["requestObject"]["propagationPolicy"]);
    put("request", &event["requestObject"]);
    put("response", answer);
    Some(json!({ "request": line }))
}
