//! Holds a pass against the end of its traces.
//!
//! The judge grants a manager 120 s for an end or a removal. A suite waits for less, and so finds failures that the judge does
//! not find. Each scenario of two clusters has one of these ends, and stops at the first wait that is not met:
//!
//! | last Job of the manager under test | its copies |
//! | --- | --- |
//! | has an end | may be there |
//! | is deleted without an end | are deleted, too |

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_traces::{
    Body, Input, Object, Reader, Request, Resource, Subresource, Verb, WatchKind, Watched,
};
use serde::Deserialize;

use crate::claims::OWN_JOBS;
use crate::folder::Folder;
use crate::judge::MANAGER;
use crate::types::{Run, Scenario};

/// A Job in the traces of a cluster.
#[derive(Debug, Default)]
struct Job {
    namespace: String,
    name: String,
    uid: String,
    managed_by: Option<String>,
    /// The values of its labels and annotations, one of which may be the UID of the Job that it copies.
    values: BTreeSet<String>,
    has_ended: bool,
    /// Its deletion has begun.
    is_deleted: bool,
}

/// The Jobs in the traces of a cluster, in the order in which these show them.
#[derive(Debug, Default)]
struct Jobs {
    list: Vec<Job>,
    by_uid: BTreeMap<String, usize>,
    /// The last Job of each namespace and name, until its deletion.
    living: BTreeMap<(String, String), usize>,
}

/// The reason why the traces do not show that a pass reached the end of its scenario; none for other profiles.
pub(crate) fn missing(folder: &Folder, scenario: &Scenario, run: &Run) -> Option<&'static str> {
    if !OWN_JOBS.contains(&&*run.profile.name) {
        return None;
    }
    let is_own = |job: &&Job| job.managed_by == run.implementation.managed_by;
    let manager = Jobs::read(folder, scenario, MANAGER);
    let own: Vec<&Job> = manager.list.iter().filter(is_own).collect();
    let Some(last) = own.last() else {
        return Some("its traces show no Job of the manager under test");
    };
    if last.has_ended {
        return None;
    }
    if !last.is_deleted {
        return Some("its traces do not show the end of its Job, for which the scenario waits");
    }
    let uids: BTreeSet<&String> = own.iter().map(|job| &job.uid).collect();
    let is_copy = |job: &Job| {
        let has_name = job.namespace == last.namespace && job.name == last.name;
        has_name || job.values.iter().any(|value| uids.contains(value))
    };
    let others: BTreeSet<&str> = scenario.traces.iter().map(|it| &*it.cluster).collect();
    let has_copy = |cluster: &&str| {
        let jobs = Jobs::read(folder, scenario, cluster);
        jobs.list.iter().any(|job| is_copy(job) && !job.is_deleted)
    };
    let is_left = others.iter().filter(|cluster| **cluster != MANAGER).any(has_copy);
    is_left.then_some("its traces show a copy of the deleted Job, for whose removal the scenario waits")
}

impl Jobs {
    /// Reads the traces of a cluster. The judge reports what cannot be read.
    fn read(folder: &Folder, scenario: &Scenario, cluster: &str) -> Jobs {
        let traces = scenario.traces.iter().filter(|it| it.cluster == cluster);
        let inputs: Vec<Input> = traces.map(|it| Input::Path(folder.path(&it.file))).collect();
        let (mut jobs, mut reader) = (Jobs::default(), Reader::open(&inputs));
        while let Some(record) = reader.next_readable() {
            match record.body {
                Body::Request(request) => jobs.requested(&request),
                Body::Watched(watched) => jobs.shown(&watched),
                Body::Header(_) | Body::Mark(_) | Body::Fault(_) | Body::Observed(_) | Body::Expected(_) => {}
            }
        }
        jobs
    }

    fn requested(&mut self, request: &Request<'_>) {
        if request.resource != Resource::Jobs || !request.is_accepted() || request.dry_run {
            return;
        }
        if let Some(object) = request.response {
            self.take(object);
        }
        // The response to a deletion may lack the object, and that to the deletion of a collection may lack the list.
        match (request.verb, request.subresource) {
            (Verb::Delete, Subresource::None) => self.delete(request.namespace, request.name),
            (Verb::DeleteCollection, _) => self.delete_all(request.namespace),
            _ => {}
        }
    }

    fn shown(&mut self, watched: &Watched<'_>) {
        if watched.resource != Resource::Jobs {
            return;
        }
        self.take(watched.object);
        if watched.kind == WatchKind::Deleted {
            self.delete(watched.namespace, watched.name);
        }
    }

    /// Takes a version of a Job. Another object, such as the status of a request, has no UID or another form.
    fn take(&mut self, object: Object<'_>) {
        let Ok(Stored { metadata, spec, status }) = object.read::<Stored>() else { return };
        if metadata.uid.is_empty() {
            return;
        }
        let next = self.list.len();
        let at = *self.by_uid.entry(metadata.uid.clone()).or_insert(next);
        if at == next {
            let Metadata { namespace, name, uid, .. } = metadata;
            // Another Job of this name is gone, even if the traces do not show its deletion.
            self.delete(&namespace, &name);
            self.living.insert((namespace.clone(), name.clone()), at);
            self.list.push(Job { namespace, name, uid, ..Job::default() });
        }
        let job = &mut self.list[at];
        job.has_ended |= status.is_some_and(|it| it.has_end());
        job.is_deleted |= metadata.deletion_timestamp.is_some();
        job.managed_by = spec.and_then(|it| it.managed_by).or(job.managed_by.take());
        let values = metadata.labels.into_iter().chain(metadata.annotations).flatten();
        job.values.extend(values.filter_map(|(_, value)| value));
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        if let Some(at) = self.living.remove(&(namespace.to_owned(), name.to_owned())) {
            self.list[at].is_deleted = true;
        }
    }

    fn delete_all(&mut self, namespace: &str) {
        let Jobs { list, living, .. } = self;
        living.retain(|(of, _), at| {
            list[*at].is_deleted |= of == namespace;
            of != namespace
        });
    }
}

#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: String,
    name: String,
    uid: String,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, Option<String>>>,
    annotations: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    managed_by: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

impl Status {
    fn has_end(&self) -> bool {
        let is_end = |it: &Condition| matches!(&*it.r#type, "Complete" | "Failed") && it.status == "True";
        self.conditions.iter().flatten().any(is_end)
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use serde_json::{Value, json};

    use super::*;
    use crate::result::tests::scenario;
    use crate::types::{Outcome, Stage};

    const OWN: &str = "example.com/mirror";

    /// A version of a Job, as a watch shows it.
    fn job(kind: &str, name: &str, uid: &str, more: &Value) -> Value {
        let mut object = json!({
            "apiVersion": "batch/v1", "kind": "Job", "spec": {}, "status": {},
            "metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": "1"},
        });
        for (key, value) in more.as_object().unwrap() {
            object[key].as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        }
        json!({"watched": {"at": "2026-01-01T00:00:00.000000Z", "type": kind, "object": object}})
    }

    fn own(kind: &str, uid: &str, status: &Value) -> Value {
        job(kind, "job", uid, &json!({"spec": {"managedBy": OWN}, "status": status}))
    }

    fn stranger() -> Value {
        job("ADDED", "stranger", "x", &json!({"spec": {"managedBy": "example.com/other"}}))
    }

    fn request(verb: &str, name: &str, code: u16) -> Value {
        let response =
            json!({"kind": "Status", "metadata": {}, "status": "Success", "details": {"name": name}});
        json!({"request": {
            "received": "2026-01-01T00:00:01.000000Z", "done": "2026-01-01T00:00:01.000000Z",
            "level": "RequestResponse", "user": "u", "agent": "a", "verb": verb, "resource": "jobs", "namespace": "ns", "name": name,
            "code": code, "response": response,
        }})
    }

    /// The end that is missing in these traces of a manager and of a worker.
    fn found(profile: &str, manager: &[Value], worker: &[Value]) -> Option<&'static str> {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        let mut scenario = scenario("mirror/a", Stage::Core, Outcome::Pass);
        for (cluster, lines) in [(MANAGER, manager), ("worker-1", worker)] {
            let file = format!("traces/{cluster}.jsonl");
            let header = json!({"format": "jobcheck.dev/trace", "version": "1.0"});
            let text: String =
                std::iter::once(&header).chain(lines).map(|line| format!("{line}\n")).collect();
            std::fs::write(folder.path(&file), text).unwrap();
            scenario.traces.push(folder.seal(&file, cluster).unwrap());
        }
        let mut run = Run::default();
        run.profile.name = profile.to_owned();
        run.implementation.managed_by = Some(OWN.to_owned());
        missing(&folder, &scenario, &run)
    }

    fn mirror(manager: &[Value], worker: &[Value]) -> Option<&'static str> {
        found("mirror", manager, worker)
    }

    #[test]
    fn the_last_job_has_an_end() {
        let none = json!({});
        let end = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        let (begin, late) = (own("ADDED", "a", &none), own("MODIFIED", "a", &end("Complete")));
        let why = Some("its traces do not show the end of its Job, for which the scenario waits");
        assert_eq!(mirror(&[begin.clone(), stranger()], &[]), why);
        assert_eq!(mirror(&[begin.clone(), own("MODIFIED", "a", &end("SuccessCriteriaMet"))], &[]), why);
        assert_eq!(mirror(&[begin.clone(), late.clone(), stranger()], &[]), None);
        assert_eq!(mirror(&[begin.clone(), own("MODIFIED", "a", &end("Failed"))], &[]), None);
        // Another incarnation follows.
        let again = own("ADDED", "b", &none);
        assert_eq!(mirror(&[begin.clone(), late.clone(), request("delete", "job", 200), again], &[]), why);
        // A TTL may have removed it since, before the copy.
        let copy = job("ADDED", "job", "c", &none);
        assert_eq!(mirror(&[begin, late, own("DELETED", "a", &none)], &[copy]), None);
        assert_eq!(mirror(&[stranger()], &[]), Some("its traces show no Job of the manager under test"));
        assert_eq!(found("field", &[stranger()], &[]), None);
    }

    #[test]
    fn a_deleted_job_has_no_copy() {
        let none = json!({});
        let gone = [own("ADDED", "a", &none), request("delete", "job", 200)];
        let why = Some("its traces show a copy of the deleted Job, for whose removal the scenario waits");
        let named = job("ADDED", "job", "c", &none);
        let stores = job("ADDED", "copy", "c", &json!({"metadata": {"annotations": {"of": "a"}}}));
        assert_eq!(mirror(&gone, slice::from_ref(&named)), why);
        assert_eq!(mirror(&gone, slice::from_ref(&stores)), why);
        assert_eq!(mirror(&gone, &[stranger()]), None);
        assert_eq!(mirror(&gone, &[stores.clone(), request("delete", "copy", 200)]), None);
        assert_eq!(mirror(&gone, &[stores.clone(), request("delete", "copy", 409)]), why);
        assert_eq!(mirror(&gone, &[stores.clone(), request("delete", "other", 200)]), why);
        assert_eq!(mirror(&gone, &[stores, named.clone(), request("deletecollection", "", 200)]), None);
        let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(mirror(&gone, &[named.clone(), job("MODIFIED", "job", "c", &deleting)]), None);
        assert_eq!(mirror(&gone, &[named.clone(), job("DELETED", "job", "c", &none)]), None);
        // A new copy under the same name.
        let again = job("ADDED", "job", "d", &none);
        assert_eq!(mirror(&gone, &[named, request("delete", "job", 200), again]), why);
    }
}
