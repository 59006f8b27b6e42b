//! The cluster of a run: the API server, its clock, and all components except the controllers of Jobs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults};
use jobcheck_apiserver::kubelet::Kubelet;
use jobcheck_apiserver::request::{Api, Reply, Request, Response};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config, Server};
use jobcheck_scenario::runtime::Cluster as Stage;
use jobcheck_scenario::runtime::{Created, fault_kind, is_to_be_removed};
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use crate::recorder::Recorder;

/// The namespace of all Jobs of a run.
pub const NAMESPACE: &str = "default";
/// The node that runs all pods.
const NODE: &str = "node-1";
/// 2026-01-01T00:00:00Z.
const EPOCH: i64 = 1_767_225_600;
/// The duration of a request.
const TAKES: SignedDuration = SignedDuration::from_millis(1);

/// An API server with a clock, a kubelet, and a garbage collector.
pub struct Cluster {
    /// The API server.
    pub server: Server,
    /// The recording.
    pub recorder: Recorder,
    now: Timestamp,
    kubelet: Kubelet,
    /// If true, pods wait for the scheduler. Otherwise each is bound to the node at once.
    unscheduled: bool,
    /// The refusal of the next request, if it fails.
    fails: Arc<Mutex<Option<ApiError>>>,
    /// The pods of each Job, by its name, in the order of their creation.
    created: BTreeMap<String, Vec<Created>>,
    /// The revision up to which the garbage collector has worked.
    collected: u64,
}

/// Lets single requests fail before they are carried out.
struct Failing(Arc<Mutex<Option<ApiError>>>);

impl Faults for Failing {
    fn before(&mut self, _now: Timestamp, _request: &Request) -> Option<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(Fault::Answer)
    }
}

impl Cluster {
    /// Returns a new cluster.
    ///
    /// # Errors
    ///
    /// The API server refuses the Node. This is a defect of this program.
    pub fn new(seed: u64, rules: RuleSet, unscheduled: bool, header: Value) -> Result<Cluster, ApiError> {
        let now = Timestamp::from_second(EPOCH).unwrap_or_default();
        let mut server = Server::new(Config { seed, rules, ..Config::default() }, now);
        let kubelet = Kubelet::of(&mut server, now, NODE)?;
        let recorder = Recorder::new(header);
        let fails = Arc::default();
        server.set_audit(Some(recorder.sink()));
        server.set_faults(Some(Box::new(Failing(Arc::clone(&fails)))));
        let (created, collected) = (BTreeMap::new(), 0);
        let mut cluster = Cluster { server, recorder, now, kubelet, unscheduled, fails, created, collected };
        cluster.mark(json!({ "kind": "start" }));
        Ok(cluster)
    }

    /// The current time, in the format of traces.
    #[must_use]
    pub fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// Advances the clock.
    pub fn advance(&mut self, span: SignedDuration) {
        self.now = self.now.saturating_add(span).unwrap_or(self.now);
    }

    /// Records that a controller of this name exists and has listed all objects.
    pub fn introduce_controller(&mut self, actor: &str) {
        let (at, version) = (self.time(), self.server.revision().to_string());
        for resource in ["jobs", "pods"] {
            let line = json!({ "at": at, "actor": actor, "resource": resource, "resourceVersion": version });
            self.recorder.note("observed", line);
        }
    }

    /// Adds a mark to the trace.
    pub fn mark(&mut self, mut mark: Value) {
        mark["at"] = json!(self.time());
        self.recorder.note("mark", mark);
    }

    /// Adds a fault to the trace.
    pub fn fault(&mut self, kind: &str, actor: &str, detail: &str) {
        let line = json!({ "at": self.time(), "kind": kind, "actor": actor, "detail": detail });
        self.recorder.note("fault", line);
    }

    /// Records that a controller relists a resource after its watch has ended with 410.
    pub fn relists(&mut self, actor: &str, resource: &str) {
        let line = json!({ "at": self.time(), "kind": "relist", "actor": actor, "resource": resource });
        self.recorder.note("fault", line);
    }

    /// Sends a request that fails before it is carried out.
    pub fn refuse(&mut self, request: &Request, actor: &str, error: &ApiError) -> Response {
        // Traces contain no reads.
        if request.verb.writes() {
            self.fault(fault_kind(error.code), actor, "nothing was done");
        }
        *self.fails.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        self.ask(request)
    }

    /// Records a created pod of a Job, and binds it unless pods wait for the scheduler.
    fn note_pod(&mut self, request: &Request, pod: &Value) {
        if request.resource != Resource::Pods || request.subresource.is_some() {
            return;
        }
        let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default().to_owned();
        let job = pod["metadata"]["labels"]["job-name"].as_str().unwrap_or_default();
        let owner = self.job(job).map(|job| job["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        let created = Created { name: text("name"), uid: text("uid"), job: owner.unwrap_or_default() };
        if !self.unscheduled {
            self.advance(TAKES);
            // Binding a new pod never fails.
            let _ = self.kubelet.bind(&mut self.server, self.now, NAMESPACE, &created.name);
            self.recorder.gather();
        }
        self.created.entry(job.to_owned()).or_default().push(created);
    }

    /// Does one pending action of the kubelet, the garbage collector, or the namespace controller. The kubelet removes
    /// terminated pods that are being deleted. Returns false if there was no action.
    pub fn follow_up(&mut self) -> bool {
        let ended = self.server.store().scan(Resource::Pods, "").find(|(_, pod)| is_to_be_removed(pod));
        if let Some(name) = ended.and_then(|(_, pod)| pod["metadata"]["name"].as_str()).map(str::to_owned) {
            return self.kubelet(|it, server, now| it.finish(server, now, NAMESPACE, &name)).is_ok();
        }
        if self.collected == self.server.revision() {
            return false;
        }
        self.advance(TAKES);
        let writes = self.server.collect_garbage(self.now) + self.server.finish_namespaces(self.now);
        self.recorder.gather();
        self.collected = if writes == 0 { self.server.revision() } else { 0 };
        writes > 0
    }
}

impl Stage for Cluster {
    fn namespace(&self) -> String {
        NAMESPACE.to_owned()
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn job(&self, name: &str) -> Option<&Value> {
        self.server.store().get(Resource::Jobs, &format!("{NAMESPACE}/{name}")).map(|job| &**job)
    }

    fn pod(&self, name: &str) -> Option<&Value> {
        self.server.store().get(Resource::Pods, &format!("{NAMESPACE}/{name}")).map(|pod| &**pod)
    }

    fn pods(&self) -> Vec<&Value> {
        self.server.store().scan(Resource::Pods, "").map(|(_, pod)| &**pod).collect()
    }

    fn created(&self, job: &str) -> &[Created] {
        self.created.get(job).map_or(&[], Vec::as_slice)
    }

    fn ask(&mut self, request: &Request) -> Response {
        self.advance(TAKES);
        let response = self.server.handle(self.now, request);
        self.recorder.gather();
        if let Ok(Reply::Object { code: 201, object }) = &response.outcome {
            self.note_pod(request, object);
        }
        response
    }

    fn kubelet<R>(
        &mut self,
        act: impl FnOnce(&Kubelet, &mut dyn Api, Timestamp) -> Result<R, ApiError>,
    ) -> Result<R, ApiError> {
        self.advance(TAKES);
        let kubelet = self.kubelet.clone();
        let result = act(&kubelet, &mut self.server, self.now);
        self.recorder.gather();
        result
    }
}
