//! A pod.
//!
//! | field of the specification's `Pod` | JSON path |
//! | --- | --- |
//! | `uid` | `metadata.uid` |
//! | `finalizer`, `other_finalizers` | `metadata.finalizers` |
//! | `phase` | `status.phase`; empty is `Pending`, another value is `Unknown` |
//! | `deleting` | `metadata.deletionTimestamp` is set |
//! | `forced` | `deleting`, with `metadata.deletionGracePeriodSeconds` 0 in another phase than `Succeeded` and `Failed` |
//! | `disrupted` | first of `status.conditions` with type `DisruptionTarget`: `status` |
//! | `controlled`, `selected` | always true; the judge assigns pods to Jobs |
//! | `ready`, `ready_changed` | first of `status.conditions` with type `Ready`: `status`, `lastTransitionTime` |
//! | `scheduled` | `spec.nodeName` is not empty |
//! | `index` | `metadata.annotations`: `batch.kubernetes.io/job-completion-index` |
//! | `failure_count` | `metadata.annotations`: `batch.kubernetes.io/job-index-failure-count` |
//! | `ignored_failure_count` | `metadata.annotations`: `batch.kubernetes.io/job-index-ignored-failure-count` |
//! | `restarts` | sum of `restartCount` of `status.initContainerStatuses` and `status.containerStatuses` |
//! | `max_restarts` | largest `restartCount` of `status.containerStatuses` |
//! | `created` | `metadata.creationTimestamp`; the epoch if it is absent, as in a request |
//! | `finished` | BO-07, see [`finish_time`] |
//! | `policy` | the specification's evaluation of `evidence`, for a pod in phase `Failed` (PF-02) |

use jobcheck_spec::failure_policy::{ContainerEnd, FailureEvidence, evaluate};
use jobcheck_spec::job::{PodFailurePolicy, Text};
use jobcheck_spec::pod::{Phase, Pod, TRACKING_FINALIZER};
use jobcheck_spec::{Index, Time};
use serde::Deserialize;

use super::Projector;
use super::cache::Texts;
use super::error::{ProjectError, read};
use super::metadata::{self, Metadata, WireMetadata};
use super::wire::{Pairs, Stamp, Str, is};

/// The annotation and label with the completion index of a pod (PC-17).
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
const IGNORED_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// A pod, with the facts that only the judge needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodObject {
    /// The pod in the types of the specification.
    pub pod: Pod,
    /// `metadata`.
    pub metadata: Metadata,
    /// The input of a pod failure policy, for a pod in phase `Failed`. The caller applies the policy if only
    /// the pod shows which Job it belongs to.
    pub evidence: Option<FailureEvidence>,
    /// True if it has a state of a container, or its condition `PodScheduled` is `True`: it was written after its creation.
    pub is_placed: bool,
}

#[derive(Deserialize)]
struct WirePod<'a> {
    #[serde(borrow)]
    metadata: Option<WireMetadata<'a>>,
    #[serde(borrow)]
    spec: Option<WireSpec<'a>>,
    #[serde(borrow)]
    status: Option<WireStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSpec<'a> {
    #[serde(borrow)]
    pub(super) node_name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) init_containers: Option<Vec<WireContainer<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireContainer<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) restart_policy: Option<Str<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireStatus<'a> {
    #[serde(borrow)]
    phase: Option<Str<'a>>,
    #[serde(borrow)]
    conditions: Option<Vec<WireCondition<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<WireContainerStatus<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<WireContainerStatus<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCondition<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Str<'a>>,
    #[serde(borrow)]
    status: Option<Str<'a>>,
    last_transition_time: Option<Stamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContainerStatus<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
    restart_count: Option<i32>,
    state: Option<WireState>,
}

#[derive(Deserialize)]
struct WireState {
    terminated: Option<WireTerminated>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTerminated {
    exit_code: Option<i32>,
    finished_at: Option<Stamp>,
}

impl WireStatus<'_> {
    fn phase(&self) -> Phase {
        match self.phase.as_ref().map_or("", AsRef::as_ref) {
            "" | "Pending" => Phase::Pending,
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Unknown,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.phase(), Phase::Succeeded | Phase::Failed)
    }

    fn condition(&self, kind: &str) -> Option<&WireCondition<'_>> {
        self.conditions.iter().flatten().find(|condition| is(condition.kind.as_ref(), kind))
    }

    fn ready_condition(&self) -> Option<&WireCondition<'_>> {
        self.condition("Ready")
    }
}

impl WireContainerStatus<'_> {
    fn terminated(&self) -> Option<&WireTerminated> {
        self.state.as_ref()?.terminated.as_ref()
    }

    fn restarts(&self) -> u32 {
        self.restart_count.map_or(0, |count| u32::try_from(count).unwrap_or(0))
    }
}

impl Projector {
    /// Projects a `v1` Pod, and evaluates its failure by the policy of its Job.
    ///
    /// # Errors
    ///
    /// A field of the specification has a wrong type.
    pub fn pod(&mut self, text: &str, policy: Option<&PodFailurePolicy>) -> Result<PodObject, ProjectError> {
        let wire: WirePod = read(text, "")?;
        let (metadata, spec) = (wire.metadata.unwrap_or_default(), wire.spec.unwrap_or_default());
        let mut object = self.pod_of(&metadata, &spec, &wire.status.unwrap_or_default());
        if let (Some(policy), Some(evidence)) = (policy, &object.evidence) {
            object.pod.policy = evaluate(policy, evidence);
        }
        Ok(object)
    }

    /// The pod, before a failure policy is applied.
    pub(super) fn pod_of(
        &mut self,
        wire: &WireMetadata<'_>,
        spec: &WireSpec<'_>,
        status: &WireStatus<'_>,
    ) -> PodObject {
        let metadata = metadata::project(&mut self.texts, wire);
        let evidence =
            (status.phase() == Phase::Failed).then(|| evidence(&mut self.texts, &metadata, status));
        let placed = status.condition("PodScheduled");
        let has_begun =
            status.container_statuses.iter().chain(&status.init_container_statuses).flatten().count() > 0;
        let is_placed = has_begun || placed.is_some_and(|condition| is(condition.status.as_ref(), "True"));
        PodObject { pod: project(wire, &metadata, spec, status), metadata, evidence, is_placed }
    }
}

/// The pod, before a failure policy is applied.
fn project(
    wire: &WireMetadata<'_>,
    metadata: &Metadata,
    spec: &WireSpec<'_>,
    status: &WireStatus<'_>,
) -> Pod {
    let ready = status.ready_condition();
    let without_grace = metadata.deletion_grace_period_seconds == Some(0);
    let annotations = wire.annotations.as_ref();
    let all = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    let regular = status.container_statuses.iter().flatten();
    let is_tracking = |finalizer: &Text| **finalizer == *TRACKING_FINALIZER;
    Pod {
        uid: metadata.uid,
        finalizer: metadata.finalizers.iter().any(is_tracking),
        other_finalizers: metadata.finalizers.iter().any(|finalizer| !is_tracking(finalizer)),
        phase: status.phase(),
        deleting: metadata.deletion_timestamp.is_some(),
        forced: metadata.deletion_timestamp.is_some() && without_grace && !status.has_ended(),
        disrupted: status
            .condition("DisruptionTarget")
            .is_some_and(|condition| is(condition.status.as_ref(), "True")),
        controlled: true,
        incarnation: 0,
        selected: true,
        ready: ready.is_some_and(|condition| is(condition.status.as_ref(), "True")),
        scheduled: spec.node_name.as_ref().is_some_and(|name| !name.as_ref().is_empty()),
        index: completion_index(annotations),
        failure_count: counter(annotations, FAILURE_COUNT),
        ignored_failure_count: counter(annotations, IGNORED_FAILURE_COUNT),
        restarts: all.fold(0, |sum, status| sum.saturating_add(status.restarts())),
        max_restarts: regular.map(WireContainerStatus::restarts).max().unwrap_or(0),
        created: Stamp::time(wire.creation_timestamp).unwrap_or_default(),
        ready_changed: ready.and_then(|condition| Stamp::time(condition.last_transition_time)),
        finished: finish_time(wire, metadata, spec, status),
        policy: Default::default(),
    }
}

/// An integer by Go's rules: a sign is allowed, and `-0` is 0.
fn integer(annotations: Option<&Pairs<'_>>, key: &str) -> Option<i64> {
    annotations?.get(key)?.parse().ok()
}

/// The completion index. A number above 32 bits is as invalid as a negative one, since no specification can
/// name it.
fn completion_index(annotations: Option<&Pairs<'_>>) -> Option<Index> {
    Index::try_from(integer(annotations, INDEX)?).ok()
}

/// A failure counter in an annotation (BI-03).
fn counter(annotations: Option<&Pairs<'_>>, key: &str) -> u32 {
    let count = integer(annotations, key).and_then(|count| i32::try_from(count).ok());
    count.map_or(0, |count| u32::try_from(count).unwrap_or(0))
}

/// The end of the pod (BO-07); `None` before it has terminated or is being deleted.
fn finish_time(
    wire: &WireMetadata<'_>,
    metadata: &Metadata,
    spec: &WireSpec<'_>,
    status: &WireStatus<'_>,
) -> Option<Time> {
    let ended = status.has_ended();
    if !ended && metadata.deletion_timestamp.is_none() {
        return None;
    }
    let unready = || {
        let condition = status.ready_condition().filter(|c| is(c.status.as_ref(), "False"))?;
        Stamp::time(condition.last_transition_time)
    };
    let grace = metadata.deletion_grace_period_seconds.unwrap_or(0);
    let deleted = || metadata.deletion_timestamp.map(|deletion| Time(deletion.0.saturating_sub(grace)));
    let created = || Stamp::time(wire.creation_timestamp);
    containers_finish_time(spec, status).or_else(unready).or_else(deleted).or_else(created)
}

/// The latest end of the regular containers and the sidecars, if all have terminated. If only the sidecars
/// have, their latest end (BO-08).
fn containers_finish_time(spec: &WireSpec<'_>, status: &WireStatus<'_>) -> Option<Time> {
    let is_sidecar = |status: &&WireContainerStatus<'_>| {
        let mut sidecars =
            spec.init_containers.iter().flatten().filter(|c| is(c.restart_policy.as_ref(), "Always"));
        sidecars.any(|container| container.name == status.name)
    };
    let regular = latest_end(None, status.container_statuses.iter().flatten());
    latest_end(regular, status.init_container_statuses.iter().flatten().filter(is_sidecar))
}

/// The latest of `known` and the ends of the containers; `None` if one of the containers runs.
fn latest_end<'a, 'b: 'a>(
    known: Option<Time>,
    mut containers: impl Iterator<Item = &'a WireContainerStatus<'b>>,
) -> Option<Time> {
    let ended = |container: &WireContainerStatus<'_>| Stamp::time(container.terminated()?.finished_at);
    containers.try_fold(known, |latest, container| Some(latest.max(Some(ended(container)?)))).flatten()
}

fn evidence(texts: &mut Texts, metadata: &Metadata, status: &WireStatus<'_>) -> FailureEvidence {
    let mut ends = |statuses: &Option<Vec<WireContainerStatus<'_>>>| {
        let end = |status: &WireContainerStatus<'_>| ContainerEnd {
            name: texts.share_or_empty(status.name.as_ref()),
            exit_code: status.terminated().map(|terminated| terminated.exit_code.unwrap_or(0)),
        };
        statuses.iter().flatten().map(end).collect()
    };
    let containers = ends(&status.container_statuses);
    let init_containers = ends(&status.init_container_statuses);
    let mut text = |text: &Option<Str<'_>>| texts.share_or_empty(text.as_ref());
    let conditions = status.conditions.iter().flatten().map(|c| (text(&c.kind), text(&c.status))).collect();
    FailureEvidence {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        containers,
        init_containers,
        conditions,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{POD, raw, value, with};
    use super::*;
    use jobcheck_spec::Uid;
    use jobcheck_spec::job::{FailureAction, OnExitCodes, PodFailureRule};
    use jobcheck_spec::pod::PolicyMatch;
    use serde_json::{Value, json};

    const CREATED: Time = Time(1_795_220_994);

    /// JSON pointers, with new values.
    type Edits = Vec<(&'static str, Value)>;

    fn pod(edits: &[(&str, Value)]) -> PodObject {
        Projector::new().pod(&raw(&with(POD, edits)), None).unwrap()
    }

    #[test]
    fn a_recorded_pod_is_read_field_by_field() {
        let object = pod(&[]);
        let expected = Pod {
            uid: Uid::parse("ad52bd52-89c7-4480-add1-53947c53254b"),
            finalizer: true,
            other_finalizers: false,
            phase: Phase::Failed,
            deleting: false,
            forced: false,
            disrupted: false,
            controlled: true,
            incarnation: 0,
            selected: true,
            ready: false,
            scheduled: false,
            index: Some(0),
            failure_count: 1,
            ignored_failure_count: 0,
            restarts: 0,
            max_restarts: 0,
            created: CREATED,
            ready_changed: Some(CREATED.plus(1)),
            finished: Some(CREATED.plus(1)),
            policy: PolicyMatch::None,
        };
        assert_eq!(object.pod, expected);
        assert_eq!((&*object.metadata.name, object.metadata.resource_version), ("job-0-fb6bk", Some(622)));
        assert_eq!(&*object.metadata.namespace, "t-per-index-backoff-1795220984");
        assert_eq!(
            (
                object.metadata.labels.len(),
                object.metadata.annotations.len(),
                object.metadata.finalizers.len()
            ),
            (5, 2, 1)
        );
        let controller = object.metadata.controller.unwrap();
        assert_eq!(
            (&*controller.api_version, &*controller.kind, &*controller.name),
            ("batch/v1", "Job", "job")
        );
        assert_eq!(controller.uid, Uid::parse("d33ed91e-f9ad-49ab-9151-b17e95ab8ae3"));
        assert_eq!((controller.block_owner_deletion, object.metadata.other_owners), (Some(true), vec![]));
    }

    #[test]
    fn the_failure_policy_judges_failed_pods_only() {
        let codes = OnExitCodes { container_name: None, is_in: Some(true), values: vec![1] };
        let rule =
            |action| PodFailureRule { action, on_exit_codes: Some(codes.clone()), on_pod_conditions: vec![] };
        let judge = |action, phase: &str| {
            let policy = PodFailurePolicy { rules: vec![rule(action)] };
            let edited = with(POD, &[("/status/phase", json!(phase))]);
            Projector::new().pod(&raw(&edited), Some(&policy)).unwrap()
        };
        let message = "Container main for pod t-per-index-backoff-1795220984/job-0-fb6bk failed with exit code 1 \
                       matching FailJob rule at index 0";
        assert_eq!(judge(FailureAction::FailJob, "Failed").pod.policy, PolicyMatch::FailJob(message.into()));
        assert_eq!(
            judge(FailureAction::Ignore, "Failed").pod.policy,
            PolicyMatch::Action(FailureAction::Ignore)
        );
        let running = judge(FailureAction::Ignore, "Running");
        assert_eq!((running.pod.policy, running.evidence), (PolicyMatch::None, None));
        let evidence = pod(&[]).evidence.unwrap();
        assert_eq!(evidence.conditions, [("Ready".into(), "False".into())]);
        assert_eq!(evidence.containers, [ContainerEnd { name: "main".into(), exit_code: Some(1) }]);
    }

    #[test]
    fn phases_are_read_by_name() {
        let table = [
            ("", Phase::Pending),
            ("Pending", Phase::Pending),
            ("Running", Phase::Running),
            ("Succeeded", Phase::Succeeded),
            ("Failed", Phase::Failed),
            ("Unknown", Phase::Unknown),
            ("Paused", Phase::Unknown),
        ];
        for (text, phase) in table {
            assert_eq!(pod(&[("/status/phase", json!(text))]).pod.phase, phase, "{text}");
        }
        assert_eq!(pod(&[("/status", json!(null))]).pod.phase, Phase::Pending);
    }

    #[test]
    fn indexes_and_counters_are_read_as_go_reads_them() {
        let table = [
            ("0", Some(0), 0),
            ("12", Some(12), 12),
            ("+3", Some(3), 3),
            ("-0", Some(0), 0),
            ("-1", None, 0),
            ("", None, 0),
            ("1.0", None, 0),
            (" 1", None, 0),
            ("2147483647", Some(2_147_483_647), 2_147_483_647),
            ("2147483648", Some(2_147_483_648), 0),
            ("4294967296", None, 0),
            ("99999999999999999999", None, 0),
        ];
        for (text, index, count) in table {
            let annotations = json!({INDEX: text, FAILURE_COUNT: text, IGNORED_FAILURE_COUNT: text});
            let pod = pod(&[("/metadata/annotations", annotations)]).pod;
            assert_eq!(
                (pod.index, pod.failure_count, pod.ignored_failure_count),
                (index, count, count),
                "{text}"
            );
        }
        let pod = pod(&[("/metadata/annotations", json!(null))]).pod;
        assert_eq!((pod.index, pod.failure_count, pod.ignored_failure_count), (None, 0, 0));
    }

    /// A container status that ended `second` seconds after the creation of the pod, or has not ended.
    fn status(name: &str, second: Option<i64>) -> Value {
        let end = second.map(|second| json!({"exitCode": 1, "finishedAt": CREATED.plus(second).to_string()}));
        json!({"name": name, "restartCount": 2, "state": {"terminated": end}})
    }

    #[test]
    fn the_finish_time_is_the_first_that_the_pod_shows() {
        let sidecar = json!([{"name": "proxy", "restartPolicy": "Always"}, {"name": "init"}]);
        let at = |second: i64| json!(CREATED.plus(second).to_string());
        let unready =
            |second| json!([{"type": "Ready", "status": "False", "lastTransitionTime": at(second)}]);
        let (regular, init) = ("/status/containerStatuses", "/status/initContainerStatuses");
        let zero = json!([{"name": "main", "state": {"terminated": {"exitCode": 1, "finishedAt": null}}}]);
        let table: Vec<(&str, Edits, i64)> = vec![
            ("latest", vec![(regular, json!([status("a", Some(5)), status("b", Some(3))]))], 5),
            ("not all have ended", vec![(regular, json!([status("a", Some(5)), status("b", None)]))], 1),
            ("no status", vec![(regular, json!([]))], 1),
            ("an end without a time", vec![(regular, zero)], 1),
            (
                "sidecar after all",
                vec![(regular, json!([status("a", Some(5))])), (init, json!([status("proxy", Some(9))]))],
                9,
            ),
            (
                "sidecar before",
                vec![(regular, json!([status("a", Some(5))])), (init, json!([status("proxy", Some(2))]))],
                5,
            ),
            (
                "sidecar runs",
                vec![(regular, json!([status("a", Some(5))])), (init, json!([status("proxy", None)]))],
                1,
            ),
            (
                "only the sidecar ended",
                vec![(regular, json!([status("a", None)])), (init, json!([status("proxy", Some(9))]))],
                9,
            ),
            (
                "init containers do not count",
                vec![(regular, json!([status("a", Some(5))])), (init, json!([status("init", Some(9))]))],
                5,
            ),
            ("readiness", vec![(regular, json!(null)), ("/status/conditions", unready(7))], 7),
            (
                "deletion",
                vec![
                    (regular, json!(null)),
                    (
                        "/status/conditions",
                        json!([{"type": "Ready", "status": "True", "lastTransitionTime": at(7)}]),
                    ),
                    ("/metadata/deletionTimestamp", at(40)),
                    ("/metadata/deletionGracePeriodSeconds", json!(30)),
                ],
                10,
            ),
            ("creation", vec![(regular, json!(null)), ("/status/conditions", json!(null))], 0),
        ];
        for (case, mut edits, second) in table {
            edits.push(("/spec/initContainers", sidecar.clone()));
            assert_eq!(pod(&edits).pod.finished, Some(CREATED.plus(second)), "{case}");
        }
    }

    #[test]
    fn a_pod_that_runs_has_no_finish_time_until_it_is_deleted() {
        let running = ("/status/phase", json!("Running"));
        let deletion = ("/metadata/deletionTimestamp", json!(CREATED.plus(30).to_string()));
        assert_eq!(pod(std::slice::from_ref(&running)).pod.finished, None);
        let deleted = pod(&[running, deletion, ("/status/containerStatuses", json!(null))]);
        assert_eq!(deleted.pod.finished, Some(CREATED.plus(1)));
        assert!(deleted.pod.deleting && deleted.pod.is_terminating());
        assert_eq!(deleted.metadata.deletion_timestamp, Some(CREATED.plus(30)));
    }

    #[test]
    fn the_remaining_fields_are_read() {
        let object = pod(&[
            ("/metadata/finalizers", json!(["example.com/hold"])),
            ("/spec/nodeName", json!("node-a")),
            ("/status/phase", json!("Running")),
            (
                "/status/conditions",
                json!([{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}]),
            ),
            (
                "/status/containerStatuses",
                json!([status("a", None), {"name": "b", "restartCount": 5}, {"restartCount": -1}]),
            ),
            ("/status/initContainerStatuses", json!([{"name": "c", "restartCount": 9}])),
            (
                "/metadata/ownerReferences",
                json!([{"name": "x", "uid": "1"}, {"name": "y", "uid": "2", "controller": true}]),
            ),
        ]);
        let pod = &object.pod;
        assert_eq!((pod.finalizer, pod.other_finalizers), (false, true));
        assert!(pod.scheduled && pod.ready && pod.is_ready());
        assert_eq!((pod.restarts, pod.max_restarts, pod.ready_changed), (16, 5, None));
        assert_eq!(object.metadata.controller.map(|owner| owner.name), Some("y".into()));
        assert_eq!((object.metadata.other_owners.len(), &*object.metadata.other_owners[0].name), (1, "x"));
    }

    #[test]
    fn a_request_without_identity_is_read() {
        let mut request = value(POD);
        let metadata = request["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| key == "generateName");
        let object = Projector::new().pod(&raw(&request), None).unwrap();
        assert_eq!(
            (object.pod.uid, object.pod.created, object.metadata.resource_version),
            (Uid::EMPTY, Time(0), None)
        );
    }
}
