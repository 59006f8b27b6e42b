//! What becomes of a request of a controller: the step that comes next may wait for it.

use jobcheck_apiserver::request::{Request as Sent, Response, Subresource, Verb as SentVerb};
use jobcheck_apiserver::resource::Resource as SentResource;
use jobcheck_harness::scenario::{
    ControllerName, Crash, FailureCode, Outcome as Met, Request, Resource, Verb,
};
use jobcheck_stage::{Cluster as _, completion_index, objection};

use crate::run::Play;

/// What becomes of a request.
pub(crate) enum Fate {
    /// The server handles it.
    Handled,
    /// It fails before anything is done.
    Fails(FailureCode),
    /// The server handles it, and its sender hears nothing.
    Lost,
    /// Its sender dies, and it may arrive later.
    Dies,
}

impl Play<'_> {
    /// What becomes of a request: the step may wait for it.
    pub(crate) fn fate(&mut self, sent: &Sent, of: ControllerName) -> Fate {
        let Some(step) = self.scenario.steps.get(self.position).map(|it| &it.value) else {
            return Fate::Handled;
        };
        let job = self.entry(step.job.as_deref());
        let due =
            step.when.as_ref().is_none_or(|claims| objection(&self.cluster, &job.name, claims).is_none());
        let (awaited, fate) = match (&step.request, &step.crash) {
            (Some(request), _) => (request, fate_of(request)),
            (None, Some(Crash { during: Some(request), controller }))
                if controller.is_none_or(|it| it == of) =>
            {
                (request, Fate::Dies)
            }
            _ => return Fate::Handled,
        };
        if !due || !self.fits(awaited, sent, &job.name) {
            return Fate::Handled;
        }
        self.met += 1;
        if self.met < awaited.nth.unwrap_or(1) {
            return Fate::Handled;
        }
        self.next();
        fate
    }

    /// Whether a request is the one that is awaited. A status is written by PUT or by PATCH: that is the controller's
    /// own business.
    fn fits(&self, awaited: &Request, sent: &Sent, job: &str) -> bool {
        let verb = match &sent.verb {
            SentVerb::Create(_) => Verb::Create,
            SentVerb::Get { .. } => Verb::Get,
            SentVerb::Patch { .. } if sent.resource == SentResource::Jobs => Verb::Update,
            SentVerb::Update(_) => Verb::Update,
            SentVerb::Patch { .. } => Verb::Patch,
            SentVerb::Delete(_) => Verb::Delete,
            SentVerb::List(_) | SentVerb::Watch(_) | SentVerb::DeleteCollection(..) => return false,
        };
        let resource = match (sent.resource, sent.subresource) {
            (SentResource::Jobs, Some(Subresource::Status)) => Resource::JobStatus,
            (SentResource::Jobs, _) => Resource::Jobs,
            (_, _) => Resource::Pods,
        };
        verb == awaited.verb && resource == awaited.resource && self.is_about(awaited, sent, job)
    }

    fn is_about(&self, awaited: &Request, sent: &Sent, job: &str) -> bool {
        if sent.resource == SentResource::Jobs {
            return sent.name() == job;
        }
        let created = self.cluster.created(job);
        let (own, index) = match &sent.verb {
            SentVerb::Create(body) => (body["metadata"]["labels"]["job-name"] == job, completion_index(body)),
            _ => {
                let own = created.iter().any(|it| it.name == sent.name());
                (own, self.cluster.pod(sent.name()).and_then(completion_index))
            }
        };
        let numbered = awaited.pod.is_none_or(|number| {
            usize::from(number)
                .checked_sub(1)
                .and_then(|it| created.get(it))
                .is_some_and(|it| it.name == sent.name())
        });
        own && numbered && awaited.index.is_none_or(|wanted| index == Some(wanted))
    }

    /// Sends a request, and what its sender hears.
    pub(crate) fn send(&mut self, request: &Sent, fate: &Fate, actor: &str) -> Option<Response> {
        match fate {
            Fate::Fails(code) => Some(self.cluster.refuse(request, actor, *code)),
            Fate::Lost => {
                self.cluster.fault("lostResponse", actor, "the answer does not arrive");
                self.cluster.ask(request);
                None
            }
            Fate::Handled | Fate::Dies => Some(self.cluster.ask(request)),
        }
    }
}

fn fate_of(request: &Request) -> Fate {
    match request.outcome {
        Some(Met::Fails) => Fate::Fails(request.code.unwrap_or(FailureCode::InternalError)),
        Some(Met::AnswerLost) => Fate::Lost,
        Some(Met::Handled) | None => Fate::Handled,
    }
}
