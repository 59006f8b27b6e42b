//! The trace writer: actors, times, and versions of record.

use std::collections::BTreeMap;
use std::io;

use jobcheck_explorer::scope::Scope;
use jobcheck_spec::Time;
use jobcheck_spec::gates::Gates;
use jobcheck_traces::{
    Actor, Answer, Body, Expected, Fault, FaultKind, Header, Interval, Level, Mark, MarkKind, Object,
    Observed, Request, Resource, Subresource, Verb, Writer,
};
use serde_json::{Value, json};

use super::EPOCH;
use jobcheck_judge::replay::Subject;

/// The first resource version of a trace.
const FIRST_VERSION: u64 = 100;
/// The time between two requests within one second of the model, in microseconds.
const PAUSE: i64 = 1000;
/// The duration of a request in microseconds.
const TAKES: i64 = 500;

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    JobController,
    TtlController,
    GarbageCollector,
    NamespaceController,
    PodGc,
    Scheduler,
    Kubelet,
    User,
    /// A manager that writes status alone, on its own cluster.
    Mirror,
    /// The same on the clusters of the copies.
    MirrorOfWorker,
    /// Sets a condition of its own on Jobs of others.
    Checker,
    /// A user of a worker.
    UserOfWorker,
}

/// The name of the Job controller in marks.
const JOB_CONTROLLER: &str = "job-controller";

impl Sender {
    fn actor(self) -> Actor<'static> {
        let (user, agent) = match self {
            Sender::JobController => (
                "system:serviceaccount:kube-system:job-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/job-controller",
            ),
            Sender::TtlController => (
                "system:serviceaccount:kube-system:ttl-after-finished-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/ttl-after-finished-controller",
            ),
            Sender::GarbageCollector => (
                "system:serviceaccount:kube-system:generic-garbage-collector",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/generic-garbage-collector",
            ),
            Sender::NamespaceController => (
                "system:serviceaccount:kube-system:namespace-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/namespace-controller",
            ),
            Sender::PodGc => (
                "system:serviceaccount:kube-system:pod-garbage-collector",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/pod-garbage-collector",
            ),
            Sender::Scheduler => {
                ("system:kube-scheduler", "kube-scheduler/v1.36.0 (linux/amd64) kubernetes/scheduler")
            }
            Sender::Kubelet => ("system:node:node-1", "kubelet/v1.36.0 (linux/amd64) kubernetes"),
            Sender::User => ("admin", "kubectl/v1.36.0 (linux/amd64) kubernetes"),
            Sender::Mirror => ("system:serviceaccount:mirror-system:mirror", "mirror/v0.1.0"),
            Sender::MirrorOfWorker => {
                ("system:serviceaccount:mirror-system:mirror-of-a-manager-cluster", "mirror/v0.1.0")
            }
            Sender::Checker => ("system:serviceaccount:checker-system:checker", "checker/v0.1.0"),
            Sender::UserOfWorker => ("admin-of-the-worker", "kubectl/v1.36.0 (linux/amd64) kubernetes"),
        };
        Actor { user, agent, address: "" }
    }
}

/// A request and its response.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub sender: Sender,
    pub verb: Verb,
    pub resource: Resource,
    pub is_status: bool,
    pub namespace: &'a str,
    /// The name of the object. Empty if the server generates it.
    pub name: String,
    pub uid: Option<String>,
    pub propagation: Option<&'static str>,
    pub patch_type: Option<&'static str>,
    pub body: Option<Value>,
    /// The time at which it was received. `None`: now.
    pub received: Option<i64>,
    pub response: Response,
}

/// The response of the server.
#[derive(Debug)]
pub(super) enum Response {
    /// 200, with the object.
    Done(Value),
    /// 201, with the object.
    Created(Value),
    /// A `Status` of success: the object was removed.
    Gone,
    /// A refusal: code, reason, message.
    Refused(u16, &'static str, String),
}

/// The writer of one trace.
pub(super) struct TraceWriter {
    out: Writer<Vec<u8>>,
    now: i64,
    version: u64,
}

impl TraceWriter {
    pub(super) fn new(scope: &Scope, expected: Option<&Expected>) -> io::Result<TraceWriter> {
        let (rules, constants, gates) = (scope.rules, scope.constants, scope.gates_after(0));
        let subject = Subject { rules, constants, gates, ..Subject::default() };
        TraceWriter::of(subject, scope.name, expected)
    }

    /// Begins the trace of a cluster with this API server and this Job controller.
    pub(super) fn of(subject: Subject, scope: &str, expected: Option<&Expected>) -> io::Result<TraceWriter> {
        let header = Header {
            kubernetes: Some(format!("1.{}", subject.rules.minor)),
            assume: subject.assumptions(),
            producer: Some(format!("jobcheck {}, scope {scope}", env!("CARGO_PKG_VERSION"))),
            ..Header::new()
        };
        let mut out = Writer::new(Vec::new(), &header)?;
        if let Some(expected) = expected {
            out.write(&Body::Expected(expected))?;
        }
        let mut writer = TraceWriter { out, now: EPOCH * 1_000_000, version: FIRST_VERSION };
        writer.mark(MarkKind::Start)?;
        Ok(writer)
    }

    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.next_moment();
        self.mark(MarkKind::End)?;
        self.out.finish()
    }

    /// Begins a second of the model.
    pub(super) fn tick(&mut self, now: Time) {
        self.now = self.now.max(now.plus(EPOCH).0 * 1_000_000);
    }

    /// Advances the time between two steps.
    pub(super) fn next_moment(&mut self) {
        self.now += PAUSE;
    }

    /// Advances the time to that of another cluster, in microseconds since the Unix epoch.
    pub(super) fn catch_up(&mut self, moment: i64) {
        self.now = self.now.max(moment);
    }

    /// Advances the time by these seconds.
    pub(super) fn wait(&mut self, seconds: i64) {
        self.now += seconds * 1_000_000;
    }

    /// The current time, in microseconds since the Unix epoch.
    pub(super) fn moment(&self) -> i64 {
        self.now
    }

    /// Returns the resource version of the next write.
    pub(super) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub(super) fn mark(&mut self, kind: MarkKind) -> io::Result<()> {
        self.out.write(&Body::Mark(&Mark { at: Some(self.now), kind }))
    }

    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.fault(Sender::JobController, FaultKind::Crash, "the process dies and is started again")?;
        self.mark(MarkKind::Restart { actor: JOB_CONTROLLER.to_owned(), assume: BTreeMap::new() })
    }

    /// Writes the mark of a rollout to other gates.
    pub(super) fn roll_out(&mut self, before: Gates, after: Gates) -> io::Result<()> {
        let (were_off, are_off) = (before.off(), after.off());
        let off = are_off.iter().map(|gate| (*gate, false));
        let on = were_off.iter().filter(|gate| !are_off.contains(gate)).map(|gate| (*gate, true));
        let assume = off.chain(on).map(|(gate, on)| (gate.to_owned(), on.to_string())).collect();
        self.mark(MarkKind::Restart { actor: JOB_CONTROLLER.to_owned(), assume })
    }

    /// Writes a fault of a request of this controller, or of its process.
    pub(super) fn fault(&mut self, sender: Sender, kind: FaultKind, detail: &str) -> io::Result<()> {
        self.write_fault(sender, kind, None, Some(detail.to_owned()))
    }

    /// Writes the fault of a watch that ends with 410 for the Job controller.
    pub(super) fn relist(&mut self, resource: Resource) -> io::Result<()> {
        self.write_fault(Sender::JobController, FaultKind::Relist, Some(resource), None)
    }

    fn write_fault(
        &mut self,
        sender: Sender,
        kind: FaultKind,
        resource: Option<Resource>,
        detail: Option<String>,
    ) -> io::Result<()> {
        let actor = sender.actor().user.rsplit(':').next().map(str::to_owned);
        self.out.write(&Body::Fault(&Fault { at: Some(self.now), kind, actor, resource, detail }))
    }

    /// Writes the version of a cache at the beginning of a sync of a Job, `NAMESPACE/NAME`.
    pub(super) fn observed(&mut self, job: &str, resource: Resource, version: u64) -> io::Result<()> {
        let (actor, job) = (JOB_CONTROLLER.to_owned(), Some(job.to_owned()));
        self.out.write(&Body::Observed(&Observed { at: Some(self.now), actor, job, resource, version }))
    }

    pub(super) fn request(&mut self, exchange: &Exchange<'_>) -> io::Result<()> {
        let (code, response, reason, message) = match &exchange.response {
            Response::Done(object) => (200, object.to_string(), None, None),
            Response::Created(object) => (201, object.to_string(), None, None),
            Response::Gone => (200, status("Success", None, None, 200), None, None),
            Response::Refused(code, reason, message) => {
                let text = status("Failure", Some(reason), Some(message), *code);
                (*code, text, Some(*reason), Some(message.as_str()))
            }
        };
        let body = exchange.body.as_ref().map(ToString::to_string);
        let request = Request {
            id: None,
            interval: Interval { received: exchange.received.unwrap_or(self.now), done: self.now + TAKES },
            level: Level::RequestResponse,
            actor: exchange.sender.actor(),
            verb: exchange.verb,
            resource: exchange.resource,
            subresource: if exchange.is_status { Subresource::Status } else { Subresource::None },
            namespace: exchange.namespace,
            name: &exchange.name,
            uid: exchange.uid.as_deref(),
            code,
            reason,
            message,
            dry_run: false,
            patch_type: exchange.patch_type,
            propagation_policy: exchange.propagation,
            version: None,
            request: body.as_deref().map(Object::new).transpose()?,
            answer: Answer::Absent,
            response: Some(Object::new(&response)?),
        };
        self.out.write(&Body::Request(request))
    }
}

/// Returns a `Status` of the API.
fn status(outcome: &str, reason: Option<&str>, message: Option<&str>, code: u16) -> String {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": outcome, "code": code,
    });
    for (key, value) in [("reason", reason), ("message", message)] {
        if let Some(value) = value {
            status[key] = json!(value);
        }
    }
    status.to_string()
}
