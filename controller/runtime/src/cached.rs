//! The entries of the caches: facts about Jobs and pods instead of whole objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_access::{Readable, Unreadable};
use jobcheck_controller::job::observe::{self, PodSelector, Unobservable};
use jobcheck_controller::job::observed::{Controller, JobFacts, PodFacts};
use jobcheck_controller::job::orphan::PodOwner;
use jobcheck_controller::job::settled::{is_settled, is_terminated_untracked};
use jobcheck_controller::ttl::observe as ttl_observe;
use jobcheck_controller::ttl::plan::TtlFacts;
use jobcheck_controller::values::{Text, Uid};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use super::reflector::Version;
use super::store::{Cached, FromObject, Index, ObjectKey, Store};

/// The cache of Jobs.
pub type JobStore = Store<CachedJob, JobIndex>;
/// The cache of pods.
pub type PodStore = Store<CachedPod, PodIndex>;

/// The cache entry of a Job.
#[derive(Debug)]
pub struct CachedJob {
    key: ObjectKey,
    version: Version,
    /// `metadata.generation`, which grows with each change of `spec`.
    pub generation: i64,
    /// The facts for the decision of the Job controller.
    pub facts: JobFacts,
    /// The facts for the decision of the TTL controller.
    pub ttl: TtlFacts,
    /// `spec.template` as it is stored, including fields of later versions of Kubernetes.
    pub template: Value,
    /// The selector of its pods.
    pub selector: JobSelector,
}

/// The selector of a Job.
#[derive(Debug)]
pub enum JobSelector {
    /// The selector that the API server generates: one label with the UID (PC-15).
    Generated {
        /// The key of the label.
        label: &'static str,
        /// The value of the label.
        uid: Text,
    },
    /// A selector of the user (`manualSelector`).
    Manual(Selector),
    /// No selector, or an invalid one: it selects nothing.
    Nothing,
}

/// The cache entry of a pod that may concern a Job.
#[derive(Debug)]
pub struct CachedPod {
    key: ObjectKey,
    version: Version,
    /// The facts for decisions. [`CachedPod::facts_for`] sets `controller` and `selected`, which depend on the Job.
    facts: PodFacts,
    /// The owner in the controller reference.
    pub owner: PodOwner,
    /// `metadata.labels`.
    pub labels: Labels,
}

/// Labels, ordered by key.
pub type Labels = Box<[(Text, Text)]>;

impl Cached for CachedJob {
    const RESOURCE: &'static str = "jobs";

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn uid(&self) -> &Uid {
        &self.facts.uid
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl CachedJob {
    /// Returns true if the selector is generated and selects the pods with the UID of the Job.
    fn selects_by_its_uid(&self) -> bool {
        let own = &self.facts.uid.0;
        matches!(&self.selector, JobSelector::Generated { label, uid } if *label == UID_LABELS[0] && uid == own)
    }
}

impl FromObject<DynamicObject> for CachedJob {
    fn from_object(object: DynamicObject, version: Version) -> Result<Option<CachedJob>, Box<Unreadable>> {
        let key = ObjectKey::of(&object);
        let generation = object.metadata.generation.unwrap_or(0);
        let job: Job = Readable::of(&object).read()?;
        let facts = observe::job(&job).map_err(|error| unobservable(&object.metadata, &error))?;
        let ttl = ttl_observe::facts(&job).map_err(|error| unobservable(&object.metadata, &error))?;
        let selector = JobSelector::of(&job);
        let template = object.data.pointer("/spec/template").cloned().unwrap_or(Value::Null);
        Ok(Some(CachedJob { key, version, generation, facts, ttl, template, selector }))
    }
}

fn unobservable(metadata: &ObjectMeta, error: &Unobservable) -> Box<Unreadable> {
    Box::new(Unreadable { metadata: metadata.clone(), why: error.to_string() })
}

/// The labels of generated selectors: the current one, and the one of Jobs from before Kubernetes 1.27.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];

impl JobSelector {
    fn of(job: &Job) -> JobSelector {
        let Some(selector) = job.spec.as_ref().and_then(|spec| spec.selector.clone()) else {
            return JobSelector::Nothing;
        };
        if selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
            && let Some(labels) = &selector.match_labels
            && labels.len() == 1
            && let Some((key, value)) = labels.first_key_value()
            && let Some(label) = UID_LABELS.into_iter().find(|label| label == key)
        {
            return JobSelector::Generated { label, uid: Text::from(value.as_str()) };
        }
        Selector::try_from(selector).map_or(JobSelector::Nothing, JobSelector::Manual)
    }

    /// Returns true if the selector matches these labels.
    #[must_use]
    pub fn matches(&self, labels: &[(Text, Text)]) -> bool {
        match self {
            JobSelector::Generated { label, uid } => value(labels, label) == Some(uid),
            JobSelector::Manual(selector) => {
                let labels: BTreeMap<String, String> =
                    labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
                selector.matches(&labels)
            }
            JobSelector::Nothing => false,
        }
    }

    /// Returns the label selector of a LIST; none if nothing is selected.
    #[must_use]
    pub fn query(&self) -> Option<String> {
        match self {
            JobSelector::Generated { label, uid } => Some(format!("{label}={uid}")),
            JobSelector::Manual(selector) => Some(selector.to_string()),
            JobSelector::Nothing => None,
        }
    }
}

fn value<'a>(labels: &'a [(Text, Text)], key: &str) -> Option<&'a Text> {
    labels.binary_search_by(|(at, _)| (**at).cmp(key)).ok().map(|at| &labels[at].1)
}

impl Cached for CachedPod {
    const RESOURCE: &'static str = "pods";

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn uid(&self) -> &Uid {
        &self.facts.uid
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl FromObject<Pod> for CachedPod {
    /// Returns none for a pod of another kind of owner without the tracking finalizer. Such a pod concerns no Job.
    fn from_object(pod: Pod, version: Version) -> Result<Option<CachedPod>, Box<Unreadable>> {
        let owner = with_interned_texts(observe::owner(&pod.metadata));
        let facts = observe::pod(&pod, &Uid::new(""), &PodSelector::nothing())
            .map_err(|error| unobservable(&pod.metadata, &error))?;
        if owner == PodOwner::AnotherKind && !facts.tracking_finalizer {
            return Ok(None);
        }
        let mut key = ObjectKey::of(&pod);
        key.namespace = intern(&key.namespace);
        key.name = facts.name.clone();
        let labels = pod.metadata.labels.unwrap_or_default();
        let labels = labels.into_iter().map(|(key, value)| (intern(&key), intern(&value))).collect();
        Ok(Some(CachedPod { key, version, facts: compact(facts), owner, labels }))
    }
}

impl CachedPod {
    /// The facts for the decision about this Job.
    #[must_use]
    pub fn facts_for(&self, job: &CachedJob) -> PodFacts {
        let controller = match &self.owner {
            PodOwner::Nobody => Controller::Nobody,
            PodOwner::Job { uid, .. } if *uid == job.facts.uid => Controller::ThisJob,
            PodOwner::Job { .. } | PodOwner::AnotherKind => Controller::Another,
        };
        PodFacts { controller, selected: job.selector.matches(&self.labels), ..self.facts.clone() }
    }

    /// Returns true if the pod has terminated, holds no finalizer, and has the label of a generated selector.
    ///
    /// Most Jobs need not read such pods any more ([`is_settled`]).
    fn is_done(&self) -> bool {
        let PodOwner::Job { uid, .. } = &self.owner else { return false };
        is_terminated_untracked(&self.facts) && value(&self.labels, UID_LABELS[0]) == Some(&uid.0)
    }

    /// The facts that do not depend on a Job. Their `controller` and `selected` have no meaning.
    #[must_use]
    pub fn facts(&self) -> &PodFacts {
        &self.facts
    }
}

/// Interns the texts of an owner.
fn with_interned_texts(owner: PodOwner) -> PodOwner {
    match owner {
        PodOwner::Job { name, uid } => PodOwner::Job { name: intern(&name), uid: Uid(intern(&uid.0)) },
        PodOwner::Nobody | PodOwner::AnotherKind => owner,
    }
}

/// Returns the only copy of a text. Thousands of pods share the names of namespaces, Jobs, conditions, and containers.
fn intern(text: &str) -> Text {
    static TEXTS: Mutex<Interner> = Mutex::new(Interner { texts: BTreeSet::new(), sweep_at: FIRST_SWEEP });
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).intern(text)
}

/// Interns the texts of a pod, and drops spare capacity.
fn compact(mut facts: PodFacts) -> PodFacts {
    let conditions = Arc::make_mut(&mut facts.conditions);
    for condition in conditions.iter_mut() {
        condition.kind = intern(&condition.kind);
        condition.status = intern(&condition.status);
    }
    let containers = Arc::make_mut(&mut facts.containers);
    for container in containers.iter_mut() {
        container.name = intern(&container.name);
    }
    conditions.shrink_to_fit();
    containers.shrink_to_fit();
    facts
}

const FIRST_SWEEP: usize = 4096;

#[derive(Debug)]
struct Interner {
    texts: BTreeSet<Text>,
    /// The number of texts at which unused ones are dropped.
    sweep_at: usize,
}

impl Interner {
    fn intern(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        if self.texts.len() >= self.sweep_at {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = (self.texts.len() * 2).max(FIRST_SWEEP);
        }
        let text = Text::from(text);
        self.texts.insert(Arc::clone(&text));
        text
    }
}

/// Indexes Jobs by UID, and Jobs with a manual selector by key.
#[derive(Debug, Default)]
pub struct JobIndex {
    by_uid: BTreeMap<Uid, Arc<CachedJob>>,
    manual: BTreeMap<ObjectKey, Arc<CachedJob>>,
}

impl Index<CachedJob> for JobIndex {
    fn insert(&mut self, job: &Arc<CachedJob>) {
        self.by_uid.insert(job.facts.uid.clone(), Arc::clone(job));
        if matches!(job.selector, JobSelector::Manual(_)) {
            self.manual.insert(job.key.clone(), Arc::clone(job));
        }
    }

    fn remove(&mut self, job: &Arc<CachedJob>) {
        self.by_uid.remove(&job.facts.uid);
        self.manual.remove(&job.key);
    }
}

impl JobIndex {
    /// Returns the Jobs in the namespace of the pod whose selector matches the pod, ordered by key.
    #[must_use]
    pub fn selecting(&self, pod: &CachedPod) -> Vec<Arc<CachedJob>> {
        let namespace = &pod.key.namespace;
        let by_label = UID_LABELS.iter().filter_map(|label| value(&pod.labels, label));
        let generated = by_label.filter_map(|uid| self.by_uid.get(&Uid(uid.clone())));
        let manual = self
            .manual
            .range(ObjectKey { namespace: namespace.clone(), name: Text::from("") }..)
            .take_while(|(key, _)| key.namespace == *namespace)
            .map(|(_, job)| job);
        let mut found: Vec<Arc<CachedJob>> = generated
            .chain(manual)
            .filter(|job| job.key.namespace == *namespace && job.selector.matches(&pod.labels))
            .cloned()
            .collect();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.dedup_by(|a, b| a.key == b.key);
        found
    }
}

/// Indexes pods by the UID of their Job, ownerless pods by namespace, and all pods by their own UID.
#[derive(Debug, Default)]
pub struct PodIndex {
    /// The pods of a Job for which [`CachedPod::is_done`] is false.
    pending: Groups<Uid>,
    /// The other pods of a Job. A large Job has many, and most syncs need not read them.
    done: Groups<Uid>,
    ownerless: Groups<Text>,
    by_uid: BTreeMap<Uid, Arc<CachedPod>>,
}

/// Groups of pods by name.
type Groups<K> = BTreeMap<K, BTreeMap<Text, Arc<CachedPod>>>;

impl Index<CachedPod> for PodIndex {
    fn insert(&mut self, pod: &Arc<CachedPod>) {
        self.by_uid.insert(pod.facts.uid.clone(), Arc::clone(pod));
        match &pod.owner {
            PodOwner::Job { uid, .. } => {
                let pods = if pod.is_done() { &mut self.done } else { &mut self.pending };
                pods.entry(uid.clone()).or_default().insert(pod.key.name.clone(), Arc::clone(pod));
            }
            PodOwner::Nobody => {
                let namespace = self.ownerless.entry(pod.key.namespace.clone()).or_default();
                namespace.insert(pod.key.name.clone(), Arc::clone(pod));
            }
            PodOwner::AnotherKind => {}
        }
    }

    fn remove(&mut self, pod: &Arc<CachedPod>) {
        self.by_uid.remove(&pod.facts.uid);
        match &pod.owner {
            PodOwner::Job { uid, .. } => {
                let pods = if pod.is_done() { &mut self.done } else { &mut self.pending };
                remove_from(pods, uid, &pod.key.name);
            }
            PodOwner::Nobody => remove_from(&mut self.ownerless, &pod.key.namespace, &pod.key.name),
            PodOwner::AnotherKind => {}
        }
    }
}

fn remove_from<K: Ord>(groups: &mut Groups<K>, group: &K, name: &Text) {
    if let Some(pods) = groups.get_mut(group) {
        pods.remove(name);
        if pods.is_empty() {
            groups.remove(group);
        }
    }
}

impl PodIndex {
    /// The pods whose controller is this Job: first those that its syncs read, then the others.
    pub fn of_job(&self, uid: &Uid) -> impl Iterator<Item = &Arc<CachedPod>> {
        [&self.pending, &self.done].into_iter().filter_map(|pods| pods.get(uid)).flat_map(BTreeMap::values)
    }

    /// The ownerless pods of a namespace, ordered by name.
    pub fn ownerless(&self, namespace: &Text) -> impl Iterator<Item = &Arc<CachedPod>> {
        self.ownerless.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// The pod with this UID.
    #[must_use]
    pub fn by_uid(&self, uid: &Uid) -> Option<&Arc<CachedPod>> {
        self.by_uid.get(uid)
    }

    /// Returns the facts of the pods for the decision about a Job:
    ///
    /// - its own pods, except for settled ones
    /// - its own pods in `deleted`, even if they are settled, because the decision waits for their deletion
    /// - ownerless pods that it may adopt
    /// - recorded pods, whatever their owner (J-05)
    #[must_use]
    pub fn facts_for(&self, job: &CachedJob, deleted: &BTreeSet<Uid>) -> Vec<PodFacts> {
        let pending = self.pending.get(&job.facts.uid).into_iter().flat_map(BTreeMap::values);
        let ownerless = self.ownerless(&job.key.namespace).filter(|pod| job.selector.matches(&pod.labels));
        let own = pending.chain(self.done_but_read(job, deleted));
        let mut found: Vec<PodFacts> = own.chain(ownerless).map(|pod| pod.facts_for(job)).collect();
        let recorded = job.facts.status.uncounted.iter().flat_map(|it| it.succeeded.iter().chain(&it.failed));
        let others: Vec<&Arc<CachedPod>> = recorded
            .filter_map(|uid| self.by_uid.get(uid))
            .filter(|pod| pod.key.namespace == job.key.namespace && !is_claimable(pod, job))
            .collect();
        found.extend(others.into_iter().map(|pod| pod.facts_for(job)));
        found
    }

    /// Returns the pods among these that have terminated and hold no finalizer.
    #[must_use]
    pub fn done(&self, pods: &BTreeSet<Uid>) -> Vec<Uid> {
        let is_done = |uid: &&Uid| self.by_uid.get(*uid).is_some_and(|pod| pod.is_done());
        pods.iter().filter(is_done).cloned().collect()
    }

    /// Returns the done pods of the Job that its decision reads nevertheless. Most Jobs have none.
    fn done_but_read<'s>(&'s self, job: &CachedJob, deleted: &BTreeSet<Uid>) -> Vec<&'s Arc<CachedPod>> {
        let Some(done) = self.done.get(&job.facts.uid) else { return Vec::new() };
        if job.selects_by_its_uid() && job.facts.spec.pod_failure_policy.is_none() {
            let found = deleted.iter().filter_map(|uid| self.by_uid.get(uid));
            return found
                .filter(|pod| done.get(&pod.key.name).is_some_and(|it| Arc::ptr_eq(it, pod)))
                .collect();
        }
        let is_read = |pod: &&Arc<CachedPod>| {
            let settled = job.selector.matches(&pod.labels) && is_settled(&job.facts, &pod.facts);
            !settled || deleted.contains(&pod.facts.uid)
        };
        done.values().filter(is_read).collect()
    }
}

/// Returns true if the Job owns or may adopt the pod.
fn is_claimable(pod: &CachedPod, job: &CachedJob) -> bool {
    match &pod.owner {
        PodOwner::Job { uid, .. } => *uid == job.facts.uid,
        PodOwner::Nobody => job.selector.matches(&pod.labels),
        PodOwner::AnotherKind => false,
    }
}

#[cfg(test)]
mod tests;
