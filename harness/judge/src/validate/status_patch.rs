//! The status that a PATCH asks for. The API server shows the result of an accepted PATCH only. The content of a refused
//! one is the stored status with the fields of the PATCH.

use std::collections::HashMap;

use jobcheck_projection::Projector;
use jobcheck_spec::job::{Condition, Job, JobStatus, Uncounted};
use serde_json::{Map, Value, json};

/// A merge patch, a strategic merge patch, or an apply of a status.
#[derive(Clone, Debug)]
pub struct StatusPatch {
    /// The values of the fields that the patch sets.
    values: JobStatus,
    /// The fields that the patch contains. Those without a value are removed.
    fields: Vec<String>,
    /// The fields of `uncountedTerminatedPods` that the patch contains; `None` if it removes the object.
    uncounted: Option<Vec<String>>,
    /// The patch has directives, so that conditions are merged by their type.
    is_strategic: bool,
}

/// Returns `true` if an object in a patch has a directive of strategic merge patches.
fn has_directives(patch: &Value) -> bool {
    match patch {
        Value::Object(members) => members.iter().any(|(key, value)| {
            key.starts_with("$setElementOrder/") || key == "$patch" || has_directives(value)
        }),
        Value::Array(items) => items.iter().any(has_directives),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl StatusPatch {
    /// Reads the text of a PATCH. `None` for a JSON patch, and for a text that changes no status.
    #[must_use]
    pub fn read(text: &str, projector: &mut Projector) -> Option<StatusPatch> {
        let patch: Value = serde_json::from_str(text).ok()?;
        let status = patch.as_object()?.get("status")?.as_object()?;
        let set: Map<String, Value> = status
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let whole =
            json!({"metadata": {}, "spec": {"template": {}}, "status": without_nulls(Value::Object(set))});
        let values = projector.job(&whole.to_string()).ok()?.job.status;
        let uncounted = status.get("uncountedTerminatedPods").and_then(Value::as_object);
        Some(StatusPatch {
            values,
            fields: status.keys().filter(|key| !key.starts_with('$')).cloned().collect(),
            uncounted: uncounted.map(|lists| lists.keys().cloned().collect()),
            is_strategic: has_directives(&patch),
        })
    }

    /// The Job with the status that the patch asks for.
    #[must_use]
    pub fn applied(&self, stored: &Job) -> Job {
        let mut status = stored.status.clone();
        for field in &self.fields {
            let values = &self.values;
            match field.as_str() {
                "active" => status.active = values.active,
                "ready" => status.ready = values.ready,
                "terminating" => status.terminating = values.terminating,
                "succeeded" => status.succeeded = values.succeeded,
                "failed" => status.failed = values.failed,
                "startTime" => status.start_time = values.start_time,
                "completionTime" => status.completion_time = values.completion_time,
                "completedIndexes" => status.completed_indexes = values.completed_indexes.clone(),
                "failedIndexes" => status.failed_indexes = values.failed_indexes.clone(),
                "uncountedTerminatedPods" => status.uncounted = self.lists(status.uncounted.as_ref()),
                "conditions" => status.conditions = self.conditions(&status.conditions),
                _ => {}
            }
        }
        Job { status, ..stored.clone() }
    }

    fn lists(&self, stored: Option<&Uncounted>) -> Option<Uncounted> {
        let fields = self.uncounted.as_ref()?;
        let (mut lists, set) = (stored.cloned().unwrap_or_default(), self.values.uncounted.clone());
        let set = set.unwrap_or_default();
        if fields.iter().any(|field| field == "succeeded") {
            lists.succeeded = set.succeeded;
        }
        if fields.iter().any(|field| field == "failed") {
            lists.failed = set.failed;
        }
        Some(lists)
    }

    fn conditions(&self, stored: &[Condition]) -> Vec<Condition> {
        if !self.is_strategic {
            return self.values.conditions.clone();
        }
        let mut merged = stored.to_vec();
        let mut places = HashMap::new();
        for (place, condition) in stored.iter().enumerate().rev() {
            places.insert(&condition.kind, place);
        }
        for condition in &self.values.conditions {
            match places.get(&condition.kind) {
                Some(place) => merged[*place] = condition.clone(),
                None => {
                    places.insert(&condition.kind, merged.len());
                    merged.push(condition.clone());
                }
            }
        }
        merged
    }
}

/// In a merge patch, null removes a field.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_spec::job::{ConditionKind, ConditionStatus};
    use jobcheck_spec::{Time, Uid};

    use super::super::fixtures::job;
    use super::*;

    fn condition(kind: ConditionKind, status: ConditionStatus) -> Condition {
        Condition { kind, status, reason: "R".into(), message: "M".into(), last_transition_time: None }
    }

    fn stored() -> Job {
        let uncounted = Uncounted { succeeded: vec![Uid(1)], failed: vec![Uid(2)] };
        let status = JobStatus {
            active: 1,
            failed: 3,
            start_time: Some(Time(7)),
            uncounted: Some(uncounted),
            conditions: vec![condition(ConditionKind::Suspended, ConditionStatus::False)],
            ..JobStatus::default()
        };
        Job { status, ..job() }
    }

    fn after(text: &str) -> JobStatus {
        StatusPatch::read(text, &mut Projector::new()).unwrap().applied(&stored()).status
    }

    #[test]
    fn a_merge_patch_sets_and_removes_the_fields_that_it_contains() {
        let text = r#"{"status":{"active":null,"succeeded":2,"uncountedTerminatedPods":{"succeeded":null}}}"#;
        let new = after(text);
        assert_eq!((new.active, new.succeeded, new.failed, new.start_time), (0, 2, 3, Some(Time(7))));
        assert_eq!(new.uncounted, Some(Uncounted { succeeded: Vec::new(), failed: vec![Uid(2)] }));
        assert_eq!(new.conditions.len(), 1);
        assert_eq!(after(r#"{"status":{"uncountedTerminatedPods":null}}"#).uncounted, None);
    }

    #[test]
    fn conditions_are_replaced_or_merged_by_type() {
        let list = r#""conditions":[{"type":"Complete","status":"True"}]"#;
        let replaced = after(&format!(r#"{{"status":{{{list}}}}}"#)).conditions;
        assert_eq!(replaced.len(), 1);
        let order = r#""$setElementOrder/conditions":[{"type":"Suspended"},{"type":"Complete"}]"#;
        let merged = after(&format!(r#"{{"status":{{{order},{list}}}}}"#)).conditions;
        let kinds: Vec<&str> = merged.iter().map(|it| it.kind.as_str()).collect();
        assert_eq!(kinds, ["Suspended", "Complete"]);
    }

    #[test]
    fn what_changes_no_status_is_no_patch_of_it() {
        for text in [
            r#"{"metadata":{}}"#,
            r#"[{"op":"remove","path":"/status/active"}]"#,
            "no patch",
            r#"{"status":null}"#,
        ] {
            assert!(StatusPatch::read(text, &mut Projector::new()).is_none(), "{text}");
        }
    }
}
