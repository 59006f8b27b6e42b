//! The living Jobs: which of them a record belongs to, and what is known of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jobcheck_spec::Uid;
use jobcheck_traces::{Body, Request, Resource, Verb};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

/// A Job whose records are kept.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Its namespace and name.
    pub(crate) name: String,
    /// The size of its file.
    pub(crate) bytes: u64,
    /// True if there are records that were not judged yet.
    pub(crate) is_new: bool,
    /// The time of its last record, in microseconds since 1970.
    pub(crate) last: i64,
    /// The time at which it is judged again, unless it ends before.
    pub(crate) due: i64,
    /// True if it is finished or gone.
    pub(crate) is_over: bool,
    /// `ttlSecondsAfterFinished`, after which the TTL controller deletes it.
    pub(crate) ttl: i64,
    /// The findings that were reported: requirement and line.
    pub(crate) reported: BTreeSet<(String, u64)>,
    /// Its pods, by UID and by name.
    pods: Vec<(String, String)>,
}

/// The living Jobs by UID, and their pods.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) all: BTreeMap<String, Job>,
    /// The Job of each name, the latest one.
    names: FxHashMap<String, String>,
    /// The Job of each pod, by UID and by name.
    pods: FxHashMap<String, String>,
    concluded: Concluded,
}

impl Jobs {
    /// Returns true if a Job was judged for the last time. Its late records have nobody who judges them.
    pub(crate) fn is_concluded(&self, uid: &str) -> bool {
        self.concluded.has(uid)
    }

    /// The UID of the Job to which a request belongs; `None` if it belongs to none that is known.
    pub(crate) fn of(&mut self, request: &Request<'_>) -> Option<String> {
        match request.resource {
            Resource::Jobs => self.job_of(request),
            Resource::Pods => self.job_of_pod(request),
        }
    }

    fn job_of(&self, request: &Request<'_>) -> Option<String> {
        let name = full_name(request.namespace, request.name);
        request.uid.map(known_as).or_else(|| self.names.get(&name).cloned())
    }

    fn job_of_pod(&mut self, request: &Request<'_>) -> Option<String> {
        let name = full_name(request.namespace, request.name);
        let known = request.uid.and_then(|uid| self.pods.get(uid)).or_else(|| self.pods.get(&name));
        if let Some(job) = known {
            return Some(job.clone());
        }
        let bodies = [request.response, request.request];
        let owner = bodies.into_iter().flatten().find_map(|object| owner_of(object.text()))?;
        if let Some(job) = self.all.get_mut(&owner) {
            let uid = request.uid.unwrap_or_default().to_owned();
            self.pods.insert(name.clone(), owner.clone());
            if !uid.is_empty() {
                self.pods.insert(uid.clone(), owner.clone());
            }
            job.pods.push((uid, name));
        }
        Some(owner)
    }

    /// Notes a record of this Job, of this size. Returns the Job.
    pub(crate) fn note(&mut self, uid: &str, request: &Request<'_>, bytes: u64) -> &mut Job {
        let job = self.all.entry(uid.to_owned()).or_default();
        job.bytes += bytes;
        job.is_new = true;
        job.last = job.last.max(request.interval.done);
        if request.resource == Resource::Jobs {
            if job.name.is_empty() {
                job.name = full_name(request.namespace, request.name);
                self.names.insert(job.name.clone(), uid.to_owned());
            }
            let removes = request.verb == Verb::Delete && request.is_accepted();
            job.is_over |= removes;
            if let Some(object) = request.response.filter(|_| request.is_accepted()) {
                job.learn_from(object.text());
            }
        }
        job
    }

    /// Forgets a Job and its pods.
    pub(crate) fn forget(&mut self, uid: &str) -> Option<Job> {
        let job = self.all.remove(uid)?;
        self.concluded.add(uid);
        for (pod, name) in &job.pods {
            self.pods.remove(pod);
            self.pods.remove(name);
        }
        if self.names.get(&job.name).is_some_and(|latest| latest == uid) {
            self.names.remove(&job.name);
        }
        Some(job)
    }

    /// Learns a Job again from the records in its file.
    pub(crate) fn learn(&mut self, uid: &str, body: &Body<'_>) {
        if let Body::Request(request) = body {
            self.note(uid, request, 0);
            if request.resource == Resource::Pods {
                self.job_of_pod(request);
            }
        }
    }
}

fn full_name(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The owners of an object. Most pods of a cluster have other owners than Jobs, so that little is read.
#[derive(Deserialize)]
struct Owned {
    metadata: OwnedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata {
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    kind: String,
    uid: String,
    #[serde(default)]
    controller: bool,
}

/// The UID of the Job that controls an object.
fn owner_of(object: &str) -> Option<String> {
    let owned: Owned = serde_json::from_str(object).ok()?;
    let is_job = |owner: &OwnerReference| owner.controller && owner.kind == "Job";
    owned.metadata.owner_references.into_iter().find(is_job).map(|owner| known_as(&owner.uid))
}

/// The UID under which the judge reports a Job. A UID that is no UUID has a digest in its place, which can be the name of a
/// file, too.
fn known_as(uid: &str) -> String {
    Uid::parse(uid).to_string()
}

/// The parts of a Job that decide how long its records are kept.
#[derive(Deserialize)]
struct Seen {
    #[serde(default)]
    spec: SeenSpec,
    #[serde(default)]
    status: SeenStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenSpec {
    ttl_seconds_after_finished: Option<i64>,
}

#[derive(Default, Deserialize)]
struct SeenStatus {
    #[serde(default)]
    conditions: Vec<SeenCondition>,
}

#[derive(Deserialize)]
struct SeenCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl Job {
    /// Learns from an object that the server has returned. Other objects than Jobs, such as a Status, show nothing.
    fn learn_from(&mut self, object: &str) {
        let Ok(seen) = serde_json::from_str::<Seen>(object) else { return };
        self.ttl = seen.spec.ttl_seconds_after_finished.unwrap_or(0).clamp(0, LONGEST_TTL);
        let is_end = |it: &SeenCondition| it.status == "True" && matches!(&*it.kind, "Complete" | "Failed");
        self.is_over |= seen.status.conditions.iter().any(is_end);
    }
}

/// The UIDs of Jobs that were judged for the last time, of which late records may come.
#[derive(Debug, Default)]
struct Concluded {
    all: FxHashSet<u128>,
    order: VecDeque<u128>,
}

/// The number of UIDs that are remembered.
const REMEMBERED: usize = 200_000;

/// The longest time in seconds for which a Job is kept because of its TTL.
const LONGEST_TTL: i64 = 7 * 86_400;

fn number(uid: &str) -> Option<u128> {
    u128::from_str_radix(&uid.replace('-', ""), 16).ok()
}

impl Concluded {
    fn add(&mut self, uid: &str) {
        let Some(number) = number(uid).filter(|number| self.all.insert(*number)) else { return };
        self.order.push_back(number);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    fn has(&self, uid: &str) -> bool {
        number(uid).is_some_and(|number| self.all.contains(&number))
    }
}
