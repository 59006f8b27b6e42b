//! A Job as JSON: the inverse of `jobcheck_projection` for Jobs and their specifications.

use jobcheck_spec::Time;
use jobcheck_spec::job::{
    CompletionMode, Condition, ConditionStatus, FailureAction, Job, JobSpec, JobStatus, PodFailureRule,
    PodReplacementPolicy, RestartPolicy, SuccessRule, Template, Uncounted,
};
use serde_json::{Value, json};

use super::names::Names;
use super::{given, members, pairs, stamp, unless_empty};

/// The image of every container.
pub(super) const IMAGE: &str = "busybox:1.36";

/// The properties of a Job that the model does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// `metadata.resourceVersion`. In a request: the version from which it was computed.
    pub version: Option<u64>,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Time>,
}

/// Returns the whole Job.
pub(super) fn job(job: &Job, stored: Stored, names: &Names) -> Value {
    let deleted = job.deleting.then(|| stamp(stored.deleted.unwrap_or(job.created)));
    let finalizers: Vec<&str> = job.finalizers.iter().map(|name| &**name).collect();
    json!({
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": members([
            ("name", Some(json!(names.job))),
            ("namespace", Some(json!(names.namespace))),
            ("uid", Some(json!(job.uid.to_string()))),
            ("resourceVersion", given(stored.version.map(|version| version.to_string()))),
            ("generation", Some(json!(job.generation))),
            ("creationTimestamp", Some(json!(stamp(job.created)))),
            ("deletionGracePeriodSeconds", given(deleted.as_ref().map(|_| 0))),
            ("deletionTimestamp", given(deleted)),
            ("finalizers", unless_empty(json!(finalizers))),
        ]),
        "spec": spec(&job.spec),
        "status": status(&job.status, names),
    })
}

/// Returns the body with which a user creates a Job.
pub(super) fn request(job: &Job, sent: &JobSpec) -> Value {
    json!({
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": { "name": &*job.name, "namespace": &*job.namespace },
        "spec": spec(sent),
    })
}

fn spec(spec: &JobSpec) -> Value {
    let labels = spec.selector.match_labels.iter().map(|(key, value)| (&**key, &**value));
    let selector = (!spec.selector.match_labels.is_empty()).then(|| json!({ "matchLabels": pairs(labels) }));
    let failure = spec.pod_failure_policy.as_ref();
    let success = spec.success_policy.as_ref();
    members([
        ("parallelism", given(spec.parallelism)),
        ("completions", given(spec.completions)),
        ("activeDeadlineSeconds", given(spec.active_deadline_seconds)),
        ("podFailurePolicy", failure.map(|policy| rules(policy.rules.iter().map(failure_rule)))),
        ("successPolicy", success.map(|policy| rules(policy.rules.iter().map(success_rule)))),
        ("backoffLimit", given(spec.backoff_limit)),
        ("backoffLimitPerIndex", given(spec.backoff_limit_per_index)),
        ("maxFailedIndexes", given(spec.max_failed_indexes)),
        ("selector", selector),
        ("manualSelector", given(spec.manual_selector)),
        ("template", Some(template(&spec.template))),
        ("ttlSecondsAfterFinished", given(spec.ttl_seconds_after_finished)),
        ("completionMode", given(spec.completion_mode.map(completion_mode))),
        ("suspend", given(spec.suspend)),
        ("podReplacementPolicy", given(spec.pod_replacement_policy.map(replacement_policy))),
        ("managedBy", given(spec.managed_by.as_deref())),
    ])
}

fn rules(rules: impl Iterator<Item = Value>) -> Value {
    json!({ "rules": rules.collect::<Vec<_>>() })
}

fn completion_mode(mode: CompletionMode) -> &'static str {
    match mode {
        CompletionMode::NonIndexed => "NonIndexed",
        CompletionMode::Indexed => "Indexed",
        CompletionMode::Unknown => "Unknown",
    }
}

fn replacement_policy(policy: PodReplacementPolicy) -> &'static str {
    match policy {
        PodReplacementPolicy::TerminatingOrFailed => "TerminatingOrFailed",
        PodReplacementPolicy::Failed => "Failed",
        PodReplacementPolicy::Unknown => "Unknown",
    }
}

fn failure_rule(rule: &PodFailureRule) -> Value {
    let action = match rule.action {
        FailureAction::FailJob => "FailJob",
        FailureAction::FailIndex => "FailIndex",
        FailureAction::Ignore => "Ignore",
        FailureAction::Count => "Count",
        FailureAction::Unknown => "Unknown",
    };
    let codes = rule.on_exit_codes.as_ref().map(|codes| {
        let operator = match codes.is_in {
            Some(true) => "In",
            Some(false) => "NotIn",
            None => "Unknown",
        };
        members([
            ("containerName", given(codes.container_name.as_deref())),
            ("operator", Some(json!(operator))),
            ("values", Some(json!(codes.values))),
        ])
    });
    let patterns = rule.on_pod_conditions.iter();
    let patterns: Vec<Value> =
        patterns.map(|pattern| json!({ "type": &*pattern.kind, "status": &*pattern.status })).collect();
    members([
        ("action", Some(json!(action))),
        ("onExitCodes", codes),
        ("onPodConditions", unless_empty(json!(patterns))),
    ])
}

fn success_rule(rule: &SuccessRule) -> Value {
    members([
        ("succeededIndexes", given(rule.succeeded_indexes.as_deref())),
        ("succeededCount", given(rule.succeeded_count)),
    ])
}

/// `spec.template`.
fn template(template: &Template) -> Value {
    let labels = template.labels.iter().map(|(key, value)| (&**key, &**value));
    let annotations = template.annotations.iter().map(|(key, value)| (&**key, &**value));
    let containers: Vec<Value> =
        template.container_names.iter().map(|name| json!({ "name": &**name, "image": IMAGE })).collect();
    json!({
        "metadata": members([
            ("labels", unless_empty(pairs(labels))),
            ("annotations", unless_empty(pairs(annotations))),
        ]),
        "spec": members([
            ("containers", Some(json!(containers))),
            ("restartPolicy", given(restart_policy(template.restart_policy))),
        ]),
    })
}

pub(super) fn restart_policy(policy: RestartPolicy) -> Option<&'static str> {
    match policy {
        RestartPolicy::Never => Some("Never"),
        RestartPolicy::OnFailure => Some("OnFailure"),
        RestartPolicy::Always => Some("Always"),
        RestartPolicy::Unset => None,
    }
}

fn status(status: &JobStatus, names: &Names) -> Value {
    let conditions: Vec<Value> = status.conditions.iter().map(|it| condition(it, names)).collect();
    members([
        ("conditions", unless_empty(json!(conditions))),
        ("startTime", given(status.start_time.map(stamp))),
        ("completionTime", given(status.completion_time.map(stamp))),
        ("active", unless_empty(json!(status.active))),
        ("succeeded", unless_empty(json!(status.succeeded))),
        ("failed", unless_empty(json!(status.failed))),
        ("terminating", given(status.terminating)),
        ("completedIndexes", unless_empty(json!(&*status.completed_indexes))),
        ("failedIndexes", given(status.failed_indexes.as_deref())),
        ("uncountedTerminatedPods", status.uncounted.as_ref().map(|lists| uncounted(lists, names))),
        ("ready", given(status.ready)),
    ])
}

fn uncounted(lists: &Uncounted, names: &Names) -> Value {
    let uids = |list: &[jobcheck_spec::Uid]| {
        let uids: Vec<String> = list.iter().map(|uid| names.uid(*uid).to_string()).collect();
        unless_empty(json!(uids))
    };
    members([("succeeded", uids(&lists.succeeded)), ("failed", uids(&lists.failed))])
}

fn condition(condition: &Condition, names: &Names) -> Value {
    let status = match condition.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
        ConditionStatus::Undefined => "",
    };
    let changed = condition.last_transition_time.map(stamp);
    members([
        ("type", Some(json!(condition.kind.as_str()))),
        ("status", Some(json!(status))),
        ("lastProbeTime", given(changed.clone())),
        ("lastTransitionTime", given(changed)),
        ("reason", unless_empty(json!(&*condition.reason))),
        ("message", unless_empty(json!(names.message(&condition.message)))),
    ])
}
