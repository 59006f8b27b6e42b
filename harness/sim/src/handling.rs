//! The handling of a request of a controller, for which the next step may wait.

use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Request as CallRequest, Response, Subresource, Verb};
use jobcheck_scenario::runtime::{Cluster as _, SentRequest, objection, refusal};
use jobcheck_scenario::{ControllerName, Outcome as Met, Request};

use crate::cluster::NAMESPACE;
use crate::run::ScenarioRun;

/// The handling of a request.
pub(crate) enum Handling {
    /// The server handles the request.
    Handled,
    /// The request is refused before it is carried out.
    Fails(ApiError),
    /// The server handles the request, and the response is lost.
    Lost,
    /// The sender crashes, and the request may be handled later.
    Dies,
}

impl ScenarioRun<'_> {
    /// Returns the handling of a request.
    pub(crate) fn handling(&mut self, sent: &CallRequest, of: ControllerName) -> Handling {
        let Some(step) = self.scenario.steps.get(self.position).map(|it| &it.value) else {
            return Handling::Handled;
        };
        let Some(awaited) = step.awaited(of) else { return Handling::Handled };
        let job = &self.entry(step.job.as_deref()).name;
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.cluster, job, claims).is_none());
        if !is_due || !asked(sent).matches(awaited, &self.cluster, job) {
            return Handling::Handled;
        }
        self.met += 1;
        if self.met < awaited.nth.unwrap_or(1) {
            return Handling::Handled;
        }
        self.next();
        if step.crash.is_some() { Handling::Dies } else { handling_of(awaited, sent) }
    }

    /// Sends a request. Returns the response that its sender receives.
    pub(crate) fn send(
        &mut self,
        request: &CallRequest,
        handling: &Handling,
        actor: &str,
    ) -> Option<Response> {
        match handling {
            Handling::Fails(error) => Some(self.cluster.refuse(request, actor, error)),
            Handling::Lost => {
                // Traces contain no reads.
                if request.verb.writes() {
                    self.cluster.fault("lostResponse", actor, "the answer does not arrive");
                }
                self.cluster.ask(request);
                None
            }
            Handling::Handled | Handling::Dies => Some(self.cluster.ask(request)),
        }
    }
}

fn asked(sent: &CallRequest) -> SentRequest<'_> {
    let body = match &sent.verb {
        Verb::Create(body) => Some(body),
        _ => None,
    };
    SentRequest {
        verb: sent.verb.name(),
        resource: sent.resource.facts().plural,
        subresource: sent.subresource.map(Subresource::name),
        name: sent.name.as_deref(),
        body,
    }
}

fn handling_of(awaited: &Request, sent: &CallRequest) -> Handling {
    match awaited.outcome {
        Some(Met::Fails) => Handling::Fails(refusal(awaited, &asked(sent), NAMESPACE)),
        Some(Met::ResponseLost) => Handling::Lost,
        Some(Met::Handled) | None => Handling::Handled,
    }
}
