//! BO-05: another leader has an empty backoff record. An audit log shows it in a Lease, or by the address of the requests.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::log::{CONTROLLER, Log};
use jobcheck_tests::traces::broken;
use serde_json::{Value, json};

/// The sign of a hand-over in the log.
#[derive(Clone, Copy, Debug)]
enum Sign {
    Nothing,
    /// A write of the Lease of this user: its namespace, and whether it begins a term.
    Lease(&'static str, &'static str, bool),
    /// The requests that follow have another address.
    Address,
}

const OLD: &str = "10.0.0.1";
const NEW: &str = "10.0.0.2";

/// A Job of which a pod fails and is replaced at once. The hand-over lies behind the failure, or before it.
fn replaced_at_once(sign: Sign, is_behind: bool) -> (Outcome, Vec<String>) {
    let mut log = Log::default();
    let mut job = log.job("a");
    log.wait(1);
    let mut pods = log.serve(&mut job);
    log.wait(5);
    if !is_behind {
        hand_over(&mut log, sign);
        // The end of a container is known by its second.
        log.wait(2);
    }
    log.fails(&mut pods[0], 0);
    let uid = pods[0]["metadata"]["uid"].clone();
    log.write(&mut job, &json!({ "active": 1, "uncountedTerminatedPods": { "failed": [uid] } }));
    log.release(&mut pods[0]);
    log.write(&mut job, &json!({ "active": 1, "failed": 1 }));
    if is_behind {
        hand_over(&mut log, sign);
    }
    log.pod(&job, 3);
    log.last()["sourceIPs"] = json!([if matches!(sign, Sign::Address) { NEW } else { OLD }]);
    let found = log.verdict();
    (found.outcome(), broken(&found))
}

fn hand_over(log: &mut Log, sign: Sign) {
    for line in &mut log.lines {
        line["sourceIPs"] = json!([OLD]);
    }
    match sign {
        Sign::Nothing => {}
        Sign::Lease(namespace, user, begins) => {
            let line = lease(log, namespace, user, begins);
            log.lines.push(line);
        }
        Sign::Address => {
            let mut other = log.job("b");
            log.serve(&mut other);
            for line in log.lines.iter_mut().filter(|line| line["sourceIPs"].is_null()) {
                line["sourceIPs"] = json!([NEW]);
            }
        }
    }
}

fn lease(log: &Log, namespace: &str, user: &str, begins: bool) -> Value {
    let now = log.now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let renewed = if begins { "2026-11-28T00:00:00.000001Z" } else { "2026-11-28T00:00:00.000002Z" };
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "auditID": "lease",
        "stage": "ResponseComplete", "verb": "update", "user": { "username": user }, "responseStatus": { "code": 200 },
        "objectRef": { "resource": "leases", "apiGroup": "coordination.k8s.io", "namespace": namespace,
            "name": "kube-controller-manager" },
        "requestReceivedTimestamp": now, "stageTimestamp": now,
        "requestObject": { "spec": { "holderIdentity": "b", "acquireTime": "2026-11-28T00:00:00.000001Z",
            "renewTime": renewed } },
    })
}

#[test]
fn a_lease_behind_the_failure_explains_a_replacement_at_once() {
    let system = |begins| Sign::Lease("kube-system", CONTROLLER[0], begins);
    for (sign, is_behind, expected) in [
        (Sign::Nothing, true, Outcome::Violates),
        (system(true), true, Outcome::Conforms),
        (system(true), false, Outcome::Violates),
        (system(false), true, Outcome::Violates),
        (Sign::Lease("tenant", "mallory", true), true, Outcome::Violates),
        (Sign::Address, true, Outcome::Inconclusive),
        (Sign::Address, false, Outcome::Violates),
    ] {
        let (found, broken) = replaced_at_once(sign, is_behind);
        assert_eq!(found, expected, "{sign:?} {is_behind}: {broken:?}");
    }
}
