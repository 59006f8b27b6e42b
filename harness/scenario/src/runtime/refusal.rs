//! How a request is refused though nothing is wrong with it.

use crate::{FailureCode, Request, Resource as Named, Verb};
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::resource::Resource;
use serde_json::json;

use crate::runtime::asked::Asked;

/// Who is said to have refused it: a quota, a policy, a webhook.
const WHO: &str = "fault.jobcheck.dev";
/// Why.
const WHY: &str = "injected: nothing was done";
/// `OptimisticLockErrorMsg` of `pkg/registry/generic/registry/store.go`.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// The refusal with which a request fails as a step says, in the words of Kubernetes 1.36; clients decide by its reason.
///
/// | code | of | who answers so | reason |
/// | --- | --- | --- | --- |
/// | 403 | all | admission: a quota that is used up, a webhook (`NewForbidden`) | Forbidden |
/// | 404 | `create` | `NamespaceLifecycle`, which finds no namespace | NotFound |
/// | 409 | `create` | `ResourceQuota`, whose status others wrote at each of its attempts (`checkQuotas`) | Conflict |
/// | 409 | status | the registry: another version is stored (`OptimisticLockErrorMsg`) | Conflict |
/// | 409 | `patch`, `delete` | a webhook with this code (`ToStatusErr`): without a version storage tries again itself | Conflict |
/// | 422 | writes | `ValidatingAdmissionPolicy`, unless it says another reason | Invalid |
/// | 429, 500, 504 | all | the server | of the code |
#[must_use]
pub fn refusal(request: &Request, asked: &Asked<'_>, namespace: &str) -> ApiError {
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

/// As which fault a trace announces a refusal with this code.
#[must_use]
pub fn announced_as(code: u16) -> &'static str {
    if code == 409 { "conflict" } else { "rejected" }
}

/// What admission calls the object (`extractResourceName`): one that is created has no name yet.
fn name<'a>(asked: &Asked<'a>) -> &'a str {
    let metadata = asked.body.map(|body| &body["metadata"]);
    let told = |field| metadata.and_then(|metadata| metadata[field].as_str());
    asked.name.or(told("name")).or(told("generateName")).unwrap_or("Unknown")
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

/// `Validate` of `pkg/admission/plugin/policy/validating/dispatcher.go` makes it of `NewForbidden`.
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

    /// The `Status` of a request that fails as this step says.
    fn status(step: &str, asked: &Asked<'_>) -> Value {
        let scenario = read(&format!(
            "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
             jobs: [{{name: job, spec: {{completions: 1}}}}]\nsteps:\n- request: {{{step}, outcome: fails}}\n"
        ));
        let request = scenario.unwrap().steps[0].value.request.unwrap();
        refusal(&request, asked, "ns").status()
    }

    fn asked<'a>(resource: &'a str, name: Option<&'a str>, body: Option<&'a Value>) -> Asked<'a> {
        Asked { verb: "", resource, subresource: None, name, body }
    }

    #[test]
    fn a_creation_is_refused_by_its_namespace_its_quota_or_a_policy() {
        let pod = json!({ "metadata": { "generateName": "job-" } });
        let of = |code| {
            status(&format!("verb: create, resource: pods, code: {code}"), &asked("pods", None, Some(&pod)))
        };
        assert_eq!(
            (&of(404)["reason"], &of(404)["message"]),
            (&json!("NotFound"), &json!("namespaces \"ns\" not found"))
        );
        // Not AlreadyExists, which would be about the name.
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
    fn a_conflict_is_of_versions_where_the_request_has_one() {
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
