//! The native trace (`--trace FILE`, `docs/reference/trace-format.md`): all reads and writes of Jobs and Pods by this
//! process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use http::{Method, Uri};
use jiff::Timestamp;
use jobcheck_traces::{
    Actor, Answer, Body, Header, Interval, Level, Mark, MarkKind, Object, Observed, Redactor, Request,
    Resource, Subresource, VERSION, Verb, WatchKind, Watched, Writer, files,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::error;

use super::client::user_agent;
use super::reflector::Version;
use super::store::ObjectKey;

/// Writes the trace of a process. Each record is in the file when the method returns, so that a kill loses none.
#[derive(Debug)]
pub struct Tracer {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// None after a failed write, because later records would form a trace with gaps.
    writer: Option<Writer<Lines>>,
    user: String,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The controller that sent it.
    pub controller: &'a str,
    /// The HTTP method.
    pub method: &'a Method,
    /// The path and the query.
    pub uri: &'a Uri,
    /// The time at which it was sent.
    pub received: Timestamp,
    /// The body.
    pub body: &'a [u8],
}

impl Exchange<'_> {
    /// Returns true if the response is a stream of events.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.parameter("watch").is_some_and(|value| value == "true" || value == "1")
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let query = self.uri.query().unwrap_or_default();
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, it)| it)
    }
}

impl Tracer {
    /// Starts a trace. `assume` has the constants and gates of the controller, with the names of `--assume`. A redactor
    /// takes secrets out of it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn create(
        path: &Path,
        assume: BTreeMap<String, String>,
        redactor: Option<Redactor>,
    ) -> io::Result<Tracer> {
        let header = Header {
            version: VERSION,
            kubernetes: None,
            assume,
            producer: Some(format!("jobcheck-controller {}", env!("CARGO_PKG_VERSION"))),
        };
        let lines = Lines { file: files::create(path)?, line: Vec::new(), redactor };
        let mut writer = Writer::new(lines, &header)?;
        let mark = Mark { at: Some(now()), kind: MarkKind::Start };
        writer.write(&Body::Mark(&mark))?;
        Ok(Tracer {
            state: Mutex::new(State { writer: Some(writer), user: "jobcheck-controller".to_owned() }),
        })
    }

    /// Sets the user name of this process at the API server.
    pub fn set_user(&self, user: &str) {
        self.lock().user = user.to_owned();
    }

    /// Records the start of a sync of the Job, and the versions of the caches.
    pub fn sync_begins(&self, actor: &str, job: &ObjectKey, jobs: Version, pods: Version) {
        let at = Some(now());
        let mut state = self.lock();
        for (resource, version) in [(Resource::Jobs, jobs), (Resource::Pods, pods)] {
            let job = Some(job.to_string());
            state.write(&Body::Observed(&Observed { at, actor: actor.to_owned(), job, resource, version }));
        }
    }

    /// Records a request and its response.
    pub fn exchanged(&self, exchange: &Exchange<'_>, code: u16, response: &[u8]) {
        let Some(address) = Address::of(exchange.uri.path()) else { return };
        match Verb::try_from_method(exchange.method, address.name.is_some()) {
            Some(verb) => self.wrote(exchange, &address, verb, code, response),
            None if address.is_whole_list(exchange) && code == 200 => self.listed(&address, response),
            None => {}
        }
    }

    /// Records a request without a response.
    pub fn lost(&self, exchange: &Exchange<'_>) {
        let status =
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504}"#;
        self.exchanged(exchange, 504, status.as_bytes());
    }

    /// Records a line of a watch.
    pub fn watched_line(&self, line: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Event<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        let Ok(event) = serde_json::from_slice::<Event<'_>>(line) else { return };
        let kind = match event.kind {
            "ADDED" => WatchKind::Added,
            "MODIFIED" => WatchKind::Modified,
            "DELETED" => WatchKind::Deleted,
            _ => return,
        };
        self.watched(kind, event.object.get());
    }

    /// Marks that writes may be missing here, for this reason.
    pub fn gap(&self, reason: &str) {
        let kind = MarkKind::Gap { resource: None, reason: reason.to_owned(), gone: Vec::new() };
        self.lock().write(&Body::Mark(&Mark { at: Some(now()), kind }));
    }

    /// Ends the trace.
    pub fn end(&self) {
        self.lock().write(&Body::Mark(&Mark { at: Some(now()), kind: MarkKind::End }));
    }

    fn watched(&self, kind: WatchKind, text: &str) {
        let Ok(object) = Object::new(text) else { return };
        let watched = Watched {
            kind,
            resource: Resource::Jobs,
            namespace: "",
            name: "",
            uid: "",
            version: 0,
            at: Some(now()),
            object,
        };
        self.lock().write(&Body::Watched(watched));
    }

    fn listed(&self, address: &Address<'_>, response: &[u8]) {
        let Ok(list) = serde_json::from_slice::<Value>(response) else { return };
        for item in list["items"].as_array().into_iter().flatten() {
            // The items of a list have no kind and no apiVersion.
            let mut item = item.clone();
            item["kind"] = address.kind().into();
            item["apiVersion"] = address.api_version().into();
            self.watched(WatchKind::Added, &item.to_string());
        }
    }

    fn wrote(&self, exchange: &Exchange<'_>, address: &Address<'_>, verb: Verb, code: u16, response: &[u8]) {
        let response = std::str::from_utf8(response).unwrap_or_default();
        let stored: Value = serde_json::from_str(response).unwrap_or_default();
        let sent = std::str::from_utf8(exchange.body).ok().filter(|text| !text.is_empty());
        let text = |value: &'_ Value| value.as_str().map(str::to_owned);
        let name = address.name.map(str::to_owned).or_else(|| text(&stored["metadata"]["name"]));
        let uid = text(&stored["metadata"]["uid"]);
        let (reason, message) = (text(&stored["reason"]), text(&stored["message"]));
        let failed = code >= 400;
        let options: Value = sent.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let propagation = text(&options["propagationPolicy"]).filter(|_| verb == Verb::Delete);
        let agent = user_agent(exchange.controller);
        let mut state = self.lock();
        let user = state.user.clone();
        let request = Request {
            id: None,
            interval: Interval { received: exchange.received.as_microsecond(), done: now() },
            level: Level::RequestResponse,
            actor: Actor { user: &user, agent: &agent, address: "" },
            verb,
            resource: address.resource,
            subresource: match address.subresource {
                "" => Subresource::None,
                "status" => Subresource::Status,
                other => Subresource::Other(other),
            },
            namespace: address.namespace,
            name: name.as_deref().unwrap_or_default(),
            uid: uid.as_deref(),
            code,
            reason: reason.as_deref().filter(|_| failed),
            message: message.as_deref().filter(|_| failed),
            dry_run: false,
            patch_type: None,
            propagation_policy: propagation.as_deref(),
            version: None,
            request: sent.and_then(|text| Object::new(text).ok()),
            answer: Answer::Absent,
            response: Object::new(response).ok(),
        };
        state.write(&Body::Request(request));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, body: &Body<'_>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(body) {
            error!(%error, "cannot write the trace; it ends here");
            self.writer = None;
        }
    }
}

/// A writer of whole lines: each is in the file once it ends.
#[derive(Debug)]
struct Lines {
    file: File,
    line: Vec<u8>,
    /// Takes secrets out of each line.
    redactor: Option<Redactor>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if self.line.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match &self.redactor {
            Some(redactor) if !line.is_empty() => {
                let text = str::from_utf8(&line).map_err(io::Error::other)?;
                let redacted = redactor.line(text).map_err(io::Error::other)?;
                self.file.write_all((redacted + "\n").as_bytes())
            }
            _ => self.file.write_all(&line),
        }
    }
}

/// The Jobs or Pods in the path of a request.
#[derive(Debug, PartialEq, Eq)]
struct Address<'a> {
    resource: Resource,
    namespace: &'a str,
    name: Option<&'a str>,
    subresource: &'a str,
}

impl<'a> Address<'a> {
    fn of(path: &'a str) -> Option<Address<'a>> {
        let (rest, word, resource) = path
            .strip_prefix("/apis/batch/v1/")
            .map(|rest| (rest, "jobs", Resource::Jobs))
            .or_else(|| path.strip_prefix("/api/v1/").map(|rest| (rest, "pods", Resource::Pods)))?;
        let (namespace, rest) = match rest.strip_prefix("namespaces/") {
            Some(rest) => rest.split_once('/')?,
            None => ("", rest),
        };
        let mut parts = rest.split('/');
        if parts.next() != Some(word) {
            return None;
        }
        let name = parts.next().filter(|name| !name.is_empty());
        Some(Address { resource, namespace, name, subresource: parts.next().unwrap_or_default() })
    }

    /// Returns true for the LIST of a reflector, and false for the LIST of one sync.
    fn is_whole_list(&self, exchange: &Exchange<'_>) -> bool {
        self.name.is_none() && exchange.parameter("labelSelector").is_none()
    }

    fn kind(&self) -> &'static str {
        match self.resource {
            Resource::Jobs => "Job",
            Resource::Pods => "Pod",
        }
    }

    fn api_version(&self) -> &'static str {
        match self.resource {
            Resource::Jobs => "batch/v1",
            Resource::Pods => "v1",
        }
    }
}

/// The conversion of an HTTP method to a verb.
trait FromMethod: Sized {
    /// Returns the verb of a write; none for a read.
    fn try_from_method(method: &Method, named: bool) -> Option<Self>;
}

impl FromMethod for Verb {
    fn try_from_method(method: &Method, named: bool) -> Option<Verb> {
        match *method {
            Method::POST => Some(Verb::Create),
            Method::PUT => Some(Verb::Update),
            Method::PATCH => Some(Verb::Patch),
            Method::DELETE if named => Some(Verb::Delete),
            Method::DELETE => Some(Verb::DeleteCollection),
            _ => None,
        }
    }
}

fn now() -> i64 {
    Timestamp::now().as_microsecond()
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Input, Reader};
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_of_jobs_and_pods_are_recognised() {
        let job = Address::of("/apis/batch/v1/namespaces/ns/jobs/sum/status").unwrap();
        assert_eq!(
            (job.resource, job.namespace, job.name, job.subresource),
            (Resource::Jobs, "ns", Some("sum"), "status")
        );
        let pods = Address::of("/api/v1/pods").unwrap();
        assert_eq!((pods.resource, pods.namespace, pods.name), (Resource::Pods, "", None));
        for other in ["/api/v1/namespaces/ns/events", "/apis/batch/v1/cronjobs", "/version"] {
            assert_eq!(Address::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_redacted_trace_has_no_secret() {
        let path = std::env::temp_dir().join(format!("jobcheck-redacted-{}.jsonl", std::process::id()));
        let redactor = Redactor::new(std::hash::RandomState::new());
        let tracer = Tracer::create(&path, BTreeMap::new(), Some(redactor)).unwrap();
        let container =
            json!({"name": "main", "args": ["SECRET"], "env": [{"name": "A", "value": "SECRET"}]});
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [container]},
            "metadata": {"namespace": "ns", "name": "p", "uid": "u", "resourceVersion": "8"}});
        tracer.watched_line(json!({"type": "ADDED", "object": pod}).to_string().as_bytes());
        let text = pod.to_string();
        let (method, uri) = (&Method::POST, &Uri::from_static("/api/v1/namespaces/ns/pods"));
        let received = Timestamp::now();
        let exchange =
            Exchange { controller: "job-controller", method, uri, received, body: text.as_bytes() };
        tracer.exchanged(&exchange, 201, text.as_bytes());
        tracer.end();
        let written = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(!written.contains("SECRET") && written.contains("redacted-"), "{written}");
        assert_eq!(written.lines().count(), 5);
    }

    /// The reader of the trace format reads the written records.
    #[test]
    fn a_trace_round_trips() {
        let path = std::env::temp_dir().join(format!("jobcheck-trace-{}.jsonl", std::process::id()));
        let tracer = Tracer::create(&path, BTreeMap::new(), None).unwrap();
        tracer.set_user("runner");
        let pod = json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"namespace": "ns", "name": "p", "uid": "u", "resourceVersion": "8"}});
        let list = json!({"kind": "PodList", "items": [{"metadata": pod["metadata"]}]});
        let exchange = |method, path: &'static str, body| {
            let uri = Box::leak(Box::new(Uri::from_static(path)));
            Exchange { controller: "job-controller", method, uri, received: Timestamp::now(), body }
        };
        tracer.exchanged(
            &exchange(&Method::GET, "/api/v1/pods?limit=500", b""),
            200,
            list.to_string().as_bytes(),
        );
        tracer.watched_line(format!("{}\n", json!({"type": "MODIFIED", "object": pod})).as_bytes());
        tracer.watched_line(b"{\"type\":\"BOOKMARK\",\"object\":{}}\n");
        tracer.sync_begins("job-controller", &ObjectKey::new("ns", "sum"), 7, 8);
        let patch = exchange(&Method::PATCH, "/api/v1/namespaces/ns/pods/p", b"{}");
        tracer.exchanged(&patch, 200, pod.to_string().as_bytes());
        tracer.lost(&exchange(&Method::DELETE, "/api/v1/namespaces/ns/pods/p", b"{\"preconditions\":{}}"));
        tracer.end();
        let text = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut reader = Reader::open(&[Input::Bytes("trace".to_owned(), text)]);
        let mut seen = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            seen.push(match record.body {
                Body::Request(it) => format!("{} {} {} {}", it.actor.user, it.verb.name(), it.name, it.code),
                Body::Watched(it) => format!("{} {} {}", it.kind.name(), it.name, it.version),
                Body::Observed(it) => format!("observed {} {}", it.resource.name(), it.version),
                Body::Mark(it) => format!("{:?}", it.kind),
                Body::Header(it) => {
                    it.producer.clone().unwrap_or_default().split(' ').next().unwrap().to_owned()
                }
                other => format!("{other:?}"),
            });
        }
        assert_eq!(
            seen,
            [
                "jobcheck-controller",
                "Start",
                "ADDED p 8",
                "MODIFIED p 8",
                "observed jobs 7",
                "observed pods 8",
                "runner patch p 200",
                "runner delete p 504",
                "End"
            ]
        );
    }
}
