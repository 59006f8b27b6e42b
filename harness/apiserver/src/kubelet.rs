//! A kubelet and a scheduler for scenarios. Each step is a request that they would send, to this server or to a real
//! one.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::object::{at, text, time};
use crate::pod_api::put_condition;
use crate::request::{Api, DeleteOptions, Preconditions, Request, Subresource, Verb};
use crate::resource::Resource;

const SCHEDULER: (&str, &str) = ("system:kube-scheduler", "kube-scheduler");

/// The kubelet of one node, and the scheduler that binds pods to it.
#[derive(Clone, Debug)]
pub struct Kubelet {
    /// The node's name.
    pub node: String,
}

/// The termination of a pod's containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All containers exited with 0.
    Succeeded,
    /// The first container exited with this code, which is not 0.
    Failed(i32),
}

impl Kubelet {
    /// Returns the kubelet of a node, and creates the Node object if it does not exist.
    ///
    /// # Errors
    /// The server refuses the node.
    pub fn of(server: &mut dyn Api, now: Timestamp, node: &str) -> Result<Kubelet, ApiError> {
        let kubelet = Kubelet { node: node.to_owned() };
        let get = Request::new(Resource::Nodes, None, Some(node), Verb::Get { resource_version: None });
        if server.handle(now, &get).outcome.is_err() {
            let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
            let body = json!({"metadata": {"name": node}, "status": {"conditions": [ready]}});
            let request = Request::new(Resource::Nodes, None, None, Verb::Create(body));
            server.handle(now, &kubelet.signed(request)).object()?;
        }
        Ok(kubelet)
    }

    fn signed(&self, request: Request) -> Request {
        request.of(&format!("system:node:{}", self.node), "kubelet/v1.36.3")
    }

    /// Binds a pod to the node.
    ///
    /// # Errors
    /// The pod does not exist, is bound, or is being deleted.
    pub fn bind(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
    ) -> Result<(), ApiError> {
        let body = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "namespace": namespace},
            "target": {"kind": "Node", "name": self.node},
        });
        let request = Request::new(Resource::Pods, Some(namespace), Some(pod), Verb::Create(body));
        let request = request.on(Subresource::Binding).of(SCHEDULER.0, SCHEDULER.1);
        server.handle(now, &request).object().map(drop)
    }

    /// Sets the containers of a pod running, and ready or not.
    ///
    /// # Errors
    /// The pod does not exist, or has terminated.
    pub fn run(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
        ready: bool,
    ) -> Result<(), ApiError> {
        self.report(server, now, namespace, pod, |pod| {
            let start = text(pod, &["status", "startTime"]);
            let start = if start.is_empty() { time(now) } else { json!(start) };
            let statuses = container_statuses(pod, ready, |_| json!({"running": {"startedAt": start}}));
            let status = crate::object::child(pod, "status");
            status.insert("phase".to_owned(), json!("Running"));
            status.insert("startTime".to_owned(), start.clone());
            status.insert("containerStatuses".to_owned(), statuses);
            put_ready(pod, now, ready);
        })
    }

    /// Terminates the containers of a pod and sets its phase. A pod that is being deleted stays until
    /// [`Kubelet::finish`].
    ///
    /// # Errors
    /// The pod does not exist.
    pub fn end(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
        end: End,
    ) -> Result<(), ApiError> {
        self.report(server, now, namespace, pod, |pod| {
            let (phase, code, reason) = match end {
                End::Succeeded => ("Succeeded", 0, "Completed"),
                End::Failed(code) => ("Failed", code, "Error"),
            };
            let statuses = container_statuses(pod, false, |place| {
                let code = if place == 0 { code } else { 0 };
                json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": time(now)}})
            });
            let status = crate::object::child(pod, "status");
            status.insert("phase".to_owned(), json!(phase));
            status.insert("containerStatuses".to_owned(), statuses);
            put_ready(pod, now, false);
        })
    }

    /// Changes the status of a pod with a function.
    ///
    /// # Errors
    /// The pod does not exist, or the server refuses the status.
    pub fn report(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<(), ApiError> {
        let mut object = Value::clone(&*self.get(server, now, namespace, pod)?);
        change(&mut object);
        let put = Request::new(Resource::Pods, Some(namespace), Some(pod), Verb::Update(object));
        server.handle(now, &self.signed(put.on(Subresource::Status))).object().map(drop)
    }

    fn get(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
    ) -> Result<Arc<Value>, ApiError> {
        let get =
            Request::new(Resource::Pods, Some(namespace), Some(pod), Verb::Get { resource_version: None });
        server.handle(now, &self.signed(get)).object()
    }

    /// Ends the grace period of a pod that is being deleted. The pod is removed unless it has finalizers.
    ///
    /// # Errors
    /// The pod does not exist.
    pub fn finish(
        &self,
        server: &mut dyn Api,
        now: Timestamp,
        namespace: &str,
        pod: &str,
    ) -> Result<(), ApiError> {
        let object = self.get(server, now, namespace, pod)?;
        let uid = crate::object::meta(&object, "uid").to_owned();
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(uid), resource_version: None }),
            ..DeleteOptions::default()
        };
        let delete = Request::new(Resource::Pods, Some(namespace), Some(pod), Verb::Delete(options));
        server.handle(now, &self.signed(delete)).object().map(drop)
    }
}

fn container_statuses(pod: &Value, ready: bool, state: impl Fn(usize) -> Value) -> Value {
    let containers = at(pod, &["spec", "containers"]).and_then(Value::as_array);
    containers
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(place, container)| {
            let restarts = at(pod, &["status", "containerStatuses"]).and_then(|it| it.get(place));
            let restarts = restarts.and_then(|it| it["restartCount"].as_i64()).unwrap_or(0);
            json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": ready,
                "restartCount": restarts, "state": state(place),
            })
        })
        .collect()
}

fn put_ready(pod: &mut Value, now: Timestamp, ready: bool) {
    let status = if ready { "True" } else { "False" };
    for kind in ["ContainersReady", "Ready"] {
        put_condition(pod, &json!({"type": kind, "status": status, "lastTransitionTime": time(now)}));
    }
}
