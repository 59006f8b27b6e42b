//! The limits of the service: nobody can push out the Jobs of others, fill the disk, or stop the service.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jobcheck_judge::validate::Outcome;
use jobcheck_record::Sink;
use jobcheck_watch::{Limits, Service, Settings};
use serde_json::{Value, json};
use support::{LATER, events, feed, findings, open, verdicts};

const WRONG: &str = "invalid/FT-03--released-before-recorded.audit.jsonl";

fn service(folder: &Path, limits: Limits) -> Service {
    Service::open(Settings { limits, ..Settings::at(folder) }).unwrap()
}

/// The UID and the namespace of the Job in these events.
fn job_in(events: &[Value]) -> (String, String) {
    let object = &events[0]["responseObject"]["metadata"];
    let text = |field: &str| object[field].as_str().unwrap().to_owned();
    (text("uid"), text("namespace"))
}

/// The events of the same Job with other UIDs, in another namespace.
fn elsewhere(events: &[Value], number: usize, namespace: &str) -> Vec<Value> {
    let uids = events.iter().filter_map(|it| it["responseObject"]["metadata"]["uid"].as_str());
    let mut text = serde_json::to_string(events).unwrap();
    for uid in uids {
        text = text.replace(uid, &format!("{number:08x}{}", &uid[8..]));
    }
    text = text.replace(&job_in(events).1, namespace);
    let mut moved: Vec<Value> = serde_json::from_str(&text).unwrap();
    for (line, event) in moved.iter_mut().enumerate() {
        event["auditID"] = json!(format!("{number}-{line}"));
    }
    moved
}

/// The creation of a pod that names a Job as its controller.
fn pod_of(events: &[Value], uid: &str, namespace: &str, number: usize) -> Value {
    let is_pod = |it: &&Value| it["verb"] == "create" && it["objectRef"]["resource"] == "pods";
    let mut event = events.iter().find(is_pod).unwrap().clone();
    event["auditID"] = json!(format!("pod-{number}"));
    event["user"] = json!({"username": "tenant"});
    event["objectRef"]["namespace"] = json!(namespace);
    event.as_object_mut().unwrap().remove("requestObject");
    let metadata = &mut event["responseObject"]["metadata"];
    metadata["namespace"] = json!(namespace);
    metadata["name"] = json!(format!("pod-{number}"));
    metadata["uid"] = json!(format!("{number:08x}-0000-4000-8000-00000000000f"));
    metadata["ownerReferences"][0]["uid"] = json!(uid);
    event
}

fn size_of(path: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata().unwrap() {
        data if data.is_dir() => size_of(&entry.path()),
        data => data.len(),
    };
    fs::read_dir(path).unwrap().flatten().map(of).sum()
}

#[test]
fn pods_of_another_namespace_do_not_count_for_a_job() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let (uid, _) = job_in(&events);
    // There is room for the records of the Job, and for five pods more.
    let own: usize = events.iter().map(|event| event.to_string().len()).sum();
    let limits = Limits { job_bytes: own as u64 + 15_000, ..Limits::default() };
    let foreign: Vec<_> = (0..100).map(|number| pod_of(&events, &uid, "tenant", number)).collect();
    // They come before the Job is known, and after it.
    for split in [0, 1, 9] {
        let folder = folder.path().join(split.to_string());
        let mut service = service(&folder, limits.clone());
        if split > 0 {
            feed(&mut service, &events[..split]);
        }
        feed(&mut service, &foreign);
        feed(&mut service, &events[split..]);
        let news = service.look(LATER).unwrap();
        assert_eq!(findings(&news)[0].0, "FT-03", "{split}");
        assert_eq!(verdicts(&news)[0].1, Outcome::Violates, "{split}");
    }
    // Those of its own namespace do.
    let mut service = service(&folder.path().join("own"), limits);
    feed(&mut service, &events[..9]);
    let own: Vec<_> = (0..100).map(|number| pod_of(&events, &uid, &job_in(&events).1, number)).collect();
    feed(&mut service, &own);
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given[0].2.contains("its records have more than"), "{given:?}");
}

#[test]
fn the_namespace_with_most_jobs_loses_one() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let mut service = service(folder.path(), Limits { jobs: 4, ..Limits::default() });
    feed(&mut service, &events[..9]);
    for number in 1..=20 {
        feed(&mut service, &elsewhere(&events[..1], number, "flood"));
        // Nobody has shown that these Jobs exist.
        feed(
            &mut service,
            &[pod_of(&events, &format!("{number:08x}-0000-4000-8000-00000000000e"), "flood", number)],
        );
    }
    assert_eq!(service.living(), 4);
    feed(&mut service, &events[9..]);
    let given = verdicts(&service.look(LATER).unwrap());
    let (own, others): (Vec<_>, Vec<_>) = given.iter().partition(|it| it.0 == job_in(&events).0);
    assert!(own.len() == 1 && own[0].1 == Outcome::Violates, "{own:?}");
    assert!(others.len() >= 16 && others.iter().all(|it| it.1 == Outcome::Inconclusive), "{others:?}");
    let metrics = service.metrics();
    assert!(metrics.contains("jobcheck_watch_given_up_jobs_total 37"), "{metrics}");
}

#[test]
fn a_job_that_only_pods_name_is_forgotten() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let mut service = open(folder.path());
    let named = |number| format!("{number:08x}-0000-4000-8000-00000000000e");
    let fakes: Vec<_> = (0..9).map(|number| pod_of(&events, &named(number), "flood", number)).collect();
    feed(&mut service, &fakes);
    feed(&mut service, &events[..1]);
    assert_eq!((service.living(), service.look(0).unwrap().len()), (10, 0));
    assert!(service.look(LATER).unwrap().is_empty());
    assert_eq!(service.living(), 1);
    assert_eq!(fs::read_dir(folder.path().join("jobs")).unwrap().count(), 1);
    // A Job of another group is another kind.
    let mut other = pod_of(&events, &named(20), "flood", 20);
    other["responseObject"]["metadata"]["ownerReferences"][0]["apiVersion"] =
        json!("batch.volcano.sh/v1alpha1");
    feed(&mut service, &[other]);
    assert_eq!(service.living(), 1);
    let metrics = service.metrics();
    assert!(!metrics.contains("jobcheck_watch_last_record_timestamp_seconds 0"), "{metrics}");
}

#[test]
fn the_folder_has_a_size() {
    const SIZE: u64 = 400_000;
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let limits = Limits { folder_bytes: SIZE, ..Limits::default() };
    let mut service_now = service(folder.path(), limits.clone());
    feed(&mut service_now, &events[..9]);
    let orphan = |number| {
        let mut pod = pod_of(&events, "none", "flood", number);
        pod["responseObject"]["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        pod
    };
    for number in 1..=60 {
        feed(&mut service_now, &elsewhere(&events[..12], number, "flood"));
        feed(&mut service_now, &[orphan(1_000 + number), orphan(2_000 + number)]);
        assert!(size_of(folder.path()) < SIZE * 3 / 4, "{number}");
    }
    feed(&mut service_now, &events[9..]);
    let news = service_now.look(LATER).unwrap();
    let given = verdicts(&news);
    let own = given.iter().find(|it| it.0 == job_in(&events).0).unwrap();
    assert_eq!(own.1, Outcome::Violates);
    let why = "the records of all Jobs have more than 200000 bytes";
    assert!(given.iter().any(|it| it.2.contains(why)), "{given:?}");
    service_now.keep_reported().unwrap();
    // Evidence has its part, too.
    for number in 100..130 {
        feed(&mut service_now, &elsewhere(&events, number, "others"));
        service_now.look(LATER).unwrap();
        service_now.keep_reported().unwrap();
    }
    let kept = size_of(&folder.path().join("violations"));
    assert!((SIZE / 4..=SIZE * 3 / 8).contains(&kept), "{kept}");
    // A smaller limit holds from the start.
    drop(service_now);
    let service = service(folder.path(), Limits { folder_bytes: SIZE / 4, ..limits });
    assert!(size_of(folder.path()) < SIZE / 4, "{}", size_of(folder.path()));
    drop(service);
}

#[test]
fn a_job_that_takes_too_long_is_dropped() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let mut service = service(folder.path(), Limits { time: Duration::ZERO, ..Limits::default() });
    feed(&mut service, &events[..6]);
    // A conflict changes nothing, but has to be read.
    let mut refused = events[5].clone();
    refused["responseStatus"] = json!({"code": 409, "reason": "Conflict"});
    refused.as_object_mut().unwrap().remove("responseObject");
    let many: Vec<_> = (0..20_000)
        .map(|number| {
            refused["auditID"] = json!(format!("refused-{number}"));
            refused.clone()
        })
        .collect();
    feed(&mut service, &many);
    let given = verdicts(&service.look(LATER).unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Inconclusive, "{given:?}");
    assert!(given[0].2.contains("to judge it takes longer than 0s"), "{given:?}");
    assert_eq!(service.living(), 0);
}

#[test]
fn the_end_of_the_process_ends_a_judgement_and_loses_no_job() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let limits = Limits::default();
    let mut ending = service(folder.path(), limits.clone());
    feed(&mut ending, &events);
    limits.ends.store(true, Ordering::Relaxed);
    // A judgement that is over before somebody looks has a result.
    let news = ending.look(LATER).unwrap();
    assert!(ending.pause().is_empty());
    if news.is_empty() {
        assert_eq!(ending.living(), 1);
    }
    drop(ending);
    let given = verdicts(&open(folder.path()).look(LATER).unwrap());
    assert!(given.len() == 1 && given[0].1 == Outcome::Violates, "{given:?}");
}

/// Prometheus sees an increase only in a series that was there before.
#[test]
fn every_violation_has_a_series_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = open(folder.path()).metrics();
    for (requirement, known) in [("FT-03", ""), ("S-05", "S-05")] {
        let labels = format!("requirement=\"{requirement}\",known=\"{known}\"");
        let series = format!("jobcheck_watch_violations_total{{{labels}}} 0");
        assert!(metrics.contains(&series), "{series}");
    }
}

#[test]
fn a_job_that_ends_the_process_twice_is_dropped() {
    let (folder, events) = (tempfile::tempdir().unwrap(), events(WRONG));
    let (uid, _) = job_in(&events);
    let other = elsewhere(&events, 7, "other");
    let mut first = open(folder.path());
    feed(&mut first, &events[..9]);
    feed(&mut first, &other[..9]);
    drop(first);
    let judging = folder.path().join(format!("jobs/{uid}.judging"));
    // A judgement that the process survives is no reason, and neither is one that it does not survive.
    let mut second = open(folder.path());
    second.look(LATER).unwrap();
    assert!(!judging.exists());
    drop(second);
    for ends in 1..=2 {
        fs::write(&judging, "").unwrap();
        let mut service = open(folder.path());
        assert_eq!(service.living(), 3 - ends, "{ends}");
        if ends == 2 {
            service.gap("a restart".to_owned()).unwrap();
            feed(&mut service, &other[9..]);
            let given = verdicts(&service.look(LATER).unwrap());
            let dropped = given.iter().find(|it| it.0 == uid).unwrap();
            assert!(dropped.1 == Outcome::Inconclusive && dropped.2.contains("ended twice"), "{given:?}");
            assert_eq!(given.len(), 2, "{given:?}");
            service.keep_reported().unwrap();
        }
    }
    assert_eq!(fs::read_dir(folder.path().join("jobs")).unwrap().count(), 0);
}
