//! Refusals of valid requests, as admission or an overloaded server sends them.

use crate::{FailureCode, Request, Resource as Named, Verb};
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::resource::Resource;
use serde_json::json;

use crate::runtime::sent_request::SentRequest;

/// The name of the quota, policy, or webhook in a refusal.
const WHO: &str = "fault.jobcheck.dev";
/// The reason in a refusal.
const WHY: &str = "injected: nothing was done";
/// `OptimisticLockErrorMsg` of `pkg/registry/generic/registry/store.go`.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Returns the refusal with which a request fails, in the words of Kubernetes 1.36. Clients decide by its reason.
///
/// | code | requests | source | reason |
/// | --- | --- | --- | --- |
/// | 403 | all | admission: a quota that is used up, a webhook (`NewForbidden`) | Forbidden |
/// | 404 | `create` | `NamespaceLifecycle`, which finds no namespace | NotFound |
/// | 409 | `create` | `ResourceQuota`, whose status was modified at each attempt (`checkQuotas`) | Conflict |
/// | 409 | status | the registry: another version is stored (`OptimisticLockErrorMsg`) | Conflict |
/// | 409 | `patch`, `delete` | a webhook with this code (`ToStatusErr`): without a version, storage retries itself | Conflict |
/// | 422 | writes | `ValidatingAdmissionPolicy`, unless it sets another reason | Invalid |
/// | 429, 500, 504 | all | the server | of the code |
#[must_use]
pub fn refusal(request: &Request, asked: &SentRequest<'_>, namespace: &str) -> ApiError {
    let resource = match request.resource {
        Named::Pods => Resource::Pods,
        Named::Jobs | Named::JobStatus => Resource::Jobs,
    };
    let forbidden = |why: &str| ApiError::forbidden(resource, name(asked), why);
    match request.failure() {
        FailureCode::Forbidden => forbidden(WHY),
        FailureCode::NotFound => ApiError::not_found(Resource::Namespaces, namespace),
        FailureCode::Conflict => match (request.verb, request.resource) {
            (Verb::Create, _) => quota_conflict(),
            (_, Named::JobStatus) => ApiError::modified(resource, name(asked)),
            (_, Named::Pods | Named::Jobs) => denied_by_webhook(),
        },
        FailureCode::Invalid => {
            let message =
                format!("ValidatingAdmissionPolicy '{WHO}' with binding '{WHO}' denied request: {WHY}");
            denied_by_policy(forbidden(&message), &message)
        }
        FailureCode::TooManyRequests => ApiError::too_many_requests(1),
        FailureCode::InternalError => ApiError::internal(WHY),
        FailureCode::Timeout => ApiError::timeout(WHY),
    }
}

/// The kind of fault in a trace that announces a refusal with this code.
#[must_use]
pub fn fault_kind(code: u16) -> &'static str {
    if code == 409 { "conflict" } else { "rejected" }
}

/// The name of the object in messages of admission (`extractResourceName`). A creation may have none.
fn name<'a>(asked: &SentRequest<'a>) -> &'a str {
    let metadata = asked.body.map(|body| &body["metadata"]);
    let member = |field| metadata.and_then(|metadata| metadata[field].as_str());
    asked.name.or(member("name")).or(member("generateName")).unwrap_or("Unknown")
}

fn quota_conflict() -> ApiError {
    ApiError {
        code: 409,
        reason: "Conflict",
        message: format!("Operation cannot be fulfilled on resourcequotas \"{WHO}\": {MODIFIED}"),
        details: Some(json!({ "name": WHO, "kind": "resourcequotas" })),
        resume: None,
    }
}

fn denied_by_webhook() -> ApiError {
    let message = format!("admission webhook \"{WHO}\" denied the request: {WHY}");
    ApiError { code: 409, reason: "Conflict", message, details: None, resume: None }
}

/// The change that `Validate` of `pkg/admission/plugin/policy/validating/dispatcher.go` makes to `NewForbidden`.
fn denied_by_policy(mut error: ApiError, message: &str) -> ApiError {
    (error.code, error.reason) = (422, "Invalid");
    if let Some(details) = &mut error.details {
        details["causes"] = json!([{ "message": message }]);
    }
    error
}

#[cfg(test)]
mod tests {
    use crate::read;
    use serde_json::Value;

    use super::*;

    /// The `Status` of a request that fails in this step.
    fn status(step: &str, asked: &SentRequest<'_>) -> Value {
        let scenario = read(&format!(
            "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
             jobs: [{{name: job, spec: {{completions: 1}}}}]\nsteps:\n- request: {{{step}, outcome: fails}}\n"
        ));
        let request = scenario.unwrap().steps[0].value.request.unwrap();
        refusal(&request, asked, "ns").status()
    }

    fn asked<'a>(resource: &'a str, name: Option<&'a str>, body: Option<&'a Value>) -> SentRequest<'a> {
        SentRequest { verb: "", resource, subresource: None, name, body }
    }

    #[test]
    fn a_creation_is_refused_by_namespace_quota_or_policy() {
        let pod = json!({ "metadata": { "generateName": "job-" } });
        let of = |code| {
            status(&format!("verb: create, resource: pods, code: {code}"), &asked("pods", None, Some(&pod)))
        };
        assert_eq!(
            (&of(404)["reason"], &of(404)["message"]),
            (&json!("NotFound"), &json!("namespaces \"ns\" not found"))
        );
        // The reason is not AlreadyExists, which would concern the name.
        assert_eq!(
            (&of(409)["reason"], &of(409)["details"]["kind"]),
            (&json!("Conflict"), &json!("resourcequotas"))
        );
        let invalid = of(422);
        assert_eq!((&invalid["code"], &invalid["reason"]), (&json!(422), &json!("Invalid")));
        assert_eq!(
            invalid["message"],
            "pods \"job-\" is forbidden: ValidatingAdmissionPolicy 'fault.jobcheck.dev' with binding \
             'fault.jobcheck.dev' denied request: injected: nothing was done"
        );
        assert_eq!(invalid["details"]["causes"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_conflict_names_versions_if_the_request_has_one() {
        let job = status("verb: update, resource: jobs/status, code: 409", &asked("jobs", Some("job"), None));
        assert_eq!(
            job["message"],
            format!("Operation cannot be fulfilled on jobs.batch \"job\": {MODIFIED}")
        );
        for verb in ["patch", "delete"] {
            let step = format!("verb: {verb}, resource: pods, code: 409");
            let pod = status(&step, &asked("pods", Some("a"), None));
            assert!(pod["message"].as_str().unwrap().starts_with("admission webhook"), "{pod}");
            assert_eq!((&pod["reason"], &pod["code"]), (&json!("Conflict"), &json!(409)));
        }
    }
}
