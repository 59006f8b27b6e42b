//! The orphan path: who owns a pod, as far as the cache knows, and what is asked.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::build::{job, pod};
use crate::answer::{Answer, Failure, Shown};
use crate::job::observe;
use crate::job::observed::{JobFacts, PodFacts};
use crate::job::orphan::{Look, OrphanPlan, Owner, PodOwner, asked, look};
use crate::job::requests::{Object, Verb, of_orphan, read_job};
use crate::values::{ResourceVersion, Uid};

fn owner(references: Value) -> PodOwner {
    let metadata: ObjectMeta = serde_json::from_value(json!({ "ownerReferences": references })).unwrap();
    observe::owner(&metadata)
}

fn owned_by(uid: &str) -> PodOwner {
    PodOwner::Job { name: "job".into(), uid: Uid::new(uid) }
}

fn looked(pod: &PodFacts, owner: &PodOwner, cached: Option<&JobFacts>, gone: bool) -> &'static str {
    match look(pod, owner, cached, |_| gone) {
        Look::Known(Owner::Nobody) => "nobody",
        Look::Known(Owner::AnotherKind) => "another kind",
        Look::Known(Owner::Missing) => "missing",
        Look::Known(Owner::Job(_)) => "this Job",
        Look::Ask { .. } => "ask",
    }
}

#[test]
fn the_controller_reference_is_the_one_that_says_so() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u", "controller": true});
    let with = |field: &str, value: Value| {
        let mut reference = job.clone();
        reference[field] = value;
        reference
    };
    assert_eq!(owner(json!([])), PodOwner::Nobody);
    assert_eq!(owner(json!([with("controller", json!(false))])), PodOwner::Nobody);
    assert_eq!(owner(json!([with("controller", Value::Null), job])), owned_by("u"));
    assert_eq!(owner(json!([with("kind", json!("CronJob"))])), PodOwner::AnotherKind);
    assert_eq!(owner(json!([with("apiVersion", json!("batch/v2"))])), PodOwner::AnotherKind);
}

/// FT-21: a cache that does not show the Job is not believed.
#[test]
fn a_job_that_the_cache_does_not_show_is_asked_for() {
    let (job, pod) = (job(), pod("a"));
    let ours = owned_by(job.uid.as_str());
    assert_eq!(looked(&pod, &PodOwner::Nobody, None, false), "nobody");
    assert_eq!(looked(&pod, &PodOwner::AnotherKind, Some(&job), false), "another kind");
    assert_eq!(looked(&pod, &ours, Some(&job), false), "this Job");
    assert_eq!(looked(&pod, &ours, None, false), "ask");
    assert_eq!(looked(&pod, &owned_by("namesake"), Some(&job), false), "ask");
    let Look::Ask { job: name, uid } = look(&pod, &ours, None, |_| false) else { panic!() };
    assert_eq!((&**name, uid), ("job", &job.uid));
}

#[test]
fn a_job_that_was_found_to_be_gone_is_not_asked_for_again_nor_for_a_pod_without_the_finalizer() {
    let job = job();
    let ours = owned_by(job.uid.as_str());
    assert_eq!(looked(&pod("a"), &ours, None, true), "missing");
    assert_eq!(looked(&pod("a").free(), &ours, None, false), "missing");
    assert_eq!(looked(&pod("a"), &ours, Some(&job), true), "this Job");
}

#[test]
fn the_answer_says_whether_the_job_is_gone() {
    let stored = |uid: &str| -> Answer {
        let (uid, resource_version) = (Uid::new(uid), ResourceVersion::new("7"));
        Ok(Shown { name: "job".into(), uid, resource_version, deleting: false })
    };
    let says = |answer| asked(&Uid::new("u"), answer).map(|owner| owner.is_some());
    assert_eq!(says(stored("u")), Ok(false));
    assert_eq!(says(stored("namesake")), Ok(true));
    assert_eq!(says(Err(Failure::NotFound(String::new()))), Ok(true));
    let lost = Failure::Ambiguous(String::new());
    assert_eq!(says(Err(lost.clone())), Err(lost));
    assert!(matches!(asked(&Uid::new("u"), stored("x")), Ok(Some(Owner::Missing))));
}

/// S-08, S-25: only in the version that was seen.
#[test]
fn an_orphan_is_written_in_the_version_that_was_seen() {
    let orphan = crate::job::accounting::pod_ref(&pod("a"));
    assert_eq!(of_orphan(&OrphanPlan::Leave), None);
    let finalizer_removed = of_orphan(&OrphanPlan::RemoveFinalizer(orphan.clone())).unwrap();
    assert_eq!(
        (finalizer_removed.verb, finalizer_removed.object),
        (Verb::Patch, Object::Pod(orphan.name.clone()))
    );
    let version = orphan.resource_version.as_str();
    assert_eq!(finalizer_removed.body["metadata"]["resourceVersion"], version);
    let deleted = of_orphan(&OrphanPlan::Delete(orphan.clone())).unwrap();
    assert_eq!((deleted.verb, deleted.object), (Verb::Delete, Object::Pod(orphan.name.clone())));
    assert_eq!(deleted.body["preconditions"]["resourceVersion"], version);
    let read = read_job(&"job".into());
    assert_eq!((read.verb, read.object, read.body), (Verb::Get, Object::Job("job".into()), Value::Null));
}
