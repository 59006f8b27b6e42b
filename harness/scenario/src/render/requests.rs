//! Requests and responses that several steps share.

use jobcheck_spec::Uid;
use jobcheck_traces::{Resource, Verb};
use serde_json::{Value, json};

use super::trace_writer::{Exchange, Response, Sender};
use super::walk::JobRecord;

/// Returns a request about the Job.
pub(super) fn about_job<'a>(
    record: &'a JobRecord,
    sender: Sender,
    verb: Verb,
    response: Response,
) -> Exchange<'a> {
    Exchange {
        sender,
        verb,
        resource: Resource::Jobs,
        is_status: false,
        namespace: &record.names.namespace,
        name: record.names.job.clone(),
        uid: Some(record.job.uid.to_string()),
        propagation: None,
        patch_type: None,
        body: None,
        received: None,
        response,
    }
}

/// Returns a request about a pod.
pub(super) fn about_pod<'a>(
    record: &'a JobRecord,
    sender: Sender,
    verb: Verb,
    uid: Uid,
    response: Response,
) -> Exchange<'a> {
    Exchange {
        resource: Resource::Pods,
        name: record.names.pod(uid),
        uid: Some(record.names.uid(uid).to_string()),
        ..about_job(record, sender, verb, response)
    }
}

/// The patch with which the built-in controller removes the tracking finalizer.
pub(super) fn remove_finalizer_patch(record: &JobRecord, uid: Uid) -> Value {
    json!({ "metadata": {
        "uid": record.names.uid(uid).to_string(),
        "$deleteFromPrimitiveList/finalizers": [jobcheck_spec::pod::TRACKING_FINALIZER],
    } })
}

pub(super) fn pod_not_found(record: &JobRecord, uid: Uid) -> Response {
    not_found("pods", &record.names.pod(uid))
}

pub(super) fn not_found(what: &str, name: &str) -> Response {
    Response::Refused(404, "NotFound", format!("{what} \"{name}\" not found"))
}

pub(super) fn too_many_requests() -> Response {
    let message = "the server has received too many requests and has asked us to try again later";
    Response::Refused(429, "TooManyRequests", message.to_owned())
}

/// The refusal of a creation in a terminating namespace (PC-12).
pub(super) fn namespace_terminating(namespace: &str) -> Response {
    let message = format!(
        "pods is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
    );
    Response::Refused(403, "Forbidden", message)
}

pub(super) fn conflict(name: &str) -> Response {
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{name}\": the object has been modified; please apply your \
         changes to the latest version and try again"
    );
    Response::Refused(409, "Conflict", message)
}

pub(super) fn invalid(name: &str, broken: &jobcheck_spec::Broken) -> Response {
    // The values are omitted, because their times are those of the model's clock.
    let sentence = broken.req.entry().sentence;
    let message = format!("Job.batch \"{name}\" is invalid: {}: Invalid value: {sentence}", broken.what);
    Response::Refused(422, "Invalid", message)
}
