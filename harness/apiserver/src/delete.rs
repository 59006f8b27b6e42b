//! The verbs delete and deletecollection.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use jobcheck_spec::apiserver::{FOREGROUND, ORPHAN};
use serde_json::{Value, json};

use crate::error::{ApiError, FieldError};
use crate::events_api::present;
use crate::list;
use crate::object::{finalizers, is_deleting, meta, metadata, parse_time, put_finalizers, text, time};
use crate::request::{DeleteOptions, List, ListOptions, Reply, Request};
use crate::resource::Resource;
use crate::server::Server;
use crate::weight::weight;

/// The grace period of a pod that specifies none.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// The effect of a DELETE on an object.
enum Ending {
    /// The object is being deleted with at most this grace period: nothing changes.
    Pending,
    /// The object is marked as deleted, and stays.
    Marked(Value),
    /// The object is marked in a version of its own, and then removed.
    MarkedAndGone(Value),
    /// The object is removed.
    Gone,
}

impl Server {
    pub(crate) fn delete(
        &mut self,
        now: Timestamp,
        request: &Request,
        options: &DeleteOptions,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        if request.name.is_none() {
            return Err(ApiError::method_not_allowed());
        }
        check_options(options)?;
        let key = request.key();
        let old = self.store.get(resource, &key).map(Arc::clone);
        let old = old.ok_or_else(|| ApiError::not_found(resource, request.name()))?;
        check_preconditions(request, &old, options)?;
        if resource == Resource::Namespaces {
            return self.delete_namespace(now, request, &old);
        }
        let dry_run = request.dry_run || options.dry_run.iter().any(|it| it == "All");
        let (gone, last) = match ending(now, resource, options, &old) {
            Ending::Pending => (false, old),
            // A write that changes nothing creates no version.
            Ending::Marked(marked) if marked == *old => (false, old),
            Ending::Marked(marked) if dry_run => (false, Arc::new(marked)),
            Ending::Marked(marked) => (false, self.store.write(resource, &key, marked)),
            Ending::MarkedAndGone(marked) if dry_run => (true, Arc::new(marked)),
            Ending::MarkedAndGone(marked) => {
                let marked = self.store.write(resource, &key, marked);
                (true, self.store.remove(resource, &key).unwrap_or(marked))
            }
            Ending::Gone if dry_run => (true, old),
            Ending::Gone => (true, self.store.remove(resource, &key).unwrap_or(old)),
        };
        if gone && !resource.facts().returns_deleted {
            return Ok(Reply::Object { code: 200, object: Arc::new(success(resource, &last)) });
        }
        let code = if !gone && options.orphan_dependents == Some(false) { 202 } else { 200 };
        Ok(Reply::Object { code, object: present(resource, &last) })
    }

    /// Marks a namespace, which stays until its contents are removed.
    fn delete_namespace(
        &mut self,
        now: Timestamp,
        request: &Request,
        old: &Arc<Value>,
    ) -> Result<Reply, ApiError> {
        let object = if is_deleting(old) {
            if old["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty) && finalizers(old).is_empty() {
                self.store.remove(request.resource, &request.key());
            }
            Arc::clone(old)
        } else {
            let mut marked = Value::clone(old);
            mark(&mut marked, now);
            marked["status"]["phase"] = json!("Terminating");
            if request.dry_run {
                Arc::new(marked)
            } else {
                self.store.write(request.resource, &request.key(), marked)
            }
        };
        Ok(Reply::Object { code: 200, object })
    }

    pub(crate) fn delete_collection(
        &mut self,
        now: Timestamp,
        request: &Request,
        list_options: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<Reply, ApiError> {
        if request.resource == Resource::Namespaces {
            return Err(ApiError::method_not_allowed());
        }
        check_options(options)?;
        let found = list::list(&self.store, request.resource, request.namespace.as_deref(), list_options)?;
        // Only the response keeps the deleted objects. A list of more than clients may leave unread is not made.
        let is_listed =
            found.items.iter().map(|item| weight(item)).sum::<usize>() <= self.config.unread_bytes;
        let mut items = Vec::new();
        for item in found.items {
            let namespace = Some(meta(&item, "namespace")).filter(|namespace| !namespace.is_empty());
            let one = Request {
                name: Some(meta(&item, "name").to_owned()),
                namespace: namespace.map(str::to_owned),
                ..request.clone()
            };
            match self.delete(now, &one, options) {
                Ok(_) if is_listed => items.push(item),
                Ok(_) => {}
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        if !is_listed {
            return Ok(Reply::Object {
                code: 200,
                object: Arc::new(success_of_collection(request.resource)),
            });
        }
        Ok(Reply::List(List { items, resume: String::new(), remaining: None, ..found }))
    }
}

fn success(resource: Resource, last: &Value) -> Value {
    let facts = resource.facts();
    let mut details = json!({"name": meta(last, "name"), "kind": facts.plural, "uid": meta(last, "uid")});
    if !facts.group.is_empty() {
        details["group"] = json!(facts.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// The response to the deletion of a collection that is too large to be listed.
fn success_of_collection(resource: Resource) -> Value {
    let facts = resource.facts();
    let mut details = json!({"kind": facts.plural});
    if !facts.group.is_empty() {
        details["group"] = json!(facts.group);
    }
    let message = "the deleted objects are too large to be listed";
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "message": message,
        "details": details, "code": 200,
    })
}

/// Refuses invalid options, independent of the object (`ValidateDeleteOptions`).
fn check_options(options: &DeleteOptions) -> Result<(), ApiError> {
    const FIELD: &str = "propagationPolicy";
    let policy = options.propagation_policy.as_deref();
    let known = ["Foreground", "Background", "Orphan"];
    let error = match policy {
        Some(_) if options.orphan_dependents.is_some() => FieldError::invalid(
            FIELD,
            json!(policy),
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        Some(policy) if !known.contains(&policy) => {
            FieldError::unsupported(FIELD, json!(policy), &["Foreground", "Background", "Orphan", "nil"])
        }
        Some(_) | None => return Ok(()),
    };
    Err(ApiError::invalid("DeleteOptions", "meta.k8s.io", "", &[error]))
}

fn check_preconditions(request: &Request, old: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let Some(preconditions) = &options.preconditions else { return Ok(()) };
    let facts = request.resource.facts();
    let conflict = |why: String| {
        // Here upstream names the kind, not the resource as elsewhere.
        let mut error = ApiError::conflict(request.resource, request.name(), &why);
        let kind = crate::resource::qualified(facts.kind, facts.group);
        error.message = error.message.replacen(&request.resource.qualified(), &kind, 1);
        if let Some(details) = &mut error.details {
            details["kind"] = json!(facts.kind);
        }
        Err(error)
    };
    if let Some(asked) = preconditions.uid.as_deref().filter(|asked| *asked != meta(old, "uid")) {
        return conflict(format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            meta(old, "uid")
        ));
    }
    let current = meta(old, "resourceVersion");
    if let Some(asked) = preconditions.resource_version.as_deref().filter(|asked| *asked != current) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record \
             ({current}). The object might have been modified"
        ));
    }
    Ok(())
}

/// Decides the effect of a DELETE (`rest.BeforeDelete`, `updateForGracefulDeletionAndFinalizers`).
fn ending(now: Timestamp, resource: Resource, options: &DeleteOptions, old: &Value) -> Ending {
    let mut new = old.clone();
    let grace = match (resource, is_deleting(old)) {
        (Resource::Pods, false) => {
            let seconds = pod_grace(options, old);
            begin(&mut new, now, seconds);
            Some(seconds)
        }
        (Resource::Pods, true) => match shorter_grace(now, options, old) {
            Shorter::No => return Ending::Pending,
            Shorter::AlreadyZero => None,
            Shorter::To(seconds, until) => {
                let marked = metadata(&mut new);
                marked.insert("deletionTimestamp".to_owned(), time(until));
                marked.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
                Some(seconds)
            }
        },
        (_, _) => None,
    };
    let after = finalizers_after(resource, options, old);
    put_finalizers(&mut new, &after);
    match grace {
        Some(seconds) if seconds > 0 || !after.is_empty() => Ending::Marked(new),
        Some(_) => Ending::MarkedAndGone(new),
        None if after.is_empty() => Ending::Gone,
        None => {
            mark(&mut new, now);
            Ending::Marked(new)
        }
    }
}

/// The grace period with which the deletion of a pod begins. A pod that is not bound, or has terminated, gets none.
fn pod_grace(options: &DeleteOptions, pod: &Value) -> i64 {
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(DEFAULT_GRACE_SECONDS);
    let ended = matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed");
    if ended || text(pod, &["spec", "nodeName"]).is_empty() {
        return 0;
    }
    match options.grace_period_seconds.unwrap_or(own) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

/// Begins a graceful deletion.
fn begin(object: &mut Value, now: Timestamp, seconds: i64) {
    let until = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    next_generation(object);
    let marked = metadata(object);
    marked.insert("deletionTimestamp".to_owned(), time(until));
    marked.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
}

enum Shorter {
    No,
    AlreadyZero,
    To(i64, Timestamp),
}

/// The effect of another DELETE on the grace period of a pod, which only becomes shorter.
fn shorter_grace(now: Timestamp, options: &DeleteOptions, pod: &Value) -> Shorter {
    let current = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    if current == 0 {
        return Shorter::AlreadyZero;
    }
    let asked = match options.grace_period_seconds {
        None => return Shorter::No,
        Some(seconds) if seconds < 0 => 1,
        Some(seconds) => seconds,
    };
    if asked >= current {
        return Shorter::No;
    }
    let until = parse_time(meta(pod, "deletionTimestamp")).unwrap_or(now);
    let until = until.saturating_sub(SignedDuration::from_secs(current - asked)).unwrap_or(now);
    if until >= now {
        return Shorter::To(asked, until);
    }
    // The requested end has passed. The kubelet still removes the pod, unless the grace period is 0.
    Shorter::To(asked.min(1), now)
}

/// Marks an object that stays only because of its finalizers.
pub(crate) fn mark(object: &mut Value, now: Timestamp) {
    if !is_deleting(object) {
        next_generation(object);
    }
    let earlier = parse_time(meta(object, "deletionTimestamp")).is_some_and(|until| until <= now);
    let marked = metadata(object);
    if !earlier {
        marked.insert("deletionTimestamp".to_owned(), time(now));
    }
    marked.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
}

fn next_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    if generation > 0 {
        metadata(object).insert("generation".to_owned(), json!(generation + 1));
    }
}

/// The finalizers after a DELETE. The propagation policy decides which of the garbage collector's are among them
/// (PC-31).
fn finalizers_after(resource: Resource, options: &DeleteOptions, old: &Value) -> Vec<String> {
    let mut kept: Vec<String> = finalizers(old).into_iter().map(str::to_owned).collect();
    if matches!(resource.stored(), Resource::Events) {
        // Events are not garbage-collected.
        return kept;
    }
    let earlier = kept.iter().find(|name| *name == ORPHAN || *name == FOREGROUND).cloned();
    let policy = match (options.orphan_dependents, options.propagation_policy.as_deref()) {
        (Some(true), _) | (None, Some("Orphan")) => Some(ORPHAN),
        (None, Some("Foreground")) => Some(FOREGROUND),
        (Some(false), _) | (None, Some(_)) => None,
        (None, None) => match earlier.as_deref() {
            Some(ORPHAN) => Some(ORPHAN),
            Some(_) => Some(FOREGROUND),
            // In `batch/v1` the default for a Job is to orphan its pods.
            None if resource == Resource::Jobs => Some(ORPHAN),
            None => None,
        },
    };
    kept.retain(|name| *name != ORPHAN && *name != FOREGROUND);
    kept.extend(policy.map(str::to_owned));
    kept
}
