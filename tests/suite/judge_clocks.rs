//! Clocks that differ: each API server and each controller has one of its own.

use jiff::{SignedDuration, Timestamp};
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::log::{Log, USER};
use jobcheck_tests::traces::{broken, validated_lines};
use serde_json::{Value, json};

use crate::judge_truncated_events::recordings;

/// Moves the times of all requests of a user, from this line on.
fn moved(trace: &[Value], user: &str, from: usize, millis: i64) -> Vec<Value> {
    let mut trace = trace.to_vec();
    for line in trace.iter_mut().skip(from).filter(|line| line["user"]["username"] == user) {
        for field in ["requestReceivedTimestamp", "stageTimestamp"] {
            let time: Timestamp = line[field].as_str().unwrap().parse().unwrap();
            let time = time + SignedDuration::from_millis(millis);
            line[field] = json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
        }
    }
    trace
}

/// The requests of each user reach an API server of their own.
#[test]
fn clocks_of_api_servers_that_differ_make_no_recording_wrong() {
    let mut traces = 0;
    for (name, whole) in recordings() {
        let users: std::collections::BTreeSet<&str> =
            whole.iter().filter_map(|line| line["user"]["username"].as_str()).collect();
        for (user, millis) in
            users.iter().flat_map(|user| [-90, -5, -1, 1, 5, 90].map(|millis| (*user, millis)))
        {
            let found = validated_lines(&moved(&whole, user, 0, millis));
            assert_ne!(found.outcome(), Outcome::Violates, "{name} {user} {millis}: {:?}", broken(&found));
            traces += 1;
        }
    }
    assert!(traces > 300, "{traces}");
}

/// The connection of the controller moves to another API server. If the move comes just before the removal of a pod, the place of
/// the removal is lost (`docs/results/attacks.md`).
#[test]
fn a_controller_that_changes_its_api_server_is_hardly_ever_wrong() {
    let user = "system:kube-controller-manager";
    let (mut traces, mut wrong) = (0, 0);
    for (_, whole) in recordings() {
        let lines = (0..whole.len()).filter(|line| whole[*line]["user"]["username"] == user);
        for (line, millis) in lines.flat_map(|line| [(line, -5), (line, 5)]) {
            let found = validated_lines(&moved(&whole, user, line, millis));
            traces += 1;
            wrong += usize::from(found.outcome() == Outcome::Violates);
        }
    }
    assert!(traces > 900 && wrong * 100 <= traces, "{wrong} of {traces}");
}

/// One of two ready pods is evicted through an API server whose clock is ahead by this many milliseconds. The controller learns of
/// it `before` or after its status write.
fn evicted(ahead: i64, before: bool) -> Outcome {
    let mut log = Log::default();
    let mut job = log.job_with("a", &json!({ "podReplacementPolicy": "Failed" }));
    log.wait(1);
    let mut pods = log.serve(&mut job);
    for (pod, ready) in pods.iter_mut().zip([1, 2]) {
        pod["spec"]["nodeName"] = json!("n");
        log.becomes_ready(&mut job, pod, ready);
    }
    log.wait(5);
    let counted = json!({ "active": 1, "ready": 1, "terminating": 1 });
    if !before {
        log.write(&mut job, &counted);
        log.wait(1);
    }
    let pod = &mut pods[0];
    pod["metadata"]["deletionTimestamp"] = json!(log.second());
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    log.request(USER, "create", ("pods", Some("eviction")), pod);
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    let (name, at) = (pod["metadata"]["name"].clone(), log.lines.len() - 1);
    log.last()["requestObject"] = json!({ "kind": "Eviction", "apiVersion": "policy/v1", "metadata": { "name": name, "namespace": "ns" } });
    log.last()["responseObject"] = status;
    let line = moved(&log.lines[at..], USER[0], 0, ahead).remove(0);
    *log.last() = line;
    if before {
        log.write(&mut job, &counted);
    }
    log.verdict().outcome()
}

#[test]
fn an_eviction_may_have_the_time_of_another_clock() {
    for ahead in [-90, 0, 5, 60, 95] {
        assert_eq!(evicted(ahead, true), Outcome::Conforms, "{ahead}");
        assert_eq!(evicted(ahead, false), Outcome::Violates, "{ahead}");
    }
}

/// A controller whose response was lost repeats the removal of a finalizer two seconds later. It has no effect, and the old version.
#[test]
fn a_repeated_removal_of_a_finalizer_makes_no_recording_wrong() {
    let mut traces = 0;
    for (name, whole) in recordings() {
        for (number, line) in whole.iter().enumerate() {
            let releases =
                line["requestObject"]["metadata"]["$deleteFromPrimitiveList/finalizers"].is_array();
            let (pod, user) = (&line["responseObject"]["metadata"], line["user"]["username"].as_str());
            let is_last = whole[number + 1..].iter().all(|it| it["objectRef"]["name"] != pod["name"]);
            if !releases
                || !is_last
                || !pod["deletionTimestamp"].is_null()
                || line["responseStatus"]["code"] != 200
            {
                continue;
            }
            let mut again = moved(std::slice::from_ref(line), user.unwrap(), 0, 2_000);
            again[0]["auditID"] = json!("again");
            let found = validated_lines(&[&whole[..], &again].concat());
            assert_ne!(found.outcome(), Outcome::Violates, "{name} {number}: {:?}", broken(&found));
            traces += 1;
        }
    }
    assert!(traces > 50, "{traces}");
}
