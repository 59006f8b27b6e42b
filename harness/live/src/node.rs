//! The Node of the runs, and its heartbeats.
//!
//! Pods are bound to a Node object, because pod GC removes pods of a missing Node. The Node reports that it is ready
//! like a kubelet, because the node controller marks silent Nodes after a minute. Cloud controllers, which know no
//! machine of its name, may remove it within seconds. No pod can be scheduled to it: it has no capacity.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::test_cluster::{LABEL, send};

/// The interval of heartbeats, as of kubelets. Older versions mark a Node as lost after 40 s without one.
const PERIOD: Duration = Duration::from_secs(10);
/// The labels that exclude a Node from load balancers, and from the node controller's assessment of zones.
const LEFT_OUT: [&str; 2] =
    ["node.kubernetes.io/exclude-from-external-load-balancers", "node.kubernetes.io/exclude-disruption"];

/// A Node with heartbeats, which end when the value is dropped.
#[derive(Debug)]
pub(crate) struct Node {
    beats: JoinHandle<()>,
}

impl Node {
    /// Creates the Node of this name.
    ///
    /// # Errors
    ///
    /// The API server refuses the Node.
    pub(crate) async fn make(client: &Client, name: &str) -> Result<Node, Error> {
        let since = Timestamp::now();
        send(client, "POST", "/api/v1/nodes", &object(name, since)).await?;
        let (client, path) = (client.clone(), format!("/api/v1/nodes/{name}/status"));
        let beats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(PERIOD).await;
                let life = json!({"status": {"conditions": conditions(since, Timestamp::now())}});
                // After a failed heartbeat the next one follows.
                let _ = send(&client, "PATCH", &path, &life).await;
            }
        });
        Ok(Node { beats })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.beats.abort();
    }
}

fn object(name: &str, now: Timestamp) -> Value {
    let mut labels = json!({LABEL: name});
    LEFT_OUT.iter().for_each(|label| labels[label] = json!(""));
    let taint = json!({"key": "jobcheck.dev/no-kubelet", "effect": "NoSchedule"});
    let room = json!({"pods": "0"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": true, "taints": [taint]},
        "status": {"capacity": room, "allocatable": room, "conditions": conditions(now, now)},
    })
}

/// The conditions of a Node that is ready since this time, with a heartbeat now.
fn conditions(since: Timestamp, now: Timestamp) -> Value {
    let seconds = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!([{
        "type": "Ready", "status": "True", "reason": "PlayedByJobcheck",
        "message": "jobcheck run plays the kubelet of the pods that are bound here",
        "lastHeartbeatTime": seconds(now), "lastTransitionTime": seconds(since),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pod_is_scheduled_to_the_node_and_no_controller_counts_it() {
        let node = object("n", Timestamp::UNIX_EPOCH);
        assert_eq!(
            (&node["spec"]["unschedulable"], &node["status"]["allocatable"]["pods"]),
            (&json!(true), &json!("0"))
        );
        assert_eq!(node["spec"]["taints"][0]["effect"], "NoSchedule");
        assert!(LEFT_OUT.iter().all(|label| node["metadata"]["labels"][label] == ""), "{node}");
        assert_eq!(node["metadata"]["labels"][LABEL], "n");
    }

    #[test]
    fn a_heartbeat_changes_only_the_time() {
        let (since, now) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(10).unwrap());
        let (first, next) = (conditions(since, since), conditions(since, now));
        assert_eq!((&first[0]["status"], &first[0]["status"]), (&next[0]["status"], &json!("True")));
        assert_eq!(first[0]["lastTransitionTime"], next[0]["lastTransitionTime"]);
        assert_eq!(next[0]["lastHeartbeatTime"], "1970-01-01T00:00:10Z");
    }
}
