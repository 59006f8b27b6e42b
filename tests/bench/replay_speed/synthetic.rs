//! Traces of Jobs that no recording has: very many, or with very many pods.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use jobcheck_bench::Result;
use serde_json::{Value, json};

const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";
const KUBELET: &str = "system:node:a";
const ADMIN: &str = "admin";

/// Writes a trace of Jobs with one pod each. All finish, and their pods are deleted.
pub fn finished_jobs(out: impl Write + 'static, count: usize) -> Result<()> {
    let mut trace = Trace::begin(out)?;
    for number in 0..count {
        let mut job = Job::create(&mut trace, number, 1)?;
        job.starts(&mut trace)?;
        let mut pod = job.pod(&mut trace, 0)?;
        job.status(&mut trace, json!({"active": 1}))?;
        pod.moves(&mut trace, "Succeeded")?;
        let end = |kind: &str, time: String| {
            json!({"type": kind, "status": "True", "reason": "CompletionsReached",
                "message": "Reached expected number of succeeded pods", "lastTransitionTime": time})
        };
        let decided = end("SuccessCriteriaMet", trace.stamp());
        job.status(
            &mut trace,
            json!({"active": 0, "uncountedTerminatedPods": {"succeeded": [pod.uid]},
                "conditions": [decided]}),
        )?;
        pod.is_let_go(&mut trace)?;
        let (now, complete) = (trace.stamp(), end("Complete", trace.stamp()));
        job.status(
            &mut trace,
            json!({"uncountedTerminatedPods": {}, "succeeded": 1, "completionTime": now,
                "conditions": [decided, complete]}),
        )?;
        pod.is_deleted(&mut trace)?;
    }
    trace.finish()
}

/// Writes a trace of one Job whose pods start and succeed, while its controller sends nothing. Then it records 500 pods,
/// of which one does not exist. Each state of the caches since the start may be the one that it has read.
pub fn wrong_write(path: &Path, pods: usize) -> Result<()> {
    let mut trace = Trace::begin(File::create(path)?)?;
    let mut job = Job::create(&mut trace, 0, pods)?;
    job.starts(&mut trace)?;
    let (mut all, mut batch) = (Vec::new(), 1);
    while all.len() < pods {
        for _ in 0..batch.min(500).min(pods - all.len()) {
            all.push(job.pod(&mut trace, all.len())?);
        }
        batch *= 2;
        job.status(&mut trace, json!({"active": all.len()}))?;
    }
    for phase in ["Running", "Succeeded"] {
        all.iter_mut().try_for_each(|pod| pod.moves(&mut trace, phase))?;
    }
    let mut recorded: Vec<String> = all.iter().take(499).map(|pod| pod.uid.clone()).collect();
    recorded.push(uid(9, pods));
    let rest = pods * 3 / 5;
    job.status(
        &mut trace,
        json!({"active": rest, "ready": rest, "uncountedTerminatedPods": {"succeeded": recorded}}),
    )?;
    trace.finish()
}

struct Trace {
    out: BufWriter<Box<dyn Write>>,
    version: u64,
    requests: u64,
}

impl Trace {
    fn begin(out: impl Write + 'static) -> Result<Trace> {
        let mut out = BufWriter::new(Box::new(out) as Box<dyn Write>);
        writeln!(out, r#"{{"format":"jobcheck.dev/trace","version":"1.0","kubernetes":"1.36"}}"#)?;
        Ok(Trace { out, version: 100, requests: 0 })
    }

    fn finish(mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// The time of the next request, one millisecond after the last one.
    fn time(&self) -> String {
        let seconds = self.requests / 1000 % 86_400;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let day = 21 + self.requests / 86_400_000;
        format!("2026-11-{day}T{hours:02}:{minutes:02}:{:02}", seconds % 60)
    }

    fn stamp(&self) -> String {
        format!("{}Z", self.time())
    }

    /// A request about an object, as it is sent and as it is answered.
    fn write(&mut self, user: &str, verb: &str, sent: &Value, answer: &Value) -> Result<()> {
        self.requests += 1;
        let time = format!("{}.{:03}", self.time(), self.requests % 1000);
        let metadata = &answer["metadata"];
        let is_job = answer["kind"] == "Job";
        let is_status = user == KUBELET || (is_job && verb == "update");
        let line = json!({"request": {
            "received": format!("{time}000Z"), "done": format!("{time}500Z"), "level": "RequestResponse",
            "user": user, "verb": verb, "resource": if is_job { "jobs" } else { "pods" },
            "subresource": if is_status { "status" } else { "" },
            "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"],
            "code": if verb == "create" { 201 } else { 200 }, "request": sent, "response": answer,
        }});
        Ok(writeln!(self.out, "{line}")?)
    }
}

/// A UID of a kind of object.
fn uid(kind: u8, number: usize) -> String {
    format!("00000000-0000-4000-{kind}000-{number:012x}")
}

struct Job {
    number: usize,
    object: Value,
}

impl Job {
    fn create(trace: &mut Trace, number: usize, pods: usize) -> Result<Job> {
        let (name, uid) = (format!("job-{number}"), uid(8, number));
        let labels = json!({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name,
            "controller-uid": uid, "job-name": name});
        let template = json!({"metadata": {"labels": labels}, "spec": {
            "containers": [{"name": "main", "image": "example.com/image", "command": ["work"],
                "imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File", "resources": {}}],
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "securityContext": {}, "schedulerName": "default-scheduler"}});
        let object = json!({"kind": "Job", "apiVersion": "batch/v1",
            "metadata": {"name": name, "namespace": format!("ns-{}", number % 50), "uid": uid,
                "resourceVersion": trace.next_version(), "generation": 1,
                "creationTimestamp": trace.stamp(), "labels": labels},
            "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 6,
                "completionMode": "NonIndexed", "podReplacementPolicy": "TerminatingOrFailed",
                "manualSelector": false, "suspend": false, "template": template,
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}},
            "status": {}});
        trace.write(ADMIN, "create", &object, &object)?;
        Ok(Job { number, object })
    }

    /// The first status write.
    fn starts(&mut self, trace: &mut Trace) -> Result<()> {
        let start = trace.stamp();
        let fields = json!({"startTime": start, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}});
        self.status(trace, fields)
    }

    /// A status write that changes these fields. A number 0 of active pods is left out, as Kubernetes does.
    fn status(&mut self, trace: &mut Trace, fields: Value) -> Result<()> {
        let mut sent = self.object.clone();
        for (field, value) in fields.as_object().into_iter().flatten() {
            sent["status"][field] = value.clone();
        }
        if sent["status"]["active"] == 0 {
            sent["status"].as_object_mut().map(|status| status.remove("active"));
        }
        self.object = sent.clone();
        self.object["metadata"]["resourceVersion"] = trace.next_version().into();
        trace.write(CONTROLLER, "update", &sent, &self.object)
    }

    fn pod(&self, trace: &mut Trace, number: usize) -> Result<Pod> {
        let metadata = &self.object["metadata"];
        let uid = uid(9, self.number * 100_000 + number);
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"],
            "uid": metadata["uid"], "controller": true, "blockOwnerDeletion": true});
        let prefix = format!("job-{}-", self.number);
        let asked = json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"generateName": prefix, "labels": metadata["labels"], "finalizers": [FINALIZER],
                "ownerReferences": [owner]},
            "spec": self.object["spec"]["template"]["spec"]});
        let mut object = asked.clone();
        object["metadata"]["name"] = format!("{prefix}{number:05}").into();
        object["metadata"]["namespace"] = metadata["namespace"].clone();
        object["metadata"]["uid"] = uid.clone().into();
        object["metadata"]["resourceVersion"] = trace.next_version().into();
        object["metadata"]["creationTimestamp"] = trace.stamp().into();
        object["status"] = json!({"phase": "Pending"});
        trace.write(CONTROLLER, "create", &asked, &object)?;
        Ok(Pod { uid, object })
    }
}

struct Pod {
    uid: String,
    object: Value,
}

impl Pod {
    fn moves(&mut self, trace: &mut Trace, phase: &str) -> Result<()> {
        let ready = if phase == "Running" { "True" } else { "False" };
        self.object["spec"]["nodeName"] = "a".into();
        self.object["status"] = json!({"phase": phase,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": trace.stamp()}]});
        let sent = json!({"status": self.object["status"]});
        self.change(trace, KUBELET, "patch", &sent)
    }

    fn is_let_go(&mut self, trace: &mut Trace) -> Result<()> {
        self.object["metadata"].as_object_mut().map(|metadata| metadata.remove("finalizers"));
        let sent = json!({"metadata": {"uid": self.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
        self.change(trace, CONTROLLER, "patch", &sent)
    }

    fn is_deleted(&mut self, trace: &mut Trace) -> Result<()> {
        self.object["metadata"]["deletionTimestamp"] = trace.stamp().into();
        self.object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        trace.write(ADMIN, "delete", &json!({"kind": "DeleteOptions", "apiVersion": "v1"}), &self.object)
    }

    fn change(&mut self, trace: &mut Trace, user: &str, verb: &str, sent: &Value) -> Result<()> {
        self.object["metadata"]["resourceVersion"] = trace.next_version().into();
        trace.write(user, verb, sent, &self.object)
    }
}
