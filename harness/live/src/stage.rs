//! The cluster of a run: users and kubelets over HTTP, and what the watches have shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::kubelet::Kubelet;
use jobcheck_apiserver::request::{Api, Request, Response};
use jobcheck_record::watch::text;
use jobcheck_scenario::runtime::{Cluster, Created, is_to_be_removed};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::seen::Seen;

/// The scheduler that the pods of a run wait for; there is none of this name.
const SCHEDULER: &str = "jobcheck";

/// The cluster of a run.
pub(crate) struct Stage {
    /// The API server.
    pub connection: Connection,
    /// What is known of the namespace.
    pub seen: Seen,
    namespace: String,
    kubelet: Kubelet,
    managed_by: Option<String>,
    /// UIDs of pods that were bound, and of those that were removed.
    done: BTreeSet<(bool, String)>,
}

impl Stage {
    /// A namespace in which nothing has happened.
    pub(crate) fn new(
        connection: Connection,
        namespace: &str,
        node: &str,
        managed_by: Option<String>,
    ) -> Stage {
        Stage {
            connection,
            seen: Seen::nothing(),
            namespace: namespace.to_owned(),
            kubelet: Kubelet { node: node.to_owned() },
            managed_by,
            done: BTreeSet::new(),
        }
    }

    /// Does what only follows up: new pods are bound to the node, and those that were deleted and have ended go.
    pub(crate) fn follow_up(&mut self) {
        let new = self.seen.pods.values().filter(|pod| is_new(pod)).map(|pod| (true, pod));
        let ended = self.seen.pods.values().filter(|pod| is_to_be_removed(pod)).map(|pod| (false, pod));
        let duties: Vec<(bool, String, String)> = new
            .chain(ended)
            .map(|(binds, pod)| (binds, text(pod, "uid").to_owned(), text(pod, "name").to_owned()))
            .filter(|(binds, uid, _)| !self.done.contains(&(*binds, uid.clone())))
            .collect();
        for (binds, uid, name) in duties {
            let namespace = self.namespace.clone();
            let done = self.kubelet(|it, server, now| match binds {
                true => it.bind(server, now, &namespace, &name),
                false => it.finish(server, now, &namespace, &name),
            });
            // What is refused has been changed meanwhile, which the watch will show.
            if done.is_ok() {
                self.done.insert((binds, uid));
            }
        }
    }

    /// Whether no pod waits to be bound.
    pub(crate) fn has_bound_all(&self) -> bool {
        !self.seen.pods.values().any(is_new)
    }

    /// Takes in what the answers say.
    fn read_answers(&mut self) {
        for object in std::mem::take(&mut self.connection.answers) {
            self.seen.shown(Arc::unwrap_or_clone(object));
        }
    }
}

/// A pod that is to be bound.
fn is_new(pod: &Value) -> bool {
    !is_bound(pod) && pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_bound(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string()
}

/// Nobody ever runs these containers: they can be as the strictest Pod Security Standard wants them, where it is enforced.
fn restrict(pod: &mut Value) {
    pod["securityContext"] = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        container["securityContext"] =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    }
}

impl Cluster for Stage {
    fn namespace(&self) -> String {
        self.namespace.clone()
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn job(&self, name: &str) -> Option<&Value> {
        self.seen.jobs.get(name)
    }

    /// Kubelets know of bound pods alone.
    fn pod(&self, name: &str) -> Option<&Value> {
        self.seen.pods.get(name).filter(|pod| is_bound(pod))
    }

    fn pods(&self) -> Vec<&Value> {
        self.seen.pods.values().collect()
    }

    fn created(&self, job: &str) -> &[Created] {
        self.seen.created(job)
    }

    fn complete(&self, spec: &mut Value) {
        if let (Some(value), true) = (&self.managed_by, spec["managedBy"].is_null()) {
            spec["managedBy"] = json!(value);
        }
        let pod = &mut spec["template"]["spec"];
        pod["schedulerName"] = json!(SCHEDULER);
        // The node is tainted, and may be marked by others, too.
        pod["tolerations"] = json!([{"operator": "Exists"}]);
        restrict(pod);
    }

    fn ask(&mut self, request: &Request) -> Response {
        let response = self.connection.handle(Timestamp::now(), request);
        self.read_answers();
        response
    }

    fn kubelet<R>(
        &mut self,
        act: impl FnOnce(&Kubelet, &mut dyn Api, Timestamp) -> Result<R, ApiError>,
    ) -> Result<R, ApiError> {
        let result = act(&self.kubelet, &mut self.connection, Timestamp::now());
        self.read_answers();
        result
    }
}
