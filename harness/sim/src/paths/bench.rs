//! The cluster on which paths are replayed: the embedded API server, and the replica of each Job of the model.

use std::sync::Arc;

use jiff::Timestamp;
use jobcheck_apiserver::kubelet::{End, Kubelet};
use jobcheck_apiserver::request::{Reply, Request, Response, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config, Server};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, JobState, World};
use jobcheck_scenario::render::job_request;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::{Time, Uid};
use serde_json::{Value, json};

use super::ttl::TtlWorker;
use super::worker::Worker;
use crate::cluster::NAMESPACE;

/// The Unix time at which the model's clock shows 0: 2026-01-01T00:00:00Z.
pub const EPOCH: i64 = 1_767_225_600;
/// The node that runs all pods.
const NODE: &str = "node-1";

/// The reason why a path ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The path reaches an abstraction of the model, which the module lists.
    Cut(&'static str),
    /// The result differs from the path.
    Differs(String),
}

/// Returns a difference.
pub fn differs<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Differs(what.into()))
}

/// A cluster with the replicas of the Jobs.
pub struct Bench {
    /// The API server.
    pub server: Server,
    /// The clock. Requests take no time, so that times are those of the path.
    pub now: Timestamp,
    /// The replicas of the Jobs, in the order of the model.
    pub replicas: Vec<Replica>,
}

/// A Job of the model on the API server.
#[derive(Clone, Debug)]
pub struct Replica {
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid` of each Job of the name, oldest first.
    pub jobs: Vec<Uid>,
    /// Its pods, including removed ones, in the order of their creation.
    pub pods: Vec<KnownPod>,
    /// The revision before the first change of the Job, and the revision of each change.
    pub job_log: Vec<u64>,
    /// The same for its pods.
    pub pod_log: Vec<u64>,
    /// The processes that manage the Job.
    pub workers: Vec<Worker>,
    /// The TTL controller, if the path has one.
    pub ttl: Option<TtlWorker>,
    /// The request of a terminated process.
    pub delayed: Option<Request>,
}

/// A pod of the model on the API server.
#[derive(Clone, Debug)]
pub struct KnownPod {
    /// The UID in the model.
    pub uid: Uid,
    /// `metadata.uid`.
    pub stored: Uid,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl Bench {
    /// Returns the cluster in the initial state of a scope.
    ///
    /// # Errors
    ///
    /// The API server refuses a Job or a pod.
    pub fn new(scope: &Scope, world: &World, seed: u64) -> Result<Bench, String> {
        let now = timestamp(world.now);
        let server = Server::new(Config { seed, rules: scope.rules, ..Config::default() }, now);
        let mut bench = Bench { server, now, replicas: Vec::new() };
        Kubelet::of(&mut bench.server, now, NODE).map_err(|error| error.message)?;
        for (id, job_state) in world.numbered() {
            bench.begin(id, job_state, scope)?;
        }
        let revision = bench.server.revision();
        for (replica, job_state) in bench.replicas.iter_mut().zip(&world.job_states) {
            (replica.job_log, replica.pod_log) = (vec![revision], vec![revision]);
            replica.workers = job_state.processes().iter().map(|it| Worker::started(scope, it)).collect();
            replica.ttl = job_state.ttl.controller().map(|_| TtlWorker::started(revision));
        }
        Ok(bench)
    }

    fn begin(&mut self, id: JobId, job_state: &JobState, scope: &Scope) -> Result<(), String> {
        let Some(job) = &job_state.job else { return Err("a scope begins with its Jobs".to_owned()) };
        self.replicas.push(Replica {
            name: Arc::from(&*job.name),
            jobs: Vec::new(),
            pods: Vec::new(),
            job_log: Vec::new(),
            pod_log: Vec::new(),
            workers: Vec::new(),
            ttl: None,
            delayed: None,
        });
        self.create_job(id, job, scope)?;
        job_state.pods.iter().try_for_each(|pod| self.find(id, pod, scope))
    }

    /// Returns a copy in the same state.
    #[must_use]
    pub fn fork(&self) -> Bench {
        Bench { server: self.server.fork(), now: self.now, replicas: self.replicas.clone() }
    }

    /// The replica of a Job.
    #[must_use]
    pub fn replica(&self, id: JobId) -> &Replica {
        &self.replicas[usize::from(id.0)]
    }

    /// The replica of a Job, to change it.
    pub fn replica_mut(&mut self, id: JobId) -> &mut Replica {
        &mut self.replicas[usize::from(id.0)]
    }

    /// Sends a request.
    pub fn ask(&mut self, request: &Request) -> Response {
        self.server.handle(self.now, request)
    }

    /// Sends a request that must be accepted.
    ///
    /// # Errors
    ///
    /// The API server refuses the request.
    pub fn must(&mut self, request: &Request) -> Result<Arc<Value>, Stop> {
        let what = |message: String| Stop::Differs(format!("{} is refused: {message}", describe(request)));
        self.ask(request).object().map_err(|error| what(error.message))
    }

    /// Calls a function with the kubelet.
    pub fn kubelet<R>(&mut self, act: impl FnOnce(&Kubelet, &mut Server, Timestamp) -> R) -> R {
        act(&Kubelet { node: NODE.to_owned() }, &mut self.server, self.now)
    }

    /// Creates the Job as the user.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn create_job(&mut self, id: JobId, job: &Job, scope: &Scope) -> Result<(), String> {
        let Some(spec) = scope.jobs.get(usize::from(id.0)) else { return Err("no such Job".to_owned()) };
        let body = job_request(job, spec);
        let request = Request::new(Resource::Jobs, Some(NAMESPACE), None, Verb::Create(body));
        let stored = self.ask(&request).object().map_err(|error| error.message)?;
        self.replica_mut(id).jobs.push(uid(&stored));
        Ok(())
    }

    /// Creates a pod that exists before the first sync of the Job.
    fn find(&mut self, id: JobId, pod: &Pod, scope: &Scope) -> Result<(), String> {
        let Some(job) = self.job(id).cloned() else { return Err("there is no Job".to_owned()) };
        let template = &job["spec"]["template"];
        let mut metadata = json!({"generateName": "found-", "labels": template["metadata"]["labels"]});
        if pod.controlled {
            metadata["ownerReferences"] = json!([{
                "apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"],
                "uid": job["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
            }]);
        }
        let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]});
        let request = Request::new(Resource::Pods, Some(NAMESPACE), None, Verb::Create(body));
        let response = self.ask(&request);
        let stored = self.add_created_pod(id, pod.uid, &response, scope).ok_or("a pod is refused")?;
        let done = match pod.phase {
            Phase::Pending | Phase::Unknown => Ok(()),
            Phase::Running => self.kubelet(|it, server, now| it.run(server, now, NAMESPACE, &stored, false)),
            Phase::Succeeded => {
                self.kubelet(|it, server, now| it.end(server, now, NAMESPACE, &stored, End::Succeeded))
            }
            Phase::Failed => {
                self.kubelet(|it, server, now| it.end(server, now, NAMESPACE, &stored, End::Failed(1)))
            }
        };
        done.map_err(|error| error.message)
    }

    /// Adds a created pod to the replica, and binds it unless pods of the scope wait for the scheduler. Returns
    /// its name, or `None` if the response has no pod.
    pub fn add_created_pod(
        &mut self,
        id: JobId,
        of: Uid,
        response: &Response,
        scope: &Scope,
    ) -> Option<Arc<str>> {
        let Ok(Reply::Object { code: 201, object }) = &response.outcome else { return None };
        let name: Arc<str> = Arc::from(object["metadata"]["name"].as_str()?);
        let pod = KnownPod { uid: of, stored: uid(object), name: Arc::clone(&name) };
        self.replica_mut(id).pods.push(pod);
        if !scope.unscheduled {
            let bound = self.kubelet(|it, server, now| it.bind(server, now, NAMESPACE, &name));
            debug_assert!(bound.is_ok(), "{bound:?}");
        }
        Some(name)
    }

    /// The stored Job.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Arc<Value>> {
        self.server.store().get(Resource::Jobs, &key(&self.replica(id).name))
    }

    /// The stored pod.
    #[must_use]
    pub fn pod(&self, id: JobId, uid: Uid) -> Option<&Arc<Value>> {
        let known = self.replica(id).known(uid)?;
        self.server.store().get(Resource::Pods, &key(&known.name))
    }

    /// The Job at a revision.
    #[must_use]
    pub fn job_at(&self, id: JobId, revision: u64) -> Option<Arc<Value>> {
        let key = key(&self.replica(id).name);
        let mut all = self.server.store().scan_at(Resource::Jobs, &key, revision).unwrap_or_default();
        all.remove(&key)
    }

    /// All pods at a revision, in the order of their names.
    #[must_use]
    pub fn pods_at(&self, revision: u64) -> Vec<Arc<Value>> {
        let prefix = key("");
        let all = self.server.store().scan_at(Resource::Pods, &prefix, revision).unwrap_or_default();
        all.into_values().collect()
    }
}

impl Replica {
    /// The pod of the API server for a pod of the model.
    #[must_use]
    pub fn known(&self, uid: Uid) -> Option<&KnownPod> {
        self.pods.iter().find(|pod| pod.uid == uid)
    }

    /// The pod with this UID on the API server.
    #[must_use]
    pub fn of_stored(&self, stored: Uid) -> Option<&KnownPod> {
        self.pods.iter().find(|pod| pod.stored == stored)
    }

    /// The revision of a cache that lacks this number of changes of the Job.
    #[must_use]
    pub fn job_revision(&self, behind: usize, newest: u64) -> u64 {
        shown(&self.job_log, behind, newest)
    }

    /// The revision of a cache that lacks this number of changes of pods.
    #[must_use]
    pub fn pod_revision(&self, behind: usize, newest: u64) -> u64 {
        shown(&self.pod_log, behind, newest)
    }
}

/// A cache without lag also shows changes of other objects.
fn shown(log: &[u64], behind: usize, newest: u64) -> u64 {
    if behind == 0 {
        return newest;
    }
    log.len().checked_sub(behind + 1).and_then(|place| log.get(place)).copied().unwrap_or_default()
}

/// The key of an object with this name.
#[must_use]
pub fn key(name: &str) -> String {
    format!("{NAMESPACE}/{name}")
}

/// `metadata.uid`.
#[must_use]
pub fn uid(object: &Value) -> Uid {
    Uid::parse(object["metadata"]["uid"].as_str().unwrap_or_default())
}

/// A time of the model.
#[must_use]
pub fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_second(EPOCH.saturating_add(time.0)).unwrap_or_default()
}

/// A time in the format of the API.
#[must_use]
pub fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A short description of a request.
#[must_use]
pub fn describe(request: &Request) -> String {
    let part = request.subresource.map(|it| format!("/{}", it.name())).unwrap_or_default();
    format!("{} of {}{part} {}", request.verb.name(), request.resource.facts().plural, request.name())
}
