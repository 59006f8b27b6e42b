//! The native trace of a run.

use crate::{Gate, Rollout};
use jobcheck_judge::replay::Subject;
use jobcheck_traces::{FORMAT, VERSION};
use serde_json::{Map, Value, json};

/// A native trace in memory, as lines (`docs/reference/trace-format.md`).
#[derive(Clone, Debug)]
pub struct TraceLines(Vec<Value>);

/// Returns the header of the trace of a run with this subject.
#[must_use]
pub fn header(subject: &Subject, producer: &str) -> Value {
    let kubernetes = format!("1.{}", subject.rules.minor);
    json!({
        "format": FORMAT, "version": VERSION.to_string(), "kubernetes": kubernetes, "assume": subject.assumptions(),
        "producer": format!("jobcheck {}, {producer}", env!("CARGO_PKG_VERSION")),
    })
}

/// Returns the feature gates of a rollout for the mark in the trace: each gate, on or off.
#[must_use]
pub fn rollout_gates(rollout: &Rollout) -> Value {
    let off = rollout.gates().off();
    let names = Gate::ALL.iter().map(|gate| format!("{gate:?}"));
    let gates = names.map(|name| {
        let on = !off.contains(&name.as_str());
        (name, json!(on.to_string()))
    });
    gates.collect::<Map<String, Value>>().into()
}

impl TraceLines {
    /// Returns a trace with this header.
    #[must_use]
    pub fn new(header: Value) -> TraceLines {
        TraceLines(vec![header])
    }

    /// Adds a line of this kind.
    pub fn note(&mut self, kind: &str, line: Value) {
        self.0.push(json!({ kind: line }));
    }

    /// Adds an audit event, if it is about Jobs or pods.
    pub fn add_event(&mut self, event: &Value) {
        self.0.extend(request(event));
    }

    /// Sets the time at which the last request of this user agent was received.
    pub fn was_received(&mut self, agent: &str, time: &str) {
        let requests = self.0.iter_mut().rev().filter_map(|line| line.get_mut("request"));
        if let Some(request) = requests.into_iter().find(|request| request["agent"] == agent) {
            request["received"] = json!(time);
        }
    }

    /// Sorts the lines after the header by their times.
    pub fn sort(&mut self) {
        let time = |line: &Value| {
            let (_, fields) = line.as_object()?.iter().next()?;
            let times = [&fields["at"], &fields["done"]];
            times.into_iter().find_map(Value::as_str).map(str::to_owned)
        };
        self.0.get_mut(1..).unwrap_or_default().sort_by_cached_key(time);
    }

    /// The number of requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.0.iter().filter(|line| line.get("request").is_some()).count()
    }

    /// The number of requests and of watch events.
    #[must_use]
    pub fn records(&self) -> usize {
        let watched = self.0.iter().filter(|line| line.get("watched").is_some()).count();
        self.requests() + watched
    }

    /// The bytes of the trace.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let lines = self.0.iter().map(|line| format!("{line}\n"));
        lines.collect::<String>().into_bytes()
    }
}

/// The line of an audit event. `None` for events about other resources.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_header_are_sorted_by_time() {
        let mut lines = TraceLines::new(header(&Subject::default(), "a test"));
        let event = |done: &str| {
            let about = json!({"resource": "pods", "namespace": "ns", "name": "a"});
            json!({"objectRef": about, "stageTimestamp": done, "verb": "delete"})
        };
        lines.note("mark", json!({"at": "2026-01-01T00:00:00.000000Z", "kind": "start"}));
        lines.note("mark", json!({"at": "2026-01-01T00:00:03.000000Z", "kind": "end"}));
        lines.add_event(&event("2026-01-01T00:00:02.000000Z"));
        lines.add_event(&event("2026-01-01T00:00:01.000000Z"));
        lines.add_event(&json!({"objectRef": {"resource": "nodes"}}));
        lines.sort();
        let text = String::from_utf8(lines.bytes()).unwrap();
        let kinds: Vec<&str> = text.lines().map(|line| line.get(2..8).unwrap_or_default()).collect();
        assert_eq!(kinds[1..], ["mark\":", "reques", "reques", "mark\":"], "{text}");
        assert!(text.lines().next().unwrap().contains("jobcheck.dev/trace"));
        assert!(text.find("00:01").unwrap() < text.find("00:02").unwrap(), "{text}");
        assert_eq!((lines.requests(), lines.records()), (2, 2));
    }
}
