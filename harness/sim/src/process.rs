//! A process of the shipped Job controller: caches, queue, memory, and the sync under way.
//!
//! The decisions are those that are shipped (`jobcheck_controller::job`); around them is as little as possible, one
//! request at a time, so that everything may happen between two of them.

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
use jobcheck_controller::job::observed::{Controller, JobFacts, Observed, PodFacts, Settings};
use jobcheck_controller::job::orphan::{self, OrphanObserved, Owner, OwnerLookup, PodOwner};
use jobcheck_controller::job::requests::{PodTemplate, of_orphan, read_job};
use jobcheck_controller::values::{Time, Uid};
use jobcheck_explorer::mutations::Mutations;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::serde::Deserialize;
use serde_json::Value;

use crate::calls::{Sent, Sync, answer, number, to_server};
use crate::rng::Rng;
use crate::store::{Change, Store};

/// How marks, faults and observations call the Job controller.
pub const ACTOR: &str = "job-controller";
const USER: &str = "system:serviceaccount:jobcheck:job-controller";
const AGENT: &str = "jobcheck/0.1.0 job-controller";

/// Which of the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Of Jobs.
    Jobs,
    /// Of pods.
    Pods,
}

/// What a sync had read when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Began {
    /// Name of the Job.
    pub job: String,
    /// How far the cache of Jobs had come.
    pub jobs: u64,
    /// How far the cache of pods had come.
    pub pods: u64,
}

/// A process of the Job controller.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    /// Known defects that its plans have.
    mutations: Mutations,
    jobs: Store,
    pods: Store,
    queue: BTreeSet<String>,
    orphans: BTreeSet<String>,
    wakes: BTreeMap<String, Timestamp>,
    memories: BTreeMap<String, Memory>,
    /// The newest versions of the Job and of its pods that an answer to a write named, by the Job's UID (SY-03).
    written: BTreeMap<Uid, (u64, u64)>,
    sync: Option<Sync>,
    /// UIDs of Jobs that are known to be gone.
    gone: BTreeSet<Uid>,
    /// The request whose answer is awaited.
    asked: Option<Asked>,
}

#[derive(Debug)]
enum Asked {
    Call(Sent),
    Orphan {
        pod: String,
        request: Request,
    },
    /// For the Job of an orphan (FT-21).
    Owner {
        pod: PodFacts,
        job: Uid,
        request: Request,
    },
}

impl Asked {
    fn request(&self) -> &Request {
        match self {
            Asked::Call(sent) => &sent.request,
            Asked::Orphan { request, .. } | Asked::Owner { request, .. } => request,
        }
    }

    fn request_mut(&mut self) -> &mut Request {
        match self {
            Asked::Call(sent) => &mut sent.request,
            Asked::Orphan { request, .. } | Asked::Owner { request, .. } => request,
        }
    }
}

impl Process {
    /// A process that was just started, and has listed everything.
    pub fn started(server: &mut Server, now: Timestamp, settings: Settings, mutations: Mutations) -> Process {
        let jobs = Store::listed(server, now, Resource::Jobs);
        let pods = Store::listed(server, now, Resource::Pods);
        Process {
            queue: jobs.all().map(|(name, _)| name.clone()).collect(),
            orphans: pods.all().map(|(name, _)| name.clone()).collect(),
            settings,
            mutations,
            jobs,
            pods,
            wakes: BTreeMap::new(),
            memories: BTreeMap::new(),
            written: BTreeMap::new(),
            sync: None,
            gone: BTreeSet::new(),
            asked: None,
        }
    }

    /// What it was started with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Known defects that its plans have.
    #[must_use]
    pub fn mutations(&self) -> &Mutations {
        &self.mutations
    }

    /// Its watches end.
    pub fn stop(&self, server: &mut Server) {
        self.jobs.close(server);
        self.pods.close(server);
    }

    /// How many events a cache is behind.
    pub fn lag(&mut self, server: &mut Server, now: Timestamp, cache: Cache) -> usize {
        match cache {
            Cache::Jobs => self.jobs.lag(server, now),
            Cache::Pods => self.pods.lag(server, now),
        }
    }

    /// A cache shows the next event, and what it concerns is queued.
    pub fn show(&mut self, cache: Cache) {
        let shown = match cache {
            Cache::Jobs => self.jobs.show(),
            Cache::Pods => self.pods.show(),
        };
        shown.iter().for_each(|change| self.changed(cache, change));
    }

    /// A cache is listed anew, and what that changes is queued.
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
                self.orphans.extend(self.pods.all().map(|(name, _)| name.clone()));
            }
            Cache::Pods => {
                self.queue.extend(self.jobs.all().map(|(name, _)| name.clone()));
                self.orphans.extend(change.names());
            }
        }
    }

    /// The next moment at which it wakes by itself.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.values().min().copied()
    }

    /// The request that it makes next; syncs that need none are done on the way. What each had read is noted.
    pub fn next_request(
        &mut self,
        now: Timestamp,
        rng: &mut Option<Rng>,
        began: &mut Vec<Began>,
    ) -> Option<Request> {
        let due = self.wakes.iter().filter(|(_, wake)| **wake <= now).map(|(job, _)| job.clone());
        for job in due.collect::<Vec<_>>() {
            self.wakes.remove(&job);
            self.queue.insert(job);
        }
        loop {
            if let Some(asked) = &self.asked {
                return Some(asked.request().clone());
            }
            if let Some(sync) = &mut self.sync {
                let open = sync.open().len();
                let number = rng.as_mut().map_or(0, |rng| rng.below(open));
                match sync.take(number) {
                    Some(sent) => self.ask(Asked::Call(sent)),
                    None => self.end_sync(),
                }
            } else if let Some(job) = choose(&self.queue, rng) {
                self.queue.remove(&job);
                self.start_sync(&job, now, began);
            } else if let Some(pod) = choose(&self.orphans, rng) {
                self.orphans.remove(&pod);
                if let Some(asked) = self.look_at_orphan(&pod) {
                    self.ask(asked);
                }
            } else {
                return None;
            }
        }
    }

    fn ask(&mut self, mut asked: Asked) {
        let request = asked.request_mut();
        (request.user, request.user_agent) = (USER.to_owned(), AGENT.to_owned());
        self.asked = Some(asked);
    }

    /// Its request was answered, or never will be.
    pub fn answered(&mut self, response: Option<&Response>, server: &mut Server, now: Timestamp) {
        match self.asked.take() {
            Some(Asked::Call(sent)) => {
                let Some(sync) = &mut self.sync else { return };
                let written = sync.answered(&sent, response, time(now));
                self.memories.insert(sync.job.name.to_string(), sync.memory().clone());
                let uid = sync.job.uid.clone();
                self.note(uid, written, server, now);
            }
            Some(Asked::Orphan { pod, .. }) => match answer(response) {
                Ok(_) | Err(Failure::NotFound(_)) => {}
                Err(_) => drop(self.orphans.insert(pod)),
            },
            Some(Asked::Owner { pod, job, .. }) => {
                match orphan::owner_from_response(&job, answer(response)) {
                    Ok(Some(owner)) => {
                        self.gone.insert(job);
                        if let Some(asked) = self.decide_on_orphan(&pod, owner) {
                            self.ask(asked);
                        }
                    }
                    Ok(None) => {}
                    Err(_) => drop(self.orphans.insert(pod.name.to_string())),
                }
            }
            None => {}
        }
    }

    /// SY-03: what the caches must show before the Job is planned again.
    fn note(&mut self, job: Uid, written: Option<Written>, server: &mut Server, now: Timestamp) {
        let (jobs, pods) = self.written.entry(job).or_default();
        match written {
            Some(Written::Job(version)) => *jobs = number(&version).max(*jobs),
            Some(Written::Pod(version)) => *pods = number(&version).max(*pods),
            // What is stored now, which the shipped runtime asks the API server for.
            Some(Written::Unknown) => {
                *jobs = self.jobs.newest(server, now).max(*jobs);
                *pods = self.pods.newest(server, now).max(*pods);
            }
            None => {}
        }
    }

    fn start_sync(&mut self, name: &str, now: Timestamp, began: &mut Vec<Began>) {
        let Some((job, facts)) = self.jobs.get(name).and_then(observed_job) else {
            self.memories.remove(name);
            return;
        };
        let written = self.written.get(&facts.uid).copied().unwrap_or_default();
        let shows = self.jobs.seen() >= written.0 && self.pods.seen() >= written.1;
        let pods = self.pods_of(&job, &facts);
        let memory = self.memories.remove(name).unwrap_or_default();
        began.push(Began { job: name.to_owned(), jobs: self.jobs.seen(), pods: self.pods.seen() });
        let observed = Observed {
            job: &facts,
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
            let template = PodTemplate::new(&facts, &job["spec"]["template"], indexed);
            self.sync = Some(Sync::new(facts, Arc::new(template), plan));
        }
    }

    /// The pods that a sync reads.
    fn pods_of(&self, job: &Value, facts: &JobFacts) -> Vec<PodFacts> {
        let Ok(selector) =
            Job::deserialize(job).map_err(drop).and_then(|it| PodSelector::of(&it).map_err(drop))
        else {
            return Vec::new();
        };
        let pods = self.pods.all().filter_map(|(_, pod)| Pod::deserialize(&**pod).ok());
        let read = pods.filter_map(|pod| observe::pod(&pod, &facts.uid, &selector).ok());
        read.filter(|pod| matters(pod, facts)).collect()
    }

    fn end_sync(&mut self) {
        if let Some(sync) = self.sync.take().filter(Sync::has_failed) {
            self.queue.insert(sync.job.name.to_string());
        }
    }

    /// The request that a pod without a sync needs first, if any.
    fn look_at_orphan(&self, name: &str) -> Option<Asked> {
        let pod = Pod::deserialize(&**self.pods.get(name)?).ok()?;
        let reference = observe::owner(&pod.metadata);
        let (uid, cached) = match &reference {
            PodOwner::Job { name, uid } => (uid.clone(), self.jobs.get(name).and_then(observed_job)),
            PodOwner::Nobody | PodOwner::AnotherKind => (Uid::new(""), None),
        };
        let pod = observe::pod(&pod, &uid, &PodSelector::nothing()).ok()?;
        let cached = cached.as_ref().map(|(_, job)| job);
        match orphan::look_up_owner(&pod, &reference, cached, |job| self.gone.contains(job)) {
            OwnerLookup::Known(owner) => self.decide_on_orphan(&pod, owner),
            OwnerLookup::Ask { job, uid } => {
                let (request, job) = (to_server(read_job(job)), uid.clone());
                Some(Asked::Owner { pod, job, request })
            }
        }
    }

    fn decide_on_orphan(&self, pod: &PodFacts, owner: Owner<'_>) -> Option<Asked> {
        let plan = orphan::plan(&OrphanObserved { pod, owner, settings: &self.settings });
        let request = to_server(of_orphan(&plan)?);
        Some(Asked::Orphan { pod: pod.name.to_string(), request })
    }
}

/// Whether a sync reads a pod: one of the Job, one that it may adopt, or one that its status lists.
pub fn matters(pod: &PodFacts, job: &JobFacts) -> bool {
    match pod.controller {
        Controller::ThisJob => true,
        Controller::Nobody if pod.selected => true,
        Controller::Nobody | Controller::Another => job
            .status
            .uncounted
            .as_ref()
            .is_some_and(|listed| listed.succeeded.contains(&pod.uid) || listed.failed.contains(&pod.uid)),
    }
}

fn observed_job(value: &Arc<Value>) -> Option<(Arc<Value>, JobFacts)> {
    let facts = observe::job(&Job::deserialize(&**value).ok()?).ok()?;
    Some((Arc::clone(value), facts))
}

/// One of them: the first, or by chance.
fn choose(keys: &BTreeSet<String>, rng: &mut Option<Rng>) -> Option<String> {
    let number = rng.as_mut().map_or(0, |rng| rng.below(keys.len()));
    keys.iter().nth(number).cloned()
}

/// The controllers' clock.
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

    /// A cluster with a pod that holds the finalizer and names a Job with this UID.
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

    /// The next request, which the server answers.
    fn step(process: &mut Process, cluster: &mut Cluster) -> Option<String> {
        let request = process.next_request(cluster.now(), &mut None, &mut Vec::new())?;
        let response = cluster.ask(&request);
        let now = cluster.now();
        process.answered(Some(&response), &mut cluster.server, now);
        Some(format!("{} {} {}", request.verb.name(), request.name(), response.code()))
    }

    /// FT-21: as the runtime does it.
    #[test]
    fn a_pod_of_a_missing_job_is_released_once_the_api_server_has_no_such_job() {
        let mut cluster = cluster("gone");
        let mut process = started(&mut cluster);
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("get j 404"));
        assert_eq!(step(&mut process, &mut cluster).as_deref(), Some("patch p 200"));
        assert_eq!(step(&mut process, &mut cluster), None);
        // It is not asked for twice.
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
