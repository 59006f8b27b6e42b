//! Properties of pods, read from JSON.

use serde_json::Value;

/// The completion index of a pod, or of the body of a creation.
#[must_use]
pub fn completion_index(pod: &Value) -> Option<u32> {
    pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].as_str()?.parse().ok()
}

/// Returns true if a pod has terminated within its grace period, so that its kubelet removes it.
#[must_use]
pub fn is_to_be_removed(pod: &Value) -> bool {
    let graceful = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|grace| grace > 0);
    !has_not_ended(pod) && graceful && is_deleting(pod)
}

pub(crate) fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or("Pending")
}

/// Returns true if a pod is bound and has not terminated.
pub(crate) fn runs_here(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty()) && has_not_ended(pod)
}

pub(crate) fn may_restart(pod: &Value) -> bool {
    pod["spec"]["restartPolicy"] == "OnFailure" && !is_deleting(pod)
}

pub(crate) fn is_disrupted(pod: &Value) -> bool {
    has_condition(pod, "DisruptionTarget")
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|it| it["type"] == kind && it["status"] == "True")
}

/// Returns true if a pod has the labels of its Job.
pub(crate) fn is_selected(pod: &Value) -> bool {
    pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] != "elsewhere"
}

pub(crate) fn is_unscheduled(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) && !is_deleting(pod)
}

pub(crate) fn is_pending(pod: &Value) -> bool {
    phase(pod) == "Pending"
}

pub(crate) fn is_running(pod: &Value) -> bool {
    phase(pod) == "Running"
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    has_condition(pod, "Ready")
}

pub(crate) fn has_not_ended(pod: &Value) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The controller reference.
pub(crate) fn owner(pod: &Value) -> Option<&Value> {
    let owners = pod["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}
