//! The namespace of a run: requests of users and kubelets over HTTP, and a cache that the watches fill.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::kubelet::Kubelet;
use jobcheck_apiserver::request::{Api, Request, Response};
use jobcheck_record::watch::text;
use jobcheck_scenario::runtime::{Cluster, Created, is_to_be_removed};
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::connection::Connection;

/// The scheduler name of the pods. There is no such scheduler, so that no other Node runs them.
const SCHEDULER: &str = "jobcheck";

/// The namespace of a run, as the cluster of a scenario.
pub(crate) struct Namespace {
    /// The API server.
    pub connection: Connection,
    /// The cached objects of the namespace.
    pub cache: Cache,
    namespace: String,
    kubelet: Kubelet,
    managed_by: Option<String>,
    /// The pods that were bound (true) or finished (false), by their UIDs.
    done: BTreeSet<(bool, String)>,
}

impl Namespace {
    /// Returns a namespace with an empty cache.
    pub(crate) fn new(
        connection: Connection,
        namespace: &str,
        node: &str,
        managed_by: Option<String>,
    ) -> Namespace {
        Namespace {
            connection,
            cache: Cache::new(),
            namespace: namespace.to_owned(),
            kubelet: Kubelet { node: node.to_owned() },
            managed_by,
            done: BTreeSet::new(),
        }
    }

    /// Binds new pods to the node, and finishes the deletion of terminated pods.
    pub(crate) fn follow_up(&mut self) {
        let new = self.cache.pods.values().filter(|pod| is_new(pod)).map(|pod| (true, pod));
        let ended = self.cache.pods.values().filter(|pod| is_to_be_removed(pod)).map(|pod| (false, pod));
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
            // A refused pod was changed meanwhile, which the watch will show.
            if done.is_ok() {
                self.done.insert((binds, uid));
            }
        }
    }

    /// Returns true if every pod is bound.
    pub(crate) fn has_bound_all(&self) -> bool {
        !self.cache.pods.values().any(is_new)
    }

    /// Adds the objects in responses to the cache.
    fn read_answers(&mut self) {
        for object in std::mem::take(&mut self.connection.answers) {
            self.cache.shown(Arc::unwrap_or_clone(object));
        }
    }
}

/// Returns true if a pod must be bound.
fn is_new(pod: &Value) -> bool {
    !is_bound(pod) && pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_bound(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string()
}

/// Sets the fields that the strictest Pod Security Standard requires, which some clusters enforce. The containers are
/// never run.
fn restrict(pod: &mut Value) {
    pod["securityContext"] = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        container["securityContext"] =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    }
}

impl Cluster for Namespace {
    fn namespace(&self) -> String {
        self.namespace.clone()
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn job(&self, name: &str) -> Option<&Value> {
        self.cache.jobs.get(name)
    }

    /// A kubelet knows only pods that are bound.
    fn pod(&self, name: &str) -> Option<&Value> {
        self.cache.pods.get(name).filter(|pod| is_bound(pod))
    }

    fn pods(&self) -> Vec<&Value> {
        self.cache.pods.values().collect()
    }

    fn created(&self, job: &str) -> &[Created] {
        self.cache.created(job)
    }

    fn complete(&self, spec: &mut Value) {
        if let (Some(value), true) = (&self.managed_by, spec["managedBy"].is_null()) {
            spec["managedBy"] = json!(value);
        }
        let pod = &mut spec["template"]["spec"];
        pod["schedulerName"] = json!(SCHEDULER);
        // The Node has a taint, and controllers may add others.
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
