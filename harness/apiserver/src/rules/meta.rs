//! Validation of `metadata` (`apimachinery/pkg/api/validation`).

use std::collections::HashSet;

use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use crate::error::{FieldError, Problem};
use crate::names::{dns_subdomain_problem, label_value_problem, qualified_name_problem};
use crate::object::{finalizers, is_deleting, meta};
use crate::resource::Resource;

/// The known finalizers without a slash. Others without one are refused.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
/// The maximum size of all annotations together, in bytes.
const ANNOTATION_BYTES: usize = 256 * 1024;
/// The maximum number of errors about a second controller. Each shows all owners, so that more would take quadratic
/// memory. Upstream reports all.
const MOST_SECOND_CONTROLLERS: usize = 10;

const IMMUTABLE: &str = "field is immutable";

/// The errors in the metadata of a new object.
pub(super) fn validate(rules: RuleSet, resource: Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, base) = (meta(object, "name"), meta(object, "generateName"));
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if let Some(problem) = name_problem(resource, name) {
        errors.push(FieldError::invalid("metadata.name", json!(name), problem));
    }
    // A prefix may end in a dash, because the generated suffix follows it.
    let covered = base.strip_suffix('-').map_or_else(|| base.to_owned(), |base| format!("{base}a"));
    if let Some(problem) =
        Some(covered).filter(|base| !base.is_empty()).and_then(|it| name_problem(resource, &it))
    {
        errors.push(FieldError::invalid("metadata.generateName", json!(base), problem));
    }
    validate_common(rules, object, &mut errors);
    errors
}

/// The errors in the metadata of an update.
pub(super) fn validate_update(rules: RuleSet, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_deleting(old) {
        let had: HashSet<&str> = finalizers(old).into_iter().collect();
        let mut added: Vec<&str> = finalizers(new).into_iter().filter(|name| !had.contains(name)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|name| format!("\"{name}\"")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", why));
        }
    }
    for key in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        let (was, is) = (&old["metadata"][key], &new["metadata"][key]);
        if was != is {
            errors.push(FieldError::invalid(format!("metadata.{key}"), is.clone(), IMMUTABLE));
        }
    }
    validate_common(rules, new, &mut errors);
    errors
}

fn name_problem(resource: Resource, name: &str) -> Option<String> {
    match resource {
        Resource::Namespaces => crate::names::dns_label_problem(name),
        Resource::Events | Resource::NewEvents => {
            // The name of an event consists of an object's name and a number. Only characters with a
            // meaning in paths are refused.
            let bad = matches!(name, "." | "..") || name.contains(['/', '%']);
            bad.then(|| "may not contain '/' or '%', and may not be '.' or '..'".to_owned())
        }
        _ => dns_subdomain_problem(name),
    }
}

fn validate_common(rules: RuleSet, object: &Value, errors: &mut Vec<FieldError>) {
    labels(&object["metadata"]["labels"], "metadata.labels", errors);
    annotations(&object["metadata"]["annotations"], "metadata.annotations", errors);
    owners(rules, &object["metadata"]["ownerReferences"], errors);
    for (place, name) in finalizers(object).into_iter().enumerate() {
        let known = name.contains('/') || STANDARD_FINALIZERS.contains(&name);
        let problem = qualified_name_problem(name).or_else(|| {
            (!known).then(|| "name is neither a standard finalizer name nor is it fully qualified".to_owned())
        });
        if let Some(problem) = problem {
            errors.push(FieldError::invalid(format!("metadata.finalizers[{place}]"), json!(name), problem));
        }
    }
    let all = finalizers(object);
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid("metadata.finalizers", json!(all), why));
    }
}

/// Validates the labels at a path.
pub(super) fn labels(labels: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        if let Some(problem) = qualified_name_problem(key) {
            errors.push(FieldError::invalid(path, json!(key), problem));
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(problem) = label_value_problem(value) {
            errors.push(FieldError::invalid(path, json!(value), problem));
        }
    }
}

fn annotations(annotations: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut total = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        if let Some(problem) = qualified_name_problem(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, json!(key), problem));
        }
        total += key.len() + value.as_str().map_or(0, str::len);
    }
    if total > ANNOTATION_BYTES {
        let detail = format!("may not be more than {ANNOTATION_BYTES} bytes");
        errors.push(FieldError { field: path.to_owned(), problem: Problem::TooLong, detail });
    }
}

const OWNERS: &str = "metadata.ownerReferences";

/// The error for an owner without one of its fields.
fn without_field(rules: RuleSet, place: usize, key: &str) -> FieldError {
    const EMPTY: &str = "must not be empty";
    if rules.minor >= 37 {
        return FieldError::required(format!("{OWNERS}[{place}].{key}"), EMPTY);
    }
    let why = if key == "apiVersion" { "version must not be empty" } else { EMPTY };
    FieldError::invalid(format!("{OWNERS}.{key}"), json!(""), why)
}

fn owners(rules: RuleSet, owners: &Value, errors: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    let mut others = 0;
    for (place, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let member = |key: &str| owner[key].as_str().unwrap_or_default();
        let missing = ["apiVersion", "kind", "name", "uid"].into_iter().filter(|key| member(key).is_empty());
        errors.extend(missing.map(|key| without_field(rules, place, key)));
        if owner["controller"].as_bool() != Some(true) {
            continue;
        }
        let name = format!("{}/{}", member("kind"), member("name"));
        match &controller {
            None => controller = Some(name),
            Some(_) if others == MOST_SECOND_CONTROLLERS => {}
            Some(first) => {
                others += 1;
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {name}"
                );
                errors.push(FieldError::invalid(OWNERS, owners.clone(), why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(errors: &[FieldError]) -> Vec<&str> {
        errors.iter().map(|error| error.field.as_str()).collect()
    }

    #[test]
    fn new_objects_need_a_name_and_well_formed_parts() {
        let bad = json!({"metadata": {
            "generateName": "A-", "labels": {"-": "ok", "ok": "-"}, "annotations": {"a b": ""},
            "finalizers": ["mine"], "ownerReferences": [
                {"apiVersion": "v1", "kind": "K", "name": "a", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "K", "name": "b", "controller": true}],
        }});
        let errors = validate(RuleSet::V1_36, Resource::Pods, &bad);
        let expected = [
            "metadata.name",
            "metadata.generateName",
            "metadata.labels",
            "metadata.labels",
            "metadata.annotations",
            "metadata.ownerReferences.uid",
            "metadata.ownerReferences",
            "metadata.finalizers[0]",
        ];
        assert_eq!(fields(&errors), expected);
        let since = validate(RuleSet::V1_37, Resource::Pods, &bad);
        assert!(fields(&since).contains(&"metadata.ownerReferences[1].uid"), "{since:?}");
        let good =
            json!({"metadata": {"name": "a", "generateName": "a-", "finalizers": ["orphan", "x.io/y"]}});
        assert!(validate(RuleSet::V1_36, Resource::Pods, &good).is_empty());
        assert!(
            validate(RuleSet::V1_36, Resource::Events, &json!({"metadata": {"name": "A:b.1"}})).is_empty()
        );
        assert!(
            !validate(RuleSet::V1_36, Resource::Namespaces, &json!({"metadata": {"name": "a.b"}})).is_empty()
        );
    }

    #[test]
    fn what_is_fixed_stays_and_no_finalizer_joins_a_deletion() {
        let old = json!({"metadata": {"name": "a", "uid": "1", "deletionTimestamp": "t", "finalizers": ["x.io/y"]}});
        let mut new = old.clone();
        assert!(validate_update(RuleSet::V1_36, &old, &new).is_empty());
        new["metadata"]["uid"] = json!("2");
        new["metadata"]["finalizers"] = json!(["x.io/y", "x.io/z"]);
        assert_eq!(
            fields(&validate_update(RuleSet::V1_36, &old, &new)),
            ["metadata.finalizers", "metadata.uid"]
        );
    }
}
