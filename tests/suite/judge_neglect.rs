//! Work that a controller never does, while it does other work.

use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_tests::log::{Log, USER};
use jobcheck_tests::traces::broken;
use serde_json::{Value, json};

/// A Job with two pods. A user changes the metadata of the first one. For some minutes the controller serves other Jobs.
fn changed_by_a_user(change: impl Fn(&mut Value), react: impl Fn(&mut Log, &mut Value)) -> Summary {
    let mut log = Log::default();
    let mut job = log.job("a");
    log.wait(1);
    let [mut pod, _] = log.serve(&mut job);
    log.wait(2);
    change(&mut pod["metadata"]);
    log.request(USER, "patch", ("pods", None), &mut pod);
    log.wait(1);
    react(&mut log, &mut pod);
    for name in ["b", "c", "d"] {
        let mut other = log.job(name);
        log.serve(&mut other);
        log.wait(60);
    }
    log.verdict()
}

fn nothing(_: &mut Log, _: &mut Value) {}

/// FT-26: the selector of the Job does not match the pod any more.
#[test]
fn a_pod_with_other_labels_must_be_released() {
    let relabel = |metadata: &mut Value| metadata["labels"] = json!({ "app": "another" });
    let found = changed_by_a_user(relabel, nothing);
    assert_eq!(found.outcome(), Outcome::Violates);
    assert!(broken(&found)[0].contains("FT-26"), "{:?}", broken(&found));
    let released = changed_by_a_user(relabel, |log, pod| {
        pod["metadata"]["ownerReferences"] = json!([]);
        pod["metadata"]["finalizers"] = json!([]);
        log.request(log.controller, "patch", ("pods", None), pod);
        log.last()["requestObject"] = json!({ "metadata": { "uid": pod["metadata"]["uid"],
            "ownerReferences": [{ "$patch": "delete", "uid": "0000000a-0000-4000-8000-000000000000" }],
            "$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"] } });
    });
    assert!(!broken(&released).iter().any(|it| it.contains("FT-26")), "{:?}", broken(&released));
}

/// FT-24: the pod lost its owner, and the selector still matches.
#[test]
fn a_pod_without_an_owner_must_be_adopted() {
    let found = changed_by_a_user(|metadata| metadata["ownerReferences"] = json!([]), nothing);
    assert_eq!(found.outcome(), Outcome::Violates);
    assert!(broken(&found).iter().any(|it| it.contains("FT-24")), "{:?}", broken(&found));
    let adopted = changed_by_a_user(
        |metadata| metadata["ownerReferences"] = json!([]),
        |log, pod| {
            let owners = json!([{ "apiVersion": "batch/v1", "kind": "Job", "name": "a", "controller": true,
                "uid": "0000000a-0000-4000-8000-000000000000", "blockOwnerDeletion": true }]);
            pod["metadata"]["ownerReferences"] = owners.clone();
            log.request(log.controller, "patch", ("pods", None), pod);
            log.last()["requestObject"] = json!({ "metadata": { "uid": pod["metadata"]["uid"],
                "ownerReferences": owners, "finalizers": ["batch.kubernetes.io/job-tracking"] } });
        },
    );
    assert!(!broken(&adopted).iter().any(|it| it.contains("FT-24")), "{:?}", broken(&adopted));
}

/// FT-02: one recorded pod keeps its finalizer, while others are counted.
#[test]
fn a_recorded_pod_that_others_pass_is_not_counted() {
    let mut log = Log::default();
    let mut job = log.job_with("a", &json!({ "parallelism": 1, "completions": 9, "backoffLimit": 9 }));
    log.wait(1);
    let mut stuck = log.pod(&job, 0);
    log.status(&mut job, (1, 0));
    log.wait(30);
    log.fails(&mut stuck, 0);
    log.wait(1);
    let first = stuck["metadata"]["uid"].clone();
    log.write(&mut job, &json!({ "uncountedTerminatedPods": { "failed": [first] } }));
    for failed in 0..3 {
        log.wait(60);
        let mut pod = log.pod(&job, failed + 1);
        let lists = json!({ "failed": [first] });
        log.write(&mut job, &json!({ "active": 1, "failed": failed, "uncountedTerminatedPods": lists }));
        log.wait(30);
        log.fails(&mut pod, 0);
        log.wait(1);
        let lists = json!({ "failed": [first, pod["metadata"]["uid"]] });
        log.write(&mut job, &json!({ "failed": failed, "uncountedTerminatedPods": lists }));
        log.release(&mut pod);
        let lists = json!({ "failed": [first] });
        log.write(&mut job, &json!({ "failed": failed + 1, "uncountedTerminatedPods": lists }));
    }
    let found = log.verdict();
    assert!(broken(&found).iter().any(|it| it.contains("FT-02")), "{:?} {:?}", broken(&found), found.doubts);
}
