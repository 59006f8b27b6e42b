//! Right logs of what nobody but the client, or a node, can see: lost responses, clocks that are ahead, and nodes that the log hides.

use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_tests::log::{Log, USER};
use jobcheck_tests::traces::broken;
use serde_json::{Value, json};

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

/// One of two pods fails by a clock that is ahead. The controller counts it, and replaces it after this time.
fn replaced_after(seconds: i64, ahead: i64) -> Summary {
    let mut log = Log::default();
    let mut job = log.job("a");
    log.wait(1);
    let mut pods = log.serve(&mut job);
    log.wait(5);
    log.fails(&mut pods[0], ahead);
    log.wait(1);
    let listed = json!({ "failed": [uid(&pods[0])] });
    log.write(&mut job, &json!({ "active": 1, "uncountedTerminatedPods": listed }));
    log.release(&mut pods[0]);
    log.write(&mut job, &json!({ "active": 1, "failed": 1 }));
    log.wait(seconds);
    log.pod(&job, 3);
    log.verdict()
}

/// BO-05: a restart loses the delay. It lies behind the record of the failure, which is before its end by the clock of the node.
#[test]
fn a_restart_explains_a_replacement_before_the_end_of_the_failed_pod() {
    for (seconds, ahead, expected) in [
        (12, 0, Outcome::Conforms),
        (12, 6, Outcome::Inconclusive),
        (12, 60, Outcome::Inconclusive),
        (0, 60, Outcome::Violates),
    ] {
        let found = replaced_after(seconds, ahead);
        assert_eq!(found.outcome(), expected, "{seconds} s, {ahead} s ahead: {:?}", broken(&found));
    }
}

/// The first of two pods fails, and the Job has no retries. The second one is deleted. `counts_it`: the status counts it as active.
fn decided(counts_it: bool, decides: bool) -> Summary {
    let mut log = Log::default();
    let mut job = log.job_with("a", &json!({ "backoffLimit": 0 }));
    log.wait(1);
    let [mut failed, mut other] = log.serve(&mut job);
    log.wait(1);
    log.becomes_ready(&mut job, &mut failed, 1);
    log.becomes_ready(&mut job, &mut other, 2);
    log.wait(5);
    log.fails(&mut failed, 0);
    log.wait(1);
    log.delete(&mut other);
    let numbers = if counts_it { [1, 0] } else { [0, 1] };
    let listed = json!({ "failed": [uid(&failed)] });
    let status = json!({ "active": numbers[0], "ready": numbers[0], "terminating": numbers[1] });
    let mut first = status.clone();
    first["uncountedTerminatedPods"] = listed;
    log.write(&mut job, &first);
    log.release(&mut failed);
    let mut second = status;
    second["failed"] = json!(1);
    log.write(&mut job, &second);
    log.wait(1);
    if decides {
        let listed = json!({ "failed": [uid(&other)] });
        let failed = over_limit(&log);
        let numbers =
            json!({ "terminating": 1, "failed": 1, "uncountedTerminatedPods": listed, "conditions": failed });
        log.write(&mut job, &numbers);
    }
    log.verdict()
}

/// TC-08: if a deletion fails, the decision waits for the next sync. A log does not show that a response was lost.
#[test]
fn a_decision_may_wait_for_a_deletion_whose_response_was_lost() {
    for (counts_it, decides, expected) in [
        (true, true, Outcome::Inconclusive),
        // By the numbers of the status, the controller knew about the deletion.
        (false, true, Outcome::Violates),
        (true, false, Outcome::Violates),
    ] {
        let found = decided(counts_it, decides);
        assert_eq!(
            found.outcome(),
            expected,
            "{counts_it} {decides}: {:?} {:?}",
            broken(&found),
            found.doubts
        );
    }
}

/// FT-02: a removal with a server error may have been stored, until a record shows the pod with its finalizer.
#[test]
fn a_pod_that_is_counted_before_a_record_with_its_finalizer_is_counted_too_early() {
    for shows in [false, true] {
        let mut log = Log::default();
        let mut job = log.job("a");
        log.wait(1);
        let mut pods = log.serve(&mut job);
        log.wait(30);
        log.fails(&mut pods[0], 0);
        log.wait(1);
        let listed = json!({ "failed": [uid(&pods[0])] });
        log.write(&mut job, &json!({ "active": 1, "uncountedTerminatedPods": listed }));
        let held = pods[0].clone();
        log.release(&mut pods[0]);
        let line = log.last();
        line["responseStatus"]["code"] = json!(500);
        line["responseObject"] = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500,
            "message": "etcdserver: request timed out" });
        log.wait(1);
        log.write(&mut job, &json!({ "active": 1, "failed": 1 }));
        log.wait(1);
        let mut after = if shows { held } else { pods[0].clone() };
        let status = after["status"].clone();
        log.kubelet(&mut after, status);
        let found = log.verdict();
        assert_eq!(found.outcome() == Outcome::Violates, shows, "{:?}", broken(&found));
    }
}

/// The request of a sync that was lost, or whose response with 2xx was.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Creation,
    /// Two of three.
    Creations,
    Removal,
    ScaleDown,
    Suspension,
    /// No deletion at the suspension arrived.
    WholeSuspension,
    /// The deletion never arrived.
    Deletion,
    /// The same, and the pod ends before the retry.
    DeletionOfEndingPod,
}

/// Deletes a pod as at a scale-down. A kubelet keeps it for its grace period.
fn stop(log: &mut Log, pod: &mut Value) {
    log.release(pod);
    log.delete(pod);
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    log.last()["responseObject"] = pod.clone();
}

fn condition(kind: &str, reason: &str, message: &str, time: &str) -> Value {
    json!([{ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time,
        "lastProbeTime": time }])
}

/// FailureTarget of a Job with too many failures.
fn over_limit(log: &Log) -> Value {
    let message = "Job has reached the specified backoff limit";
    condition("FailureTarget", "BackoffLimitExceeded", message, &log.second())
}

/// The requests of the failed sync, and the status of the next one.
fn failed_sync(lost: Lost, log: &mut Log, job: &mut Value) -> Value {
    let pods = [log.pod(job, 1), log.pod(job, 2)];
    if let Lost::Creation = lost {
        log.status(job, (1, 0));
        return json!({ "active": 2 });
    }
    if let Lost::Creations = lost {
        log.pod(job, 3);
        log.status(job, (1, 0));
        return json!({ "active": 3 });
    }
    let [mut first, mut second] = pods;
    log.status(job, (2, 0));
    for pod in [&mut first, &mut second] {
        pod["spec"]["nodeName"] = json!("n");
        log.kubelet(pod, json!({ "phase": "Pending" }));
    }
    log.wait(2);
    match lost {
        Lost::Creation | Lost::Creations | Lost::ScaleDown => {
            log.edit(job, "parallelism", json!(0));
            log.wait(1);
            stop(log, &mut first);
            stop(log, &mut second);
            log.write(job, &json!({ "active": 1, "terminating": 1 }));
            json!({ "terminating": 2 })
        }
        Lost::Removal => {
            log.fails(&mut first, 0);
            log.fails(&mut second, 0);
            log.wait(1);
            log.write(job, &json!({ "uncountedTerminatedPods": { "failed": [uid(&first), uid(&second)] } }));
            log.release(&mut first);
            log.release(&mut second);
            log.write(job, &json!({ "failed": 1, "uncountedTerminatedPods": { "failed": [uid(&second)] } }));
            json!({ "failed": 2 })
        }
        Lost::Suspension => {
            log.edit(job, "suspend", json!(true));
            log.wait(1);
            stop(log, &mut first);
            stop(log, &mut second);
            let suspended = condition("Suspended", "JobSuspended", "Job suspended", &log.second());
            log.write(
                job,
                &json!({ "active": 1, "terminating": 1, "startTime": null, "conditions": suspended }),
            );
            json!({ "terminating": 2, "startTime": null, "conditions": suspended })
        }
        Lost::WholeSuspension => {
            log.edit(job, "suspend", json!(true));
            log.wait(1);
            let suspended = condition("Suspended", "JobSuspended", "Job suspended", &log.second());
            log.write(job, &json!({ "active": 2, "startTime": null, "conditions": suspended }));
            log.wait(2);
            stop(log, &mut first);
            stop(log, &mut second);
            json!({ "terminating": 2, "startTime": null, "conditions": suspended })
        }
        Lost::Deletion => without_deletion(log, job, [first, second], false),
        Lost::DeletionOfEndingPod => without_deletion(log, job, [first, second], true),
    }
}

/// The Job fails with its first pod, and the DELETE of the second one never arrives. `ends`: that pod fails before the retry.
fn without_deletion(
    log: &mut Log,
    job: &mut Value,
    [mut first, mut second]: [Value; 2],
    ends: bool,
) -> Value {
    log.fails(&mut first, 0);
    log.wait(1);
    let listed = json!({ "failed": [uid(&first)] });
    log.write(job, &json!({ "active": 1, "uncountedTerminatedPods": listed }));
    log.release(&mut first);
    log.write(job, &json!({ "active": 1, "failed": 1 }));
    log.wait(2);
    match ends {
        true => log.fails(&mut second, 0),
        false => log.delete(&mut second),
    }
    let failed = over_limit(log);
    let listed = json!({ "failed": [uid(&second)] });
    let terminating = u8::from(!ends);
    json!({ "terminating": terminating, "failed": 1, "uncountedTerminatedPods": listed, "conditions": failed })
}

/// A Job in which such a sync occurs. `seconds`: the next one follows after this time, and corrects the status.
fn with_lost_request(lost: Lost, seconds: Option<i64>) -> Summary {
    let mut log = Log::default();
    let limit = if let Lost::Deletion | Lost::DeletionOfEndingPod = lost { 0 } else { 6 };
    let pods = if let Lost::Creations = lost { 3 } else { 2 };
    let mut job = log.job_with("a", &json!({ "backoffLimit": limit, "parallelism": pods }));
    log.wait(1);
    let corrected = failed_sync(lost, &mut log, &mut job);
    if let Some(seconds) = seconds {
        log.wait(seconds);
        log.write(&mut job, &corrected);
    }
    log.verdict()
}

/// TC-08, SY-02: a retry after a second or more shows that the sync before it may have failed.
#[test]
fn a_status_that_lacks_what_was_lost_is_corrected_by_the_next_sync() {
    for lost in [
        Lost::Creation,
        Lost::Creations,
        Lost::Removal,
        Lost::ScaleDown,
        Lost::Suspension,
        Lost::WholeSuspension,
        Lost::Deletion,
        Lost::DeletionOfEndingPod,
    ] {
        let takes_long = matches!(lost, Lost::WholeSuspension | Lost::Deletion | Lost::DeletionOfEndingPod);
        for (seconds, expected) in [
            (Some(2), Outcome::Inconclusive),
            (Some(0), if takes_long { Outcome::Inconclusive } else { Outcome::Violates }),
            (None, Outcome::Violates),
        ] {
            let found = with_lost_request(lost, seconds);
            let told = (found.outcome(), broken(&found), found.jobs[0].reservations.len());
            assert_eq!(found.outcome(), expected, "{lost:?} {seconds:?}: {told:?}");
        }
    }
}

/// The statuses after one that lacks the third of three pods.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// It counts the third pod as ready, and lacks one that its sync creates.
    Another,
    /// It lacks the third pod still, as its cache may.
    Same,
    /// The same, before one that has it.
    Corrected,
}

/// A Job whose second status lacks its third pod.
fn lacks_a_pod(next: Next) -> Summary {
    let mut log = Log::default();
    let mut job = log.job("a");
    log.wait(1);
    let mut pods = log.serve(&mut job);
    let is_ready = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": log.second() }]);
    let running = json!({ "phase": "Running", "startTime": log.second(), "conditions": is_ready });
    log.edit(&mut job, "parallelism", json!(3));
    pods.iter_mut().for_each(|pod| log.kubelet(pod, running.clone()));
    log.wait(1);
    let mut third = log.pod(&job, 3);
    log.status(&mut job, (2, 1));
    log.wait(2);
    match next {
        Next::Another => {
            log.kubelet(&mut third, running);
            log.edit(&mut job, "parallelism", json!(4));
            log.wait(1);
            log.pod(&job, 4);
            log.status(&mut job, (3, 3));
            log.wait(2);
            log.status(&mut job, (4, 3));
        }
        Next::Same | Next::Corrected => log.status(&mut job, (2, 2)),
    }
    if let Next::Corrected = next {
        log.wait(2);
        log.status(&mut job, (3, 2));
    }
    log.verdict()
}

/// Lost requests are believed in one sync, and only a status that rests on their effects shows that they were lost.
#[test]
fn a_status_that_lacks_more_or_the_same_corrects_nothing() {
    for (next, expected, count) in [
        (Next::Another, Outcome::Violates, 2),
        (Next::Same, Outcome::Violates, 1),
        (Next::Corrected, Outcome::Inconclusive, 0),
    ] {
        let found = lacks_a_pod(next);
        assert_eq!(
            (found.outcome(), broken(&found).len()),
            (expected, count),
            "{next:?}: {:?}",
            broken(&found)
        );
    }
}

/// FT-20: the kubelet shows the finalizer of a pod, and the log hides what the controller did after that.
#[test]
fn finalizers_that_hidden_requests_may_have_removed_are_not_owed() {
    for hides in [false, true] {
        let mut log = Log::default();
        let mut job = log.job_with("a", &json!({ "completions": 2 }));
        log.wait(1);
        let mut pods = log.serve(&mut job);
        log.wait(5);
        pods.iter_mut().for_each(|pod| log.fails(pod, 0));
        log.wait(1);
        pods.iter_mut().for_each(|pod| log.release(pod));
        if hides {
            let from = log.lines.len() - 2;
            for line in &mut log.lines[from..] {
                let line = line.as_object_mut().unwrap();
                line.insert("level".to_owned(), json!("Metadata"));
                line.retain(|name, _| name != "requestObject" && name != "responseObject");
            }
        } else {
            let kept = log.lines.len() - 2;
            log.lines.truncate(kept);
        }
        log.request(USER, "delete", ("jobs", None), &mut job);
        for name in ["b", "c", "d"] {
            let mut other = log.job(name);
            log.serve(&mut other);
            log.wait(60);
        }
        let found = log.verdict();
        let is_owed = broken(&found).iter().any(|it| it.contains("FT-20"));
        assert_eq!(is_owed, !hides, "{:?}", broken(&found));
    }
}

/// Two pods whose images are pulled are deleted, because the Job is suspended. Then they are gone. `shows`: the log has the
/// requests of kubelets. `reported`: the terminating pods in each status write, a number of seconds apart.
fn gone_while_pulling(shows: bool, reported: &[u8], seconds: i64) -> Outcome {
    let mut log = Log::default();
    let mut job = log.job("a");
    log.wait(1);
    let mut pods = log.serve(&mut job);
    for pod in &mut pods {
        pod["spec"]["nodeName"] = json!("n");
        log.request(["system:kube-scheduler", "kube-scheduler"], "create", ("pods", Some("binding")), pod);
        log.last()["responseObject"] =
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
        if shows {
            let waits = json!([{ "type": "Ready", "status": "False", "lastTransitionTime": log.second() }]);
            log.kubelet(pod, json!({ "phase": "Pending", "conditions": waits }));
        }
    }
    log.wait(2);
    log.edit(&mut job, "suspend", json!(true));
    log.wait(1);
    pods.iter_mut().for_each(|pod| stop(&mut log, pod));
    let suspended = condition("Suspended", "JobSuspended", "Job suspended", &log.second());
    for terminating in reported {
        log.write(
            &mut job,
            &json!({ "terminating": terminating, "startTime": null, "conditions": suspended }),
        );
        log.wait(seconds);
    }
    log.verdict().outcome()
}

/// A kubelet removes a pod whose containers have ended. A policy may leave out the group system:nodes.
#[test]
fn kubelets_that_the_log_hides_may_have_removed_pods() {
    assert_eq!(gone_while_pulling(false, &[2, 0], 40), Outcome::Inconclusive);
    assert_eq!(gone_while_pulling(true, &[2, 0], 40), Outcome::Violates);
    // The next sync may begin less than a second after the last deletion, and the sync that deletes sees no removal.
    assert_eq!(gone_while_pulling(false, &[2, 0], 0), Outcome::Inconclusive);
    assert_eq!(gone_while_pulling(false, &[0, 0], 0), Outcome::Violates);
}
