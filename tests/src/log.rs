//! Audit logs of small histories, request by request.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::Summary;
use serde_json::{Value, json};

use crate::traces::validated_lines;

/// User and user agent of the built-in controller.
pub const CONTROLLER: [&str; 2] = [
    "system:kube-controller-manager",
    "kube-controller-manager/v1.36.0/system:serviceaccount:kube-system:job-controller",
];
/// User and user agent of a kubelet.
pub const KUBELET: [&str; 2] = ["system:node:n", "kubelet/v1.36.0"];
/// User and user agent of a user.
pub const USER: [&str; 2] = ["admin", "kubectl/v1.36.0"];

/// An audit log under construction.
pub struct Log {
    /// The events.
    pub lines: Vec<Value>,
    /// The last `resourceVersion`.
    pub version: u64,
    /// The time of the next request.
    pub now: Timestamp,
    /// `spec.managedBy` of new Jobs.
    pub managed_by: Option<&'static str>,
    /// User and user agent of the controller.
    pub controller: [&'static str; 2],
}

impl Default for Log {
    fn default() -> Log {
        let now = "2026-11-28T00:00:00.5Z".parse().expect("a time");
        Log { lines: Vec::new(), version: 100, now, managed_by: None, controller: CONTROLLER }
    }
}

impl Log {
    /// Lets time pass.
    pub fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// The time as objects show it.
    #[must_use]
    pub fn second(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Adds a request that takes a millisecond, and changes the object.
    pub fn request(
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

    /// A user's creation of a Job that wants two pods at a time and four successes. The name is a hexadecimal digit.
    pub fn job(&mut self, name: &str) -> Value {
        self.job_with(name, &json!({}))
    }

    /// A user's creation of such a Job with other fields of the spec.
    pub fn job_with(&mut self, name: &str, spec: &Value) -> Value {
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
        for (field, value) in spec.as_object().into_iter().flatten() {
            job["spec"][field] = value.clone();
        }
        self.request(USER, "create", ("jobs", None), &mut job);
        job
    }

    /// A creation of a pod by the controller.
    pub fn pod(&mut self, job: &Value, number: u8) -> Value {
        let (name, uid) = (job["metadata"]["name"].as_str().expect("a name"), &job["metadata"]["uid"]);
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

    /// The kubelet writes the status of a pod.
    pub fn kubelet(&mut self, pod: &mut Value, status: Value) {
        pod["status"] = status;
        self.request(KUBELET, "patch", ("pods", Some("status")), pod);
    }

    /// The kubelet reports a pod as ready, and the controller the number of such pods.
    pub fn becomes_ready(&mut self, job: &mut Value, pod: &mut Value, ready: u8) {
        let condition = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": self.second() }]);
        self.kubelet(pod, json!({ "phase": "Running", "startTime": self.second(), "conditions": condition }));
        self.wait(1);
        self.status(job, (2, ready));
    }

    /// The controller reports pods that are active and ready.
    pub fn status(&mut self, job: &mut Value, (active, ready): (u8, u8)) {
        self.write(job, &json!({ "active": active, "ready": ready }));
    }

    /// The controller writes a status: these fields, and else nothing but the start.
    pub fn write(&mut self, job: &mut Value, fields: &Value) {
        let started = job["status"]["startTime"].as_str().map_or_else(|| self.second(), str::to_owned);
        job["status"] = json!({ "active": 0, "ready": 0, "terminating": 0, "startTime": started,
            "uncountedTerminatedPods": {} });
        for (field, value) in fields.as_object().into_iter().flatten() {
            job["status"][field] = value.clone();
        }
        self.request(self.controller, "update", ("jobs", Some("status")), job);
    }

    /// A whole first sync of a Job.
    pub fn serve(&mut self, job: &mut Value) -> [Value; 2] {
        let pods = [self.pod(job, 1), self.pod(job, 2)];
        self.status(job, (2, 0));
        pods
    }

    /// The last event.
    pub fn last(&mut self) -> &mut Value {
        self.lines.last_mut().expect("an event")
    }

    /// The controller removes the finalizer of a pod.
    pub fn release(&mut self, pod: &mut Value) {
        pod["metadata"]["finalizers"] = json!([]);
        self.request(self.controller, "patch", ("pods", None), pod);
        let uid = pod["metadata"]["uid"].clone();
        let asked = json!({ "metadata": { "uid": uid,
            "$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"] } });
        self.last()["requestObject"] = asked;
    }

    /// The controller deletes a pod. Its finalizer keeps it.
    pub fn delete(&mut self, pod: &mut Value) {
        pod["metadata"]["deletionTimestamp"] = json!(self.second());
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        self.request(self.controller, "delete", ("pods", None), pod);
        self.last()["requestObject"] = json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "preconditions": { "uid": pod["metadata"]["uid"] } });
    }

    /// A pod fails, by the clock of its node this many seconds from now.
    pub fn fails(&mut self, pod: &mut Value, ahead: i64) {
        let end = self.now + SignedDuration::from_secs(ahead);
        let end = end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let state = json!({ "terminated": { "exitCode": 1, "reason": "Error", "startedAt": self.second(), "finishedAt": end } });
        self.kubelet(pod, json!({ "phase": "Failed", "startTime": self.second(),
            "containerStatuses": [{ "name": "c", "image": "i", "imageID": "", "restartCount": 0, "ready": false, "state": state }] }));
    }

    /// A user's change of a field of the spec.
    pub fn edit(&mut self, job: &mut Value, field: &str, value: Value) {
        job["spec"][field] = value;
        job["metadata"]["generation"] = json!(job["metadata"]["generation"].as_u64().expect("a number") + 1);
        self.request(USER, "update", ("jobs", None), job);
    }

    /// The verdict on the log.
    #[must_use]
    pub fn verdict(&self) -> Summary {
        validated_lines(&self.lines)
    }
}
