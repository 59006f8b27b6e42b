//! The fields that a refused request asked for, and those that it asked to remove.

use jobcheck_traces::{Subresource, Verb};
use serde_json::{Map, Value, json};

use crate::fields::{Fields, fields};

/// A list of conditions, of which each is a field of the page.
const CONDITIONS: &str = "status.condition ";

/// The content of a refused request.
#[derive(Debug, Default)]
pub struct Asked {
    /// The fields with a value.
    pub fields: Fields,
    /// The names of fields that the request removes unless it sets them. A dot or a space at the end stands for all
    /// names with this start.
    removed: Vec<String>,
}

impl Asked {
    /// Reads the body of a request. A PUT replaces a part of the object, and a PATCH changes what it names.
    pub fn read(body: &Value, verb: Verb, subresource: Subresource, is_pod: bool) -> Asked {
        let is_status = subresource == Subresource::Status;
        if verb != Verb::Patch {
            let mut asked = Asked { fields: fields(body, is_pod), removed: replaced(verb, is_status) };
            let ignored = if is_status { "spec." } else { "status." };
            asked.fields.retain(|name, _| !name.starts_with(ignored));
            return asked;
        }
        let named = body.as_array().map(|operations| named_by(operations));
        let body = named.as_ref().unwrap_or(body);
        Asked { fields: fields(body, is_pod), removed: removed(body) }
    }

    /// Returns `true` if the request asks for the absence of a field.
    pub fn removes(&self, name: &str) -> bool {
        let fits = |it: &String| *it == name || (it.ends_with(['.', ' ']) && name.starts_with(it.as_str()));
        !self.fields.contains_key(name) && self.removed.iter().any(fits)
    }
}

/// The parts that a PUT replaces. The server sets the rest of the metadata, and the defaults of the spec.
fn replaced(verb: Verb, is_status: bool) -> Vec<String> {
    let parts: &[&str] = match verb {
        Verb::Update if is_status => &["status."],
        Verb::Update => {
            &["metadata.labels ", "metadata.annotations ", "metadata.finalizers", "metadata.controller"]
        }
        _ => &[],
    };
    parts.iter().map(|&part| part.to_owned()).collect()
}

/// The fields that a merge patch removes: by null, by an empty list, or by another list in their place.
fn removed(patch: &Value) -> Vec<String> {
    let is_strategic = has_directive(patch);
    let mut out = Vec::new();
    for part in ["metadata", "spec", "status"] {
        for (key, value) in patch[part].as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("conditions", Value::Array(_)) if is_strategic => {}
                ("conditions", Value::Null | Value::Array(_)) => out.push(CONDITIONS.to_owned()),
                ("ownerReferences", Value::Null) => out.push("metadata.controller".to_owned()),
                ("labels" | "annotations", Value::Null) => out.push(format!("metadata.{key} ")),
                ("labels" | "annotations", Value::Object(all)) => {
                    let nulls = all.iter().filter(|(_, value)| value.is_null());
                    out.extend(nulls.map(|(name, _)| format!("metadata.{key} {name}")));
                }
                ("uncountedTerminatedPods", Value::Null) => out.push(format!("{part}.{key}.")),
                ("uncountedTerminatedPods", Value::Object(lists)) => {
                    out.extend(lists.keys().map(|list| format!("{part}.{key}.{list}")));
                }
                (_, Value::Null) => out.push(format!("{part}.{key}")),
                (_, Value::Array(items)) if items.is_empty() => out.push(format!("{part}.{key}")),
                _ => {}
            }
        }
    }
    out
}

/// Returns `true` if lists are merged by the keys of their items.
fn has_directive(patch: &Value) -> bool {
    let in_part = |part: &Value| {
        part.as_object().is_some_and(|it| it.keys().any(|key| key.starts_with('$')))
            || part["conditions"].as_array().is_some_and(|it| it.iter().any(|it| it.get("$patch").is_some()))
    };
    in_part(patch) || ["metadata", "spec", "status"].iter().any(|part| in_part(&patch[part]))
}

/// The fields that a JSON patch names, as a merge patch. Operations inside of lists are left out.
fn named_by(operations: &[Value]) -> Value {
    let mut out = json!({"metadata": {}, "spec": {}, "status": {}});
    for operation in operations {
        let path: Vec<&str> = operation["path"].as_str().unwrap_or_default().split('/').skip(1).collect();
        let value = match operation["op"].as_str() {
            Some("add" | "replace") => operation["value"].clone(),
            Some("remove") => Value::Null,
            _ => continue,
        };
        match path[..] {
            [part @ ("metadata" | "spec" | "status"), key] => out[part][key] = value,
            ["metadata", part @ ("labels" | "annotations"), key] => {
                let entries = out["metadata"].as_object_mut();
                let entry = entries.map(|it| it.entry(part).or_insert_with(|| Map::new().into()));
                if let Some(Value::Object(entry)) = entry {
                    entry.insert(key.replace("~1", "/").replace("~0", "~"), value);
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &Value, verb: Verb) -> Asked {
        Asked::read(body, verb, Subresource::Status, false)
    }

    #[test]
    fn a_put_of_the_status_replaces_the_status_alone() {
        let put = asked(&json!({"spec": {"parallelism": 2}, "status": {"active": 1}}), Verb::Update);
        assert_eq!(put.fields.keys().collect::<Vec<_>>(), ["status.active"]);
        assert!(put.removes("status.failed") && put.removes("status.condition Suspended"));
        assert!(
            !put.removes("status.active")
                && !put.removes("spec.suspend")
                && !put.removes("metadata.labels a")
        );
    }

    #[test]
    fn a_merge_patch_removes_what_it_names() {
        let condition = json!({"type": "Suspended", "status": "True"});
        let patch = asked(&json!({"status": {"failed": null, "conditions": [condition]}}), Verb::Patch);
        assert!(patch.removes("status.failed") && patch.removes("status.condition Failed"));
        assert!(!patch.removes("status.condition Suspended") && !patch.removes("status.active"));
        let emptied = asked(&json!({"metadata": {"finalizers": [], "labels": {"a": null}}}), Verb::Patch);
        assert!(emptied.removes("metadata.finalizers") && emptied.removes("metadata.labels a"));
        assert!(!emptied.removes("metadata.labels b"));
    }

    #[test]
    fn a_strategic_patch_keeps_the_conditions_that_it_does_not_name() {
        let order =
            json!({"status": {"$setElementOrder/conditions": [], "conditions": [{"type": "Failed"}]}});
        assert!(!asked(&order, Verb::Patch).removes("status.condition Suspended"));
    }

    #[test]
    fn a_json_patch_names_its_fields_by_paths() {
        let patch = json!([
            {"op": "remove", "path": "/status/failed"},
            {"op": "replace", "path": "/status/active", "value": 3},
            {"op": "remove", "path": "/metadata/labels/a~1b"},
            {"op": "test", "path": "/status/ready", "value": 1},
            {"op": "add", "path": "/status/conditions/0", "value": {}},
        ]);
        let patch = asked(&patch, Verb::Patch);
        assert!(patch.removes("status.failed") && patch.removes("metadata.labels a/b"));
        assert_eq!((patch.fields["status.active"].as_str(), patch.fields.len()), ("3", 1));
        assert!(!patch.removes("status.condition Failed"));
    }
}
