//! The steps of a trace of one Job. An edit changes what a step stores, and versions, generations, and requests follow.

use serde_json::{Value, json};

use crate::draft::put;
use crate::time::{self, SECOND};

/// The parts of the metadata that a write may change.
const METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];
/// The first version.
const FIRST: u64 = 1000;

/// The kind of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The Job is created.
    Create,
    /// A write to the status subresource.
    Status,
    /// The same. It is stored, and a server error answers it.
    Lost,
    /// A write to the main resource.
    Main,
    /// A write that is refused with this code and message. The flag is set for the status subresource.
    Refused(u64, String, bool),
}

/// One request for the Job.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its kind.
    pub kind: Kind,
    /// `create`, `patch`, `update` or `apply`.
    pub verb: String,
    /// The user and the user agent.
    pub by: (String, String),
    /// When the server received it, and when it answered, in microseconds.
    pub when: (i64, i64),
    /// The Job that it stores, or that a refused request has asked for.
    pub job: Value,
    /// A status write that changes metadata too.
    pub brings_metadata: bool,
    /// The body of a PATCH, if it is not made from the step.
    pub body: Option<Value>,
}

/// A trace of one Job.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The steps, in etcd's order.
    pub steps: Vec<Step>,
}

impl Step {
    /// The status that it stores.
    #[must_use]
    pub fn status(&self) -> &Value {
        &self.job["status"]
    }

    fn read(line: &Value) -> Option<Step> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let moment = |name: &str| line[name].as_str().and_then(time::parse).unwrap_or(0);
        let code = line["responseStatus"]["code"].as_u64().unwrap_or(200);
        let is_status = line["objectRef"]["subresource"] == "status";
        let is_apply = line["verb"] == "patch" && is_status && line["requestObject"]["kind"] == "Job";
        let verb = if is_apply { "apply".to_owned() } else { text(&line["verb"]) };
        let kind = match () {
            () if code >= 300 => Kind::Refused(code, text(&line["responseStatus"]["message"]), is_status),
            () if verb == "create" => Kind::Create,
            () if is_status => Kind::Status,
            () => Kind::Main,
        };
        let job = if code >= 300 { line["requestObject"].clone() } else { line["responseObject"].clone() };
        let is_shown = code >= 300 || job["kind"] == "Job";
        let body = (kind == Kind::Main || code >= 300).then(|| line["requestObject"].clone());
        is_shown.then_some(Step {
            kind,
            verb,
            by: (text(&line["user"]["username"]), text(&line["userAgent"])),
            when: (moment("requestReceivedTimestamp"), moment("stageTimestamp")),
            job,
            brings_metadata: false,
            body: body.filter(Value::is_object),
        })
    }
}

impl Story {
    /// Reads the lines of a trace of one Job, which are in etcd's order.
    #[must_use]
    pub fn read(lines: &[Value]) -> Story {
        Story { steps: lines.iter().filter_map(Step::read).collect() }
    }

    /// The sender of the first status write.
    #[must_use]
    pub fn manager(&self) -> Option<(String, String)> {
        self.steps.iter().find(|step| step.kind == Kind::Status).map(|step| step.by.clone())
    }

    /// Returns true if the manager writes the status in a step.
    #[must_use]
    pub fn is_status_write(&self, at: usize) -> bool {
        let step = self.steps.get(at);
        step.is_some_and(|step| step.kind == Kind::Status && Some(&step.by) == self.manager().as_ref())
    }

    /// The Job as it is stored before a step.
    #[must_use]
    pub fn before(&self, at: usize) -> Value {
        let mut stored = Value::Null;
        self.steps[..at].iter().for_each(|step| store(&mut stored, step));
        stored
    }

    /// Changes the status in a step and in all later ones.
    pub fn from(&mut self, at: usize, edit: &dyn Fn(&mut Value)) {
        let later = self.steps[at..].iter_mut().filter(|step| step.kind == Kind::Status);
        later.for_each(|step| edit(&mut step.job["status"]));
    }

    /// Changes the status in one step.
    pub fn once(&mut self, at: usize, edit: &dyn Fn(&mut Value)) {
        edit(&mut self.steps[at].job["status"]);
    }

    /// Removes all steps behind one.
    pub fn end(&mut self, at: usize) {
        self.steps.truncate(at + 1);
    }

    /// Inserts a step before another one, in a second of its own. The later steps are moved.
    pub fn insert(&mut self, at: usize, mut step: Step) {
        let before = self.steps[at - 1].when.1;
        self.steps[at..].iter_mut().for_each(|it| it.when = (it.when.0 + SECOND, it.when.1 + SECOND));
        step.when = (before + SECOND / 2, before + SECOND / 2 + 2000);
        self.steps.insert(at, step);
    }

    /// A step of the manager with the status that is stored before a position.
    #[must_use]
    pub fn again(&self, at: usize) -> Step {
        let of = self.steps[..at].iter().rposition(|step| step.kind == Kind::Status);
        let like = of.or_else(|| self.steps.iter().position(|step| step.kind == Kind::Status)).unwrap_or(0);
        let mut step = self.steps[like].clone();
        (step.job, step.body) = (self.before(at), None);
        if let Some(by) = self.manager() {
            step.by = by;
        }
        step
    }

    /// A write of the main resource before a position.
    #[must_use]
    pub fn main(&self, at: usize, user: Option<&str>, edit: &dyn Fn(&mut Value)) -> Step {
        let mut step = Step { kind: Kind::Main, verb: "patch".to_owned(), ..self.again(at) };
        edit(&mut step.job);
        step.body = Some(json!({ "metadata": meta(&step.job), "spec": {} }));
        if let Some(user) = user {
            step.by = (user.to_owned(), format!("{user}/v1"));
        }
        step
    }

    /// Makes a change of the main resource known to the later writes of it.
    pub fn main_from(&mut self, at: usize, edit: &dyn Fn(&mut Value)) {
        let later = self.steps[at..].iter_mut().filter(|step| step.kind == Kind::Main);
        later.for_each(|step| edit(&mut step.job));
    }

    /// Appends requests of the manager without effect, one every 50 s.
    pub fn work(&mut self, times: i64) {
        let message = "Operation cannot be fulfilled on jobs.batch: the object has been modified";
        let end = self.steps.last().map_or(0, |step| step.when.1);
        let like = self.again(self.steps.len());
        for turn in 1..=times {
            let when = (end + turn * 50 * SECOND, end + turn * 50 * SECOND + 2000);
            let kind = Kind::Refused(409, message.to_owned(), true);
            self.steps.push(Step { kind, when, verb: "patch".to_owned(), ..like.clone() });
        }
    }

    /// The lines of an audit log.
    #[must_use]
    pub fn lines(&self) -> Vec<Value> {
        let (mut stored, mut version, mut older) = (Value::Null, FIRST, FIRST);
        let mut lines = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let before = stored.clone();
            // A conflict shows that the request was made on an older version.
            let base = if matches!(step.kind, Kind::Refused(409, ..)) { older } else { version };
            if !matches!(step.kind, Kind::Refused(..)) {
                store(&mut stored, step);
                if before != stored {
                    older = version;
                    version += 3;
                }
                put(&mut stored, "/metadata/resourceVersion", Some(json!(version.to_string())));
            }
            lines.push(line(step, at, &stored, base));
        }
        lines
    }
}

fn meta(job: &Value) -> Value {
    let mut metadata = json!({});
    METADATA.iter().for_each(|name| metadata[*name] = job["metadata"][*name].clone());
    metadata
}

/// The effect of a step on the stored Job.
fn store(stored: &mut Value, step: &Step) {
    match step.kind {
        Kind::Create => *stored = step.job.clone(),
        Kind::Status | Kind::Lost | Kind::Main => {
            if step.kind != Kind::Main {
                put(stored, "/status", step.job.get("status").cloned());
            } else if stored["spec"] != step.job["spec"] {
                stored["spec"] = step.job["spec"].clone();
                let generation = stored["metadata"]["generation"].as_u64().unwrap_or(1);
                stored["metadata"]["generation"] = json!(generation + 1);
            }
            if step.kind == Kind::Main || step.brings_metadata {
                for name in METADATA {
                    put(stored, &format!("/metadata/{name}"), step.job["metadata"].get(name).cloned());
                }
            }
        }
        Kind::Refused(..) => {}
    }
}

fn failure(code: u64, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "code": code})
}

fn line(step: &Step, at: usize, stored: &Value, base: u64) -> Value {
    let metadata = &stored["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    let is_status = matches!(step.kind, Kind::Status | Kind::Lost | Kind::Refused(_, _, true));
    let mut reference = json!({"resource": "jobs", "namespace": namespace, "name": name, "apiGroup": "batch",
        "apiVersion": "v1"});
    put(&mut reference, "/subresource", is_status.then(|| json!("status")));
    let tail = if is_status { "/status" } else { "" };
    let request = match (&*step.verb, &step.body) {
        ("create", _) => json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": name}}),
        ("update", _) => {
            let mut job = step.job.clone();
            put(&mut job, "/metadata/resourceVersion", Some(json!(base.to_string())));
            put(&mut job, "/kind", Some(json!("Job")));
            put(&mut job, "/apiVersion", Some(json!("batch/v1")));
            job
        }
        (_, Some(body)) => {
            let mut body = body.clone();
            if body["metadata"]["resourceVersion"].is_string() {
                put(&mut body, "/metadata/resourceVersion", Some(json!(base.to_string())));
            }
            body
        }
        ("apply", None) => json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": name},
            "status": step.status()}),
        _ => json!({"metadata": {"resourceVersion": base.to_string()}, "status": step.status()}),
    };
    let (code, response) = match &step.kind {
        Kind::Refused(code, message, _) => (*code, failure(*code, message)),
        Kind::Lost => (504, failure(504, "Timeout: request did not complete within the requested timeout")),
        Kind::Create => (201, stored.clone()),
        Kind::Status | Kind::Main => (200, stored.clone()),
    };
    // An apply is a PATCH. Its body names the kind of the object.
    let verb = if step.verb == "apply" { "patch" } else { &step.verb };
    let mut answer = json!({"metadata": {}, "code": code});
    if let Kind::Refused(_, message, _) = &step.kind {
        answer["message"] = json!(message);
    }
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
        "auditID": format!("00000000-0000-4000-8000-{at:012}"), "stage": "ResponseComplete",
        "requestURI": format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}{tail}"),
        "verb": verb, "user": {"username": step.by.0}, "userAgent": step.by.1,
        "objectRef": reference, "responseStatus": answer,
        "requestObject": request, "responseObject": response,
        "requestReceivedTimestamp": time::precise(step.when.0), "stageTimestamp": time::precise(step.when.1),
    })
}
