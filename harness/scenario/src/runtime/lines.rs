//! The native trace of a run.

use crate::{Gate, Rollout};
use jobcheck_judge::replay::Subject;
use jobcheck_traces::{FORMAT, VERSION};
use serde_json::{Map, Value, json};

/// What happened so far, in lines of the native format (`docs/reference/trace-format.md`).
#[derive(Clone, Debug)]
pub struct Lines(Vec<Value>);

/// The first line of the trace of a run with this subject.
#[must_use]
pub fn header(subject: &Subject, producer: &str) -> Value {
    let kubernetes = format!("1.{}", subject.rules.minor);
    json!({
        "format": FORMAT, "version": VERSION.to_string(), "kubernetes": kubernetes, "assume": subject.assumptions(),
        "producer": format!("jobcheck {}, {producer}", env!("CARGO_PKG_VERSION")),
    })
}

/// The gates of the process that takes over, as a mark of the trace says them: each, on or off.
#[must_use]
pub fn gates_told(rollout: &Rollout) -> Value {
    let off = rollout.gates().off();
    let names = Gate::ALL.iter().map(|gate| format!("{gate:?}"));
    let told = names.map(|name| {
        let on = !off.contains(&name.as_str());
        (name, json!(on.to_string()))
    });
    told.collect::<Map<String, Value>>().into()
}

impl Lines {
    /// A trace that begins with this header.
    #[must_use]
    pub fn new(header: Value) -> Lines {
        Lines(vec![header])
    }

    /// Adds a line of this kind.
    pub fn note(&mut self, kind: &str, line: Value) {
        self.0.push(json!({ kind: line }));
    }

    /// Adds what an audit event tells, if a trace holds such things.
    pub fn heard(&mut self, event: &Value) {
        self.0.extend(request(event));
    }

    /// The request of this agent that was answered last had been on its way since then.
    pub fn was_received(&mut self, agent: &str, time: &str) {
        let requests = self.0.iter_mut().rev().filter_map(|line| line.get_mut("request"));
        if let Some(request) = requests.into_iter().find(|request| request["agent"] == agent) {
            request["received"] = json!(time);
        }
    }

    /// Puts the lines behind the header in the order of their times.
    pub fn sort(&mut self) {
        let time = |line: &Value| {
            let (_, told) = line.as_object()?.iter().next()?;
            let times = [&told["at"], &told["done"]];
            times.into_iter().find_map(Value::as_str).map(str::to_owned)
        };
        self.0.get_mut(1..).unwrap_or_default().sort_by_cached_key(time);
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.0.iter().filter(|line| line.get("request").is_some()).count()
    }

    /// Requests, or, of a trace without any, what watches have shown.
    #[must_use]
    pub fn records(&self) -> usize {
        let watched = self.0.iter().filter(|line| line.get("watched").is_some()).count();
        self.requests() + watched
    }

    /// The trace as a file holds it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let lines = self.0.iter().map(|line| format!("{line}\n"));
        lines.collect::<String>().into_bytes()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_in_the_order_of_their_times_behind_the_header() {
        let mut lines = Lines::new(header(&Subject::default(), "a test"));
        let event = |done: &str| {
            let about = json!({"resource": "pods", "namespace": "ns", "name": "a"});
            json!({"objectRef": about, "stageTimestamp": done, "verb": "delete"})
        };
        lines.note("mark", json!({"at": "2026-01-01T00:00:00.000000Z", "kind": "start"}));
        lines.note("mark", json!({"at": "2026-01-01T00:00:03.000000Z", "kind": "end"}));
        lines.heard(&event("2026-01-01T00:00:02.000000Z"));
        lines.heard(&event("2026-01-01T00:00:01.000000Z"));
        lines.heard(&json!({"objectRef": {"resource": "nodes"}}));
        lines.sort();
        let text = String::from_utf8(lines.bytes()).unwrap();
        let kinds: Vec<&str> = text.lines().map(|line| line.get(2..8).unwrap_or_default()).collect();
        assert_eq!(kinds[1..], ["mark\":", "reques", "reques", "mark\":"], "{text}");
        assert!(text.lines().next().unwrap().contains("jobcheck.dev/trace"));
        assert!(text.find("00:01").unwrap() < text.find("00:02").unwrap(), "{text}");
        assert_eq!((lines.requests(), lines.records()), (2, 2));
    }
}
