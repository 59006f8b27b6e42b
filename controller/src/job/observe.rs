//! The conversion of API objects to facts. It copies fields and interprets none: every decision is in the plan.

use std::sync::Arc;

use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube_core::{ParseExpressionError, Selector, SelectorExt};

use super::observed::{
    CompletionMode, Condition, ContainerFacts, ContainerKind, Controller, Deletion, ExitCodeOperator,
    JobFacts, Phase, PodCondition, PodConditionPattern, PodFacts, PodFailureAction, PodFailureMatch,
    PodFailureRule, PodReplacementPolicy, SpecFacts, StatusFacts, SuccessRule, Terminated, Uncounted,
};
use super::orphan::PodOwner;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The tracking finalizer (FT-01, S-16).
pub const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// The annotation and the label with the completion index of a pod (PC-17).
pub const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The annotation with the number of counted failures of an index before this pod (BI-02).
pub const FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
/// The annotation with the number of ignored failures of an index before this pod (BI-02).
pub const IGNORED_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// An object that no API server stores, and that has no facts therefore.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unobservable {
    /// A field is missing that every stored object has.
    #[error("the object has no {0}")]
    Missing(&'static str),
}

/// Returns the facts of a Job.
///
/// # Errors
///
/// The UID, name, namespace, version, or `spec` is missing.
pub fn job(job: &batch::Job) -> Result<JobFacts, Unobservable> {
    let spec = job.spec.as_ref().ok_or(Unobservable::Missing("spec"))?;
    Ok(JobFacts {
        namespace: stored(job.metadata.namespace.as_deref(), "metadata.namespace")?,
        name: stored(job.metadata.name.as_deref(), "metadata.name")?,
        uid: Uid(stored(job.metadata.uid.as_deref(), "metadata.uid")?),
        resource_version: version(&job.metadata)?,
        deletion: job.metadata.deletion_timestamp.as_ref().map(time),
        spec: spec_facts(spec),
        status: job.status.as_ref().map(status).unwrap_or_default(),
    })
}

/// Returns the facts of a pod, relative to the Job with this UID and this selector.
///
/// # Errors
///
/// The UID, name, or version is missing.
pub fn pod(pod: &core::Pod, job: &Uid, selects: &PodSelector) -> Result<PodFacts, Unobservable> {
    let metadata = &pod.metadata;
    let annotation = |key| metadata.annotations.as_ref().and_then(|all| all.get(key)).map(|it| text(it));
    let status = pod.status.as_ref();
    Ok(PodFacts {
        name: stored(metadata.name.as_deref(), "metadata.name")?,
        uid: Uid(stored(metadata.uid.as_deref(), "metadata.uid")?),
        resource_version: version(metadata)?,
        created: metadata.creation_timestamp.as_ref().map(time),
        deletion: deletion(metadata),
        tracking_finalizer: metadata.finalizers.iter().flatten().any(|it| it == TRACKING_FINALIZER),
        controller: controller(metadata, job),
        selected: selects.matches(metadata),
        completion_index: annotation(COMPLETION_INDEX),
        failure_count: annotation(FAILURE_COUNT),
        ignored_failure_count: annotation(IGNORED_FAILURE_COUNT),
        scheduled: pod.spec.as_ref().and_then(|it| it.node_name.as_ref()).is_some_and(|it| !it.is_empty()),
        phase: phase(status.and_then(|it| it.phase.as_deref())),
        conditions: Arc::new(pod_conditions(pod)),
        containers: Arc::new(containers(pod)),
    })
}

/// Returns the controller reference of a pod.
#[must_use]
pub fn owner(metadata: &meta::ObjectMeta) -> PodOwner {
    let mut references = metadata.owner_references.iter().flatten();
    match references.find(|reference| reference.controller == Some(true)) {
        None => PodOwner::Nobody,
        Some(reference) if reference.kind == "Job" && reference.api_version == "batch/v1" => {
            PodOwner::Job { name: text(&reference.name), uid: Uid::new(&reference.uid) }
        }
        Some(_) => PodOwner::AnotherKind,
    }
}

/// The label selector of a Job.
#[derive(Clone, Debug)]
pub struct PodSelector(Option<Selector>);

impl PodSelector {
    /// Returns the selector of a Job. It selects nothing if the Job has none.
    ///
    /// # Errors
    ///
    /// An operator is unknown.
    pub fn of(job: &batch::Job) -> Result<Self, ParseExpressionError> {
        let selector = job.spec.as_ref().and_then(|it| it.selector.clone());
        selector.map(Selector::try_from).transpose().map(PodSelector)
    }

    /// Returns a selector that selects nothing, for facts that do not depend on a Job.
    #[must_use]
    pub fn nothing() -> Self {
        PodSelector(None)
    }

    /// Returns true if the labels of the object match.
    #[must_use]
    pub fn matches(&self, metadata: &meta::ObjectMeta) -> bool {
        let none = std::collections::BTreeMap::new();
        let labels = metadata.labels.as_ref().unwrap_or(&none);
        self.0.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

fn stored(field: Option<&str>, name: &'static str) -> Result<Text, Unobservable> {
    field.filter(|it| !it.is_empty()).map(Text::from).ok_or(Unobservable::Missing(name))
}

fn version(metadata: &meta::ObjectMeta) -> Result<ResourceVersion, Unobservable> {
    stored(metadata.resource_version.as_deref(), "metadata.resourceVersion").map(ResourceVersion)
}

fn text(text: &str) -> Text {
    Text::from(text)
}

/// Converts a time of the API.
#[must_use]
pub fn time(time: &meta::Time) -> Time {
    Time::from_millis(time.0.as_millisecond())
}

fn spec_facts(spec: &batch::JobSpec) -> SpecFacts {
    let failure_rules =
        spec.pod_failure_policy.as_ref().map(|it| Arc::new(it.rules.iter().map(failure_rule).collect()));
    let success_rules =
        spec.success_policy.as_ref().map(|it| Arc::new(it.rules.iter().map(success_rule).collect()));
    let template = spec.template.spec.as_ref();
    SpecFacts {
        parallelism: spec.parallelism.unwrap_or(1),
        completions: spec.completions,
        completion_mode: completion_mode(spec.completion_mode.as_deref()),
        backoff_limit: spec.backoff_limit.unwrap_or(default_backoff_limit(spec)),
        backoff_limit_per_index: spec.backoff_limit_per_index,
        max_failed_indexes: spec.max_failed_indexes,
        active_deadline_seconds: spec.active_deadline_seconds,
        suspend: spec.suspend.unwrap_or(false),
        ttl_seconds_after_finished: spec.ttl_seconds_after_finished,
        pod_replacement_policy: spec.pod_replacement_policy.as_deref().map(replacement_policy),
        pod_failure_policy: failure_rules,
        success_policy: success_rules,
        managed_by: spec.managed_by.as_deref().map(text),
        restarts_on_failure: template.and_then(|it| it.restart_policy.as_deref()) == Some("OnFailure"),
    }
}

/// BO-14. The API server sets this default, so it matters only for objects that it has not stored.
fn default_backoff_limit(spec: &batch::JobSpec) -> i32 {
    if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 }
}

fn completion_mode(mode: Option<&str>) -> CompletionMode {
    match mode {
        None | Some("NonIndexed") => CompletionMode::NonIndexed,
        Some("Indexed") => CompletionMode::Indexed,
        Some(_) => CompletionMode::Unknown,
    }
}

fn replacement_policy(policy: &str) -> PodReplacementPolicy {
    match policy {
        "TerminatingOrFailed" => PodReplacementPolicy::TerminatingOrFailed,
        "Failed" => PodReplacementPolicy::Failed,
        _ => PodReplacementPolicy::Unknown,
    }
}

fn failure_rule(rule: &batch::PodFailurePolicyRule) -> PodFailureRule {
    let action = match rule.action.as_str() {
        "FailJob" => PodFailureAction::FailJob,
        "FailIndex" => PodFailureAction::FailIndex,
        "Ignore" => PodFailureAction::Ignore,
        "Count" => PodFailureAction::Count,
        _ => PodFailureAction::Unknown,
    };
    let on = match (&rule.on_exit_codes, &rule.on_pod_conditions) {
        (Some(codes), _) => exit_codes(codes),
        (None, Some(patterns)) => PodFailureMatch::PodConditions(patterns.iter().map(pattern).collect()),
        (None, None) => PodFailureMatch::Nothing,
    };
    PodFailureRule { action, on }
}

fn exit_codes(codes: &batch::PodFailurePolicyOnExitCodesRequirement) -> PodFailureMatch {
    let operator = match codes.operator.as_str() {
        "In" => ExitCodeOperator::In,
        "NotIn" => ExitCodeOperator::NotIn,
        _ => ExitCodeOperator::Unknown,
    };
    let container = codes.container_name.as_deref().map(text);
    PodFailureMatch::ExitCodes { container, operator, values: codes.values.clone() }
}

fn pattern(pattern: &batch::PodFailurePolicyOnPodConditionsPattern) -> PodConditionPattern {
    PodConditionPattern {
        kind: text(&pattern.type_),
        status: text(pattern.status.as_deref().unwrap_or("True")),
    }
}

fn success_rule(rule: &batch::SuccessPolicyRule) -> SuccessRule {
    SuccessRule {
        succeeded_indexes: rule.succeeded_indexes.as_deref().map(text),
        succeeded_count: rule.succeeded_count,
    }
}

fn status(status: &batch::JobStatus) -> StatusFacts {
    StatusFacts {
        start_time: status.start_time.as_ref().map(time),
        completion_time: status.completion_time.as_ref().map(time),
        active: status.active.unwrap_or(0),
        ready: status.ready,
        terminating: status.terminating,
        succeeded: status.succeeded.unwrap_or(0),
        failed: status.failed.unwrap_or(0),
        completed_indexes: status.completed_indexes.as_deref().filter(|it| !it.is_empty()).map(text),
        failed_indexes: status.failed_indexes.as_deref().map(text),
        uncounted: status.uncounted_terminated_pods.as_ref().map(uncounted),
        conditions: conditions(status),
    }
}

/// Returns the conditions of a Job in their order.
#[must_use]
pub fn conditions(status: &batch::JobStatus) -> Vec<Condition> {
    status.conditions.iter().flatten().map(job_condition).collect()
}

fn uncounted(lists: &batch::UncountedTerminatedPods) -> Uncounted {
    let uids = |list: &Option<Vec<String>>| list.iter().flatten().map(|it| Uid::new(it)).collect();
    Uncounted { succeeded: uids(&lists.succeeded), failed: uids(&lists.failed) }
}

fn job_condition(condition: &batch::JobCondition) -> Condition {
    Condition {
        kind: text(&condition.type_),
        status: text(&condition.status),
        reason: text(condition.reason.as_deref().unwrap_or("")),
        message: text(condition.message.as_deref().unwrap_or("")),
        last_probe: condition.last_probe_time.as_ref().map(time),
        last_transition: condition.last_transition_time.as_ref().map(time),
    }
}

fn deletion(metadata: &meta::ObjectMeta) -> Option<Deletion> {
    let at = time(metadata.deletion_timestamp.as_ref()?);
    Some(Deletion { at, grace_seconds: metadata.deletion_grace_period_seconds.unwrap_or(0) })
}

/// PC-29: the UID identifies the Job.
fn controller(metadata: &meta::ObjectMeta, job: &Uid) -> Controller {
    match metadata.owner_references.iter().flatten().find(|it| it.controller == Some(true)) {
        None => Controller::Nobody,
        Some(owner) if owner.kind == "Job" && owner.uid == job.as_str() => Controller::ThisJob,
        Some(_) => Controller::Another,
    }
}

fn phase(phase: Option<&str>) -> Phase {
    match phase {
        Some("Pending") => Phase::Pending,
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        Some("Unknown") => Phase::Unknown,
        Some(_) | None => Phase::Other,
    }
}

fn condition(condition: &core::PodCondition) -> PodCondition {
    PodCondition {
        kind: text(&condition.type_),
        status: text(&condition.status),
        last_transition: condition.last_transition_time.as_ref().map(time),
    }
}

fn pod_conditions(pod: &core::Pod) -> Vec<PodCondition> {
    let status = pod.status.as_ref();
    status.and_then(|it| it.conditions.as_ref()).into_iter().flatten().map(condition).collect()
}

fn containers(pod: &core::Pod) -> Vec<ContainerFacts> {
    let Some(status) = pod.status.as_ref() else { return Vec::new() };
    let init_containers = pod.spec.iter().filter_map(|it| it.init_containers.as_ref()).flatten();
    let always = |it: &&core::Container| it.restart_policy.as_deref() == Some("Always");
    let sidecars: Vec<&str> = init_containers.filter(always).map(|it| it.name.as_str()).collect();
    let kind = |name: &str| {
        if sidecars.contains(&name) { ContainerKind::Sidecar } else { ContainerKind::Init }
    };
    let regular = status.container_statuses.iter().flatten().map(|it| container(it, ContainerKind::Regular));
    let init = status.init_container_statuses.iter().flatten().map(|it| container(it, kind(&it.name)));
    regular.chain(init).collect()
}

fn container(status: &core::ContainerStatus, kind: ContainerKind) -> ContainerFacts {
    let terminated = status.state.as_ref().and_then(|it| it.terminated.as_ref());
    ContainerFacts {
        name: text(&status.name),
        kind,
        restarts: status.restart_count,
        terminated: terminated
            .map(|it| Terminated { exit_code: it.exit_code, finished_at: it.finished_at.as_ref().map(time) }),
    }
}
