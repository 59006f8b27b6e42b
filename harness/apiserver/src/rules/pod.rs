//! Preparation and validation of pods (`pkg/registry/core/pod`, `pkg/apis/core/validation`), as far as they concern
//! Job controllers.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::error::FieldError;
use crate::names::{dns_label_problem, qualified_name_problem};
use crate::object::{at, child, members, metadata, put, text};

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be \
    set to 1 if it was previously negative)";

/// Sets the status of a new pod, whatever the client has sent.
pub(super) fn prepare_create(pod: &mut Value) {
    metadata(pod).insert("generation".to_owned(), json!(1));
    let mut status = json!({"phase": "Pending", "qosClass": quality(&pod["spec"])});
    if pod["spec"].get("schedulingGates").is_some() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod["status"] = status;
}

/// The quality-of-service class, from the requests and limits of cpu and memory.
fn quality(spec: &Value) -> &'static str {
    let mut every_limit = true;
    let mut any = false;
    let lists = ["containers", "initContainers"].into_iter();
    for container in lists.filter_map(|list| spec[list].as_array()).flatten() {
        for name in ["cpu", "memory"] {
            let limit = at(container, &["resources", "limits", name]);
            let request = at(container, &["resources", "requests", name]);
            any |= limit.is_some() || request.is_some();
            every_limit &= limit.is_some() && request == limit;
        }
    }
    match (any, every_limit) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Raises the generation with each change of the specification.
pub(super) fn prepare_update(old: &Value, new: &mut Value) {
    if old["spec"] != new["spec"] {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        metadata(new).insert("generation".to_owned(), json!(generation + 1));
    }
}

/// Restores the specification and the owners, which a status write must not change.
pub(super) fn prepare_status_update(old: &Value, new: &mut Value) {
    put(members(new), "spec", old.get("spec").cloned());
    put(metadata(new), "ownerReferences", old["metadata"].get("ownerReferences").cloned());
    let quality = old["status"].get("qosClass").cloned();
    let status = child(new, "status");
    if !status.contains_key("qosClass") {
        put(status, "qosClass", quality);
    }
    if !status.contains_key("observedGeneration") {
        put(status, "observedGeneration", old["status"].get("observedGeneration").cloned());
    }
}

/// Validates the specification of a pod or of a template.
pub(super) fn validate_spec(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    for list in ["containers", "initContainers"] {
        let items = spec[list].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() && list == "containers" {
            errors.push(FieldError::required(format!("{path}.{list}"), ""));
        }
        for (place, container) in items.iter().enumerate() {
            validate_container(container, &format!("{path}.{list}[{place}]"), &mut seen, errors);
        }
    }
    one_of(spec, path, "restartPolicy", &["Always", "OnFailure", "Never"], errors);
    one_of(spec, path, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], errors);
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64().filter(|seconds| *seconds < 1) {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(format!("{path}.activeDeadlineSeconds"), json!(seconds), why));
    }
    if let Some(host) = spec["hostname"].as_str()
        && let Some(problem) = dns_label_problem(host)
    {
        errors.push(FieldError::invalid(format!("{path}.hostname"), json!(host), problem));
    }
    for (key, value) in spec["nodeSelector"].as_object().into_iter().flatten() {
        if let Some(problem) = qualified_name_problem(key) {
            errors.push(FieldError::invalid(format!("{path}.nodeSelector"), value.clone(), problem));
        }
    }
    validate_volumes(spec, path, errors);
}

fn one_of(spec: &Value, path: &str, key: &str, known: &[&str], errors: &mut Vec<FieldError>) {
    if let Some(value) = spec[key].as_str().filter(|value| !known.contains(value)) {
        errors.push(FieldError::unsupported(format!("{path}.{key}"), json!(value), known));
    }
}

fn validate_container<'a>(
    container: &'a Value,
    path: &str,
    seen: &mut HashSet<&'a str>,
    errors: &mut Vec<FieldError>,
) {
    let name = text(container, &["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else if let Some(problem) = dns_label_problem(name) {
        errors.push(FieldError::invalid(format!("{path}.name"), json!(name), problem));
    } else if seen.contains(name) {
        let problem = crate::error::Problem::Duplicate(json!(name));
        errors.push(FieldError { field: format!("{path}.name"), problem, detail: String::new() });
    }
    seen.insert(name);
    let image = text(container, &["image"]);
    if image.is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(format!("{path}.image"), json!(image), why));
    }
    one_of(container, path, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], errors);
    one_of(container, path, "terminationMessagePolicy", &["FallbackToLogsOnError", "File"], errors);
    for (place, env) in container["env"].as_array().into_iter().flatten().enumerate() {
        if text(env, &["name"]).is_empty() {
            errors.push(FieldError::required(format!("{path}.env[{place}].name"), ""));
        }
    }
}

fn validate_volumes(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut names = HashSet::new();
    for (place, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        let (name, field) = (text(volume, &["name"]), format!("{path}.volumes[{place}].name"));
        if name.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if names.contains(&name) {
            let problem = crate::error::Problem::Duplicate(json!(name));
            errors.push(FieldError { field, problem, detail: String::new() });
        }
        names.insert(name);
    }
    let lists = ["containers", "initContainers"];
    for list in lists {
        for (place, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            for (at, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
                let name = text(mount, &["name"]);
                if !names.contains(&name) {
                    let field = format!("{path}.{list}[{place}].volumeMounts[{at}].name");
                    let problem = crate::error::Problem::NotFound(json!(name));
                    errors.push(FieldError { field, problem, detail: String::new() });
                }
            }
        }
    }
}

/// Refuses changes to immutable fields of a pod (`ValidatePodUpdate`).
pub(super) fn validate_update(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (old, new) = (&old["spec"], &new["spec"]);
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| spec[list].as_array().map_or(0, Vec::len);
        if count(old) != count(new) {
            errors.push(FieldError::forbidden(
                format!("spec.{list}"),
                "pod updates may not add or remove containers",
            ));
            return;
        }
    }
    validate_spec(new, "spec", errors);
    deadline_shrinks(old, new, errors);
    tolerations_grow(old, new, errors);
    gates_shrink(old, new, errors);
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        let (Some(was), Some(is)) =
            (old[list].as_array(), munged.get_mut(list).and_then(Value::as_array_mut))
        else {
            continue;
        };
        for (was, is) in was.iter().zip(is) {
            put(members(is), "image", was.get("image").cloned());
        }
    }
    for key in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(members(&mut munged), key, old.get(key).cloned());
    }
    if old.get("schedulingGates").is_some() {
        put(members(&mut munged), "nodeSelector", old.get("nodeSelector").cloned());
        let affinity = old["affinity"].get("nodeAffinity").cloned();
        if affinity.is_some() || munged.get("affinity").is_some() {
            put(child(&mut munged, "affinity"), "nodeAffinity", affinity);
        }
        if munged["affinity"].as_object().is_some_and(serde_json::Map::is_empty)
            && old.get("affinity").is_none()
        {
            members(&mut munged).remove("affinity");
        }
    }
    if munged != *old {
        let why = format!("pod updates may not change fields other than {UPDATABLE}");
        errors.push(FieldError::forbidden("spec", why));
    }
}

fn deadline_shrinks(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.activeDeadlineSeconds";
    let of = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (of(old), of(new)) {
        (Some(was), Some(is)) if is > was => {
            errors.push(FieldError::invalid(
                FIELD,
                json!(is),
                "must be less than or equal to previous value",
            ));
        }
        (Some(_), None) => {
            let why = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(FIELD, Value::Null, why));
        }
        (_, _) => {}
    }
}

fn tolerations_grow(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let of = |spec: &Value| spec["tolerations"].as_array().cloned().unwrap_or_default();
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        members(&mut toleration).remove("tolerationSeconds");
        toleration
    };
    let is: HashSet<Value> = of(new).iter().map(without_seconds).collect();
    if !of(old).iter().all(|was| is.contains(&without_seconds(was))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden("spec.tolerations", why));
    }
}

fn gates_shrink(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let was: HashSet<&Value> = old["schedulingGates"].as_array().into_iter().flatten().collect();
    for (place, gate) in new["schedulingGates"].as_array().into_iter().flatten().enumerate() {
        if !was.contains(gate) {
            let name = text(gate, &["name"]);
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.push(FieldError::forbidden(format!("spec.schedulingGates[{place}].name"), why));
        }
    }
}

/// Refuses invalid status writes of a pod (`ValidatePodStatusUpdate`).
pub(super) fn validate_status_update(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    if old["status"].get("qosClass") != new["status"].get("qosClass") {
        let found = new["status"]["qosClass"].clone();
        errors.push(FieldError::invalid("status.qosClass", found, "field is immutable"));
    }
    for (place, condition) in new["status"]["conditions"].as_array().into_iter().flatten().enumerate() {
        let kind = text(condition, &["type"]);
        if let Some(problem) = qualified_name_problem(kind) {
            let field = format!("status.conditions[{place}].Type");
            errors.push(FieldError::invalid(field, json!(kind), problem));
        }
    }
    terminated_containers_stay(old, new, errors);
}

/// Refuses to restart a terminated container, unless the restart policy allows it.
fn terminated_containers_stay(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let policy = text(old, &["spec", "restartPolicy"]);
    if policy == "Always" {
        return;
    }
    let statuses = |pod: &Value| pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
    let is = statuses(new);
    // The first of several statuses with one name counts.
    let is: HashMap<&Value, &Value> = is.iter().rev().map(|status| (&status["name"], status)).collect();
    for (place, was) in statuses(old).iter().enumerate() {
        let Some(ended) = at(was, &["state", "terminated"]) else { continue };
        // A failed container may be restarted under OnFailure.
        if ended["exitCode"].as_i64().unwrap_or(0) != 0 && policy == "OnFailure" {
            continue;
        }
        let later = is.get(&was["name"]);
        if later.is_some_and(|later| at(later, &["state", "terminated"]).is_none()) {
            let field = format!("status.containerStatuses[{place}].state");
            errors.push(FieldError::forbidden(field, "may not be transitioned to non-terminated state"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({"metadata": {"generation": 1}, "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]},
               "status": {"phase": "Pending", "qosClass": "BestEffort"}})
    }

    fn update(edit: impl Fn(&mut Value)) -> Vec<FieldError> {
        let (old, mut new) = (pod(), pod());
        edit(&mut new);
        let mut errors = Vec::new();
        validate_update(&old, &new, &mut errors);
        errors
    }

    #[test]
    fn images_and_tolerations_may_change_and_little_else() {
        assert!(update(|pod| pod["spec"]["containers"][0]["image"] = json!("j")).is_empty());
        assert!(update(|pod| pod["spec"]["tolerations"] = json!([{"key": "k"}])).is_empty());
        assert!(update(|pod| pod["spec"]["activeDeadlineSeconds"] = json!(5)).is_empty());
        for edit in
            [("nodeName", json!("n")), ("restartPolicy", json!("OnFailure")), ("hostname", json!("h"))]
        {
            assert_eq!(update(|pod| pod["spec"][edit.0] = edit.1.clone())[0].field, "spec", "{}", edit.0);
        }
        assert_eq!(update(|pod| pod["spec"]["containers"] = json!([])).len(), 1);
        assert_eq!(
            update(|pod| pod["spec"]["schedulingGates"] = json!([{"name": "g"}]))[0].field,
            "spec.schedulingGates[0].name"
        );
    }

    #[test]
    fn a_specification_needs_containers_with_names_and_images() {
        let mut errors = Vec::new();
        let spec = json!({"restartPolicy": "Sometimes", "containers": [{"name": "a"}, {"name": "a", "image": " i"}, {"image": "i"}]});
        validate_spec(&spec, "spec", &mut errors);
        let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        let expected = [
            "spec.containers[0].image",
            "spec.containers[1].name",
            "spec.containers[1].image",
            "spec.containers[2].name",
            "spec.restartPolicy",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn a_container_that_ended_does_not_run_again() {
        let (mut old, mut new) = (pod(), pod());
        old["status"]["containerStatuses"] = json!([{"name": "a", "state": {"terminated": {"exitCode": 1}}}]);
        new["status"]["containerStatuses"] = json!([{"name": "a", "state": {"running": {}}}]);
        let mut errors = Vec::new();
        validate_status_update(&old, &new, &mut errors);
        assert_eq!(errors.len(), 1);
        old["spec"]["restartPolicy"] = json!("OnFailure");
        errors.clear();
        validate_status_update(&old, &new, &mut errors);
        assert!(errors.is_empty());
    }

    #[test]
    fn the_class_of_service_follows_from_requests_and_limits() {
        let class = |resources: Value| quality(&json!({"containers": [{"resources": resources}]}));
        assert_eq!(class(json!({})), "BestEffort");
        assert_eq!(class(json!({"requests": {"cpu": "1"}})), "Burstable");
        let both = json!({"cpu": "1", "memory": "1"});
        assert_eq!(class(json!({"requests": both, "limits": both})), "Guaranteed");
    }
}
