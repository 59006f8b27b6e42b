//! The rules for objects: defaults, preparation, admission, and validation.
//!
//! The rules of Jobs are those of the specification (`jobcheck_spec::apiserver`), which the explorer enforces too.
//! This module contains the rest.

mod job;
mod job_messages;
mod meta;
mod pod;
mod pod_defaults;

use jobcheck_projection::Projector;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use crate::error::{ApiError, FieldError};
use crate::names::dns_label_problem;
use crate::object::{child, members, metadata, put};
use crate::request::Subresource;
use crate::resource::Resource;

/// The settings and caches that rules use.
pub(crate) struct Context<'a> {
    pub(crate) rules: RuleSet,
    pub(crate) projector: &'a mut Projector,
}

/// Sets defaults, as upstream does when it reads a stored object.
pub(crate) fn default_object(
    context: &mut Context<'_>,
    resource: Resource,
    object: &mut Value,
) -> Result<(), ApiError> {
    default_new(context, resource, object)?;
    if resource == Resource::Jobs {
        job::copy_labels(object);
    }
    Ok(())
}

/// Sets the defaults of a new object.
pub(crate) fn default_new(
    context: &mut Context<'_>,
    resource: Resource,
    object: &mut Value,
) -> Result<(), ApiError> {
    match resource {
        Resource::Jobs => job::default(context, object),
        Resource::Pods => {
            pod_defaults::pod_spec(child(object, "spec"));
            Ok(())
        }
        Resource::Namespaces => {
            let name = object["metadata"]["name"].clone();
            let labels = metadata(object).entry("labels").or_insert_with(|| json!({}));
            labels["kubernetes.io/metadata.name"] = name;
            Ok(())
        }
        Resource::Events | Resource::NewEvents => {
            // Go writes this member even if it is empty.
            members(object).entry("source").or_insert_with(|| json!({}));
            Ok(())
        }
        Resource::Leases | Resource::Nodes | Resource::ServiceAccounts => Ok(()),
    }
}

/// Applies the admission plugins to a new object.
pub(crate) fn admit_create(resource: Resource, object: &mut Value) {
    if resource == Resource::Pods {
        pod_defaults::admit(child(object, "spec"));
    }
}

/// Applies the strategy of the resource to a new object.
pub(crate) fn prepare_create(
    context: &mut Context<'_>,
    resource: Resource,
    object: &mut Value,
) -> Result<(), ApiError> {
    match resource {
        Resource::Jobs => return job::prepare_create(context, object),
        Resource::Pods => pod::prepare_create(object),
        Resource::Namespaces => {
            let finalizers = child(object, "spec").entry("finalizers").or_insert_with(|| json!([]));
            if let Some(list) = finalizers.as_array_mut()
                && !list.contains(&json!("kubernetes"))
            {
                list.push(json!("kubernetes"));
            }
            object["status"] = json!({"phase": "Active"});
        }
        Resource::Events
        | Resource::NewEvents
        | Resource::Leases
        | Resource::Nodes
        | Resource::ServiceAccounts => {}
    }
    Ok(())
}

/// The errors in a new object.
pub(crate) fn validate_create(
    context: &mut Context<'_>,
    resource: Resource,
    object: &Value,
) -> Result<Vec<FieldError>, ApiError> {
    let mut errors = meta::validate(context.rules, resource, object);
    match resource {
        Resource::Jobs => job::validate_create(context, object, &mut errors)?,
        Resource::Pods => pod::validate_spec(&object["spec"], "spec", &mut errors),
        Resource::Events | Resource::NewEvents => validate_event(object, &mut errors),
        Resource::Leases => validate_lease(object, &mut errors),
        Resource::Namespaces | Resource::Nodes | Resource::ServiceAccounts => {}
    }
    Ok(errors)
}

/// Applies the strategy of the resource to an update: restores the parts that it must not change.
pub(crate) fn prepare_update(
    context: &mut Context<'_>,
    resource: Resource,
    subresource: Option<Subresource>,
    old: &Value,
    new: &mut Value,
) -> Result<(), ApiError> {
    let keep = |new: &mut Value, part: &str| {
        put(crate::object::members(new), part, old.get(part).cloned());
    };
    match (resource, subresource) {
        (Resource::Jobs, Some(_)) => keep(new, "spec"),
        (Resource::Jobs, None) => {
            keep(new, "status");
            job::prepare_update(context, old, new)?;
        }
        (Resource::Pods, Some(_)) => pod::prepare_status_update(old, new),
        (Resource::Pods, None) => {
            keep(new, "status");
            pod::prepare_update(old, new);
        }
        (Resource::Namespaces | Resource::Nodes, None) => keep(new, "status"),
        (Resource::Namespaces, Some(Subresource::Finalize)) => keep(new, "status"),
        (Resource::Namespaces | Resource::Nodes, Some(_)) => keep(new, "spec"),
        (Resource::Events | Resource::NewEvents | Resource::Leases | Resource::ServiceAccounts, _) => {}
    }
    if (resource, subresource) == (Resource::Namespaces, None) {
        // Only the subresource `finalize` writes the finalizers of the specification.
        let finalizers = old["spec"].get("finalizers").cloned();
        put(child(new, "spec"), "finalizers", finalizers);
    }
    Ok(())
}

/// The errors in an update.
pub(crate) fn validate_update(
    context: &mut Context<'_>,
    resource: Resource,
    subresource: Option<Subresource>,
    old: &Value,
    new: &Value,
) -> Result<Vec<FieldError>, ApiError> {
    let mut errors = meta::validate_update(context.rules, old, new);
    match (resource, subresource) {
        (Resource::Jobs, None) => job::validate_update(context, old, new, &mut errors)?,
        (Resource::Jobs, Some(_)) => job::validate_status_update(context, old, new, &mut errors)?,
        (Resource::Pods, None) => pod::validate_update(old, new, &mut errors),
        (Resource::Pods, Some(_)) => pod::validate_status_update(old, new, &mut errors),
        (Resource::Leases, _) => validate_lease(new, &mut errors),
        (
            Resource::Events
            | Resource::NewEvents
            | Resource::Namespaces
            | Resource::Nodes
            | Resource::ServiceAccounts,
            _,
        ) => {}
    }
    Ok(errors)
}

/// Adds the warnings for a new object that is accepted.
pub(crate) fn warn_of_create(resource: Resource, object: &Value, warnings: &mut Vec<String>) {
    let name = crate::object::meta(object, "name");
    let used = match resource {
        Resource::Jobs => "Pod names and hostnames",
        Resource::Pods => "the Pod's hostname",
        _ => return,
    };
    if let Some(problem) = dns_label_problem(name) {
        warnings.push(format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{problem}]"
        ));
    }
    if resource == Resource::Jobs {
        job::warn(object, warnings);
    }
}

/// Validates an event: the object that it concerns is in the event's namespace.
fn validate_event(event: &Value, errors: &mut Vec<FieldError>) {
    let about = event["involvedObject"]["namespace"].as_str().unwrap_or_default();
    let namespace = crate::object::meta(event, "namespace");
    let fits = if about.is_empty() {
        namespace == "default" || namespace == "kube-system"
    } else {
        about == namespace
    };
    if !fits {
        let found = json!(about);
        errors.push(FieldError::invalid("involvedObject.namespace", found, "does not match event.namespace"));
    }
}

fn validate_lease(lease: &Value, errors: &mut Vec<FieldError>) {
    for (field, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        let value = &lease["spec"][field];
        if value.as_i64().is_some_and(|value| value < least) {
            let why =
                if least == 1 { "must be greater than 0" } else { "must be greater than or equal to 0" };
            errors.push(FieldError::invalid(format!("spec.{field}"), value.clone(), why));
        }
    }
}
