//! The specification's rules for Jobs, applied to JSON.
//!
//! Defaults, preparation, and validation are those of `jobcheck_spec::apiserver`, on the projected object
//! (`jobcheck_projection`). The result is written back to the JSON, or reported in upstream's words
//! ([`super::job_messages`]).

use std::sync::Arc;

use jobcheck_projection::ProjectError;
use jobcheck_spec::apiserver;
use jobcheck_spec::job::{CompletionMode, Job, JobSpec, PodReplacementPolicy, Text};
use jobcheck_spec::{Findings, Req};
use serde_json::{Map, Value, json};

use super::job_messages::field_errors;
use super::{Context, meta, pod, pod_defaults};
use crate::error::{ApiError, FieldError};
use crate::object::{at, child, members, metadata, put};

/// The completions above which a Job gets a warning, and the parallelism that they may have (SP-13).
const MANY_COMPLETIONS: i64 = 100_000;
const MUCH_PARALLELISM: i64 = 10_000;

fn project(context: &mut Context<'_>, object: &Value) -> Result<Job, ApiError> {
    let refused =
        |error: ProjectError| ApiError::bad_request(format!("Job cannot be handled as a Job: {error}"));
    Ok(context.projector.job(&object.to_string()).map_err(refused)?.job)
}

/// Sets the defaults of a Job (SP-01, BO-14, RP-01) and of its template.
pub(super) fn default(context: &mut Context<'_>, object: &mut Value) -> Result<(), ApiError> {
    let template = members(child(object, "spec").entry("template").or_insert_with(|| json!({})));
    template.entry("metadata").or_insert_with(|| json!({}));
    pod_defaults::pod_spec(members(template.entry("spec").or_insert(Value::Null)));
    let job = project(context, object)?;
    let spec = apiserver::defaulted(&context.rules, &job.spec);
    write_defaults(child(object, "spec"), &spec);
    default_pattern_status(object);
    Ok(())
}

/// Writes the values that defaulting has set.
fn write_defaults(spec: &mut Map<String, Value>, defaulted: &JobSpec) {
    let mode = defaulted.completion_mode.and_then(|mode| match mode {
        CompletionMode::NonIndexed => Some("NonIndexed"),
        CompletionMode::Indexed => Some("Indexed"),
        // The client has sent it, so it is not a default.
        CompletionMode::Unknown => None,
    });
    let replacement = defaulted.pod_replacement_policy.and_then(|policy| match policy {
        PodReplacementPolicy::TerminatingOrFailed => Some("TerminatingOrFailed"),
        PodReplacementPolicy::Failed => Some("Failed"),
        PodReplacementPolicy::Unknown => None,
    });
    let defaults = [
        ("completions", defaulted.completions.map(Value::from)),
        ("parallelism", defaulted.parallelism.map(Value::from)),
        ("backoffLimit", defaulted.backoff_limit.map(Value::from)),
        ("completionMode", mode.map(Value::from)),
        ("suspend", defaulted.suspend.map(Value::from)),
        ("manualSelector", defaulted.manual_selector.map(Value::from)),
        ("podReplacementPolicy", replacement.map(Value::from)),
    ];
    for (key, value) in defaults {
        if let Some(value) = value {
            spec.entry(key).or_insert(value);
        }
    }
}

/// Sets the default `True` of the status in a pattern of a pod failure rule (PF-04).
fn default_pattern_status(object: &mut Value) {
    let rules = object.pointer_mut("/spec/podFailurePolicy/rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        for pattern in rule.get_mut("onPodConditions").and_then(Value::as_array_mut).into_iter().flatten() {
            members(pattern).entry("status").or_insert_with(|| json!("True"));
        }
    }
}

/// Copies the template's labels to a Job without labels (SP-01). For a new Job this is the last step: upstream shares
/// one map, so that the generated labels are in both.
pub(super) fn copy_labels(object: &mut Value) {
    let has_some = object["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty());
    let labels = at(object, &["spec", "template", "metadata", "labels"]).cloned();
    if !has_some && labels.is_some() {
        put(metadata(object), "labels", labels);
    }
}

/// Prepares a new Job (PC-15, SP-11, SS-32), and drops the fields whose feature gate is off.
pub(super) fn prepare_create(context: &mut Context<'_>, object: &mut Value) -> Result<(), ApiError> {
    let sent = project(context, object)?;
    let created = apiserver::created(&context.rules, &sent);
    metadata(object).insert("generation".to_owned(), json!(created.generation));
    object["status"] = json!({});
    let spec = child(object, "spec");
    if created.spec.manual_selector != Some(true) {
        put_labels(child(&mut spec["template"], "metadata"), "labels", &created.spec.template.labels);
        let selector = members(spec.entry("selector").or_insert(Value::Null));
        put_labels(selector, "matchLabels", &created.spec.selector.match_labels);
    }
    drop_gated(spec, &created.spec);
    let kept = created.spec.pod_failure_policy.as_ref().map_or(0, |policy| policy.rules.len());
    if sent.spec.pod_failure_policy.as_ref().is_some_and(|policy| policy.rules.len() > kept)
        && let Some(rules) = object.pointer_mut("/spec/podFailurePolicy/rules").and_then(Value::as_array_mut)
    {
        rules.retain(|rule| rule["action"] != "FailIndex");
    }
    copy_labels(object);
    Ok(())
}

fn put_labels(object: &mut Map<String, Value>, key: &str, labels: &[(Text, Text)]) {
    let labels: Map<String, Value> =
        labels.iter().map(|(key, value)| (key.to_string(), json!(**value))).collect();
    put(object, key, (!labels.is_empty()).then_some(Value::Object(labels)));
}

/// Removes the fields whose feature gate is off.
fn drop_gated(spec: &mut Map<String, Value>, prepared: &JobSpec) {
    let kept = [
        ("managedBy", prepared.managed_by.is_some()),
        ("podReplacementPolicy", prepared.pod_replacement_policy.is_some()),
        ("successPolicy", prepared.success_policy.is_some()),
        ("backoffLimitPerIndex", prepared.backoff_limit_per_index.is_some()),
        ("maxFailedIndexes", prepared.max_failed_indexes.is_some()),
    ];
    for (key, kept) in kept {
        if !kept {
            spec.remove(key);
        }
    }
}

/// Raises the generation with each change of the specification (SP-11).
pub(super) fn prepare_update(
    context: &mut Context<'_>,
    old: &Value,
    new: &mut Value,
) -> Result<(), ApiError> {
    let (was, sent) = (project(context, old)?, project(context, new)?);
    let updated = apiserver::spec_updated(&context.rules, &was, &sent);
    drop_gated(child(new, "spec"), &updated.spec);
    // The model contains only the fields that requirements name. Changes to other fields count too.
    if old["spec"] != new["spec"] {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        metadata(new).insert("generation".to_owned(), json!(generation + 1));
    }
    Ok(())
}

/// The errors in a new Job.
pub(super) fn validate_create(
    context: &mut Context<'_>,
    object: &Value,
    errors: &mut Vec<FieldError>,
) -> Result<(), ApiError> {
    let job = project(context, object)?;
    let mut findings = Findings::new();
    apiserver::validate_create(&context.rules, &job, &mut findings);
    // Rules about the server's own effects refuse no request. The rules of metadata and labels report errors in
    // the name.
    let own =
        [Req::SP01, Req::SP05, Req::BO14, Req::UG04, Req::UG08, Req::UG13, Req::SP11, Req::SS32, Req::SP16];
    findings.broken.retain(|broken| !own.contains(&broken.req));
    if apiserver::would_refuse_create(&job).is_some() {
        errors.extend(field_errors(context.rules, &findings.broken, object, &[]));
    }
    validate_template(object, errors);
    unpanicked(&job, object)
}

/// Returns 500 where upstream's validation panics: for a success policy of an Indexed Job without completions.
fn unpanicked(job: &Job, object: &Value) -> Result<(), ApiError> {
    let rules = object.pointer("/spec/successPolicy/rules").and_then(Value::as_array);
    let compares = rules
        .into_iter()
        .flatten()
        .any(|rule| rule.get("succeededIndexes").is_some() || rule.get("succeededCount").is_some());
    if job.spec.is_indexed() && job.spec.completions.is_none() && compares {
        return Err(ApiError::internal("runtime error: invalid memory address or nil pointer dereference"));
    }
    Ok(())
}

/// Validates the parts of a specification that the model does not have: the form of the selector, and the template as
/// a pod.
fn validate_template(object: &Value, errors: &mut Vec<FieldError>) {
    if at(object, &["spec", "selector"]).is_none() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    let template = &object["spec"]["template"];
    meta::labels(&template["metadata"]["labels"], "spec.template.labels", errors);
    let mut own = Vec::new();
    pod::validate_spec(&template["spec"], "spec.template.spec", &mut own);
    // The restart policy of a Job's template has its own rule (SP-04).
    errors.extend(own.into_iter().filter(|error| error.field != "spec.template.spec.restartPolicy"));
}

/// The errors in an update of the main resource.
pub(super) fn validate_update(
    context: &mut Context<'_>,
    old: &Value,
    new: &Value,
    errors: &mut Vec<FieldError>,
) -> Result<(), ApiError> {
    let (was, is) = (project(context, old)?, project(context, new)?);
    if apiserver::would_refuse_spec(&context.rules, &was, &is).is_some() {
        let mut findings = Findings::new();
        apiserver::validate_spec_update(&context.rules, &was, &is, &mut findings);
        // SP-10 repeats other rules. The others are about the server's own effects.
        let own = [Req::SP10, Req::SP11, Req::SS32, Req::UG04, Req::SP16];
        findings.broken.retain(|broken| !own.contains(&broken.req));
        let changed: Vec<&str> =
            IMMUTABLE.into_iter().filter(|key| old["spec"].get(*key) != new["spec"].get(*key)).collect();
        errors.extend(field_errors(context.rules, &findings.broken, new, &changed));
    }
    validate_template(new, errors);
    unpanicked(&is, new)
}

/// The immutable fields of SP-08 that have no rule of their own.
const IMMUTABLE: [&str; 4] = ["selector", "completionMode", "podFailurePolicy", "successPolicy"];

/// The errors in an update of the status.
pub(super) fn validate_status_update(
    context: &mut Context<'_>,
    old: &Value,
    new: &Value,
    errors: &mut Vec<FieldError>,
) -> Result<(), ApiError> {
    let (was, mut is) = (project(context, old)?, project(context, new)?);
    is.spec = Arc::clone(&was.spec);
    is.generation = was.generation;
    if apiserver::would_refuse_status(&context.rules, &was, &is).is_some() {
        let mut findings = Findings::new();
        apiserver::validate_status_update(&context.rules, &was, &is, &mut findings);
        // SS-36 is not a rule of upstream's: it follows from other rules.
        findings.broken.retain(|broken| !matches!(broken.req, Req::SS36 | Req::SS32 | Req::SP11));
        errors.extend(field_errors(context.rules, &findings.broken, new, &[]));
    }
    Ok(())
}

/// Warns about too many indexes at once (SP-13).
pub(super) fn warn(object: &Value, warnings: &mut Vec<String>) {
    let number = |key: &str| object["spec"][key].as_i64().unwrap_or(0);
    let indexed = object["spec"]["completionMode"] == "Indexed";
    if indexed && number("completions") > MANY_COMPLETIONS && number("parallelism") > MUCH_PARALLELISM {
        warnings.push(
            "spec.parallelism: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism \
             higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes \
             fail"
                .to_owned(),
        );
    }
}
