//! What becomes of a request of a controller: the step that comes next may wait for it.

use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Request as Sent, Response, Subresource, Verb};
use jobcheck_scenario::runtime::{Asked, Cluster as _, objection, refusal};
use jobcheck_scenario::{ControllerName, Outcome as Met, Request};

use crate::cluster::NAMESPACE;
use crate::run::Play;

/// What becomes of a request.
pub(crate) enum Handling {
    /// The server handles it.
    Handled,
    /// It is refused so before anything is done.
    Fails(ApiError),
    /// The server handles it, and its sender hears nothing.
    Lost,
    /// Its sender dies, and it may arrive later.
    Dies,
}

impl Play<'_> {
    /// What becomes of a request: the step may wait for it.
    pub(crate) fn handling(&mut self, sent: &Sent, of: ControllerName) -> Handling {
        let Some(step) = self.scenario.steps.get(self.position).map(|it| &it.value) else {
            return Handling::Handled;
        };
        let Some(awaited) = step.awaited(of) else { return Handling::Handled };
        let job = &self.entry(step.job.as_deref()).name;
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.cluster, job, claims).is_none());
        if !is_due || !asked(sent).fits(awaited, &self.cluster, job) {
            return Handling::Handled;
        }
        self.met += 1;
        if self.met < awaited.nth.unwrap_or(1) {
            return Handling::Handled;
        }
        self.next();
        if step.crash.is_some() { Handling::Dies } else { handling_of(awaited, sent) }
    }

    /// Sends a request, and what its sender hears.
    pub(crate) fn send(&mut self, request: &Sent, handling: &Handling, actor: &str) -> Option<Response> {
        match handling {
            Handling::Fails(error) => Some(self.cluster.refuse(request, actor, error)),
            Handling::Lost => {
                // Reads are in no trace.
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

fn asked(sent: &Sent) -> Asked<'_> {
    let body = match &sent.verb {
        Verb::Create(body) => Some(body),
        _ => None,
    };
    Asked {
        verb: sent.verb.name(),
        resource: sent.resource.facts().plural,
        subresource: sent.subresource.map(Subresource::name),
        name: sent.name.as_deref(),
        body,
    }
}

fn handling_of(awaited: &Request, sent: &Sent) -> Handling {
    match awaited.outcome {
        Some(Met::Fails) => Handling::Fails(refusal(awaited, &asked(sent), NAMESPACE)),
        Some(Met::ResponseLost) => Handling::Lost,
        Some(Met::Handled) | None => Handling::Handled,
    }
}
