//! Requests and answers that are the same for every step.

use jobcheck_spec::Uid;
use jobcheck_traces::{Resource, Verb};
use serde_json::{Value, json};

use super::scribe::{Asked, Told, Who};
use super::walk::Known;

/// A request about the Job.
pub(super) fn about_job<'a>(
    known: &'a Known,
    who: Who,
    verb: Verb,
    body: Option<Value>,
    answer: Told,
) -> Asked<'a> {
    Asked {
        who,
        verb,
        resource: Resource::Jobs,
        is_status: false,
        namespace: &known.names.namespace,
        name: known.names.job.clone(),
        uid: Some(known.job.uid.to_string()),
        propagation: None,
        patch_type: None,
        body,
        received: None,
        answer,
    }
}

/// A request about a pod.
pub(super) fn about_pod<'a>(
    known: &'a Known,
    who: Who,
    verb: Verb,
    uid: Uid,
    body: Option<Value>,
    answer: Told,
) -> Asked<'a> {
    Asked {
        resource: Resource::Pods,
        name: known.names.pod(uid),
        uid: Some(known.names.uid(uid).to_string()),
        ..about_job(known, who, verb, body, answer)
    }
}

/// The patch that removes the tracking finalizer, as the built-in sends it.
pub(super) fn release(known: &Known, uid: Uid) -> Value {
    json!({ "metadata": {
        "uid": known.names.uid(uid).to_string(),
        "$deleteFromPrimitiveList/finalizers": [jobcheck_spec::pod::TRACKING_FINALIZER],
    } })
}

pub(super) fn pod_not_found(known: &Known, uid: Uid) -> Told {
    not_found("pods", &known.names.pod(uid))
}

pub(super) fn not_found(what: &str, name: &str) -> Told {
    Told::Refused(404, "NotFound", format!("{what} \"{name}\" not found"))
}

pub(super) fn too_many_requests() -> Told {
    let message = "the server has received too many requests and has asked us to try again later";
    Told::Refused(429, "TooManyRequests", message.to_owned())
}

/// PC-12.
pub(super) fn namespace_terminating(namespace: &str) -> Told {
    let message = format!(
        "pods is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
    );
    Told::Refused(403, "Forbidden", message)
}

pub(super) fn conflict(name: &str) -> Told {
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{name}\": the object has been modified; please apply your \
         changes to the latest version and try again"
    );
    Told::Refused(409, "Conflict", message)
}

pub(super) fn invalid(name: &str, broken: &jobcheck_spec::Broken) -> Told {
    // Values stay away: they are of the model's clock.
    let sentence = broken.req.entry().sentence;
    let message = format!("Job.batch \"{name}\" is invalid: {}: Invalid value: {sentence}", broken.what);
    Told::Refused(422, "Invalid", message)
}
