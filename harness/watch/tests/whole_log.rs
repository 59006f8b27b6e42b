//! The verdicts of the service beside those on the whole log.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_judge::validate::Outcome;
use jobcheck_traces::Input;
use serde_json::{Value, json};
use support::{LATER, corpus, events, feed, findings, open, verdicts};

/// Logs with a Job whose violation only records show that do not name it, or name it in the request alone.
const OF_OTHERS: [&str; 22] = [
    "invalid/BO-06--heir-without-pods-and-without-expectations",
    "invalid/EN-06--release-never-tried-again",
    "invalid/EN-07--nothing-after-the-outage",
    "invalid/FT-23--late-pod-keeps-its-finalizer-although-the-job-changes",
    "invalid/FT-24--adopted-with-other-labels",
    "invalid/FT-24--adopted-without-finalizer",
    "invalid/J-06--late-pod-keeps-its-finalizer",
    "invalid/J-07--heir-without-pods",
    "invalid/MB-05--finalizer-left-behind",
    "invalid/MB-07--external-job-never-deleted",
    "invalid/MB-09--mirror-on-a-job-of-the-built-in",
    "invalid/MB-14--two-mirrors",
    "invalid/MR-04--times-of-the-previous-job",
    "invalid/MR-08--announced-and-never-finished",
    "invalid/SU-10--deadline-slept-through",
    "invalid/TT-07--refused-and-given-up",
    "invalid/TT-14--never-deleted",
    "invalid/TT-15--foreground-deletion-blocked",
    "known/j07-heir",
    "known/j08-inherited-delay",
    "known/j09-deleted-unseen",
    "known/j10-held-namespace",
];

/// The verdicts on a whole log, by UID.
fn whole(path: PathBuf) -> BTreeMap<String, Outcome> {
    let traces = group(vec![Input::Path(path)], Grouping::Auto, &mut |_, _| {});
    let report = judge(&traces, &Judging::default(), &mut |_, _| {});
    report.jobs.into_iter().map(|job| (job.uid, job.verdict)).collect()
}

/// The verdicts of the service by UID, and the requirements that it finds violated.
fn watched(events: &[Value]) -> (BTreeMap<String, Outcome>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut service = open(folder.path());
    feed(&mut service, events);
    let news = service.conclude().unwrap();
    let verdicts = verdicts(&news).into_iter().map(|(uid, verdict, _)| (uid, verdict)).collect();
    (verdicts, findings(&news).into_iter().map(|(id, _)| id).collect())
}

#[test]
fn no_job_conforms_that_violates_in_the_whole_log() {
    for name in OF_OTHERS {
        let path = format!("{name}.audit.jsonl");
        let (verdicts, _) = watched(&events(&path));
        let whole = whole(corpus().join(&path));
        let wrong: Vec<_> = whole.iter().filter(|(_, verdict)| **verdict == Outcome::Violates).collect();
        assert!(!wrong.is_empty(), "{name}");
        for (uid, _) in wrong {
            assert!(
                verdicts.get(uid).is_some_and(|it| *it != Outcome::Conforms),
                "{name} {uid} {verdicts:?}"
            );
        }
    }
}

#[test]
fn records_of_adopted_pods_of_collections_and_of_the_former_job_are_judged() {
    for (name, requirement) in [
        ("invalid/FT-24--adopted-with-other-labels", "FT-24"),
        ("invalid/FT-24--adopted-without-finalizer", "FT-24"),
        ("invalid/MR-04--times-of-the-previous-job", "MR-04"),
        ("known/j10-held-namespace", "H2"),
    ] {
        let (verdicts, found) = watched(&events(&format!("{name}.audit.jsonl")));
        assert!(verdicts.values().any(|it| *it == Outcome::Violates), "{name} {verdicts:?}");
        assert!(found.iter().any(|id| id == requirement), "{name} {found:?}");
    }
}

#[test]
fn recordings_have_the_verdicts_of_the_whole_log() {
    let mut count = 0;
    for entry in corpus().join("recordings").read_dir().unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".audit.jsonl") {
            let (verdicts, _) = watched(&events(&format!("recordings/{name}")));
            assert_eq!(verdicts, whole(entry.path()), "{name}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

/// The events of an adoption, and the position of the creation of the pod.
fn adoption() -> (Vec<Value>, usize) {
    let events = events("invalid/FT-24--adopted-with-other-labels.audit.jsonl");
    let is_adopted = |it: &&Value| it["verb"] == "patch" && it["objectRef"]["resource"] == "pods";
    let pod = events.iter().find(is_adopted).unwrap()["objectRef"]["name"].clone();
    let is_creation = |it: &Value| it["verb"] == "create" && it["responseObject"]["metadata"]["name"] == pod;
    let place = events.iter().position(is_creation).unwrap();
    (events, place)
}

#[test]
fn a_pod_without_a_controller_is_known_after_a_restart() {
    let (folder, (events, place)) = (tempfile::tempdir().unwrap(), adoption());
    let mut service = open(folder.path());
    feed(&mut service, &events[..=place]);
    drop(service);
    let mut service = open(folder.path());
    feed(&mut service, &events[place + 1..]);
    let found = findings(&service.conclude().unwrap());
    assert!(found.iter().any(|(id, _)| id == "FT-24"), "{found:?}");
    assert_eq!(folder.path().join("pods").read_dir().unwrap().count(), 0);
}

#[test]
fn the_adoption_of_an_unknown_pod_is_inconclusive() {
    let (folder, (mut events, place)) = (tempfile::tempdir().unwrap(), adoption());
    events.remove(place);
    let mut service = open(folder.path());
    feed(&mut service, &events);
    let given = verdicts(&service.conclude().unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Inconclusive, "{given:?}");
    assert!(given[0].2.contains("no record shows pod"), "{given:?}");
}

#[test]
fn a_job_that_is_deleted_in_a_collection_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let created = events("recordings/nonindexed-success.audit.jsonl").swap_remove(0);
    let mut collection = created.clone();
    collection["auditID"] = json!("collection");
    collection["verb"] = json!("deletecollection");
    collection["responseStatus"]["code"] = json!(200);
    collection["objectRef"].as_object_mut().unwrap().remove("name");
    collection.as_object_mut().unwrap().remove("requestObject");
    let job = created["responseObject"].clone();
    collection["responseObject"] = json!({"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "1"}, "items": [job]});
    let mut service = open(folder.path());
    feed(&mut service, &[created, collection]);
    assert_eq!(service.living(), 1);
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given.len() == 1 && service.living() == 0, "{given:?}");
}
