//! A status as the patch that writes it.

use jobcheck_spec::job::{Condition, ConditionStatus, JobStatus};
use serde_json::{Value, json};

/// The patch from the stored status to the new one. A condition that does not change stays as it is stored.
pub fn patch(new: &JobStatus, stored: &Value) -> Value {
    let known = stored["conditions"].as_array();
    let condition = |it: &Condition| {
        let same = known.and_then(|known| known.iter().find(|old| old["type"] == it.kind.as_str()));
        same.filter(|old| old["status"] == word(it.status)).cloned().unwrap_or_else(|| written(it))
    };
    let conditions: Vec<Value> = new.conditions.iter().map(condition).collect();
    let indexes = (!new.completed_indexes.is_empty()).then(|| new.completed_indexes.to_string());
    json!({
        "active": new.active, "ready": new.ready, "terminating": new.terminating,
        "succeeded": new.succeeded, "failed": new.failed,
        "startTime": new.start_time.map(|it| it.to_string()),
        "completionTime": new.completion_time.map(|it| it.to_string()),
        "completedIndexes": indexes, "failedIndexes": new.failed_indexes.as_deref(),
        "conditions": conditions,
    })
}

fn written(condition: &Condition) -> Value {
    let time = condition.last_transition_time.map(|it| it.to_string());
    json!({
        "type": condition.kind.as_str(), "status": word(condition.status), "reason": &*condition.reason,
        "message": &*condition.message, "lastProbeTime": time, "lastTransitionTime": time,
    })
}

fn word(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
        ConditionStatus::Undefined => "",
    }
}
