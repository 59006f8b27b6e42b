//! A server and a clock, with short forms of requests.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{
    DeleteOptions, List, ListOptions, PatchKind, Reply, Request, Response, Subresource, Verb, WatchOptions,
};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::watch::{WatchEvent, WatchId};
use jobcheck_apiserver::{Config, Server};
use serde_json::{Value, json};

pub const START: &str = "2026-11-21T00:00:00Z";

pub struct Cluster {
    pub server: Server,
    pub now: Timestamp,
}

impl Cluster {
    pub fn new() -> Cluster {
        Cluster::with(Config::default())
    }

    pub fn with(config: Config) -> Cluster {
        let now = START.parse().unwrap();
        Cluster { server: Server::new(config, now), now }
    }

    pub fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub fn ask(&mut self, request: &Request) -> Response {
        self.server.handle(self.now, request)
    }

    fn object(&mut self, request: &Request) -> Result<Arc<Value>, ApiError> {
        self.ask(request).object()
    }

    pub fn create(&mut self, resource: Resource, body: Value) -> Result<Arc<Value>, ApiError> {
        let namespace = resource.facts().namespaced.then_some("default");
        self.object(&Request::new(resource, namespace, None, Verb::Create(body)))
    }

    pub fn get(&mut self, resource: Resource, name: &str) -> Result<Arc<Value>, ApiError> {
        self.object(&on(resource, name, Verb::Get { resource_version: None }))
    }

    pub fn update(&mut self, resource: Resource, body: Value) -> Result<Arc<Value>, ApiError> {
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        self.object(&on(resource, &name, Verb::Update(body)))
    }

    pub fn update_status(&mut self, resource: Resource, body: Value) -> Result<Arc<Value>, ApiError> {
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        self.object(&on(resource, &name, Verb::Update(body)).on(Subresource::Status))
    }

    pub fn patch(
        &mut self,
        resource: Resource,
        name: &str,
        kind: PatchKind,
        body: Value,
    ) -> Result<Arc<Value>, ApiError> {
        self.object(&on(resource, name, Verb::Patch { kind, body }))
    }

    pub fn patch_status(
        &mut self,
        resource: Resource,
        name: &str,
        kind: PatchKind,
        body: Value,
    ) -> Result<Arc<Value>, ApiError> {
        self.object(&on(resource, name, Verb::Patch { kind, body }).on(Subresource::Status))
    }

    pub fn delete(&mut self, resource: Resource, name: &str, options: Value) -> Result<Arc<Value>, ApiError> {
        let options: DeleteOptions = serde_json::from_value(options).unwrap();
        self.object(&on(resource, name, Verb::Delete(options)))
    }

    pub fn list(&mut self, resource: Resource, options: ListOptions) -> Result<List, ApiError> {
        let namespace = resource.facts().namespaced.then_some("default");
        match self.ask(&Request::new(resource, namespace, None, Verb::List(options))).outcome? {
            Reply::List(list) => Ok(list),
            other => panic!("{other:?} is no list"),
        }
    }

    pub fn watch(&mut self, resource: Resource, options: WatchOptions) -> Result<WatchId, ApiError> {
        let namespace = resource.facts().namespaced.then_some("default");
        match self.ask(&Request::new(resource, namespace, None, Verb::Watch(options))).outcome? {
            Reply::Watch(id) => Ok(id),
            other => panic!("{other:?} is no watch"),
        }
    }

    pub fn events(&mut self, id: WatchId) -> Vec<WatchEvent> {
        self.server.take_events(self.now, id, usize::MAX).events
    }

    /// Kind and name of the events of a watch.
    pub fn seen(&mut self, id: WatchId) -> Vec<(&'static str, String)> {
        let name =
            |event: &WatchEvent| event.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.events(id).iter().map(|event| (event.kind, name(event))).collect()
    }
}

pub fn on(resource: Resource, name: &str, verb: Verb) -> Request {
    let namespace = resource.facts().namespaced.then_some("default");
    Request::new(resource, namespace, Some(name), verb)
}

pub fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}})
}

pub fn job(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}})
}

/// The object with one member replaced.
pub fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = value;
    object
}
