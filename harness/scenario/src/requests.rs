//! Requests of controllers, as a script names them.

use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::script::{Request as Sent, RequestHandling, RequestKind, What};

use super::failure_code::FailureCode;
use super::steps::{ControllerName, Crash, HeldRequest, Outcome, PodTarget, Request, Resource, Step, Verb};

impl Step {
    /// The request of this controller that it waits for.
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
    /// With what it fails, where it does.
    #[must_use]
    pub fn failure(&self) -> FailureCode {
        self.code.unwrap_or(FailureCode::InternalError)
    }

    /// What is wrong with its `code`, on every target: an API server would not answer so, or would not tell the truth.
    pub(super) fn objection(&self) -> Option<&'static str> {
        match (self.code?, self.verb) {
            _ if self.outcome != Some(Outcome::Fails) => {
                Some("a `code` is that of a request that fails: write `outcome: fails`")
            }
            (FailureCode::NotFound, verb) if verb != Verb::Create => Some(
                "404 to this request says that its object is gone, which is not true, and no controller can know better: write \
                 404 for `create` alone, whose namespace may be gone",
            ),
            // Neither admission nor a concurrent write is in the way of a read.
            (FailureCode::Conflict | FailureCode::Invalid, Verb::Get) => {
                Some("no API server answers `get` with 409 or 422: write 403, 429, 500 or 504")
            }
            _ => None,
        }
    }
}

impl HeldRequest {
    /// What becomes of a request of this kind that was held, as a step `request` says it.
    #[must_use]
    pub fn settles(&self, held: &Request) -> Request {
        Request { outcome: self.outcome.or(Some(Outcome::Handled)), code: self.code, ..*held }
    }
}

/// A request and what becomes of it, after those that are let through.
///
/// # Errors
///
/// No controller sends such a request, or not about that.
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
        return Err("this request is about no pod: leave `pod` and `index` out".to_owned());
    }
    if kind == RequestKind::CreatePod && request.pod.is_some() {
        return Err("a pod that is created has no number yet: write `index` or `nth`".to_owned());
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
