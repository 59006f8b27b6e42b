//! The Job controller has one cache for all its Jobs. A decision about one Job shows how far the cache has come, so that a
//! later sync of another Job cannot rest on less.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_tests::traces::{broken, validated_lines};
use serde_json::{Value, json};

const CONTROLLER: [&str; 2] = [
    "system:kube-controller-manager",
    "kube-controller-manager/v1.36.0/system:serviceaccount:kube-system:job-controller",
];
const KUBELET: [&str; 2] = ["system:node:n", "kubelet/v1.36.0"];
const USER: [&str; 2] = ["admin", "kubectl/v1.36.0"];

/// An audit log under construction.
struct Log {
    lines: Vec<Value>,
    version: u64,
    now: Timestamp,
    managed_by: Option<&'static str>,
    controller: [&'static str; 2],
}

impl Log {
    fn new() -> Log {
        let now = "2026-11-28T00:00:00.5Z".parse().unwrap();
        Log { lines: Vec::new(), version: 100, now, managed_by: None, controller: CONTROLLER }
    }

    fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn second(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Adds a request that takes a millisecond, and changes the object.
    fn request(
        &mut self,
        by: [&str; 2],
        verb: &str,
        (resource, sub): (&str, Option<&str>),
        object: &mut Value,
    ) {
        let asked = object.clone();
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let format = "%Y-%m-%dT%H:%M:%S.%6fZ";
        let received = self.now.strftime(format).to_string();
        self.now += SignedDuration::from_millis(2);
        let group = if resource == "jobs" { "batch" } else { "" };
        let metadata = &object["metadata"];
        self.lines.push(json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
            "auditID": format!("id-{}", self.version), "stage": "ResponseComplete",
            "requestURI": format!("/apis/{group}/v1/namespaces/ns/{resource}"), "verb": verb,
            "user": { "username": by[0] }, "userAgent": by[1],
            "objectRef": { "resource": resource, "namespace": "ns", "name": metadata["name"], "uid": metadata["uid"],
                "apiGroup": group, "apiVersion": "v1", "subresource": sub },
            "responseStatus": { "code": if verb == "create" { 201 } else { 200 } },
            "requestObject": asked, "responseObject": object,
            "requestReceivedTimestamp": received, "stageTimestamp": self.now.strftime(format).to_string(),
        }));
    }

    fn job(&mut self, name: &str) -> Value {
        let uid = format!("0000000{name}-0000-4000-8000-000000000000");
        let labels = json!({ "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name,
            "controller-uid": uid, "job-name": name });
        let mut job = json!({
            "kind": "Job", "apiVersion": "batch/v1",
            "metadata": { "name": name, "namespace": "ns", "uid": uid, "generation": 1,
                "creationTimestamp": self.second(), "labels": labels },
            "spec": { "parallelism": 2, "completions": 4, "backoffLimit": 6, "completionMode": "NonIndexed",
                "suspend": false, "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed", "managedBy": self.managed_by,
                "selector": { "matchLabels": { "batch.kubernetes.io/controller-uid": uid } },
                "template": { "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Never" } } },
            "status": {},
        });
        self.request(USER, "create", ("jobs", None), &mut job);
        job
    }

    /// A creation of a pod by the controller.
    fn pod(&mut self, job: &Value, number: u8) -> Value {
        let (name, uid) = (job["metadata"]["name"].as_str().unwrap(), &job["metadata"]["uid"]);
        let mut pod = json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": { "name": format!("{name}-{number}"), "generateName": format!("{name}-"), "namespace": "ns",
                "uid": format!("0000000{name}-0000-4000-9000-00000000000{number}"),
                "creationTimestamp": self.second(), "labels": job["metadata"]["labels"],
                "finalizers": ["batch.kubernetes.io/job-tracking"],
                "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid,
                    "controller": true, "blockOwnerDeletion": true }] },
            "spec": job["spec"]["template"]["spec"], "status": { "phase": "Pending" },
        });
        self.request(self.controller, "create", ("pods", None), &mut pod);
        pod
    }

    /// The kubelet reports a pod as ready, and the controller the number of such pods.
    fn becomes_ready(&mut self, job: &mut Value, pod: &mut Value, ready: u8) {
        pod["status"] = json!({ "phase": "Running", "startTime": self.second(),
            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": self.second() }] });
        self.request(KUBELET, "patch", ("pods", Some("status")), pod);
        self.wait(1);
        self.status(job, (2, ready));
    }

    fn status(&mut self, job: &mut Value, (active, ready): (u8, u8)) {
        let started = job["status"]["startTime"].as_str().map_or_else(|| self.second(), str::to_owned);
        job["status"] = json!({ "active": active, "ready": ready, "terminating": 0, "startTime": started,
            "uncountedTerminatedPods": {} });
        self.request(self.controller, "update", ("jobs", Some("status")), job);
    }

    /// A whole first sync of a Job.
    fn serve(&mut self, job: &mut Value) -> [Value; 2] {
        let pods = [self.pod(job, 1), self.pod(job, 2)];
        self.status(job, (2, 0));
        pods
    }

    /// A user's change of a field of the spec.
    fn edit(&mut self, job: &mut Value, field: &str, value: Value) {
        job["spec"][field] = value;
        job["metadata"]["generation"] = json!(job["metadata"]["generation"].as_u64().unwrap() + 1);
        self.request(USER, "update", ("jobs", None), job);
    }

    fn verdict(&self) -> Summary {
        validated_lines(&self.lines)
    }
}

/// Job `a` is suspended after its first sync with one of two pods. Job `b` is handled after the suspension, or before it.
fn suspended(log: &mut Log, handles_another: Option<bool>) -> Value {
    let mut a = log.job("a");
    log.wait(1);
    log.pod(&a, 1);
    log.status(&mut a, (1, 0));
    log.wait(1);
    if handles_another == Some(false) {
        let mut b = log.job("b");
        log.serve(&mut b);
        log.wait(2);
    }
    log.edit(&mut a, "suspend", json!(true));
    log.wait(2);
    if handles_another == Some(true) {
        let mut b = log.job("b");
        log.serve(&mut b);
    }
    a
}

#[test]
fn a_sync_that_began_after_another_one_knows_what_that_one_knew() {
    for (handles_another, seconds, expected) in [
        // Nothing shows that the cache has got the suspension.
        (None, 30, Outcome::Conforms),
        (Some(false), 30, Outcome::Conforms),
        // The other Job is newer than the suspension, but the sync may have begun before.
        (Some(true), 2, Outcome::Conforms),
        (Some(true), 30, Outcome::Violates),
    ] {
        let mut log = Log::new();
        let a = suspended(&mut log, handles_another);
        log.wait(seconds);
        log.pod(&a, 2);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{handles_another:?} {seconds} s: {:?}", broken(&found));
        if expected == Outcome::Violates {
            assert!(broken(&found)[0].contains("SU-01"), "{:?}", broken(&found));
        }
    }
}

/// The client of a sync may be told to wait, and send its request again long after the sync has read the cache.
#[test]
fn a_sync_that_was_told_to_wait_may_have_read_the_cache_before() {
    for (code, expected) in [(429, Outcome::Conforms), (503, Outcome::Conforms), (403, Outcome::Violates)] {
        let mut log = Log::new();
        let a = suspended(&mut log, Some(true));
        log.wait(1);
        log.pod(&a, 2);
        let refused = log.lines.last_mut().unwrap();
        refused["responseStatus"]["code"] = json!(code);
        refused["responseObject"] = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "message": "try again" });
        log.wait(20);
        log.pod(&a, 2);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{code}: {:?}", broken(&found));
    }
}

/// The times of its own status writes show that a sync is younger than the other one, although the controller never rests.
#[test]
fn a_sync_behind_two_status_writes_is_younger_than_both() {
    for (status_writes, expected) in [(0, Outcome::Conforms), (2, Outcome::Violates)] {
        let mut log = Log::new();
        let mut a = log.job("a");
        log.wait(1);
        let mut pods = log.serve(&mut a);
        // The job wants a third pod, but not for long.
        log.edit(&mut a, "parallelism", json!(3));
        log.wait(2);
        log.edit(&mut a, "parallelism", json!(2));
        log.wait(2);
        let mut b = log.job("b");
        log.serve(&mut b);
        log.wait(2);
        for (pod, ready) in pods.iter_mut().zip(1..=status_writes) {
            log.becomes_ready(&mut a, pod, ready);
            log.wait(2);
        }
        log.pod(&a, 3);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{status_writes}: {:?}", broken(&found));
    }
}

/// Nobody knows how many processes another manager has.
#[test]
fn other_managers_may_share_their_jobs_among_processes() {
    let mut log = Log::new();
    log.managed_by = Some("example.com/manager");
    log.controller = ["example", "manager/v1"];
    let a = suspended(&mut log, Some(true));
    log.wait(30);
    log.pod(&a, 2);
    let found = log.verdict();
    assert_ne!(found.outcome(), Outcome::Violates, "{:?}", broken(&found));
}

/// A cache that no longer contains a Job is no reason to create its pods.
#[test]
fn a_pod_of_a_job_that_the_controller_knows_to_be_gone_is_told() {
    for (handles_another, expected) in [(false, Outcome::Conforms), (true, Outcome::Inconclusive)] {
        let mut log = Log::new();
        let a = log.job("a");
        log.wait(1);
        let mut status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success",
            "metadata": { "name": "a", "uid": a["metadata"]["uid"] },
            "details": { "name": "a", "group": "batch", "kind": "jobs", "uid": a["metadata"]["uid"] } });
        log.request(USER, "delete", ("jobs", None), &mut status);
        let line = log.lines.last_mut().unwrap();
        line["responseObject"]["metadata"] = json!({});
        line["requestObject"] =
            json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        log.wait(3);
        if handles_another {
            let mut b = log.job("b");
            log.serve(&mut b);
        }
        log.wait(30);
        log.pod(&a, 1);
        let found = log.verdict();
        assert_eq!(found.outcome(), expected, "{:?} {:?}", broken(&found), found.doubts);
    }
}
