//! Jobs as JSON. The code is written by hand because the types of the specification implement no serializer.

use std::fmt::Write;

use jobcheck_spec::Uid;
use jobcheck_spec::job::{
    CompletionMode, ConditionStatus, FailureAction, Job, JobSpec, JobStatus, PodFailurePolicy,
    PodFailureRule, PodReplacementPolicy, RestartPolicy, SuccessPolicy, Text,
};

use crate::pod::Pod;

/// A builder of a JSON object.
#[derive(Default)]
pub struct Object(String);

impl Object {
    /// Adds a field whose value is JSON text.
    pub fn raw(mut self, name: &str, value: &str) -> Object {
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}{}:{value}", text(name));
        self
    }

    /// Adds a field if there is a value.
    pub fn maybe<T: ToString>(self, name: &str, value: Option<T>) -> Object {
        match value {
            None => self,
            Some(value) => self.raw(name, &value.to_string()),
        }
    }

    /// Adds a text field if there is a value.
    pub fn maybe_text(self, name: &str, value: Option<&str>) -> Object {
        self.maybe(name, value.map(text))
    }

    /// Returns the object as JSON text.
    pub fn end(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// Returns a text as JSON. The text must have no control characters.
pub fn text(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a list of JSON texts as JSON.
pub fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// Returns a map of texts as JSON.
pub fn map(pairs: &[(Text, Text)]) -> String {
    pairs.iter().fold(Object::default(), |object, (key, value)| object.raw(key, &text(value))).end()
}

/// Returns a Job as JSON, with the pod template of `pod`.
pub fn job(job: &Job, pod: &Pod) -> String {
    let metadata = Object::default()
        .raw("name", &text(&job.name))
        .raw("namespace", &text(&job.namespace))
        .raw("uid", &text(&job.uid.to_string()))
        .raw("resourceVersion", "\"1\"")
        .raw("generation", &job.generation.to_string())
        .raw("creationTimestamp", &text(&job.created.to_string()));
    Object::default()
        .raw("apiVersion", "\"batch/v1\"")
        .raw("kind", "\"Job\"")
        .raw("metadata", &metadata.end())
        .raw("spec", &spec(&job.spec, pod))
        .raw("status", &status(&job.status))
        .end()
}

fn spec(spec: &JobSpec, pod: &Pod) -> String {
    let mode = spec.completion_mode.map(|mode| match mode {
        CompletionMode::NonIndexed => "NonIndexed",
        CompletionMode::Indexed => "Indexed",
        CompletionMode::Unknown => "Bogus",
    });
    let replacement = spec.pod_replacement_policy.map(|policy| match policy {
        PodReplacementPolicy::TerminatingOrFailed => "TerminatingOrFailed",
        PodReplacementPolicy::Failed => "Failed",
        PodReplacementPolicy::Unknown => "Bogus",
    });
    let selector = Object::default().raw("matchLabels", &map(&spec.selector.match_labels)).end();
    Object::default()
        .maybe("parallelism", spec.parallelism)
        .maybe("completions", spec.completions)
        .maybe("activeDeadlineSeconds", spec.active_deadline_seconds)
        .maybe("backoffLimit", spec.backoff_limit)
        .maybe("backoffLimitPerIndex", spec.backoff_limit_per_index)
        .maybe("maxFailedIndexes", spec.max_failed_indexes)
        .maybe("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished)
        .maybe_text("completionMode", mode)
        .maybe("suspend", spec.suspend)
        .maybe("manualSelector", spec.manual_selector)
        .maybe_text("podReplacementPolicy", replacement)
        .maybe("podFailurePolicy", spec.pod_failure_policy.as_ref().map(failure_policy))
        .maybe("successPolicy", spec.success_policy.as_ref().map(success_policy))
        .maybe_text("managedBy", spec.managed_by.as_deref())
        .raw("selector", &selector)
        .raw("template", &pod.json(&spec.template.labels, restart_policy(spec.template.restart_policy)))
        .end()
}

fn restart_policy(policy: RestartPolicy) -> &'static str {
    match policy {
        RestartPolicy::Never => "Never",
        RestartPolicy::OnFailure => "OnFailure",
        RestartPolicy::Always => "Always",
        RestartPolicy::Unset => "",
    }
}

fn failure_policy(policy: &PodFailurePolicy) -> String {
    Object::default().raw("rules", &list(policy.rules.iter().map(failure_rule))).end()
}

fn failure_rule(rule: &PodFailureRule) -> String {
    let action = match rule.action {
        FailureAction::FailJob => "FailJob",
        FailureAction::FailIndex => "FailIndex",
        FailureAction::Ignore => "Ignore",
        FailureAction::Count => "Count",
        FailureAction::Unknown => "Bogus",
    };
    let codes = rule.on_exit_codes.as_ref().map(|codes| {
        let operator = codes.is_in.map_or("Bogus", |is_in| if is_in { "In" } else { "NotIn" });
        Object::default()
            .maybe_text("containerName", codes.container_name.as_deref())
            .raw("operator", &text(operator))
            .raw("values", &list(codes.values.iter().map(ToString::to_string)))
            .end()
    });
    let patterns = rule.on_pod_conditions.iter().map(|pattern| {
        Object::default().raw("type", &text(&pattern.kind)).raw("status", &text(&pattern.status)).end()
    });
    Object::default()
        .raw("action", &text(action))
        .maybe("onExitCodes", codes)
        .raw("onPodConditions", &list(patterns))
        .end()
}

fn success_policy(policy: &SuccessPolicy) -> String {
    let rules = policy.rules.iter().map(|rule| {
        Object::default()
            .maybe_text("succeededIndexes", rule.succeeded_indexes.as_deref())
            .maybe("succeededCount", rule.succeeded_count)
            .end()
    });
    Object::default().raw("rules", &list(rules)).end()
}

fn status(status: &JobStatus) -> String {
    let uids = |uids: &[Uid]| {
        list(uids.iter().map(|uid| if *uid == Uid::EMPTY { text("") } else { text(&uid.to_string()) }))
    };
    let uncounted = status.uncounted.as_ref().map(|lists| {
        Object::default().raw("succeeded", &uids(&lists.succeeded)).raw("failed", &uids(&lists.failed)).end()
    });
    let conditions = status.conditions.iter().map(|condition| {
        let value = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
            ConditionStatus::Undefined => "",
        };
        Object::default().raw("type", &text(condition.kind.as_str())).raw("status", &text(value)).end()
    });
    Object::default()
        .raw("active", &status.active.to_string())
        .maybe("ready", status.ready)
        .maybe("terminating", status.terminating)
        .raw("succeeded", &status.succeeded.to_string())
        .raw("failed", &status.failed.to_string())
        .maybe("startTime", status.start_time.map(|time| text(&time.to_string())))
        .maybe("completionTime", status.completion_time.map(|time| text(&time.to_string())))
        .raw("completedIndexes", &text(&status.completed_indexes))
        .maybe_text("failedIndexes", status.failed_indexes.as_deref())
        .maybe("uncountedTerminatedPods", uncounted)
        .raw("conditions", &list(conditions))
        .end()
}
