//! Requests of controllers in steps.

use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::script::{Request as Sent, RequestHandling, RequestKind, What};

use super::failure_code::FailureCode;
use super::steps::{ControllerName, Crash, HeldRequest, Outcome, PodTarget, Request, Resource, Step, Verb};

impl Step {
    /// The request of this controller for which the step waits.
    #[must_use]
    pub fn awaited(&self, sender: ControllerName) -> Option<&Request> {
        match (&self.request, &self.crash) {
            (Some(request), _) => Some(request),
            (None, Some(Crash { during: Some(request), controller }))
                if controller.is_none_or(|it| it == sender) =>
            {
                Some(request)
            }
            _ => None,
        }
    }
}

impl Request {
    /// The code with which the request fails. The default is 500.
    #[must_use]
    pub fn failure(&self) -> FailureCode {
        self.code.unwrap_or(FailureCode::InternalError)
    }

    /// The reason why its `code` is invalid on every target: no API server sends it for this request.
    pub(super) fn objection(&self) -> Option<&'static str> {
        match (self.code?, self.verb) {
            _ if self.outcome != Some(Outcome::Fails) => Some("`code` requires `outcome: fails`"),
            (FailureCode::NotFound, verb) if verb != Verb::Create => Some(
                "404 for this request means that its object was removed, which is not true and would mislead any controller: \
                 write 404 only for `create`, whose namespace may be removed",
            ),
            // A read fails neither by admission nor by a concurrent write.
            (FailureCode::Conflict | FailureCode::Invalid, Verb::Get) => {
                Some("no API server answers `get` with 409 or 422: write 403, 429, 500 or 504")
            }
            _ => None,
        }
    }
}

impl HeldRequest {
    /// The outcome of a held request of this kind, as a step `request` states it.
    #[must_use]
    pub fn settles(&self, held: &Request) -> Request {
        Request { outcome: self.outcome.or(Some(Outcome::Handled)), code: self.code, ..*held }
    }
}

/// Returns the script items of a request: the requests before it, which are handled, and its own handling.
///
/// # Errors
///
/// No controller sends such a request.
pub fn sent(request: &Request, handling: RequestHandling) -> Result<Vec<What>, String> {
    let kind = match (request.verb, request.resource) {
        (Verb::Create, Resource::Pods) => RequestKind::CreatePod,
        (Verb::Delete, Resource::Pods) => RequestKind::DeletePod,
        (Verb::Patch, Resource::Pods) => RequestKind::PatchPod,
        (Verb::Update, Resource::JobStatus) => RequestKind::UpdateStatus,
        (Verb::Get, Resource::Jobs) => RequestKind::GetJob,
        (Verb::Delete, Resource::Jobs) => RequestKind::DeleteJob,
        _ => {
            return Err(
                "no controller sends such a request: write create, delete or patch of pods, update of \
                        jobs/status, or get or delete of jobs"
                    .to_owned(),
            );
        }
    };
    let of_pods = matches!(kind, RequestKind::CreatePod | RequestKind::DeletePod | RequestKind::PatchPod);
    if !of_pods && (request.pod.is_some() || request.index.is_some()) {
        return Err("this request concerns no pod: remove `pod` and `index`".to_owned());
    }
    if kind == RequestKind::CreatePod && request.pod.is_some() {
        return Err("a created pod has no number yet: write `index` or `nth`".to_owned());
    }
    if request.nth == Some(0) {
        return Err("requests are numbered from 1".to_owned());
    }
    let pod = PodTarget { pod: request.pod, index: request.index, count: None }.to_model();
    let request_of = |handling| What::Request(Sent { kind, pod }, handling);
    let before = usize::from(request.nth.unwrap_or(1)).saturating_sub(1);
    let mut all = vec![request_of(RequestHandling::Sent(RequestOutcome::Handled)); before];
    all.push(request_of(handling));
    Ok(all)
}
