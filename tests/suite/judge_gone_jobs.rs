//! Requests about Jobs that are being deleted, or gone, and about the pods that are left of them.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_tests::log::{Log, USER};
use jobcheck_tests::traces::{broken, recording, validated_lines};
use serde_json::{Value, json};

const COLLECTOR: [&str; 2] = [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "kube-controller-manager/v1.36.0/system:serviceaccount:kube-system:generic-garbage-collector",
];

fn notes(verdict: &Summary, part: &str) -> bool {
    verdict.doubts.iter().any(|doubt| doubt.contains(part))
}

/// A user deletes the Job in the background, so that it is gone at once.
fn delete_at_once(log: &mut Log, job: &mut Value) {
    let uid = job["metadata"]["uid"].clone();
    log.request(USER, "delete", ("jobs", None), job);
    let line = log.last();
    line["requestObject"] =
        json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": "Background" });
    line["responseObject"] = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": { "name": job["metadata"]["name"], "group": "batch", "kind": "jobs", "uid": uid } });
}

/// TC-07, FT-19: a cache does not contain a Job for ever. A request may be on its way when the Job goes.
#[test]
fn a_pod_for_a_job_that_is_long_gone_is_noted() {
    let of = |seconds: i64| {
        let mut log = Log::default();
        let mut job = log.job("a");
        let mut pods = log.serve(&mut job);
        log.wait(1);
        delete_at_once(&mut log, &mut job);
        pods.iter_mut().for_each(|pod| log.release(pod));
        log.wait(seconds);
        log.pod(&job, 3);
        let verdict = log.verdict();
        assert_eq!(broken(&verdict), [""; 0]);
        notes(&verdict, "that its cache no longer contains")
    };
    assert_eq!((of(1), of(300)), (false, true));
}

/// SY-11: an orphan is no pod of a Job.
#[test]
fn a_controller_leaves_the_pods_alone_that_a_job_has_orphaned() {
    let of = |seconds: i64, change: fn(&mut Value)| {
        let mut lines = recording("job-deleted-orphan.audit");
        let mut line = lines[8].clone();
        for field in ["requestReceivedTimestamp", "stageTimestamp"] {
            let at: Timestamp = line[field].as_str().unwrap().parse().unwrap();
            let at = at + SignedDuration::from_secs(seconds);
            line[field] = json!(at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
        }
        line["auditID"] = json!("later");
        let version: u64 =
            line["responseObject"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        line["responseObject"]["metadata"]["resourceVersion"] = json!((version + 1_000).to_string());
        change(&mut line);
        lines.push(line);
        let verdict = validated_lines(&lines);
        assert_eq!(broken(&verdict), [""; 0]);
        notes(&verdict, "belong to no Job")
    };
    let deletes = |line: &mut Value| {
        line["verb"] = json!("delete");
        line["requestObject"] = json!({ "kind": "DeleteOptions", "apiVersion": "v1" });
        line["responseObject"]["metadata"]["deletionTimestamp"] = line["stageTimestamp"].clone();
    };
    assert_eq!((of(1, deletes), of(300, deletes)), (false, true));
    let status = |line: &mut Value| {
        line["objectRef"]["subresource"] = json!("status");
        line["requestObject"] = json!({ "status": { "phase": "Failed" } });
        line["responseObject"]["status"]["phase"] = json!("Failed");
    };
    assert!(of(1, status));
    let holds = |line: &mut Value| {
        let finalizers = json!(["batch.kubernetes.io/job-tracking"]);
        line["requestObject"] = json!({ "metadata": { "finalizers": finalizers } });
        line["responseObject"]["metadata"]["finalizers"] = finalizers;
    };
    assert!(of(1, holds));
}

/// PC-31: each object of a collection gets the finalizer of the propagation policy.
#[test]
fn a_collection_of_jobs_is_deleted_as_each_of_them_would_be() {
    let of = |policy: Option<&str>, then: fn(&mut Log, &mut Value)| {
        let mut log = Log::default();
        let mut job = log.job("a");
        let mut pods = log.serve(&mut job);
        log.wait(1);
        let before = job.clone();
        log.request(USER, "deletecollection", ("jobs", None), &mut job);
        let version = log.version.to_string();
        let line = log.last();
        line["requestObject"] =
            json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": policy });
        line["responseObject"] = json!({ "kind": "JobList", "apiVersion": "batch/v1",
            "metadata": { "resourceVersion": version }, "items": [before] });
        let target = line["objectRef"].as_object_mut().unwrap();
        target.remove("name");
        target.remove("uid");
        job["metadata"]["deletionTimestamp"] = json!(log.second());
        job["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        job["metadata"]["generation"] = json!(2);
        job["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
        log.wait(1);
        for pod in &mut pods {
            log.delete(pod);
            (log.last()["user"]["username"], log.last()["userAgent"]) =
                (json!(COLLECTOR[0]), json!(COLLECTOR[1]));
            log.release(pod);
        }
        then(&mut log, &mut job);
        let verdict = log.verdict();
        let ids =
            broken(&verdict).iter().map(|it| it.split(' ').next().unwrap_or_default().to_owned()).collect();
        (verdict.outcome(), ids)
    };
    let ends = |log: &mut Log, job: &mut Value| {
        job["metadata"]["finalizers"] = json!([]);
        log.request(COLLECTOR, "patch", ("jobs", None), job);
    };
    assert_eq!(of(Some("Foreground"), ends), (Outcome::Conforms, Vec::<String>::new()));
    let creates = |log: &mut Log, job: &mut Value| {
        log.wait(10);
        log.pod(job, 3);
    };
    assert_eq!(of(Some("Foreground"), creates), (Outcome::Violates, vec!["FT-19".to_owned()]));
    assert_eq!(of(None, creates), (Outcome::Violates, vec!["FT-19".to_owned()]));
}

/// FT-14: the controller sees the deletion before its response. Both have versions.
#[test]
fn a_finalizer_may_be_removed_while_the_deletion_of_its_job_is_answered() {
    let of = |millis: i64| {
        let mut log = Log::default();
        let mut job = log.job_with("a", &json!({ "podReplacementPolicy": "Failed" }));
        let [mut pod, _] = log.serve(&mut job);
        log.wait(1);
        // A user deletes the pod.
        log.delete(&mut pod);
        (log.last()["user"]["username"], log.last()["userAgent"]) = (json!(USER[0]), json!(USER[1]));
        let last_version = pod["metadata"]["resourceVersion"].clone();
        log.wait(1);
        log.write(&mut job, &json!({ "active": 1, "terminating": 1 }));
        log.wait(1);
        let begin = log.now;
        job["metadata"]["deletionTimestamp"] = json!(log.second());
        job["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        job["metadata"]["generation"] = json!(2);
        job["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
        log.request(USER, "delete", ("jobs", None), &mut job);
        let done =
            (begin + SignedDuration::from_millis(millis)).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let line = log.last();
        line["stageTimestamp"] = json!(done);
        line["requestObject"] =
            json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": "Foreground" });
        log.release(&mut pod);
        log.last()["responseObject"]["metadata"]["resourceVersion"] = last_version;
        broken(&log.verdict())
    };
    for millis in [1, 3, 20, 200] {
        assert_eq!(of(millis), [""; 0], "{millis} ms");
    }
}

/// FT-26: a watch shows the state before the request that has removed both the owner and the last finalizer.
#[test]
fn a_watch_does_not_show_that_a_deleted_pod_was_released() {
    let of = |label: &str| {
        let mut log = Log::default();
        let mut job = log.job("a");
        let [mut pod, _] = log.serve(&mut job);
        log.wait(1);
        pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = json!(label);
        log.request(USER, "patch", ("pods", None), &mut pod);
        log.delete(&mut pod);
        let watched = |line: &Value| {
            let kind = if line["verb"] == "create" { "ADDED" } else { "MODIFIED" };
            json!({ "type": kind, "object": line["responseObject"] })
        };
        let mut lines: Vec<Value> = log.lines.iter().map(watched).collect();
        pod["metadata"]["resourceVersion"] = json!((log.version + 1).to_string());
        lines.push(json!({ "type": "DELETED", "object": pod }));
        broken(&validated_lines(&lines))
    };
    let own = "0000000a-0000-4000-8000-000000000000";
    assert_eq!(of("x"), [""; 0]);
    assert!(of(own)[0].starts_with("FT-03"), "{:?}", of(own));
}
