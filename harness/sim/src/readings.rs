//! The objects of the caches in the form that syncs read, and the keys that a change concerns.
//!
//! Each version of an object is decoded once, and the pods of a Job are found by its UID. So the time of a run does not
//! grow with the product of Jobs and pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jobcheck_controller::job::observe::{self, PodSelector};
use jobcheck_controller::job::observed::{Controller, JobFacts, PodFacts};
use jobcheck_controller::values::Uid;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::serde::Deserialize;
use serde_json::Value;

use crate::cache::{Change, name};

/// A Job of the cache.
#[derive(Clone, Debug)]
pub struct JobReading {
    /// The object.
    pub value: Arc<Value>,
    /// Its facts, as a sync knows them.
    pub facts: JobFacts,
    /// `None`: its selector is invalid, so that a sync reads no pods.
    selector: Option<PodSelector>,
}

/// A pod of the cache, with the UID and the name of the object that controls it.
#[derive(Debug)]
struct PodReading {
    pod: Pod,
    controller: Option<(Uid, String)>,
}

/// The objects of both caches.
#[derive(Debug, Default)]
pub struct Readings {
    jobs: BTreeMap<String, Arc<JobReading>>,
    pods: BTreeMap<String, PodReading>,
    /// The names of the Jobs, by UID.
    job_names: BTreeMap<Uid, String>,
    /// The names of the pods, by UID.
    pod_names: BTreeMap<Uid, String>,
    /// The names of the pods, by the UID of their controller. `None`: they have none.
    by_controller: BTreeMap<Option<Uid>, BTreeSet<String>>,
    /// The names of the pods, by the name of their controller.
    by_controller_name: BTreeMap<String, BTreeSet<String>>,
}

impl Readings {
    /// The Job with this name.
    pub fn job(&self, name: &str) -> Option<&Arc<JobReading>> {
        self.jobs.get(name)
    }

    /// The pod with this name.
    pub fn pod(&self, name: &str) -> Option<&Pod> {
        self.pods.get(name).map(|it| &it.pod)
    }

    /// The pods that a sync of the Job reads, in the order of their names.
    pub fn pods_of(&self, job: &JobReading) -> Vec<PodFacts> {
        let Some(selector) = &job.selector else { return Vec::new() };
        let facts = &job.facts;
        let mut names: BTreeSet<&String> = BTreeSet::new();
        for controller in [Some(facts.uid.clone()), None] {
            names.extend(self.by_controller.get(&controller).into_iter().flatten());
        }
        for listed in facts.status.uncounted.iter() {
            let uids = listed.succeeded.iter().chain(&listed.failed);
            names.extend(uids.filter_map(|uid| self.pod_names.get(uid)));
        }
        let pods = names.into_iter().filter_map(|name| self.pod(name));
        let read = pods.filter_map(|pod| observe::pod(pod, &facts.uid, selector).ok());
        read.filter(|pod| matters(pod, facts)).collect()
    }

    /// Takes over a change of a Job. Returns the names of the pods whose owner it may be.
    pub fn job_changed(&mut self, change: &Change) -> BTreeSet<String> {
        if let Some(before) = &change.before
            && let Some(former) = self.jobs.remove(name(before))
        {
            self.job_names.remove(&former.facts.uid);
        }
        if let Some(after) = &change.after
            && let Some(reading) = read_job(after)
        {
            self.job_names.insert(reading.facts.uid.clone(), name(after).to_owned());
            self.jobs.insert(name(after).to_owned(), Arc::new(reading));
        }
        let pods = change.names().filter_map(|name| self.by_controller_name.get(&name));
        pods.flatten().cloned().collect()
    }

    /// Takes over a change of a pod. Returns the names of the Jobs that it concerns: its controller, and for a pod without
    /// one the Jobs that select it (SY-01).
    pub fn pod_changed(&mut self, change: &Change) -> BTreeSet<String> {
        let mut jobs = BTreeSet::new();
        for version in [&change.before, &change.after].into_iter().flatten() {
            if let Some(reading) = read_pod(version) {
                jobs.extend(self.jobs_of(&reading));
            }
        }
        if let Some(before) = &change.before {
            self.forget_pod(name(before));
        }
        if let Some(after) = &change.after
            && let Some(reading) = read_pod(after)
        {
            self.remember_pod(name(after), reading);
        }
        jobs
    }

    fn jobs_of(&self, pod: &PodReading) -> BTreeSet<String> {
        if let Some((uid, _)) = &pod.controller {
            return self.job_names.get(uid).cloned().into_iter().collect();
        }
        let selects =
            |job: &JobReading| job.selector.as_ref().is_some_and(|it| it.matches(&pod.pod.metadata));
        self.jobs.iter().filter(|(_, job)| selects(job)).map(|(name, _)| name.clone()).collect()
    }

    fn remember_pod(&mut self, name: &str, reading: PodReading) {
        if let Some(uid) = &reading.pod.metadata.uid {
            self.pod_names.insert(Uid::new(uid), name.to_owned());
        }
        let uid = reading.controller.as_ref().map(|(uid, _)| uid.clone());
        self.by_controller.entry(uid).or_default().insert(name.to_owned());
        if let Some((_, controller)) = &reading.controller {
            self.by_controller_name.entry(controller.clone()).or_default().insert(name.to_owned());
        }
        self.pods.insert(name.to_owned(), reading);
    }

    fn forget_pod(&mut self, name: &str) {
        let Some(former) = self.pods.remove(name) else { return };
        if let Some(uid) = &former.pod.metadata.uid {
            self.pod_names.remove(&Uid::new(uid));
        }
        let (uid, controller) = former.controller.unzip();
        if let Some(pods) = self.by_controller.get_mut(&uid) {
            pods.remove(name);
        }
        if let Some(pods) = controller.and_then(|controller| self.by_controller_name.get_mut(&controller)) {
            pods.remove(name);
        }
    }
}

fn read_job(value: &Arc<Value>) -> Option<JobReading> {
    let job = Job::deserialize(&**value).ok()?;
    let facts = observe::job(&job).ok()?;
    Some(JobReading { value: Arc::clone(value), facts, selector: PodSelector::of(&job).ok() })
}

fn read_pod(value: &Arc<Value>) -> Option<PodReading> {
    let pod = Pod::deserialize(&**value).ok()?;
    let mut references = pod.metadata.owner_references.iter().flatten();
    let controller = references.find(|reference| reference.controller == Some(true));
    let controller = controller.map(|it| (Uid::new(&it.uid), it.name.clone()));
    Some(PodReading { pod, controller })
}

/// Returns true if a sync reads a pod: the Job controls it, may adopt it, or has recorded its UID.
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
