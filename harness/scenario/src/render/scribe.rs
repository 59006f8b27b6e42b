//! Writes records: who asks, when, and which version the answer has.

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

/// The first resourceVersion of a trace.
const FIRST_VERSION: u64 = 100;
/// From one request to the next within a second of the model, in microseconds.
const PAUSE: i64 = 1000;
/// How long a request takes, in microseconds.
const TAKES: i64 = 500;

/// Who makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    JobController,
    TtlController,
    GarbageCollector,
    NamespaceController,
    PodGc,
    Scheduler,
    Kubelet,
    User,
}

/// The name that marks call the Job controller by.
const JOB_CONTROLLER: &str = "job-controller";

impl Who {
    fn actor(self) -> Actor<'static> {
        let (user, agent) = match self {
            Who::JobController => (
                "system:serviceaccount:kube-system:job-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/job-controller",
            ),
            Who::TtlController => (
                "system:serviceaccount:kube-system:ttl-after-finished-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/ttl-after-finished-controller",
            ),
            Who::GarbageCollector => (
                "system:serviceaccount:kube-system:generic-garbage-collector",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/generic-garbage-collector",
            ),
            Who::NamespaceController => (
                "system:serviceaccount:kube-system:namespace-controller",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/namespace-controller",
            ),
            Who::PodGc => (
                "system:serviceaccount:kube-system:pod-garbage-collector",
                "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/pod-garbage-collector",
            ),
            Who::Scheduler => {
                ("system:kube-scheduler", "kube-scheduler/v1.36.0 (linux/amd64) kubernetes/scheduler")
            }
            Who::Kubelet => ("system:node:node-1", "kubelet/v1.36.0 (linux/amd64) kubernetes"),
            Who::User => ("admin", "kubectl/v1.36.0 (linux/amd64) kubernetes"),
        };
        Actor { user, agent }
    }
}

/// A request, and what became of it.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub who: Who,
    pub verb: Verb,
    pub resource: Resource,
    pub is_status: bool,
    pub namespace: &'a str,
    /// Empty where the server generates it.
    pub name: String,
    pub uid: Option<String>,
    pub propagation: Option<&'static str>,
    pub patch_type: Option<&'static str>,
    pub body: Option<Value>,
    /// When it was received, where that is not now.
    pub received: Option<i64>,
    pub answer: Told,
}

/// What the server answered.
#[derive(Debug)]
pub(super) enum Told {
    /// 200, with the object.
    Done(Value),
    /// 201, with the object.
    Created(Value),
    /// A `Status` that says that the object is gone.
    Gone,
    /// A refusal: code, reason, message.
    Refused(u16, &'static str, String),
}

/// The writer of one trace.
pub(super) struct Scribe {
    out: Writer<Vec<u8>>,
    now: i64,
    version: u64,
}

impl Scribe {
    pub(super) fn new(scope: &Scope, expected: Option<&Expected>) -> io::Result<Scribe> {
        let subject = Subject { rules: scope.rules, constants: scope.constants, gates: scope.gates_after(0) };
        let header = Header {
            kubernetes: Some(format!("1.{}", scope.rules.minor)),
            assume: subject.assumptions(),
            producer: Some(format!("jobcheck {}, scope {}", env!("CARGO_PKG_VERSION"), scope.name)),
            ..Header::new()
        };
        let mut out = Writer::new(Vec::new(), &header)?;
        if let Some(expected) = expected {
            out.write(&Body::Expected(expected))?;
        }
        let mut scribe = Scribe { out, now: EPOCH * 1_000_000, version: FIRST_VERSION };
        scribe.mark(MarkKind::Start)?;
        Ok(scribe)
    }

    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.next_moment();
        self.mark(MarkKind::End)?;
        self.out.finish()
    }

    /// A second of the model begins.
    pub(super) fn tick(&mut self, now: Time) {
        self.now = self.now.max(now.plus(EPOCH).0 * 1_000_000);
    }

    /// Time passes between two steps.
    pub(super) fn next_moment(&mut self) {
        self.now += PAUSE;
    }

    /// The moment, in microseconds since the Unix epoch.
    pub(super) fn moment(&self) -> i64 {
        self.now
    }

    /// The resourceVersion of the next write.
    pub(super) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub(super) fn mark(&mut self, kind: MarkKind) -> io::Result<()> {
        self.out.write(&Body::Mark(&Mark { at: Some(self.now), kind }))
    }

    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.fault(Who::JobController, FaultKind::Crash, "the process dies and is started again")?;
        self.mark(MarkKind::Restart { actor: JOB_CONTROLLER.to_owned(), assume: BTreeMap::new() })
    }

    /// A process with other gates takes over.
    pub(super) fn roll_out(&mut self, before: Gates, after: Gates) -> io::Result<()> {
        let (were_off, are_off) = (before.off(), after.off());
        let off = are_off.iter().map(|gate| (*gate, false));
        let on = were_off.iter().filter(|gate| !are_off.contains(gate)).map(|gate| (*gate, true));
        let assume = off.chain(on).map(|(gate, on)| (gate.to_owned(), on.to_string())).collect();
        self.mark(MarkKind::Restart { actor: JOB_CONTROLLER.to_owned(), assume })
    }

    /// Something happens to a request of this controller, or to its process.
    pub(super) fn fault(&mut self, who: Who, kind: FaultKind, detail: &str) -> io::Result<()> {
        self.write_fault(who, kind, None, Some(detail.to_owned()))
    }

    /// The watch of a resource ends with 410 for the Job controller.
    pub(super) fn relist(&mut self, resource: Resource) -> io::Result<()> {
        self.write_fault(Who::JobController, FaultKind::Relist, Some(resource), None)
    }

    fn write_fault(
        &mut self,
        who: Who,
        kind: FaultKind,
        resource: Option<Resource>,
        detail: Option<String>,
    ) -> io::Result<()> {
        let actor = who.actor().user.rsplit(':').next().map(str::to_owned);
        self.out.write(&Body::Fault(&Fault { at: Some(self.now), kind, actor, resource, detail }))
    }

    /// A sync of a Job, `NAMESPACE/NAME`, begins: how far a cache of the Job controller has come.
    pub(super) fn observed(&mut self, job: &str, resource: Resource, version: u64) -> io::Result<()> {
        let (actor, job) = (JOB_CONTROLLER.to_owned(), Some(job.to_owned()));
        self.out.write(&Body::Observed(&Observed { at: Some(self.now), actor, job, resource, version }))
    }

    pub(super) fn request(&mut self, asked: &Asked<'_>) -> io::Result<()> {
        let (code, response, reason, message) = match &asked.answer {
            Told::Done(object) => (200, object.to_string(), None, None),
            Told::Created(object) => (201, object.to_string(), None, None),
            Told::Gone => (200, status("Success", None, None, 200), None, None),
            Told::Refused(code, reason, message) => {
                let text = status("Failure", Some(reason), Some(message), *code);
                (*code, text, Some(*reason), Some(message.as_str()))
            }
        };
        let body = asked.body.as_ref().map(ToString::to_string);
        let request = Request {
            id: None,
            interval: Interval { received: asked.received.unwrap_or(self.now), done: self.now + TAKES },
            level: Level::RequestResponse,
            actor: asked.who.actor(),
            verb: asked.verb,
            resource: asked.resource,
            subresource: if asked.is_status { Subresource::Status } else { Subresource::None },
            namespace: asked.namespace,
            name: &asked.name,
            uid: asked.uid.as_deref(),
            code,
            reason,
            message,
            dry_run: false,
            patch_type: asked.patch_type,
            propagation_policy: asked.propagation,
            version: None,
            request: body.as_deref().map(Object::new).transpose()?,
            answer: Answer::Absent,
            response: Some(Object::new(&response)?),
        };
        self.out.write(&Body::Request(request))
    }
}

/// A `Status` of the API.
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
