//! The kubelets of the workers: each pod runs as soon as it is created, and ends if it is deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use jobcheck_record::watch::text;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use crate::board::{Board, is_deleting};
use crate::cluster::{Cluster, Played, pods};

/// The end of a pod that is deleted while it runs: SIGKILL.
const KILLED: i32 = 137;

/// The next action of the kubelet on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Duty {
    Run,
    Succeed,
    Kill,
    Remove,
}

/// Acts as the kubelets of one cluster, until the board is closed.
pub(crate) async fn work(
    cluster: Arc<Cluster>,
    at: usize,
    namespace: String,
    mut board: Receiver<Board>,
    all_succeed: Arc<AtomicBool>,
) {
    let mut done: BTreeSet<(Duty, String)> = BTreeSet::new();
    loop {
        let duties: Vec<(Duty, String, String)> = {
            let seen = board.borrow_and_update();
            let ends = all_succeed.load(Ordering::Relaxed);
            let due = |pod: &Value| {
                let duty = next(pod, ends)?;
                Some((duty, text(pod, "uid").to_owned(), text(pod, "name").to_owned()))
            };
            seen.clusters[at].pods.values().filter_map(due).collect()
        };
        for (duty, uid, name) in duties {
            // A pod that changed meanwhile is shown again.
            if done.insert((duty, uid)) && act(&cluster, duty, &namespace, &name).await.is_err() {
                return;
            }
        }
        if board.changed().await.is_err() {
            return;
        }
    }
}

fn next(pod: &Value, all_succeed: bool) -> Option<Duty> {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    let has_ended = matches!(phase, "Succeeded" | "Failed");
    match (is_deleting(pod), has_ended) {
        (true, false) => Some(Duty::Kill),
        (true, true) if pod["metadata"]["deletionGracePeriodSeconds"] != 0 => Some(Duty::Remove),
        (false, false) if phase != "Running" => Some(Duty::Run),
        (false, false) if all_succeed => Some(Duty::Succeed),
        _ => None,
    }
}

async fn act(
    cluster: &Cluster,
    duty: Duty,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, crate::Error> {
    match duty {
        Duty::Run => report(cluster, namespace, name, running()).await,
        Duty::Succeed => report(cluster, namespace, name, ended(0)).await,
        Duty::Kill => report(cluster, namespace, name, ended(KILLED)).await,
        Duty::Remove => {
            let now = json!({"gracePeriodSeconds": 0});
            cluster.send(Played::Kubelet, "DELETE", &pods(namespace, name), &now).await
        }
    }
}

/// Writes the end of a pod. `None`: it does not exist any longer.
pub(crate) async fn end(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    code: i32,
) -> Result<Option<Value>, crate::Error> {
    report(cluster, namespace, name, ended(code)).await
}

async fn report(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    status: Value,
) -> Result<Option<Value>, crate::Error> {
    let path = format!("{}/status", pods(namespace, name));
    cluster.send(Played::Kubelet, "PATCH", &path, &json!({"status": status})).await
}

fn running() -> Value {
    let now = now();
    json!({
        "phase": "Running", "startTime": now,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
        "containerStatuses": [container(true, &json!({"running": {"startedAt": now}}))],
    })
}

fn ended(code: i32) -> Value {
    let (now, phase) = (now(), if code == 0 { "Succeeded" } else { "Failed" });
    let reason = if code == 0 { "Completed" } else { "Error" };
    let state =
        json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": now, "startedAt": now}});
    json!({
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [container(false, &state)],
    })
}

fn container(ready: bool, state: &Value) -> Value {
    json!({
        "name": "main", "image": "none", "imageID": "", "ready": ready, "restartCount": 0, "state": state,
    })
}

/// The current time, as the API has it.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
