//! Objects that a real control plane wrote, and functions that edit them.

use serde_json::Value;

/// A Job that its pod failure policy has just failed, with FailureTarget and uncounted pods.
pub(super) const JOB: &str = r#"{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"job","namespace":
"t-pod-failure-policy-fail-job-1795221005","uid":"85da7342-5c85-4673-ad60-6cfe2f6f3df7",
"resourceVersion":"718","generation":1,"creationTimestamp":"2026-11-21T00:30:05Z","labels":{
"batch.kubernetes.io/controller-uid":"85da7342-5c85-4673-ad60-6cfe2f6f3df7",
"batch.kubernetes.io/job-name":"job","controller-uid":"85da7342-5c85-4673-ad60-6cfe2f6f3df7","job-name":
"job"}},"spec":{"parallelism":2,"completions":2,"podFailurePolicy":{"rules":[{"action":"FailJob",
"onExitCodes":{"operator":"In","values":[42]}}]},"backoffLimit":6,"selector":{"matchLabels":{
"batch.kubernetes.io/controller-uid":"85da7342-5c85-4673-ad60-6cfe2f6f3df7"}},"manualSelector":false,
"template":{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":
"85da7342-5c85-4673-ad60-6cfe2f6f3df7","batch.kubernetes.io/job-name":"job","controller-uid":
"85da7342-5c85-4673-ad60-6cfe2f6f3df7","job-name":"job"}},"spec":{"containers":[{"name":"main","image":
"busybox","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":
"File","imagePullPolicy":"Always"}],"restartPolicy":"Never","terminationGracePeriodSeconds":30,
"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}},"completionMode":
"NonIndexed","suspend":false,"podReplacementPolicy":"Failed"},"status":{"conditions":[{"type":
"FailureTarget","status":"True","lastProbeTime":"2026-11-21T00:30:06Z","lastTransitionTime":
"2026-11-21T00:30:06Z","reason":"PodFailurePolicy","message":
"Container main for pod t-pod-failure-policy-fail-job-1795221005/job-dhp59 failed with exit code 42 matching FailJob rule at index 0"
}],"startTime":"2026-11-21T00:30:05Z","terminating":1,"uncountedTerminatedPods":{"failed":[
"e0189d1e-7fd0-4ced-9e27-11ee3afbd62e","a524eaf1-bda3-4c45-a2a6-84f2136ff4e8"]},"ready":0}}"#;

/// The second pod of an index; it has failed and is not counted yet.
pub(super) const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"job-0-fb6bk","generateName":"job-0-","namespace":
"t-per-index-backoff-1795220984","uid":"ad52bd52-89c7-4480-add1-53947c53254b","resourceVersion":"622",
"generation":1,"creationTimestamp":"2026-11-21T00:29:54Z","labels":{"batch.kubernetes.io/controller-uid"
:"d33ed91e-f9ad-49ab-9151-b17e95ab8ae3","batch.kubernetes.io/job-completion-index":"0",
"batch.kubernetes.io/job-name":"job","controller-uid":"d33ed91e-f9ad-49ab-9151-b17e95ab8ae3","job-name":
"job"},"annotations":{"batch.kubernetes.io/job-completion-index":"0",
"batch.kubernetes.io/job-index-failure-count":"1"},"ownerReferences":[{"apiVersion":"batch/v1","kind":
"Job","name":"job","uid":"d33ed91e-f9ad-49ab-9151-b17e95ab8ae3","controller":true,"blockOwnerDeletion":
true}],"finalizers":["batch.kubernetes.io/job-tracking"]},"spec":{"containers":[{"name":"main","image":
"busybox","env":[{"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":
"metadata.labels['batch.kubernetes.io/job-completion-index']"}}}],"resources":{},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":
"Always"}],"restartPolicy":"Never","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
"securityContext":{},"hostname":"job-0","schedulerName":"default-scheduler","tolerations":[{"key":
"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":
"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":
"Failed","conditions":[{"type":"Ready","status":"False","lastProbeTime":null,"lastTransitionTime":
"2026-11-21T00:29:55Z"}],"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":1,
"reason":"Error","startedAt":"2026-11-21T00:29:54Z","finishedAt":"2026-11-21T00:29:55Z"}},"lastState":{}
,"ready":false,"restartCount":0,"image":"busybox","imageID":"x"}],"qosClass":"BestEffort"}}"#;

/// A request that creates an Indexed pod.
pub(super) const POD_REQUEST: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"job-0-","labels":{
"batch.kubernetes.io/controller-uid":"aa0cf48f-702a-41ac-867a-e0c457cffde6",
"batch.kubernetes.io/job-completion-index":"0","batch.kubernetes.io/job-name":"job","controller-uid":
"aa0cf48f-702a-41ac-867a-e0c457cffde6","job-name":"job"},"annotations":{
"batch.kubernetes.io/job-completion-index":"0"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job"
,"name":"job","uid":"aa0cf48f-702a-41ac-867a-e0c457cffde6","controller":true,"blockOwnerDeletion":true}]
,"finalizers":["batch.kubernetes.io/job-tracking"]},"spec":{"containers":[{"name":"main","image":
"busybox","env":[{"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":
"metadata.labels['batch.kubernetes.io/job-completion-index']"}}}],"resources":{},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":
"Always"}],"restartPolicy":"Never","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
"securityContext":{},"hostname":"job-0","schedulerName":"default-scheduler","enableServiceLinks":true},
"status":{}}"#;

/// The response to the garbage collector when it orphans a pod.
pub(super) const METADATA: &str = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"job-qd7fs",
"generateName":"job-","namespace":"t-job-deleted-orphan-1795221127","uid":
"7d04d108-be68-4bd8-99c0-9cd67cf26ac0","resourceVersion":"1046","generation":1,"creationTimestamp":
"2026-11-21T00:32:07Z","labels":{"batch.kubernetes.io/controller-uid":
"864c7671-e384-4a37-a5b4-5dbc85dbdadb","batch.kubernetes.io/job-name":"job","controller-uid":
"864c7671-e384-4a37-a5b4-5dbc85dbdadb","job-name":"job"},"finalizers":[
"batch.kubernetes.io/job-tracking"]}}"#;

/// Parses a fixture.
pub(super) fn value(fixture: &str) -> Value {
    serde_json::from_str(fixture).unwrap()
}

/// A fixture with other values at some JSON pointers. Members are added, and items of lists replaced.
pub(super) fn with(fixture: &str, edits: &[(&str, Value)]) -> Value {
    let mut whole = value(fixture);
    for (pointer, new) in edits {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match whole.pointer_mut(parent).unwrap() {
            Value::Object(members) => {
                members.insert(key.replace("~1", "/"), new.clone());
            }
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = new.clone(),
            other => panic!("{pointer} lies in {other}"),
        }
    }
    whole
}

/// The text of an object.
pub(super) fn raw(value: &Value) -> String {
    value.to_string()
}
