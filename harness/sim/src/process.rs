//! A process of the shipped Job controller: caches, queue, memory, and the sync under way.
//!
//! The decisions are the shipped ones (`jobcheck_controller::job`). The code around them is minimal, and sends one
//! request at a time, so that any event can happen between two requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use jobcheck_adapter::mutations::plan_with;
use jobcheck_apiserver::Server;
use jobcheck_apiserver::request::{Request, Response};
use jobcheck_apiserver::resource::Resource;
use jobcheck_controller::answer::Failure;
use jobcheck_controller::job::call::Written;
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observe::{self, PodSelector};
use jobcheck_controller::job::observed::{Observed, PodFacts, Settings};
use jobcheck_controller::job::orphan::{self, OrphanObserved, Owner, OwnerLookup, PodOwner};
use jobcheck_controller::job::requests::{PodTemplate, of_orphan, read_job};
use jobcheck_controller::values::{Time, Uid};
use jobcheck_explorer::mutations::Mutations;

use crate::cache::{Change, ObjectCache};
use crate::calls::{CallRequest, Sync, answer, number, to_server};
use crate::readings::Readings;
use crate::rng::Rng;

/// The actor of the Job controller in marks, faults, and observations.
pub const ACTOR: &str = "job-controller";
const USER: &str = "system:serviceaccount:jobcheck:job-controller";
const AGENT: &str = "jobcheck/0.1.0 job-controller";

/// A cache of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The cache of Jobs.
    Jobs,
    /// The cache of pods.
    Pods,
}

/// The versions that a sync has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStart {
    /// The name of the Job.
    pub job: String,
    /// The version of the cache of Jobs.
    pub jobs: u64,
    /// The version of the cache of pods.
    pub pods: u64,
}

/// A process of the Job controller.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    /// The defects of its plans.
    mutations: Mutations,
    jobs: ObjectCache,
    pods: ObjectCache,
    readings: Readings,
    /// The Jobs whose last sync waited for the caches. Each event may be the one.
    behind: BTreeSet<String>,
    queue: BTreeSet<String>,
    orphans: BTreeSet<String>,
    wakes: BTreeMap<String, Timestamp>,
    memories: BTreeMap<String, Memory>,
    /// The newest versions of the Job and of its pods in responses to writes, by the UID of the Job (SY-03).
    written: BTreeMap<Uid, (u64, u64)>,
    sync: Option<Sync>,
    /// The UIDs of Jobs that are known to be removed.
    gone: BTreeSet<Uid>,
    /// The request that waits for its response.
    pending: Option<PendingRequest>,
}

#[derive(Debug)]
enum PendingRequest {
    Call(CallRequest),
    Orphan {
        pod: String,
        request: Request,
    },
    /// The lookup of an orphan's Job (FT-21).
    Owner {
        pod: PodFacts,
        job: Uid,
        request: Request,
    },
}

impl PendingRequest {
    fn request(&self) -> &Request {
        match self {
            PendingRequest::Call(sent) => &sent.request,
            PendingRequest::Orphan { request, .. } | PendingRequest::Owner { request, .. } => request,
        }
    }

    fn request_mut(&mut self) -> &mut Request {
        match self {
            PendingRequest::Call(sent) => &mut sent.request,
            PendingRequest::Orphan { request, .. } | PendingRequest::Owner { request, .. } => request,
        }
    }
}

impl Process {
    /// Returns a new process that has listed all objects.
    pub fn started(server: &mut Server, now: Timestamp, settings: Settings, mutations: Mutations) -> Process {
        let jobs = ObjectCache::listed(server, now, Resource::Jobs);
        let pods = ObjectCache::listed(server, now, Resource::Pods);
        let mut readings = Readings::default();
        for (_, job) in jobs.all() {
            readings.job_changed(&Change { before: None, after: Some(Arc::clone(job)) });
        }
        for (_, pod) in pods.all() {
            readings.pod_changed(&Change { before: None, after: Some(Arc::clone(pod)) });
        }
        Process {
            queue: jobs.all().map(|(name, _)| name.clone()).collect(),
            orphans: pods.all().map(|(name, _)| name.clone()).collect(),
            settings,
            mutations,
            jobs,
            pods,
            readings,
            behind: BTreeSet::new(),
            wakes: BTreeMap::new(),
            memories: BTreeMap::new(),
            written: BTreeMap::new(),
            sync: None,
            gone: BTreeSet::new(),
            pending: None,
        }
    }

    /// The settings of the process.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The defects of its plans.
    #[must_use]
    pub fn mutations(&self) -> &Mutations {
        &self.mutations
    }

    /// Ends the watches of the process.
    pub fn stop(&self, server: &mut Server) {
        self.jobs.close(server);
        self.pods.close(server);
    }

    /// The lag of a cache in events.
    pub fn lag(&mut self, server: &mut Server, now: Timestamp, cache: Cache) -> usize {
        match cache {
            Cache::Jobs => self.jobs.lag(server, now),
            Cache::Pods => self.pods.lag(server, now),
        }
    }

    /// Delivers the next event to a cache, and queues the affected keys.
    pub fn show(&mut self, cache: Cache) {
        let shown = match cache {
            Cache::Jobs => self.jobs.show(),
            Cache::Pods => self.pods.show(),
        };
        shown.iter().for_each(|change| self.changed(cache, change));
    }

    /// Relists a cache, and queues the changed keys.
    pub fn relist(&mut self, server: &mut Server, now: Timestamp, cache: Cache) {
        let changes = match cache {
            Cache::Jobs => self.jobs.relist(server, now, Resource::Jobs),
            Cache::Pods => self.pods.relist(server, now, Resource::Pods),
        };
        changes.iter().for_each(|change| self.changed(cache, change));
    }

    fn changed(&mut self, cache: Cache, change: &Change) {
        match cache {
            Cache::Jobs => {
                if let (Some(job), None) = (&change.before, &change.after) {
                    self.gone.extend(job["metadata"]["uid"].as_str().map(Uid::new));
                }
                self.queue.extend(change.names());
                self.orphans.extend(self.readings.job_changed(change));
            }
            Cache::Pods => {
                self.queue.extend(self.readings.pod_changed(change));
                self.orphans.extend(change.names());
            }
        }
        self.queue.append(&mut self.behind);
    }

    /// The next time at which a delayed key is due.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.values().min().copied()
    }

    /// Returns the next request. Syncs without a request are run on the way. `began` receives the versions that
    /// each sync has read.
    pub fn next_request(
        &mut self,
        now: Timestamp,
        rng: &mut Option<Rng>,
        began: &mut Vec<SyncStart>,
    ) -> Option<Request> {
        let due = self.wakes.iter().filter(|(_, wake)| **wake <= now).map(|(job, _)| job.clone());
        for job in due.collect::<Vec<_>>() {
            self.wakes.remove(&job);
            self.queue.insert(job);
        }
        loop {
            if let Some(pending) = &self.pending {
                return Some(pending.request().clone());
            }
            if let Some(sync) = &mut self.sync {
                let open = sync.open().len();
                let number = rng.as_mut().map_or(0, |rng| rng.below(open));
                match sync.take(number) {
                    Some(sent) => self.ask(PendingRequest::Call(sent)),
                    None => self.end_sync(),
                }
            } else if let Some(job) = choose(&self.queue, rng) {
                self.queue.remove(&job);
                self.start_sync(&job, now, began);
            } else if let Some(pod) = choose(&self.orphans, rng) {
                self.orphans.remove(&pod);
                if let Some(pending) = self.look_at_orphan(&pod) {
                    self.ask(pending);
                }
            } else {
                return None;
            }
        }
    }

    fn ask(&mut self, mut pending: PendingRequest) {
        let request = pending.request_mut();
        (request.user, request.user_agent) = (USER.to_owned(), AGENT.to_owned());
        self.pending = Some(pending);
    }

    /// Ends the current request, with its response or without one.
    pub fn answered(&mut self, response: Option<&Response>, server: &mut Server, now: Timestamp) {
        match self.pending.take() {
            Some(PendingRequest::Call(sent)) => {
                let Some(sync) = &mut self.sync else { return };
                let written = sync.answered(&sent, response, time(now));
                self.memories.insert(sync.job.name.to_string(), sync.memory().clone());
                let uid = sync.job.uid.clone();
                self.note(uid, written, server, now);
            }
            Some(PendingRequest::Orphan { pod, .. }) => match answer(response) {
                Ok(_) | Err(Failure::NotFound(_)) => {}
                Err(_) => drop(self.orphans.insert(pod)),
            },
            Some(PendingRequest::Owner { pod, job, .. }) => {
                match orphan::owner_from_response(&job, answer(response)) {
                    Ok(Some(owner)) => {
                        self.gone.insert(job);
                        if let Some(pending) = self.decide_on_orphan(&pod, owner) {
                            self.ask(pending);
                        }
                    }
                    Ok(None) => {}
                    Err(_) => drop(self.orphans.insert(pod.name.to_string())),
                }
            }
            None => {}
        }
    }

    /// Records the versions that the caches must show before the next sync of the Job (SY-03).
    fn note(&mut self, job: Uid, written: Option<Written>, server: &mut Server, now: Timestamp) {
        let (jobs, pods) = self.written.entry(job).or_default();
        match written {
            Some(Written::Job(version)) => *jobs = number(&version).max(*jobs),
            Some(Written::Pod(version)) => *pods = number(&version).max(*pods),
            // The shipped runtime asks the API server for the stored version.
            Some(Written::Unknown) => {
                *jobs = self.jobs.newest(server, now).max(*jobs);
                *pods = self.pods.newest(server, now).max(*pods);
            }
            None => {}
        }
    }

    fn start_sync(&mut self, name: &str, now: Timestamp, began: &mut Vec<SyncStart>) {
        let Some(reading) = self.readings.job(name).cloned() else {
            self.memories.remove(name);
            return;
        };
        let (job, facts) = (&reading.value, &reading.facts);
        let written = self.written.get(&facts.uid).copied().unwrap_or_default();
        let shows = self.jobs.version() >= written.0 && self.pods.version() >= written.1;
        if !shows {
            self.behind.insert(name.to_owned());
        }
        let pods = self.readings.pods_of(&reading);
        let memory = self.memories.remove(name).unwrap_or_default();
        began.push(SyncStart { job: name.to_owned(), jobs: self.jobs.version(), pods: self.pods.version() });
        let observed = Observed {
            job: facts,
            pods: &pods,
            memory: &memory,
            caches_show_own_writes: shows,
            now: time(now),
            settings: &self.settings,
        };
        let plan = plan_with(&self.mutations, &observed);
        self.memories.insert(name.to_owned(), plan.memory.clone());
        if let Some(wait) = plan.wake_after {
            let wake = now.saturating_add(SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX));
            self.wakes.insert(name.to_owned(), wake.unwrap_or(Timestamp::MAX));
        }
        if !plan.is_empty() {
            let indexed = job["spec"]["completionMode"] == "Indexed";
            let template = PodTemplate::new(facts, &job["spec"]["template"], indexed);
            self.sync = Some(Sync::new(facts.clone(), Arc::new(template), plan));
        }
    }

    fn end_sync(&mut self) {
        if let Some(sync) = self.sync.take().filter(Sync::has_failed) {
            self.queue.insert(sync.job.name.to_string());
        }
    }

    /// The first request for a pod in the orphan queue, if one is necessary.
    fn look_at_orphan(&self, name: &str) -> Option<PendingRequest> {
        let pod = self.readings.pod(name)?;
        let reference = observe::owner(&pod.metadata);
        let (uid, cached) = match &reference {
            PodOwner::Job { name, uid } => (uid.clone(), self.readings.job(name)),
            PodOwner::Nobody | PodOwner::AnotherKind => (Uid::new(""), None),
        };
        let pod = observe::pod(pod, &uid, &PodSelector::nothing()).ok()?;
        let cached = cached.map(|job| &job.facts);
        match orphan::look_up_owner(&pod, &reference, cached, |job| self.gone.contains(job)) {
            OwnerLookup::Known(owner) => self.decide_on_orphan(&pod, owner),
            OwnerLookup::Ask { job, uid } => {
                let (request, job) = (to_server(read_job(job)), uid.clone());
                Some(PendingRequest::Owner { pod, job, request })
            }
        }
    }

    fn decide_on_orphan(&self, pod: &PodFacts, owner: Owner<'_>) -> Option<PendingRequest> {
        let plan = orphan::plan(&OrphanObserved { pod, owner, settings: &self.settings });
        let request = to_server(of_orphan(&plan)?);
        Some(PendingRequest::Orphan { pod: pod.name.to_string(), request })
    }
}

/// Chooses one of the keys: the first, or a random one.
fn choose(keys: &BTreeSet<String>, rng: &mut Option<Rng>) -> Option<String> {
    let number = rng.as_mut().map_or(0, |rng| rng.below(keys.len()));
    keys.iter().nth(number).cloned()
}

/// The time as the controllers represent it.
pub fn time(now: Timestamp) -> Time {
    Time::from_millis(now.as_millisecond())
}

#[cfg(test)]
mod tests {
    use jobcheck_apiserver::request::Verb;
    use jobcheck_scenario::runtime::Cluster as _;
    use jobcheck_spec::apiserver::RuleSet;
    use serde_json::json;

    use super::*;
    use crate::cluster::{Cluster, NAMESPACE};

    /// A cluster with a pod that has the finalizer and references a Job with this UID.
    fn cluster(uid: &str) -> Cluster {
        let mut cluster = Cluster::new(0, RuleSet::default(), false, json!({})).unwrap();
        let pod = json!({
            "metadata": {"name": "p", "finalizers": [observe::TRACKING_FINALIZER],
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": true}]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let made = cluster.ask(&Request::new(Resource::Pods, Some(NAMESPACE), None, Verb::Create(pod)));
        assert!(made.outcome.is_ok(), "{made:?}");
        cluster
    }

    fn started(cluster: &mut Cluster) -> Process {
        let now = cluster.now();
        Process::started(&mut cluster.server, now, Settings::default(), Mutations::default())
    }

    /// The next request with the code of its response.
    fn step(process: &mut Process, cluster: &mut Cluster) -> Option<String> {
        let request = process.next_request(cluster.now(), &mut None, &mut Vec::new())?;
        let response = cluster.ask(&request);
        let now = cluster.now();
        process.answered(Some(&response), &mut cluster.server, now);
        Some(format!("{} {} {}", request.verb.name(), request.name(), response.code()))
    }

    /// FT-21, as in the shipped runtime.
    #[test]
    fn a_pod_of_a_missing_job_is_released_once_the_api_server_has_no_such_job() {
        let mut cluster = cluster("gone");
        let mut process = started(&mut cluster);
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("get j 404"));
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("patch p 200"));
        assert_eq!(step(&mut process, &mut cluster), None);
        // The Job is not looked up twice.
        process.orphans.insert("p".to_owned());
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("patch p 409"));
    }

    #[test]
    fn without_an_answer_the_job_is_asked_for_again() {
        let mut cluster = cluster("gone");
        let mut process = started(&mut cluster);
        let now = cluster.now();
        assert!(process.next_request(now, &mut None, &mut Vec::new()).is_some());
        process.answered(None, &mut cluster.server, now);
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("get j 404"));
    }
}
