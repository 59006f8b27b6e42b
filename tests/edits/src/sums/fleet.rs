//! A Job and its members as traces of their clusters.

use serde_json::{Value, json};

use crate::time::{SECOND, precise, whole};

/// When the Job is created, in microseconds since 1970.
const BEGIN: i64 = 1_790_000_000 * SECOND;
/// The value of `spec.managedBy`.
const VALUE: &str = "acme.example.com/sum";
/// The same of all other Jobs.
const OTHER: &str = "acme.example.com/other";
/// The account of the aggregator, here and on the members.
const MANAGER: &str = "acme";
const REMOTE: &str = "acme-remote";
/// The account that has the status of the members. Their pods are not in the traces, so that it is no executor.
const MEMBER: &str = "member";

/// An event in the life of a Job.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// It is created.
    Create,
    /// Its status is written.
    Status(Value),
    /// A status write is refused by validation.
    Refused(Value),
    /// It is removed.
    Remove,
}

/// One event: its second, and what happens.
#[derive(Clone, Debug)]
pub struct Event {
    /// Seconds after the creation of the Job here.
    pub at: i64,
    /// The event.
    pub act: Act,
}

/// A Job and its members, each with the number of its cluster.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The Job here. Its creation is at second 0.
    pub local: Vec<Event>,
    /// The members: the cluster of each, and its events.
    pub members: Vec<(usize, Vec<Event>)>,
    /// `spec.completions` of the Job here.
    pub completions: i64,
    /// All members must fail before the Job fails.
    pub fails_by_all: bool,
}

impl Fleet {
    /// The positions of the status writes of the Job here.
    #[must_use]
    pub fn writes(&self) -> Vec<usize> {
        let is_write = |at: &usize| matches!(self.local[*at].act, Act::Status(_));
        (0..self.local.len()).filter(is_write).collect()
    }

    /// Changes the statuses of the Job here from a position on.
    pub fn from(&mut self, at: usize, edit: &dyn Fn(&mut Value)) {
        for event in &mut self.local[at..] {
            if let Act::Status(status) | Act::Refused(status) = &mut event.act {
                edit(status);
            }
        }
    }

    /// When the pods of a member begin: five seconds after its creation.
    #[must_use]
    pub fn begun(&self, member: usize) -> i64 {
        self.members[member].1.first().map_or(0, |event| event.at) + 5
    }

    /// The status that is written at a position.
    #[must_use]
    pub fn status(&self, at: usize) -> &Value {
        match &self.local[at].act {
            Act::Status(status) => status,
            other => panic!("{other:?} is no status write"),
        }
    }

    /// Ends the trace of the Job here behind a position. Members that change later are left as they are then.
    pub fn rests_after(&mut self, at: usize) {
        self.local.truncate(at + 1);
        let last = self.local[at].at;
        for (_, events) in &mut self.members {
            events.retain(|event| event.at <= last);
        }
        self.members.retain(|(_, events)| !events.is_empty());
    }

    /// The lines of a trace for each cluster: first the one of the Job here.
    #[must_use]
    pub fn traces(&self) -> Vec<Vec<Value>> {
        let last = |events: &[Event]| events.last().map_or(0, |event| event.at);
        let all = self.members.iter().map(|(_, events)| last(events)).chain([last(&self.local)]);
        let end = all.max().unwrap_or(0) + 170;
        let mut local = Log::default();
        local.job(&self.local, 0, MANAGER, json!({"completions": self.completions, "managedBy": VALUE}));
        local.rest(end, MANAGER);
        let clusters = self.members.iter().map(|(cluster, _)| cluster + 1).max().unwrap_or(1);
        let mut logs = vec![local];
        for cluster in 0..clusters {
            let mut log = Log::default();
            for (number, (_, events)) in
                self.members.iter().enumerate().filter(|(_, member)| member.0 == cluster)
            {
                log.job(events, number + 1, MEMBER, json!({"managedBy": OTHER, "completions": null}));
            }
            log.rest(end, MEMBER);
            logs.push(log);
        }
        logs.into_iter().map(Log::lines).collect()
    }
}

/// The log of one cluster.
#[derive(Debug, Default)]
struct Log {
    lines: Vec<Value>,
}

impl Log {
    fn job(&mut self, events: &[Event], number: usize, manager: &str, spec: Value) {
        let created = events.first().map_or(0, |event| event.at);
        let mut status = json!({});
        for event in events {
            let (user, verb, code) = match &event.act {
                Act::Create if number == 0 => ("user", "create", 201),
                Act::Create => (REMOTE, "create", 201),
                Act::Status(_) => (manager, "update", 200),
                Act::Refused(_) => (manager, "update", 422),
                Act::Remove => (REMOTE, "delete", 200),
            };
            if let Act::Status(new) = &event.act {
                status = new.clone();
            }
            let asked = if let Act::Refused(asked) = &event.act { asked } else { &status };
            let object = object(("train", number), created, &spec, asked);
            self.request(event.at, user, (verb, code, verb == "update"), object);
        }
    }

    /// Requests for another Job show that the trace continues, and that the manager works.
    fn rest(&mut self, end: i64, user: &str) {
        let spec = json!({"completions": 9, "managedBy": OTHER});
        self.request(0, "user", ("create", 201, false), object(("other", 99), 0, &spec, &json!({})));
        for at in (40..=end).step_by(40) {
            let status = json!({"active": at / 40 % 2 + 1, "ready": 0, "startTime": whole(BEGIN)});
            self.request(at, user, ("update", 200, true), object(("other", 99), 0, &spec, &status));
        }
    }

    fn request(&mut self, at: i64, user: &str, (verb, code, is_status): (&str, u64, bool), object: Value) {
        let moment = precise(BEGIN + at * SECOND);
        let mut request = json!({"received": moment, "done": moment, "level": "RequestResponse", "user": user,
            "verb": verb, "resource": "jobs", "subresource": if is_status { "status" } else { "" },
            "namespace": "work", "name": object["metadata"]["name"], "code": code});
        if code == 422 {
            request["response"] = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422,
                "reason": "Invalid", "message": "status.conditions: Invalid value: cannot set Complete condition without the SuccessCriteriaMet condition"});
            request["request"] = object;
        } else if verb == "delete" {
            request["request"] =
                json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
            request["uid"] = object["metadata"]["uid"].clone();
            request["response"] = json!({"kind": "Status", "apiVersion": "v1", "status": "Success",
                "details": {"name": "train", "kind": "jobs", "uid": object["metadata"]["uid"]}});
        } else {
            request["response"] = object;
        }
        self.lines.push(json!({"request": request}));
    }

    /// The lines in the order of time, with versions.
    fn lines(mut self) -> Vec<Value> {
        self.lines.sort_by_key(|line| line["request"]["done"].as_str().map(str::to_owned));
        for (number, line) in self.lines.iter_mut().enumerate() {
            for name in ["request", "response"] {
                let body = &mut line["request"][name];
                if body["kind"] == "Job" {
                    body["metadata"]["resourceVersion"] = json!((number + 1).to_string());
                }
            }
        }
        let header = json!({"format": "jobcheck.dev/trace", "version": "1.0"});
        std::iter::once(header).chain(self.lines).collect()
    }
}

fn object((name, number): (&str, usize), created: i64, spec: &Value, status: &Value) -> Value {
    let mut whole_spec = json!({"completions": 9, "parallelism": 9, "backoffLimit": 6, "suspend": false,
        "completionMode": "NonIndexed", "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": true,
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        whole_spec[key] = value.clone();
    }
    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": whole_spec, "status": status,
        "metadata": {"name": name, "namespace": "work", "generation": 1,
            "uid": format!("5d1111a3-e7c8-4dcf-83b7-ad703b7b{number:04}"),
            "creationTimestamp": whole(BEGIN + created * SECOND), "resourceVersion": "1"}})
}

/// A time in a status.
#[must_use]
pub fn time(at: i64) -> Value {
    json!(whole(BEGIN + at * SECOND))
}

/// A condition that became true at a second.
#[must_use]
pub fn condition(kind: &str, at: i64) -> Value {
    let is_good = matches!(kind, "Complete" | "SuccessCriteriaMet");
    let reason = if is_good { "CompletionsReached" } else { "BackoffLimitExceeded" };
    json!({"type": kind, "status": "True", "reason": reason, "message": "m", "lastProbeTime": time(at),
        "lastTransitionTime": time(at)})
}

/// Returns true if a status has a condition.
#[must_use]
pub fn has(status: &Value, kind: &str) -> bool {
    status["conditions"].as_array().is_some_and(|all| all.iter().any(|it| it["type"] == kind))
}
