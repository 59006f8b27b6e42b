use jobcheck_controller::values::Time;
use serde_json::json;

use super::*;
use crate::reflector::Cache;

fn job(name: &str, uid: &str, manual: Option<Value>) -> DynamicObject {
    let selector =
        manual.unwrap_or_else(|| json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": "5", "generation": 3},
        "spec": {"parallelism": 1, "selector": selector,
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}], "fromTheFuture": 1}}},
        "status": {"uncountedTerminatedPods": {"succeeded": ["recorded"]}},
    }))
    .unwrap()
}

fn pod(name: &str, uid: &str, owner: Option<(&str, &str)>, labels: Value, finalizer: bool) -> Pod {
    let references: Vec<Value> = owner
        .map(|(kind, uid)| {
            let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
            json!({"apiVersion": version, "kind": kind, "name": "o", "uid": uid, "controller": true})
        })
        .into_iter()
        .collect();
    let finalizers: &[&str] = if finalizer { &["batch.kubernetes.io/job-tracking"] } else { &[] };
    serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": "7", "labels": labels,
            "ownerReferences": references, "finalizers": finalizers},
        "spec": {"containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap()
}

fn stores(jobs: Vec<DynamicObject>, pods: Vec<Pod>) -> (JobStore, PodStore) {
    let (job_store, pod_store) = (JobStore::default(), PodStore::default());
    jobs.into_iter().for_each(|job| job_store.apply(job, 5));
    pods.into_iter().for_each(|pod| pod_store.apply(pod, 7));
    (job_store, pod_store)
}

#[test]
fn the_template_is_cached_as_it_is_stored() {
    let (jobs, _) = stores(vec![job("a", "u", None)], vec![]);
    let cached = jobs.get(&ObjectKey::new("ns", "a")).unwrap();
    assert_eq!(cached.template["spec"]["fromTheFuture"], 1);
    assert_eq!((cached.generation, cached.version()), (3, 5));
    assert_eq!(cached.selector.query().as_deref(), Some("batch.kubernetes.io/controller-uid=u"));
}

/// FT-24, FT-26, J-05.
#[test]
fn a_job_reads_its_pods_pods_that_it_may_adopt_and_recorded_pods() {
    let selected = json!({"batch.kubernetes.io/controller-uid": "u"});
    let (jobs, pods) = stores(
        vec![job("a", "u", None)],
        vec![
            pod("mine", "p1", Some(("Job", "u")), selected.clone(), true),
            pod("relabelled", "p2", Some(("Job", "u")), json!({"x": "y"}), true),
            pod("ownerless", "p3", None, selected.clone(), false),
            pod("bare", "p4", None, json!({}), false),
            pod("previous", "p5", Some(("Job", "previous")), selected.clone(), true),
            pod("recorded", "recorded", Some(("Job", "previous")), selected.clone(), true),
            pod("replica", "p6", Some(("ReplicaSet", "r")), selected, false),
        ],
    );
    let job = jobs.get(&ObjectKey::new("ns", "a")).unwrap();
    let seen: Vec<(String, Controller, bool)> = pods
        .lookup(|index| index.facts_for(&job, &BTreeSet::new()))
        .into_iter()
        .map(|pod| (pod.name.to_string(), pod.controller, pod.selected))
        .collect();
    assert_eq!(
        seen,
        [
            ("mine".to_owned(), Controller::ThisJob, true),
            ("relabelled".to_owned(), Controller::ThisJob, false),
            ("ownerless".to_owned(), Controller::Nobody, true),
            ("recorded".to_owned(), Controller::Another, true),
        ]
    );
    assert_eq!(pods.len(), 6, "the pod of a ReplicaSet is not cached");
    assert_eq!(pods.latest_version(), 7);
}

/// A terminated pod of the Job `u`, with or without its finalizer.
fn ended(name: &str, phase: &str, labels: Value, finalizer: bool) -> Pod {
    let mut pod = pod(name, name, Some(("Job", "u")), labels, finalizer);
    pod.status.as_mut().unwrap().phase = Some(phase.to_owned());
    pod
}

fn generated() -> Value {
    json!({"batch.kubernetes.io/controller-uid": "u"})
}

fn seen(jobs: &JobStore, pods: &PodStore, deleted: &[&str]) -> Vec<String> {
    let job = jobs.get(&ObjectKey::new("ns", "a")).unwrap();
    let deleted = deleted.iter().map(|uid| Uid::new(uid)).collect();
    let seen = pods.lookup(|index| index.facts_for(&job, &deleted));
    seen.iter().map(|pod| pod.name.to_string()).collect()
}

/// A sync of a large Job does not read the pods that it has counted.
#[test]
fn pods_that_are_settled_are_not_read() {
    let all = || {
        vec![
            ended("counted", "Succeeded", generated(), false),
            ended("failed", "Failed", generated(), false),
            ended("held", "Succeeded", generated(), true),
            ended("running", "Running", generated(), false),
            ended("relabelled", "Succeeded", json!({"x": "y"}), false),
        ]
    };
    let (jobs, pods) = stores(vec![job("a", "u", None)], all());
    assert_eq!(seen(&jobs, &pods, &[]), ["held", "relabelled", "running"]);
    // The decision waits until the cache shows the deletion of these pods.
    assert_eq!(
        seen(&jobs, &pods, &["counted", "held", "missing"]),
        ["held", "relabelled", "running", "counted"]
    );
    assert_eq!(pods.lookup(|index| index.of_job(&Uid::new("u")).count()), 5);
    let named = ["counted", "held", "missing", "running"].map(Uid::new).into();
    assert_eq!(pods.lookup(|index| index.done(&named)), [Uid::new("counted")]);
    // PF-08: a failure policy applies to failed pods forever.
    let mut strict = job("a", "u", None);
    strict.data["spec"]["podFailurePolicy"] = json!({"rules": []});
    let (jobs, pods) = stores(vec![strict], all());
    assert_eq!(seen(&jobs, &pods, &[]), ["held", "relabelled", "running", "failed"]);
    assert_eq!(seen(&jobs, &pods, &["counted"]), ["held", "relabelled", "running", "counted", "failed"]);
    // FT-26: a manual selector need not match the pods of its Job.
    let manual = job("a", "u", Some(json!({"matchLabels": {"app": "x"}})));
    let (jobs, pods) = stores(vec![manual], all());
    assert_eq!(seen(&jobs, &pods, &[]), ["held", "relabelled", "running", "counted", "failed"]);
    let old = job("a", "u", Some(json!({"matchLabels": {"controller-uid": "u"}})));
    let (jobs, pods) = stores(vec![old], all());
    assert_eq!(seen(&jobs, &pods, &[]), ["held", "relabelled", "running", "counted", "failed"]);
}

#[test]
fn a_pod_is_read_until_it_is_settled_and_dropped_when_it_is_deleted() {
    let (jobs, pods) = stores(vec![job("a", "u", None)], vec![ended("p", "Succeeded", generated(), true)]);
    assert_eq!(seen(&jobs, &pods, &[]), ["p"]);
    let count = || pods.lookup(|index| index.of_job(&Uid::new("u")).count());
    pods.apply(ended("p", "Succeeded", generated(), false), 8);
    assert_eq!((seen(&jobs, &pods, &[]).len(), count()), (0, 1));
    pods.apply(ended("p", "Succeeded", json!({}), false), 9);
    assert_eq!((seen(&jobs, &pods, &[]).len(), count()), (1, 1));
    pods.apply(ended("p", "Succeeded", generated(), false), 10);
    pods.remove(ended("p", "Succeeded", generated(), false), 11);
    assert_eq!((seen(&jobs, &pods, &["p"]).len(), count()), (0, 0));
}

#[test]
fn a_pod_of_another_kind_of_owner_is_cached_while_it_holds_the_finalizer() {
    let (_, pods) = stores(vec![], vec![pod("p", "p", Some(("ReplicaSet", "r")), json!({}), true)]);
    assert_eq!(pods.len(), 1);
    pods.apply(pod("p", "p", Some(("ReplicaSet", "r")), json!({}), false), 8);
    assert!(pods.is_empty());
}

#[test]
fn jobs_are_found_by_the_pods_that_they_select() {
    let manual =
        json!({"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]});
    let (jobs, pods) = stores(
        vec![job("a", "u", None), job("b", "v", Some(manual))],
        vec![
            pod(
                "p",
                "p",
                None,
                json!({"batch.kubernetes.io/controller-uid": "u", "app": "x", "tier": "1"}),
                false,
            ),
            pod("q", "q", None, json!({"app": "x"}), false),
        ],
    );
    let selecting = |name: &str| -> Vec<String> {
        let pod = pods.get(&ObjectKey::new("ns", name)).unwrap();
        jobs.lookup(|index| index.selecting(&pod)).iter().map(|job| job.key().name.to_string()).collect()
    };
    assert_eq!(selecting("p"), ["a", "b"]);
    assert_eq!(selecting("q"), Vec::<String>::new());
}

#[test]
fn the_state_of_a_job_that_cannot_be_read_is_unknown() {
    let mut broken = job("a", "u", None);
    broken.data["spec"]["parallelism"] = json!("many");
    let key = ObjectKey::new("ns", "a");
    let (jobs, _) = stores(vec![broken.clone()], vec![]);
    assert!(jobs.is_empty() && jobs.is_unread(&key));
    let (jobs, _) = stores(vec![job("a", "u", None), broken], vec![]);
    assert!(jobs.get(&key).is_some() && jobs.is_unread(&key));
    let mut nameless = job("b", "v", None);
    nameless.metadata.uid = None;
    let (jobs, _) = stores(vec![nameless], vec![]);
    assert!(jobs.is_empty() && jobs.is_unread(&ObjectKey::new("ns", "b")));
}

/// The API server stores times that only Go can represent. No decision depends on the last 26 hours.
#[test]
fn a_job_with_late_times_is_cached_with_its_template() {
    let late = "9999-12-31T23:59:59Z";
    let mut odd = job("a", "u", None);
    odd.data["spec"]["template"]["metadata"] =
        json!({"creationTimestamp": late, "annotations": {"untilTime": late}});
    odd.data["status"]["startTime"] = json!(late);
    odd.data["status"]["conditions"] = json!([{"type": "T", "status": "True", "lastTransitionTime": late}]);
    let (jobs, _) = stores(vec![odd.clone()], vec![]);
    let cached = jobs.get(&ObjectKey::new("ns", "a")).unwrap();
    assert_eq!(cached.template, odd.data["spec"]["template"]);
    // 9999-12-30T22:00:00Z.
    let latest = Some(Time::from_seconds(253_402_207_200));
    assert_eq!(cached.facts.status.start_time, latest);
    assert_eq!(cached.facts.status.conditions[0].last_transition, latest);
}

#[test]
fn texts_without_users_are_dropped() {
    let mut interner = Interner { texts: BTreeSet::new(), sweep_at: 3 };
    let used = interner.intern("used");
    assert!(Arc::ptr_eq(&used, &interner.intern("used")));
    drop(interner.intern("a"));
    drop(interner.intern("b"));
    drop(interner.intern("c"));
    assert_eq!(interner.texts.iter().map(|text| &**text).collect::<Vec<_>>(), ["c", "used"]);
    assert_eq!(interner.sweep_at, FIRST_SWEEP);
}

/// The size does not include the three texts that a pod does not share (name, UID, version). A cluster may have 100,000
/// pods.
#[test]
fn a_cached_pod_is_small() {
    assert!(size_of::<CachedPod>() <= 384, "{}", size_of::<CachedPod>());
}
