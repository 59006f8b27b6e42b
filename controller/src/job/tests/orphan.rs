//! The orphan path: the lookup of the owner of a pod, and the requests.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::build::{job, pod};
use crate::answer::{Answer, Failure, Shown};
use crate::job::observe;
use crate::job::observed::{JobFacts, PodFacts};
use crate::job::orphan::{OrphanPlan, Owner, OwnerLookup, PodOwner, look_up_owner, owner_from_response};
use crate::job::requests::{Object, Verb, of_orphan, read_job};
use crate::values::{ResourceVersion, Uid};

fn owner(references: Value) -> PodOwner {
    let metadata: ObjectMeta = serde_json::from_value(json!({ "ownerReferences": references })).unwrap();
    observe::owner(&metadata)
}

fn owned_by(uid: &str) -> PodOwner {
    PodOwner::Job { name: "job".into(), uid: Uid::new(uid) }
}

fn looked_up(pod: &PodFacts, owner: &PodOwner, cached: Option<&JobFacts>, gone: bool) -> &'static str {
    match look_up_owner(pod, owner, cached, |_| gone) {
        OwnerLookup::Known(Owner::Nobody) => "nobody",
        OwnerLookup::Known(Owner::AnotherKind) => "another kind",
        OwnerLookup::Known(Owner::Missing) => "missing",
        OwnerLookup::Known(Owner::Job(_)) => "this Job",
        OwnerLookup::Ask { .. } => "ask",
    }
}

#[test]
fn the_controller_reference_is_the_one_with_controller_true() {
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

/// FT-21: a cache that does not show the Job is not sufficient.
#[test]
fn a_job_that_the_cache_does_not_show_is_asked_for() {
    let (job, pod) = (job(), pod("a"));
    let ours = owned_by(job.uid.as_str());
    assert_eq!(looked_up(&pod, &PodOwner::Nobody, None, false), "nobody");
    assert_eq!(looked_up(&pod, &PodOwner::AnotherKind, Some(&job), false), "another kind");
    assert_eq!(looked_up(&pod, &ours, Some(&job), false), "this Job");
    assert_eq!(looked_up(&pod, &ours, None, false), "ask");
    assert_eq!(looked_up(&pod, &owned_by("another"), Some(&job), false), "ask");
    let OwnerLookup::Ask { job: name, uid } = look_up_owner(&pod, &ours, None, |_| false) else { panic!() };
    assert_eq!((&**name, uid), ("job", &job.uid));
}

#[test]
fn the_api_server_is_not_asked_for_a_deleted_job_or_for_a_pod_without_finalizer() {
    let job = job();
    let ours = owned_by(job.uid.as_str());
    assert_eq!(looked_up(&pod("a"), &ours, None, true), "missing");
    assert_eq!(looked_up(&pod("a").untracked(), &ours, None, false), "missing");
    assert_eq!(looked_up(&pod("a"), &ours, Some(&job), true), "this Job");
}

#[test]
fn the_response_decides_if_the_job_still_exists() {
    let stored = |uid: &str| -> Answer {
        let (uid, resource_version) = (Uid::new(uid), ResourceVersion::new("7"));
        Ok(Shown { name: "job".into(), uid, resource_version, deleting: false })
    };
    let is_gone = |answer| owner_from_response(&Uid::new("u"), answer).map(|owner| owner.is_some());
    assert_eq!(is_gone(stored("u")), Ok(false));
    assert_eq!(is_gone(stored("another")), Ok(true));
    assert_eq!(is_gone(Err(Failure::NotFound(String::new()))), Ok(true));
    let lost = Failure::Ambiguous(String::new());
    assert_eq!(is_gone(Err(lost.clone())), Err(lost));
    assert!(matches!(owner_from_response(&Uid::new("u"), stored("x")), Ok(Some(Owner::Missing))));
}

/// S-08, S-25.
#[test]
fn requests_about_orphans_have_the_version_as_precondition() {
    let orphan = crate::job::accounting::pod_ref(&pod("a"));
    assert_eq!(of_orphan(&OrphanPlan::Leave), None);
    let removal = of_orphan(&OrphanPlan::RemoveFinalizer(orphan.clone())).unwrap();
    assert_eq!((removal.verb, removal.object), (Verb::Patch, Object::Pod(orphan.name.clone())));
    let version = orphan.resource_version.as_str();
    assert_eq!(removal.body["metadata"]["resourceVersion"], version);
    let deleted = of_orphan(&OrphanPlan::Delete(orphan.clone())).unwrap();
    assert_eq!((deleted.verb, deleted.object), (Verb::Delete, Object::Pod(orphan.name.clone())));
    assert_eq!(deleted.body["preconditions"]["resourceVersion"], version);
    let read = read_job(&"job".into());
    assert_eq!((read.verb, read.object, read.body), (Verb::Get, Object::Job("job".into()), Value::Null));
}
