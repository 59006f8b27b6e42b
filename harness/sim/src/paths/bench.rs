//! The cluster that paths are replayed on: the embedded API server, and what is known of each Job of the world there.

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

/// When the clock of the model shows 0: 2026-01-01T00:00:00Z.
pub const EPOCH: i64 = 1_767_225_600;
/// The node that runs all pods.
const NODE: &str = "node-1";

/// Why a path does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The API server, or the order of UIDs, does not let it: one of the abstractions that the module names.
    Cut(&'static str),
    /// What happens is not what the path says.
    Differs(String),
}

/// What happens is not what the path says.
pub fn differs<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Differs(what.into()))
}

/// A cluster, and what is known of each Job there.
pub struct Bench {
    /// The API server.
    pub server: Server,
    /// The clock: requests take no time, so that times are those of the path.
    pub now: Timestamp,
    /// The Jobs of the world, in its order.
    pub replicas: Vec<Replica>,
}

/// One Job of the world as the API server has it.
#[derive(Clone, Debug)]
pub struct Replica {
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid` of each Job that had the name, oldest first.
    pub jobs: Vec<Uid>,
    /// Its pods, dead ones included, in the order of their creation.
    pub pods: Vec<KnownPod>,
    /// The revision before the first change of the Job that the model knows, and after each.
    pub job_log: Vec<u64>,
    /// The same of its pods.
    pub pod_log: Vec<u64>,
    /// The processes that manage it.
    pub workers: Vec<Worker>,
    /// The TTL controller, where the path has one.
    pub ttl: Option<TtlWorker>,
    /// The request of a dead process.
    pub late: Option<Request>,
}

/// What a pod of the model is at the API server.
#[derive(Clone, Debug)]
pub struct KnownPod {
    /// Its UID in the model.
    pub uid: Uid,
    /// `metadata.uid`.
    pub stored: Uid,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl Bench {
    /// The cluster as a scope begins.
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
            late: None,
        });
        self.create_job(id, job, scope)?;
        job_state.pods.iter().try_for_each(|pod| self.find(id, pod, scope))
    }

    /// Another cluster in the same state.
    #[must_use]
    pub fn fork(&self) -> Bench {
        Bench { server: self.server.fork(), now: self.now, replicas: self.replicas.clone() }
    }

    /// A Job of the world.
    #[must_use]
    pub fn replica(&self, id: JobId) -> &Replica {
        &self.replicas[usize::from(id.0)]
    }

    /// A Job of the world, to change what is known of it.
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
    /// It is not.
    pub fn must(&mut self, request: &Request) -> Result<Arc<Value>, Stop> {
        let what = |message: String| Stop::Differs(format!("{} is refused: {message}", told(request)));
        self.ask(request).object().map_err(|error| what(error.message))
    }

    /// What a kubelet does.
    pub fn kubelet<R>(&mut self, act: impl FnOnce(&Kubelet, &mut Server, Timestamp) -> R) -> R {
        act(&Kubelet { node: NODE.to_owned() }, &mut self.server, self.now)
    }

    /// The user creates the Job.
    ///
    /// # Errors
    ///
    /// What the API server says against it.
    pub fn create_job(&mut self, id: JobId, job: &Job, scope: &Scope) -> Result<(), String> {
        let Some(spec) = scope.jobs.get(usize::from(id.0)) else { return Err("no such Job".to_owned()) };
        let body = job_request(job, spec);
        let request = Request::new(Resource::Jobs, Some(NAMESPACE), None, Verb::Create(body));
        let stored = self.ask(&request).object().map_err(|error| error.message)?;
        self.replica_mut(id).jobs.push(uid(&stored));
        Ok(())
    }

    /// A pod that is there before the Job has had a sync.
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
        let stored = self.note_birth(id, pod.uid, &response, scope).ok_or("a pod is refused")?;
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

    /// A pod was created: it is known, and has a node, unless pods of the scope wait for one. Its name; `None` where there
    /// is none.
    pub fn note_birth(&mut self, id: JobId, of: Uid, response: &Response, scope: &Scope) -> Option<Arc<str>> {
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

    /// The Job as it was at a revision.
    #[must_use]
    pub fn job_at(&self, id: JobId, revision: u64) -> Option<Arc<Value>> {
        let key = key(&self.replica(id).name);
        let mut all = self.server.store().scan_at(Resource::Jobs, &key, revision).unwrap_or_default();
        all.remove(&key)
    }

    /// All pods as they were at a revision, in the order of their names.
    #[must_use]
    pub fn pods_at(&self, revision: u64) -> Vec<Arc<Value>> {
        let prefix = key("");
        let all = self.server.store().scan_at(Resource::Pods, &prefix, revision).unwrap_or_default();
        all.into_values().collect()
    }
}

impl Replica {
    /// What a pod of the model is at the API server.
    #[must_use]
    pub fn known(&self, uid: Uid) -> Option<&KnownPod> {
        self.pods.iter().find(|pod| pod.uid == uid)
    }

    /// The pod of the model that has this UID at the API server.
    #[must_use]
    pub fn of_stored(&self, stored: Uid) -> Option<&KnownPod> {
        self.pods.iter().find(|pod| pod.stored == stored)
    }

    /// The revision that a cache shows which lacks so many changes of the Job.
    #[must_use]
    pub fn job_revision(&self, behind: usize, newest: u64) -> u64 {
        shown(&self.job_log, behind, newest)
    }

    /// The revision that a cache shows which lacks so many changes of pods.
    #[must_use]
    pub fn pod_revision(&self, behind: usize, newest: u64) -> u64 {
        shown(&self.pod_log, behind, newest)
    }
}

/// A cache that lacks nothing has seen what concerns others as well.
fn shown(log: &[u64], behind: usize, newest: u64) -> u64 {
    if behind == 0 {
        return newest;
    }
    log.len().checked_sub(behind + 1).and_then(|place| log.get(place)).copied().unwrap_or_default()
}

/// The key of an object of this name.
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

/// The API's spelling of it.
#[must_use]
pub fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A request in a few words.
#[must_use]
pub fn told(request: &Request) -> String {
    let part = request.subresource.map(|it| format!("/{}", it.name())).unwrap_or_default();
    format!("{} of {}{part} {}", request.verb.name(), request.resource.facts().plural, request.name())
}
