//! The living Jobs: which of them a record belongs to, and what is known of each.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_judge::validate::Logged;
use jobcheck_traces::{Answer, Body, Request, Resource, Subresource, Verb};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::concluded::Concluded;
use crate::owners::{Controller, controller_of, items_of, known_as, list_of, uid_of};
use crate::shares::{Excess, Share, Shares};

/// A Job whose records are kept.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Its namespace and name; empty until a write to the Job itself shows it.
    pub(crate) name: String,
    /// Its namespace, or that of the pod that names it.
    pub(crate) namespace: String,
    /// True if there was a write to the Job itself. Anybody can make a pod that names a Job.
    pub(crate) is_shown: bool,
    /// The size of its file.
    pub(crate) bytes: u64,
    /// True if there are records that were not judged yet.
    pub(crate) is_new: bool,
    /// The time of its last record, in microseconds since 1970.
    pub(crate) last: i64,
    /// The time at which it is judged again, unless it ends before.
    pub(crate) due: i64,
    /// True if its creation was recorded.
    pub(crate) is_whole: bool,
    /// True if it is finished or gone.
    pub(crate) is_over: bool,
    /// `ttlSecondsAfterFinished`, after which the TTL controller deletes it.
    pub(crate) ttl: i64,
    /// The findings that were reported: requirement and line.
    pub(crate) reported: BTreeSet<(String, u64)>,
    /// Its pods, by UID and by name.
    pods: Vec<(String, String)>,
}

/// The Jobs to which a record belongs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Their UIDs.
    pub(crate) jobs: Vec<String>,
    /// The Job to which the pod belongs from this record on.
    pub(crate) new_owner: Option<String>,
    /// True if the request makes that Job the controller of a pod that existed before.
    pub(crate) adopts: bool,
    /// True if the pod has no controller, so that a Job may adopt it.
    pub(crate) is_ownerless: bool,
}

/// The living Jobs by UID, and their pods.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) all: BTreeMap<String, Job>,
    /// The Job of each name, the latest one.
    names: FxHashMap<String, String>,
    /// The Job of each pod, by UID and by name.
    pods: FxHashMap<String, String>,
    /// The numbers of Jobs and the sizes of their files.
    shares: Shares,
    pub(crate) concluded: Concluded,
    /// The kinds of requests that the log has shown, by namespace.
    pub(crate) logged: Logged,
}

/// The most bytes of records of a Job that are copied for the next Job with its name.
const MOST_INHERITED: u64 = 16 << 20;

impl Jobs {
    /// Returns true if a Job was judged for the last time. Its late records have nobody who judges them.
    pub(crate) fn is_concluded(&self, uid: &str) -> bool {
        self.concluded.has(uid)
    }

    /// The Jobs to which a request for one object belongs; none if no known Job is concerned.
    pub(crate) fn of(&mut self, request: &Request<'_>) -> Claim {
        match request.resource {
            Resource::Jobs => Claim { jobs: self.job_of(request).into_iter().collect(), ..Claim::default() },
            Resource::Pods => self.claim_of_pod(request),
        }
    }

    fn job_of(&self, request: &Request<'_>) -> Option<String> {
        let name = full_name(request.namespace, request.name);
        request.uid.map(known_as).or_else(|| self.names.get(&name).cloned())
    }

    /// A pod that changes its controller belongs to both: the one that is known, and the one that the record names.
    fn claim_of_pod(&mut self, request: &Request<'_>) -> Claim {
        let is_stored = is_stored(request);
        let shown = request.response.filter(|_| is_stored).and_then(|object| controller_of(object.text()));
        let sent = request.request.and_then(|object| controller_of(object.text())).and_then(Controller::job);
        let is_ownerless = is_stored && request.answer == Answer::Whole && shown == Some(Controller::Nobody);
        let known = self.job_of_known_pod(request);
        let is_change = matches!(request.verb, Verb::Update | Verb::Patch);
        let is_of_object = is_change && request.subresource == Subresource::None;
        let adopts = is_stored && is_of_object && sent.is_some();
        let named = shown.and_then(Controller::job).or(sent);
        let named = named.filter(|job| self.may_have_pods_in(request.namespace, job));
        let other = named.filter(|job| known.as_ref() != Some(job));
        // A creation may be stored although the response is an error.
        let new_owner = other.clone().filter(|_| is_stored || request.verb == Verb::Create);
        if let Some(job) = &new_owner {
            self.note_pod(job, request);
        }
        Claim { jobs: known.into_iter().chain(other).collect(), new_owner, adopts, is_ownerless }
    }

    /// An owner is in the namespace of its pods. Elsewhere, anybody can name it.
    fn may_have_pods_in(&self, namespace: &str, job: &str) -> bool {
        self.all.get(job).is_none_or(|job| job.namespace == namespace)
    }

    /// Returns true if this is a write to a Job that only pods of another namespace have named so far.
    pub(crate) fn is_misnamed(&self, uid: &str, request: &Request<'_>) -> bool {
        let is_elsewhere = |job: &Job| !job.is_shown && job.namespace != request.namespace;
        request.resource == Resource::Jobs && self.all.get(uid).is_some_and(is_elsewhere)
    }

    fn job_of_known_pod(&self, request: &Request<'_>) -> Option<String> {
        let by_name = || {
            let name = Some(request.name).filter(|name| !name.is_empty())?;
            self.pods.get(&full_name(request.namespace, name))
        };
        request.uid.and_then(|uid| self.pods.get(uid)).or_else(by_name).cloned()
    }

    /// Notes that a pod belongs to a Job. The name of a pod may not be known.
    fn note_pod(&mut self, owner: &str, request: &Request<'_>) {
        let Some(job) = self.all.get_mut(owner) else { return };
        let uid = request.uid.unwrap_or_default().to_owned();
        let name = match request.name {
            "" => String::new(),
            name => full_name(request.namespace, name),
        };
        let keys = [&uid, &name].into_iter().filter(|key| !key.is_empty());
        self.pods.extend(keys.map(|key| (key.clone(), owner.to_owned())));
        if !(uid.is_empty() && name.is_empty()) {
            job.pods.push((uid, name));
        }
    }

    /// The Jobs that the deletion of a collection concerns, each with its own part of the response. Without a list in the
    /// response, these are all Jobs of the namespace.
    pub(crate) fn of_collection(&self, request: &Request<'_>) -> BTreeMap<String, Option<String>> {
        let Some(items) = request.response.and_then(|list| items_of(list.text())) else {
            let there = self.all.iter().filter(|(_, job)| job.namespace == request.namespace);
            return there.map(|(uid, _)| (uid.clone(), None)).collect();
        };
        let mut parts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for item in items {
            let job = self.job_of_item(item, request.resource);
            let job = job.filter(|job| self.may_have_pods_in(request.namespace, job));
            if let Some(job) = job.filter(|job| self.all.contains_key(job) || self.is_concluded(job)) {
                parts.entry(job).or_default().push(item);
            }
        }
        parts.into_iter().map(|(job, items)| (job, Some(list_of(&items)))).collect()
    }

    fn job_of_item(&self, item: &str, resource: Resource) -> Option<String> {
        let uid = uid_of(item)?;
        match resource {
            Resource::Jobs => Some(known_as(&uid)),
            Resource::Pods => {
                let known = self.pods.get(&uid).cloned();
                known.or_else(|| controller_of(item).and_then(Controller::job))
            }
        }
    }

    /// The living Job that had the name of a new one before, unless its records are large.
    pub(crate) fn former(&self, uid: &str, request: &Request<'_>) -> Option<String> {
        if self.all.contains_key(uid) || !creates_a_job(request) {
            return None;
        }
        let former = self.names.get(&full_name(request.namespace, request.name))?;
        self.all.get(former).filter(|job| job.bytes <= MOST_INHERITED).map(|_| former.clone())
    }

    /// Notes a record of this Job, of this size. Returns the Job.
    pub(crate) fn note(&mut self, uid: &str, request: &Request<'_>, bytes: u64) -> &mut Job {
        let job = self.all.entry(uid.to_owned()).or_insert_with(|| {
            self.shares.add(request.namespace, Share::one(0));
            Job { namespace: request.namespace.to_owned(), ..Job::default() }
        });
        self.shares.add(&job.namespace, Share::more(bytes));
        job.bytes += bytes;
        job.is_new = true;
        job.last = job.last.max(request.interval.done);
        if request.resource == Resource::Jobs {
            job.is_shown = true;
            if job.name.is_empty() && !request.name.is_empty() {
                job.name = full_name(request.namespace, request.name);
                self.names.insert(job.name.clone(), uid.to_owned());
            }
            job.note_write(request);
        }
        job
    }

    /// Notes more bytes of a Job that were not judged yet.
    pub(crate) fn grow(&mut self, uid: &str, bytes: u64) {
        let Some(job) = self.all.get_mut(uid) else { return };
        self.shares.add(&job.namespace, Share::more(bytes));
        job.bytes += bytes;
        job.is_new = true;
    }

    /// The Job to drop first, if all together exceed these limits, and the limit. Jobs that only pods have named come first.
    pub(crate) fn surplus(&self, most: Share) -> Option<(String, Excess)> {
        let (namespace, excess) = self.shares.excess(most)?;
        let jobs = self.all.iter().filter(|(_, job)| job.namespace == namespace);
        let first = match excess {
            Excess::Count => jobs.min_by_key(|(_, job)| (job.is_shown, job.last)),
            Excess::Bytes => jobs.max_by_key(|(_, job)| (job.bytes, !job.is_shown)),
        };
        first.map(|(uid, _)| (uid.clone(), excess))
    }

    /// Forgets a Job and its pods. Later records of it are late.
    pub(crate) fn forget(&mut self, uid: &str) -> Option<Job> {
        let job = self.remove(uid)?;
        self.concluded.add(uid);
        Some(job)
    }

    /// Forgets a Job and its pods, as if it had never been seen.
    pub(crate) fn remove(&mut self, uid: &str) -> Option<Job> {
        let job = self.all.remove(uid)?;
        self.shares.remove(&job.namespace, Share::one(job.bytes));
        for key in job.pods.iter().flat_map(|(pod, name)| [pod, name]) {
            // Another Job may have adopted the pod, or have a pod with this name.
            if self.pods.get(key).is_some_and(|owner| owner == uid) {
                self.pods.remove(key);
            }
        }
        if self.names.get(&job.name).is_some_and(|latest| latest == uid) {
            self.names.remove(&job.name);
        }
        Some(job)
    }

    /// Learns a Job again from the records in its file. They may include those of the Job that had its name before.
    pub(crate) fn learn(&mut self, uid: &str, body: &Body<'_>) {
        let Body::Request(request) = body else { return };
        self.logged.note(request);
        let is_of_pod = request.resource == Resource::Pods;
        if !is_of_pod && is_of_another(uid, request) {
            return;
        }
        self.note(uid, request, 0);
        if is_of_pod && request.verb != Verb::DeleteCollection {
            self.claim_of_pod(request);
        }
    }
}

fn full_name(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Returns true if the server has done what a request asks for.
fn is_stored(request: &Request<'_>) -> bool {
    request.is_accepted() && !request.dry_run
}

fn creates_a_job(request: &Request<'_>) -> bool {
    request.resource == Resource::Jobs && request.verb == Verb::Create && is_stored(request)
}

/// Returns true if a request shows the UID of another Job.
pub(crate) fn is_of_another(job: &str, request: &Request<'_>) -> bool {
    request.uid.is_some_and(|uid| known_as(uid) != job)
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
    /// Notes what a request for the Job, or for a collection with it, has done.
    fn note_write(&mut self, request: &Request<'_>) {
        if creates_a_job(request) {
            // Earlier records are those of another Job that had the name.
            (self.is_whole, self.is_over) = (true, false);
        }
        let removes = matches!(request.verb, Verb::Delete | Verb::DeleteCollection);
        self.is_over |= removes && is_stored(request);
        let object = request.response.filter(|_| is_stored(request));
        if let Some(object) = object.filter(|_| request.verb != Verb::DeleteCollection) {
            self.learn_from(object.text());
        }
    }

    /// Learns from an object that the server has returned. Other objects than Jobs, such as a Status, show nothing.
    fn learn_from(&mut self, object: &str) {
        let Ok(seen) = serde_json::from_str::<Seen>(object) else { return };
        self.ttl = seen.spec.ttl_seconds_after_finished.unwrap_or(0).clamp(0, LONGEST_TTL);
        let is_end = |it: &SeenCondition| it.status == "True" && matches!(&*it.kind, "Complete" | "Failed");
        self.is_over |= seen.status.conditions.iter().any(is_end);
    }
}

/// The longest time in seconds for which a Job is kept because of its TTL.
const LONGEST_TTL: i64 = 7 * 86_400;

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Input, Reader};
    use serde_json::{Value, json};

    use super::*;

    const A: &str = "a0000000-0000-4000-8000-000000000001";
    const B: &str = "b0000000-0000-4000-8000-000000000002";
    const POD: &str = "c0000000-0000-4000-8000-000000000003";

    fn event(verb: &str, resource: &str, code: u16, request: &Value, response: &Value) -> Value {
        let group = if resource == "jobs" { "batch" } else { "" };
        let name = &response["metadata"]["name"];
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "x",
            "stage": "ResponseComplete", "verb": verb, "user": {"username": "u"},
            "objectRef": {"resource": resource, "apiGroup": group, "namespace": "ns", "name": name},
            "responseStatus": {"code": code}, "requestObject": request, "responseObject": response,
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
            "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        })
    }

    fn job(uid: &str) -> Value {
        let metadata = json!({"namespace": "ns", "name": &uid[..1], "uid": uid, "resourceVersion": "7"});
        json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata})
    }

    fn pod(owner: Option<&str>) -> Value {
        let owner =
            owner.map(|uid| json!({"kind": "Job", "apiVersion": "batch/v1", "uid": uid, "controller": true}));
        let owners: Vec<Value> = owner.into_iter().collect();
        let metadata = json!({
            "namespace": "ns", "name": "pod", "uid": POD, "resourceVersion": "8", "ownerReferences": owners,
        });
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata})
    }

    /// Notes an event, and returns the Jobs to which it belongs.
    fn noted(jobs: &mut Jobs, event: &Value) -> Claim {
        let mut reader = Reader::open(&[Input::Bytes("x".to_owned(), event.to_string().into_bytes())]);
        let record = reader.next().unwrap().unwrap();
        let Body::Request(request) = &record.body else { panic!("no request: {event}") };
        let claim = jobs.of(request);
        for uid in &claim.jobs {
            jobs.note(uid, request, 1);
        }
        claim
    }

    fn with_both() -> Jobs {
        let mut jobs = Jobs::default();
        for uid in [A, B] {
            noted(&mut jobs, &event("create", "jobs", 201, &json!({}), &job(uid)));
        }
        jobs
    }

    #[test]
    fn a_refused_creation_without_a_name_belongs_to_the_owner_in_the_request() {
        let mut jobs = with_both();
        for uid in [A, B] {
            let mut sent = pod(Some(uid));
            sent["metadata"] =
                json!({"generateName": "p-", "ownerReferences": sent["metadata"]["ownerReferences"]});
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 403});
            let claim = noted(&mut jobs, &event("create", "pods", 403, &sent, &status));
            assert_eq!(claim.jobs, [uid], "{claim:?}");
        }
    }

    #[test]
    fn a_pod_that_changes_its_controller_belongs_to_both() {
        let mut jobs = with_both();
        let none = json!({});
        noted(&mut jobs, &event("create", "pods", 201, &none, &pod(Some(A))));
        let released = noted(&mut jobs, &event("patch", "pods", 200, &none, &pod(None)));
        assert!(released.jobs == [A] && released.is_ownerless && !released.adopts, "{released:?}");
        let adopted = noted(&mut jobs, &event("patch", "pods", 200, &pod(Some(B)), &pod(Some(B))));
        assert_eq!(adopted.jobs, [A, B]);
        assert!(adopted.new_owner.as_deref() == Some(B) && adopted.adopts, "{adopted:?}");
        let later = noted(&mut jobs, &event("patch", "pods", 200, &none, &pod(Some(B))));
        assert!(later.jobs == [B] && later.new_owner.is_none(), "{later:?}");
        // The pods of another Job stay known.
        jobs.forget(A);
        assert_eq!(noted(&mut jobs, &event("patch", "pods", 200, &none, &pod(Some(B)))).new_owner, None);
    }
}
