//! The conversion of API objects to facts, and of calls to requests.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::build::{self, NOW, ago};
use crate::job::command::{NewPod, PodRef, StatusWrite};
use crate::job::observe::{self, PodSelector, Unobservable};
use crate::job::observed::{
    CompletionMode, ContainerKind, Controller, Deletion, ExitCodeOperator, JobFacts, Phase, PodFacts,
    PodFailureAction, PodFailureMatch, PodReplacementPolicy, StatusFacts,
};
use crate::job::requests::{self, PodTemplate};
use crate::ttl;
use crate::values::{ResourceVersion, Text, Time, Uid};

fn metadata() -> Value {
    json!({ "name": "job", "namespace": "ns", "uid": "u", "resourceVersion": "7" })
}

fn job_from(spec: Value, status: Value) -> JobFacts {
    let object = json!({ "metadata": metadata(), "spec": spec, "status": status });
    observe::job(&serde_json::from_value::<Job>(object).expect("a Job")).expect("a stored Job")
}

fn spec(fields: Value) -> JobFacts {
    let mut spec = json!({ "template": { "spec": { "containers": [] } } });
    spec.as_object_mut().expect("an object").append(&mut fields.as_object().expect("an object").clone());
    job_from(spec, json!({}))
}

fn pod_from(metadata: Value, rest: Value) -> PodFacts {
    let mut all = json!({ "name": "p", "uid": "pu", "resourceVersion": "3" });
    all.as_object_mut().expect("an object").append(&mut metadata.as_object().expect("an object").clone());
    let mut object = json!({ "metadata": all });
    object.as_object_mut().expect("an object").append(&mut rest.as_object().expect("an object").clone());
    let pod: Pod = serde_json::from_value(object).expect("a Pod");
    observe::pod(&pod, &Uid::new("u"), &selector(json!({ "matchLabels": { "a": "b" } })))
        .expect("a stored Pod")
}

fn selector(selector: Value) -> PodSelector {
    let object = json!({ "metadata": metadata(), "spec": { "selector": selector, "template": {} } });
    PodSelector::of(&serde_json::from_value(object).expect("a Job")).expect("a selector")
}

/// SP-01, BO-14.
#[test]
fn a_spec_has_the_defaults_of_the_api() {
    let plain = spec(json!({})).spec;
    assert_eq!((plain.parallelism, plain.completions, plain.backoff_limit), (1, None, 6));
    assert_eq!(plain.completion_mode, CompletionMode::NonIndexed);
    assert!(!plain.suspend && !plain.restarts_on_failure);
    assert_eq!(plain.pod_replacement_policy, None);
    assert_eq!(spec(json!({ "backoffLimitPerIndex": 1 })).spec.backoff_limit, i32::MAX);
}

#[test]
fn every_field_of_a_spec_is_read() {
    let full = spec(json!({
        "parallelism": 2, "completions": 3, "completionMode": "Indexed", "backoffLimit": 4,
        "backoffLimitPerIndex": 5, "maxFailedIndexes": 6, "activeDeadlineSeconds": 7, "suspend": true,
        "ttlSecondsAfterFinished": 8, "podReplacementPolicy": "Failed", "managedBy": "a.example/b",
        "template": { "spec": { "containers": [], "restartPolicy": "OnFailure" } },
        "podFailurePolicy": { "rules": [
            { "action": "FailJob", "onExitCodes": { "containerName": "c", "operator": "In", "values": [1, 2] } },
            { "action": "Ignore", "onPodConditions": [{ "type": "T", "status": "False" }, { "type": "U" }] },
            { "action": "FailIndex", "onExitCodes": { "operator": "NotIn", "values": [3] } },
            { "action": "Count", "onExitCodes": { "operator": "Other", "values": [] } },
            { "action": "Other" },
        ] },
        "successPolicy": { "rules": [{ "succeededIndexes": "0-1", "succeededCount": 1 }, {}] },
    }))
    .spec;
    assert_eq!((full.parallelism, full.completions, full.backoff_limit), (2, Some(3), 4));
    assert_eq!((full.backoff_limit_per_index, full.max_failed_indexes), (Some(5), Some(6)));
    assert_eq!((full.active_deadline_seconds, full.ttl_seconds_after_finished), (Some(7), Some(8)));
    assert!(full.suspend && full.restarts_on_failure);
    assert_eq!(full.completion_mode, CompletionMode::Indexed);
    assert_eq!(full.pod_replacement_policy, Some(PodReplacementPolicy::Failed));
    assert_eq!(full.managed_by.as_deref(), Some("a.example/b"));
    let rules = full.pod_failure_policy.expect("rules");
    use PodFailureAction::{Count, FailIndex, FailJob, Ignore, Unknown};
    assert_eq!(
        rules.iter().map(|it| it.action).collect::<Vec<_>>(),
        [FailJob, Ignore, FailIndex, Count, Unknown]
    );
    let codes = |at: usize| match &rules[at].on {
        PodFailureMatch::ExitCodes { container, operator, values } => {
            (container.as_deref().map(str::to_owned), *operator, values.clone())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(codes(0), (Some("c".to_owned()), ExitCodeOperator::In, vec![1, 2]));
    assert_eq!(codes(2), (None, ExitCodeOperator::NotIn, vec![3]));
    assert_eq!(codes(3), (None, ExitCodeOperator::Unknown, vec![]));
    let PodFailureMatch::PodConditions(patterns) = &rules[1].on else { panic!("conditions") };
    let shown: Vec<(&str, &str)> = patterns.iter().map(|it| (&*it.kind, &*it.status)).collect();
    assert_eq!(shown, [("T", "False"), ("U", "True")]);
    assert_eq!(rules[4].on, PodFailureMatch::Nothing);
    let success = full.success_policy.expect("rules");
    assert_eq!(success[0].succeeded_indexes.as_deref(), Some("0-1"));
    assert_eq!((success[0].succeeded_count, success[1].succeeded_count), (Some(1), None));
}

/// UG-16.
#[test]
fn values_of_a_later_kubernetes_are_recognised_as_unknown() {
    assert_eq!(spec(json!({ "completionMode": "X" })).spec.completion_mode, CompletionMode::Unknown);
    assert_eq!(
        spec(json!({ "completionMode": "NonIndexed" })).spec.completion_mode,
        CompletionMode::NonIndexed
    );
    let policy = |name| spec(json!({ "podReplacementPolicy": name })).spec.pod_replacement_policy;
    assert_eq!(policy("X"), Some(PodReplacementPolicy::Unknown));
    assert_eq!(policy("TerminatingOrFailed"), Some(PodReplacementPolicy::TerminatingOrFailed));
}

#[test]
fn every_field_of_a_status_is_read() {
    let template = json!({ "template": {} });
    let time = "1970-01-12T13:46:40Z";
    let read = job_from(
        template.clone(),
        json!({
            "startTime": time, "completionTime": time, "active": 1, "ready": 2, "terminating": 3, "succeeded": 4,
            "failed": 5, "completedIndexes": "0", "failedIndexes": "",
            "uncountedTerminatedPods": { "succeeded": ["a"], "failed": ["b", "c"] },
            "conditions": [
                { "type": "New", "status": "Odd", "reason": "r", "message": "m", "lastProbeTime": time,
                  "lastTransitionTime": time },
                { "type": "Complete", "status": "True" },
            ],
        }),
    )
    .status;
    assert_eq!((read.start_time, read.completion_time), (Some(NOW), Some(NOW)));
    assert_eq!((read.active, read.ready, read.terminating), (1, Some(2), Some(3)));
    assert_eq!((read.succeeded, read.failed), (4, 5));
    assert_eq!((read.completed_indexes.as_deref(), read.failed_indexes.as_deref()), (Some("0"), Some("")));
    let uncounted = read.uncounted.expect("lists");
    assert_eq!(
        (build::uids(&uncounted.succeeded), build::uids(&uncounted.failed)),
        (vec!["a"], vec!["b", "c"])
    );
    let first = &read.conditions[0];
    assert_eq!((&*first.kind, &*first.status, &*first.reason, &*first.message), ("New", "Odd", "r", "m"));
    assert_eq!((first.last_probe, first.last_transition), (Some(NOW), Some(NOW)));
    assert_eq!((&*read.conditions[1].reason, read.conditions[1].last_probe), ("", None));
    assert_eq!(job_from(template.clone(), json!({})).status, StatusFacts::default());
    assert_eq!(job_from(template, json!({ "completedIndexes": "" })).status.completed_indexes, None);
}

#[test]
fn an_object_that_was_never_stored_is_refused() {
    for (field, name) in [
        ("name", "metadata.name"),
        ("uid", "metadata.uid"),
        ("namespace", "metadata.namespace"),
        ("resourceVersion", "metadata.resourceVersion"),
    ] {
        let mut object = json!({ "metadata": metadata(), "spec": { "template": {} } });
        object["metadata"].as_object_mut().expect("an object").remove(field);
        let read = observe::job(&serde_json::from_value(object).expect("a Job"));
        assert_eq!(read, Err(Unobservable::Missing(name)));
        assert_eq!(read.map_err(|it| it.to_string()), Err(format!("the object has no {name}")));
    }
    let without_spec: Job = serde_json::from_value(json!({ "metadata": metadata() })).expect("a Job");
    assert_eq!(observe::job(&without_spec), Err(Unobservable::Missing("spec")));
    assert!(observe::pod(&Pod::default(), &Uid::new("u"), &selector(Value::Null)).is_err());
}

/// FT-24, FT-26, PC-29.
#[test]
fn a_pod_is_classified_by_its_controller_and_its_labels() {
    let owned = |kind: &str, uid: &str, controller: Option<bool>| {
        let mut owner = json!({ "apiVersion": "batch/v1", "kind": kind, "name": "job", "uid": uid });
        owner["controller"] = json!(controller);
        pod_from(json!({ "ownerReferences": [owner], "labels": { "a": "b" } }), json!({})).controller
    };
    assert_eq!(owned("Job", "u", Some(true)), Controller::ThisJob);
    assert_eq!(owned("Job", "v", Some(true)), Controller::Another);
    assert_eq!(owned("ReplicaSet", "u", Some(true)), Controller::Another);
    assert_eq!(owned("Job", "u", Some(false)), Controller::Nobody);
    assert_eq!(owned("Job", "u", None), Controller::Nobody);
    assert_eq!(pod_from(json!({}), json!({})).controller, Controller::Nobody);
    assert!(pod_from(json!({ "labels": { "a": "b", "c": "d" } }), json!({})).selected);
    assert!(!pod_from(json!({ "labels": { "a": "x" } }), json!({})).selected);
    assert!(!pod_from(json!({}), json!({})).selected);
    let labels = |pairs: Value| serde_json::from_value(json!({ "labels": pairs })).expect("metadata");
    assert!(!selector(Value::Null).matches(&labels(json!({ "a": "b" }))), "no selector selects nothing");
    let not_in =
        selector(json!({ "matchExpressions": [{ "key": "k", "operator": "NotIn", "values": ["v"] }] }));
    assert!(not_in.matches(&labels(json!({}))) && !not_in.matches(&labels(json!({ "k": "v" }))));
    let odd = json!({ "metadata": metadata(), "spec": { "template": {}, "selector": {
        "matchExpressions": [{ "key": "k", "operator": "Odd" }] } } });
    assert!(PodSelector::of(&serde_json::from_value(odd).expect("a Job")).is_err());
}

#[test]
fn every_fact_of_a_pod_is_read() {
    let time = "1970-01-12T13:46:40Z";
    let read = pod_from(
        json!({
            "creationTimestamp": time, "deletionTimestamp": time, "deletionGracePeriodSeconds": 30,
            "finalizers": ["x", "batch.kubernetes.io/job-tracking"],
            "annotations": {
                "batch.kubernetes.io/job-completion-index": "1",
                "batch.kubernetes.io/job-index-failure-count": "2",
                "batch.kubernetes.io/job-index-ignored-failure-count": "3",
            },
        }),
        json!({
            "spec": { "nodeName": "n", "containers": [],
                "initContainers": [{ "name": "side", "restartPolicy": "Always" }, { "name": "init" }] },
            "status": {
                "phase": "Running",
                "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": time }],
                "containerStatuses": [{ "name": "main", "restartCount": 4, "image": "", "imageID": "", "ready": true,
                    "state": { "terminated": { "exitCode": 5, "finishedAt": time } } }],
                "initContainerStatuses": [
                    { "name": "init", "restartCount": 0, "image": "", "imageID": "", "ready": true },
                    { "name": "side", "restartCount": 1, "image": "", "imageID": "", "ready": true,
                      "state": { "terminated": { "exitCode": 0 } } },
                ],
            },
        }),
    );
    assert_eq!((&*read.name, read.uid.as_str(), read.resource_version.as_str()), ("p", "pu", "3"));
    assert_eq!(read.created, Some(NOW));
    assert_eq!(read.deletion, Some(Deletion { at: NOW, grace_seconds: 30 }));
    assert!(read.tracking_finalizer && read.scheduled);
    let text = |it: &Option<Text>| it.as_deref().map(str::to_owned);
    let numbers = [&read.completion_index, &read.failure_count, &read.ignored_failure_count].map(text);
    assert_eq!(numbers.map(|it| it.unwrap_or_default()), ["1", "2", "3"]);
    assert_eq!(read.phase, Phase::Running);
    assert_eq!((&*read.conditions[0].kind, &*read.conditions[0].status), ("Ready", "True"));
    assert_eq!(read.conditions[0].last_transition, Some(NOW));
    let kinds: Vec<(&str, ContainerKind)> = read.containers.iter().map(|it| (&*it.name, it.kind)).collect();
    let expected =
        [("main", ContainerKind::Regular), ("init", ContainerKind::Init), ("side", ContainerKind::Sidecar)];
    assert_eq!(kinds, expected);
    let ended = read.containers[0].terminated.expect("an end");
    assert_eq!((ended.exit_code, ended.finished_at, read.containers[0].restarts), (5, Some(NOW), 4));
    assert_eq!(read.containers[1].terminated, None);
    assert_eq!(read.containers[2].terminated.expect("an end").finished_at, None);
    let bare = pod_from(
        json!({ "deletionTimestamp": time }),
        json!({ "spec": { "nodeName": "", "containers": [] } }),
    );
    assert!(!bare.tracking_finalizer && !bare.scheduled && bare.created.is_none());
    assert_eq!(bare.deletion, Some(Deletion { at: NOW, grace_seconds: 0 }));
    assert_eq!(bare.phase, Phase::Other);
    let phase = |name: &str| pod_from(json!({}), json!({ "status": { "phase": name } })).phase;
    let all = ["Pending", "Running", "Succeeded", "Failed", "Unknown", "New"].map(phase);
    assert_eq!(
        all,
        [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed, Phase::Unknown, Phase::Other]
    );
}

/// SY-04, UG-16: a patch contains only changes, so that fields of other writers and of later versions survive.
#[test]
fn a_status_patch_contains_changes_alone() {
    let before = build::job().status_with("Other", "True", "x").recording(&["a"], &["b"]).status;
    let patch = |after: &StatusFacts| {
        let write = StatusWrite { before: before.clone(), after: after.clone() };
        requests::status_patch(&write, &Uid::new("u"), &ResourceVersion::new("7"))
    };
    let same = patch(&before);
    assert_eq!(same, json!({ "metadata": { "uid": "u", "resourceVersion": "7" }, "status": {} }));
    let status = |after: StatusFacts| patch(&after)["status"].clone();
    let with = || before.clone();
    assert_eq!(status(StatusFacts { active: 3, ..with() }), json!({ "active": 3 }));
    assert_eq!(status(StatusFacts { ready: Some(3), ..with() }), json!({ "ready": 3 }));
    assert_eq!(status(StatusFacts { terminating: None, ..with() }), json!({ "terminating": null }));
    assert_eq!(status(StatusFacts { succeeded: 3, ..with() }), json!({ "succeeded": 3 }));
    assert_eq!(status(StatusFacts { failed: 3, ..with() }), json!({ "failed": 3 }));
    assert_eq!(status(StatusFacts { start_time: None, ..with() }), json!({ "startTime": null }));
    let completed = StatusFacts { completion_time: Some(Time::from_millis(NOW.as_millis() + 1)), ..with() };
    assert_eq!(status(completed), json!({ "completionTime": "1970-01-12T13:46:40Z" }));
    let indexes = StatusFacts { completed_indexes: Some(Text::from("0")), ..with() };
    assert_eq!(status(indexes), json!({ "completedIndexes": "0" }));
    let indexes = StatusFacts { failed_indexes: Some(Text::from("")), ..with() };
    assert_eq!(status(indexes), json!({ "failedIndexes": "" }));
    assert_eq!(status(StatusFacts { uncounted: None, ..with() }), json!({ "uncountedTerminatedPods": null }));
    let lists = build::job().recording(&["a", "c"], &["b"]).status.uncounted;
    let grown = json!({ "uncountedTerminatedPods": { "succeeded": ["a", "c"] } });
    assert_eq!(status(StatusFacts { uncounted: lists, ..with() }), grown);
    let lists = build::job().recording(&["a"], &[]).status.uncounted;
    let emptied = json!({ "uncountedTerminatedPods": { "failed": null } });
    assert_eq!(status(StatusFacts { uncounted: lists, ..with() }), emptied);
    let condition = build::job().status_with("Other", "True", "x").status_with("Failed", "True", "r").status;
    let at = "1970-01-12T13:46:20Z";
    assert_eq!(
        status(StatusFacts { conditions: condition.conditions, ..with() }),
        json!({ "conditions": [{ "type": "Failed", "status": "True", "reason": "r", "message": "why",
            "lastProbeTime": at, "lastTransitionTime": at }],
            "$setElementOrder/conditions": [{ "type": "Other" }, { "type": "Failed" }] })
    );
    assert_eq!(ago(20), NOW.minus_seconds(20));
}

/// FT-30: the status has the lists after the first write.
#[test]
fn the_first_write_makes_empty_lists() {
    let after = build::job().status;
    let write = StatusWrite { before: StatusFacts::default(), after };
    let patch = requests::status_patch(&write, &Uid::new("u"), &ResourceVersion::new("7"));
    assert_eq!(patch["status"]["uncountedTerminatedPods"], json!({}));
}

#[test]
fn times_beyond_the_calendar_saturate() {
    let at = |seconds| {
        let after = StatusFacts { start_time: Some(Time::from_seconds(seconds)), ..StatusFacts::default() };
        let write = StatusWrite { before: StatusFacts::default(), after };
        requests::status_patch(&write, &Uid::new("u"), &ResourceVersion::new("7"))["status"]["startTime"]
            .clone()
    };
    assert_eq!(at(0), "1970-01-01T00:00:00Z");
    assert_eq!(at(-1), "1969-12-31T23:59:59Z");
    assert!(at(i64::MAX).as_str().expect("text").starts_with("9999-"));
    assert!(at(i64::MIN).as_str().expect("text").starts_with("-9999-"));
}

/// FT-24, FT-26, FT-29, S-25, PC-29.
#[test]
fn patches_of_pods_name_the_uid() {
    let pod =
        PodRef { name: Text::from("p"), uid: Uid::new("pu"), resource_version: ResourceVersion::new("3") };
    let finalizer = json!(["batch.kubernetes.io/job-tracking"]);
    assert_eq!(
        requests::finalizer_removal_patch(&pod.uid),
        json!({ "metadata": { "uid": "pu", "$deleteFromPrimitiveList/finalizers": finalizer } })
    );
    assert_eq!(
        requests::orphan_finalizer_removal_patch(&pod),
        json!({ "metadata": { "uid": "pu", "resourceVersion": "3",
            "$deleteFromPrimitiveList/finalizers": finalizer } })
    );
    let owner = json!({ "apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job-uid",
        "controller": true, "blockOwnerDeletion": true });
    assert_eq!(
        requests::adoption_patch(&pod, &build::job()),
        json!({ "metadata": { "uid": "pu", "resourceVersion": "3", "ownerReferences": [owner],
            "finalizers": finalizer } })
    );
    assert_eq!(
        requests::release_patch(&pod.uid, &Uid::new("job-uid")),
        json!({ "metadata": { "uid": "pu", "ownerReferences": [{ "$patch": "delete", "uid": "job-uid" }],
            "$deleteFromPrimitiveList/finalizers": finalizer } })
    );
    assert_eq!(
        requests::pod_deletion(&pod.uid),
        json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "uid": "pu" } })
    );
    assert_eq!(
        requests::orphan_deletion(&pod)["preconditions"],
        json!({ "uid": "pu", "resourceVersion": "3" })
    );
}

fn template(body: Value, indexed: bool) -> PodTemplate {
    PodTemplate::new(&build::job(), &body, indexed)
}

/// FT-01, PC-14, PC-16, UG-16. Fields that this program does not know survive.
#[test]
fn a_pod_has_the_template_an_owner_and_the_finalizer() {
    let body = json!({
        "metadata": { "labels": { "l": "1" }, "annotations": { "n": "2" }, "finalizers": ["f"], "name": "ignored" },
        "spec": { "containers": [{ "name": "c" }], "newField": { "x": 1 }, "hostname": "h" },
    });
    let pod = template(body.clone(), false).pod(&NewPod::default());
    assert_eq!((&pod["apiVersion"], &pod["kind"]), (&json!("v1"), &json!("Pod")));
    let metadata = &pod["metadata"];
    assert_eq!(metadata["generateName"], "job-");
    assert_eq!(metadata["labels"], json!({ "l": "1" }));
    assert_eq!(metadata["annotations"], json!({ "n": "2" }));
    assert_eq!(metadata["finalizers"], json!(["f", "batch.kubernetes.io/job-tracking"]));
    assert_eq!(metadata["ownerReferences"][0]["uid"], "job-uid");
    assert_eq!(metadata.get("name"), None);
    assert_eq!(pod["spec"], body["spec"]);
    let own = json!({ "metadata": { "finalizers": ["batch.kubernetes.io/job-tracking", "f"] }, "spec": {} });
    let pod = template(own, false).pod(&NewPod::default());
    assert_eq!(pod["metadata"]["finalizers"], json!(["batch.kubernetes.io/job-tracking", "f"]));
}

/// PC-17, BI-02.
#[test]
fn a_pod_has_its_index_in_every_place() {
    let body = json!({ "spec": { "hostname": "h",
        "initContainers": [{ "name": "i", "env": null }],
        "containers": [{ "name": "c", "env": [{ "name": "A" }] }, { "name": "d",
            "env": [{ "name": "JOB_COMPLETION_INDEX", "value": "mine" }] }] } });
    let new = NewPod { index: Some(3), failure_count: Some(2), ignored_failure_count: None };
    let pod = template(body.clone(), true).pod(&new);
    let key = "batch.kubernetes.io/job-completion-index";
    assert_eq!(pod["metadata"]["labels"], json!({ key: "3" }));
    assert_eq!(
        pod["metadata"]["annotations"],
        json!({ key: "3", "batch.kubernetes.io/job-index-failure-count": "2" })
    );
    assert_eq!(pod["metadata"]["generateName"], "job-3-");
    assert_eq!(pod["spec"]["hostname"], "job-3");
    let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
    let variable =
        json!({ "name": "JOB_COMPLETION_INDEX", "valueFrom": { "fieldRef": { "fieldPath": path } } });
    assert_eq!(pod["spec"]["initContainers"][0]["env"], json!([variable]));
    assert_eq!(pod["spec"]["containers"][0]["env"], json!([{ "name": "A" }, variable]));
    assert_eq!(pod["spec"]["containers"][1], body["spec"]["containers"][1]);
    let ignored = NewPod { ignored_failure_count: Some(4), ..new };
    let pod = template(json!({}), true).pod(&ignored);
    assert_eq!(pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-ignored-failure-count"], "4");
    let plain = template(body.clone(), false).pod(&NewPod::default());
    assert_eq!(plain["spec"], body["spec"]);
}

/// PC-16, PC-17.
#[test]
fn long_names_are_cut_before_the_index() {
    let named = |length: usize, index| {
        let mut job = build::job();
        job.name = Text::from("x".repeat(length).as_str());
        let pod = PodTemplate::new(&job, &json!({}), true).pod(&NewPod { index, ..NewPod::default() });
        pod["metadata"]["generateName"].as_str().expect("text").to_owned()
    };
    assert_eq!(named(54, Some(12)), format!("{}-12-", "x".repeat(54)));
    assert_eq!(named(55, Some(12)), format!("{}-12-", "x".repeat(54)));
    assert_eq!(named(252, None), format!("{}-", "x".repeat(252)));
    assert_eq!(named(253, None), "x".repeat(253));
}

/// SC-13: the finalizer of a pod has 33 bytes, and each annotation of failures about 50.
#[test]
fn a_pod_grows_by_the_sizes_that_the_keps_name() {
    let (indexed, limited) = (NewPod { index: Some(3), ..NewPod::default() }, Some(2));
    let pod = |new: NewPod| template(json!({}), true).pod(&new)["metadata"].clone();
    let bytes = |value: &Value| value.to_string().len();
    let plain = pod(indexed.clone());
    // The text in its quotes; as protobuf, which etcd has, a text costs two bytes too.
    assert_eq!(bytes(&plain["finalizers"][0]), 32 + 2);
    let counted = pod(NewPod { failure_count: limited, ..indexed.clone() });
    assert_eq!(bytes(&counted) - bytes(&plain), 50);
    let ignored = pod(NewPod { failure_count: limited, ignored_failure_count: limited, ..indexed });
    assert_eq!(bytes(&ignored) - bytes(&counted), 58);
}

/// TT-06.
#[test]
fn a_job_is_deleted_in_the_foreground_with_its_version_as_precondition() {
    let object = json!({ "metadata": metadata(), "spec": { "template": {}, "ttlSecondsAfterFinished": 5 },
        "status": { "conditions": [{ "type": "Complete", "status": "True",
            "lastTransitionTime": "1970-01-12T13:46:35Z" }] } });
    let facts = ttl::observe::facts(&serde_json::from_value(object).expect("a Job")).expect("a stored Job");
    let planned = ttl::plan::plan(&ttl::plan::TtlObserved { job: &facts, fresh: true }, NOW);
    let ttl::plan::TtlPlan::Delete(delete) = planned else { panic!("{planned:?}") };
    assert_eq!(&*facts.name, "job");
    assert_eq!(
        ttl::observe::deletion(&delete),
        json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
            "preconditions": { "uid": "u", "resourceVersion": "7" } })
    );
    let mut deleted = json!({ "metadata": metadata() });
    deleted["metadata"]["deletionTimestamp"] = json!("1970-01-12T13:46:40Z");
    let facts = ttl::observe::facts(&serde_json::from_value(deleted).expect("a Job")).expect("a stored Job");
    assert_eq!((facts.deletion, facts.ttl_seconds_after_finished), (Some(NOW), None));
    assert_eq!(ttl::observe::facts(&Job::default()), Err(Unobservable::Missing("metadata.name")));
}
