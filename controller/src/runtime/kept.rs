//! What the caches keep of Jobs and pods: facts, not objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::{Selector, SelectorExt};
use serde_json::Value;
use tracing::warn;

use super::reflector::Version;
use super::store::{Index, Kept, KeptFrom, ObjectKey, Store};
use crate::job::observe::{self, PodSelector};
use crate::job::observed::{Controller, JobFacts, PodFacts};
use crate::job::orphan::PodOwner;
use crate::job::settled::{is_settled, is_terminated_untracked};
use crate::ttl::observe as ttl_observe;
use crate::ttl::plan::TtlFacts;
use crate::values::{Text, Uid};

/// The cache of Jobs.
pub type JobStore = Store<KeptJob, JobIndex>;
/// The cache of pods.
pub type PodStore = Store<KeptPod, PodIndex>;

/// A Job.
#[derive(Debug)]
pub struct KeptJob {
    key: ObjectKey,
    version: Version,
    /// `metadata.generation`, which grows with each change of `spec`.
    pub generation: i64,
    /// What its decision reads.
    pub facts: JobFacts,
    /// What the decision of the TTL controller reads.
    pub ttl: TtlFacts,
    /// `spec.template` as it is stored, fields of a newer Kubernetes included.
    pub template: Value,
    /// Which pods are its own or may become so.
    pub selector: JobSelector,
}

/// The selector of a Job.
#[derive(Debug)]
pub enum JobSelector {
    /// The one that the API server makes: one label with the UID (PC-15).
    Generated {
        /// The label.
        label: &'static str,
        /// Its value.
        uid: Text,
    },
    /// Another one (`manualSelector`).
    Manual(Selector),
    /// There is none, or it cannot be read: nothing is selected.
    Nothing,
}

/// A pod that a Job may be concerned with.
#[derive(Debug)]
pub struct KeptPod {
    key: ObjectKey,
    version: Version,
    /// What the decision reads. `controller` and `selected`, which depend on the Job, are filled in by
    /// [`KeptPod::seen_from`].
    facts: PodFacts,
    /// Who its controller reference names.
    pub owner: PodOwner,
    /// `metadata.labels`.
    pub labels: Labels,
}

/// Labels, sorted by key.
pub type Labels = Box<[(Text, Text)]>;

impl Kept for KeptJob {
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

impl KeptJob {
    /// Whether it selects, by its generated selector, the pods that carry its own UID.
    fn selects_by_its_uid(&self) -> bool {
        let own = &self.facts.uid.0;
        matches!(&self.selector, JobSelector::Generated { label, uid } if *label == UID_LABELS[0] && uid == own)
    }
}

impl KeptFrom<DynamicObject> for KeptJob {
    fn kept_from(object: DynamicObject, version: Version) -> Option<KeptJob> {
        let name = format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any());
        match kept_job(object, version) {
            Ok(job) => Some(job),
            Err(why) => {
                warn!(job = name, why, "a Job that cannot be read is left alone");
                None
            }
        }
    }
}

fn kept_job(object: DynamicObject, version: Version) -> Result<KeptJob, String> {
    let key = ObjectKey::of(&object);
    let generation = object.metadata.generation.unwrap_or(0);
    let template = object.data.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let job: Job = object.try_parse().map_err(|error| error.to_string())?;
    let facts = observe::job(&job).map_err(|error| error.to_string())?;
    let ttl = ttl_observe::facts(&job).map_err(|error| error.to_string())?;
    let selector = JobSelector::of(&job);
    Ok(KeptJob { key, version, generation, facts, ttl, template, selector })
}

/// Labels of generated selectors: today's, and that of Jobs from before 1.27.
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

    /// Whether a pod with these labels is selected.
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

    /// For the query of a LIST; `None` where nothing is selected.
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

impl Kept for KeptPod {
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

impl KeptFrom<Pod> for KeptPod {
    /// Pods of other controllers, which never held the tracking finalizer, are of no interest.
    fn kept_from(pod: Pod, version: Version) -> Option<KeptPod> {
        let owner = thrifty(observe::owner(&pod.metadata));
        let facts = match observe::pod(&pod, &Uid::new(""), &PodSelector::nothing()) {
            Ok(facts) => facts,
            Err(error) => {
                warn!(pod = %ObjectKey::of(&pod), %error, "a pod that cannot be read is left alone");
                return None;
            }
        };
        if owner == PodOwner::AnotherKind && !facts.tracking_finalizer {
            return None;
        }
        let mut key = ObjectKey::of(&pod);
        key.namespace = shared(&key.namespace);
        key.name = facts.name.clone();
        let labels = pod.metadata.labels.unwrap_or_default();
        let labels = labels.into_iter().map(|(key, value)| (shared(&key), shared(&value))).collect();
        Some(KeptPod { key, version, facts: slim(facts), owner, labels })
    }
}

impl KeptPod {
    /// The facts for the decision about a Job.
    #[must_use]
    pub fn seen_from(&self, job: &KeptJob) -> PodFacts {
        let controller = match &self.owner {
            PodOwner::Nobody => Controller::Nobody,
            PodOwner::Job { uid, .. } if *uid == job.facts.uid => Controller::ThisJob,
            PodOwner::Job { .. } | PodOwner::AnotherKind => Controller::Another,
        };
        PodFacts { controller, selected: job.selector.matches(&self.labels), ..self.facts.clone() }
    }

    /// Whether it has ended, holds no finalizer, and carries the label by which its Job selects it where the selector is
    /// generated: as a rule its Job has nothing to do with it any more ([`is_settled`]).
    fn is_over(&self) -> bool {
        let PodOwner::Job { uid, .. } = &self.owner else { return false };
        is_terminated_untracked(&self.facts) && value(&self.labels, UID_LABELS[0]) == Some(&uid.0)
    }

    /// The facts that do not depend on a Job; `controller` and `selected` mean nothing in them.
    #[must_use]
    pub fn facts(&self) -> &PodFacts {
        &self.facts
    }
}

/// With words that are kept once.
fn thrifty(owner: PodOwner) -> PodOwner {
    match owner {
        PodOwner::Job { name, uid } => PodOwner::Job { name: shared(&name), uid: Uid(shared(&uid.0)) },
        PodOwner::Nobody | PodOwner::AnotherKind => owner,
    }
}

/// The same words stand in thousands of pods: names of namespaces, Jobs, conditions, containers. Each is kept once.
fn shared(text: &str) -> Text {
    static WORDS: Mutex<Words> = Mutex::new(Words { words: BTreeSet::new(), sweep_at: FIRST_SWEEP });
    WORDS.lock().unwrap_or_else(PoisonError::into_inner).share(text)
}

fn slim(mut facts: PodFacts) -> PodFacts {
    let conditions = Arc::make_mut(&mut facts.conditions);
    for condition in conditions.iter_mut() {
        condition.kind = shared(&condition.kind);
        condition.status = shared(&condition.status);
    }
    let containers = Arc::make_mut(&mut facts.containers);
    for container in containers.iter_mut() {
        container.name = shared(&container.name);
    }
    conditions.shrink_to_fit();
    containers.shrink_to_fit();
    facts
}

const FIRST_SWEEP: usize = 4096;

#[derive(Debug)]
struct Words {
    words: BTreeSet<Text>,
    sweep_at: usize,
}

impl Words {
    fn share(&mut self, text: &str) -> Text {
        if let Some(word) = self.words.get(text) {
            return Arc::clone(word);
        }
        if self.words.len() >= self.sweep_at {
            // Words that nobody else holds any more.
            self.words.retain(|word| Arc::strong_count(word) > 1);
            self.sweep_at = (self.words.len() * 2).max(FIRST_SWEEP);
        }
        let word = Text::from(text);
        self.words.insert(Arc::clone(&word));
        word
    }
}

/// Jobs by UID, and those whose selector is not a generated one.
#[derive(Debug, Default)]
pub struct JobIndex {
    by_uid: BTreeMap<Uid, Arc<KeptJob>>,
    manual: BTreeMap<ObjectKey, Arc<KeptJob>>,
}

impl Index<KeptJob> for JobIndex {
    fn insert(&mut self, job: &Arc<KeptJob>) {
        self.by_uid.insert(job.facts.uid.clone(), Arc::clone(job));
        if matches!(job.selector, JobSelector::Manual(_)) {
            self.manual.insert(job.key.clone(), Arc::clone(job));
        }
    }

    fn remove(&mut self, job: &Arc<KeptJob>) {
        self.by_uid.remove(&job.facts.uid);
        self.manual.remove(&job.key);
    }
}

impl JobIndex {
    /// The Jobs of the pod's namespace whose selector takes the pod.
    #[must_use]
    pub fn selecting(&self, pod: &KeptPod) -> Vec<Arc<KeptJob>> {
        let namespace = &pod.key.namespace;
        let by_label = UID_LABELS.iter().filter_map(|label| value(&pod.labels, label));
        let generated = by_label.filter_map(|uid| self.by_uid.get(&Uid(uid.clone())));
        let manual = self
            .manual
            .range(ObjectKey { namespace: namespace.clone(), name: Text::from("") }..)
            .take_while(|(key, _)| key.namespace == *namespace)
            .map(|(_, job)| job);
        let mut found: Vec<Arc<KeptJob>> = generated
            .chain(manual)
            .filter(|job| job.key.namespace == *namespace && job.selector.matches(&pod.labels))
            .cloned()
            .collect();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.dedup_by(|a, b| a.key == b.key);
        found
    }
}

/// Pods by the UID of their Job, those without a controller by namespace, and all by their own UID.
#[derive(Debug, Default)]
pub struct PodIndex {
    open: Groups<Uid>,
    /// Those of [`KeptPod::is_over`] apart: a large Job has many, and no sync has to go through them.
    over: Groups<Uid>,
    unowned: Groups<Text>,
    by_uid: BTreeMap<Uid, Arc<KeptPod>>,
}

/// Pods by name, in groups.
type Groups<K> = BTreeMap<K, BTreeMap<Text, Arc<KeptPod>>>;

impl Index<KeptPod> for PodIndex {
    fn insert(&mut self, pod: &Arc<KeptPod>) {
        self.by_uid.insert(pod.facts.uid.clone(), Arc::clone(pod));
        match &pod.owner {
            PodOwner::Job { uid, .. } => {
                let pods = if pod.is_over() { &mut self.over } else { &mut self.open };
                pods.entry(uid.clone()).or_default().insert(pod.key.name.clone(), Arc::clone(pod));
            }
            PodOwner::Nobody => {
                let namespace = self.unowned.entry(pod.key.namespace.clone()).or_default();
                namespace.insert(pod.key.name.clone(), Arc::clone(pod));
            }
            PodOwner::AnotherKind => {}
        }
    }

    fn remove(&mut self, pod: &Arc<KeptPod>) {
        self.by_uid.remove(&pod.facts.uid);
        match &pod.owner {
            PodOwner::Job { uid, .. } => {
                let pods = if pod.is_over() { &mut self.over } else { &mut self.open };
                take(pods, uid, &pod.key.name);
            }
            PodOwner::Nobody => take(&mut self.unowned, &pod.key.namespace, &pod.key.name),
            PodOwner::AnotherKind => {}
        }
    }
}

fn take<K: Ord>(groups: &mut Groups<K>, group: &K, name: &Text) {
    if let Some(pods) = groups.get_mut(group) {
        pods.remove(name);
        if pods.is_empty() {
            groups.remove(group);
        }
    }
}

impl PodIndex {
    /// The pods whose controller this Job is: those that are at work or still have to be counted, then the others.
    pub fn of_job(&self, uid: &Uid) -> impl Iterator<Item = &Arc<KeptPod>> {
        [&self.open, &self.over].into_iter().filter_map(|pods| pods.get(uid)).flat_map(BTreeMap::values)
    }

    /// The pods of a namespace that have no controller, by name.
    pub fn unowned(&self, namespace: &Text) -> impl Iterator<Item = &Arc<KeptPod>> {
        self.unowned.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// The pod with this UID.
    #[must_use]
    pub fn by_uid(&self, uid: &Uid) -> Option<&Arc<KeptPod>> {
        self.by_uid.get(uid)
    }

    /// What the decision about a Job reads: its pods, but for those that are settled, those that it may adopt, and those
    /// that its status still has to count, whoever owns them now (J-05). Pods that were `deleted` are there, settled or not:
    /// the decision waits until their deletion is shown.
    #[must_use]
    pub fn seen_from(&self, job: &KeptJob, deleted: &BTreeSet<Uid>) -> Vec<PodFacts> {
        let open = self.open.get(&job.facts.uid).into_iter().flat_map(BTreeMap::values);
        let unowned = self.unowned(&job.key.namespace).filter(|pod| job.selector.matches(&pod.labels));
        let own = open.chain(self.over_and_seen(job, deleted));
        let mut found: Vec<PodFacts> = own.chain(unowned).map(|pod| pod.seen_from(job)).collect();
        let listed = job.facts.status.uncounted.iter().flat_map(|it| it.succeeded.iter().chain(&it.failed));
        let ownerless: Vec<&Arc<KeptPod>> = listed
            .filter_map(|uid| self.by_uid.get(uid))
            .filter(|pod| pod.key.namespace == job.key.namespace && !is_seen(pod, job))
            .collect();
        found.extend(ownerless.into_iter().map(|pod| pod.seen_from(job)));
        found
    }

    /// Those of these pods that are over.
    #[must_use]
    pub fn over(&self, pods: &BTreeSet<Uid>) -> Vec<Uid> {
        let is_over = |uid: &&Uid| self.by_uid.get(*uid).is_some_and(|pod| pod.is_over());
        pods.iter().filter(is_over).cloned().collect()
    }

    /// Of the Job's pods that are over, those that its decision reads all the same. For most Jobs none has to be looked at.
    fn over_and_seen<'s>(&'s self, job: &KeptJob, deleted: &BTreeSet<Uid>) -> Vec<&'s Arc<KeptPod>> {
        let Some(over) = self.over.get(&job.facts.uid) else { return Vec::new() };
        if job.selects_by_its_uid() && job.facts.spec.pod_failure_policy.is_none() {
            let found = deleted.iter().filter_map(|uid| self.by_uid.get(uid));
            return found
                .filter(|pod| over.get(&pod.key.name).is_some_and(|it| Arc::ptr_eq(it, pod)))
                .collect();
        }
        let is_seen = |pod: &&Arc<KeptPod>| {
            let settled = job.selector.matches(&pod.labels) && is_settled(&job.facts, &pod.facts);
            !settled || deleted.contains(&pod.facts.uid)
        };
        over.values().filter(is_seen).collect()
    }
}

fn is_seen(pod: &KeptPod, job: &KeptJob) -> bool {
    match &pod.owner {
        PodOwner::Job { uid, .. } => *uid == job.facts.uid,
        PodOwner::Nobody => job.selector.matches(&pod.labels),
        PodOwner::AnotherKind => false,
    }
}

#[cfg(test)]
mod tests;
