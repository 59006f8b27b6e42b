//! The handling of a request of a controller, for which the next step may wait.

use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::request::{Request as CallRequest, Response, Subresource, Verb};
use jobcheck_scenario::runtime::{Cluster as _, SentRequest, objection, refusal};
use jobcheck_scenario::{ControllerName, HeldRequest, Leader, Outcome as Met, Request, Step};

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
    /// The request waits for a step `heldRequest`.
    Held(Request),
}

/// A held request.
pub(crate) struct Held {
    /// The number of the process that has sent it.
    pub process: usize,
    /// The request.
    pub request: CallRequest,
    /// The request of the step that has held it.
    pub awaited: Request,
    /// The Job of that step.
    pub job: String,
}

impl ScenarioRun<'_> {
    /// Returns the handling of a request of this process.
    pub(crate) fn handling(&mut self, sent: &CallRequest, of: ControllerName, process: usize) -> Handling {
        if let Some(awaited) = self.lasting(sent, process) {
            return handling_of(&awaited, sent);
        }
        let step = self.scenario.steps.get(self.position).map(|it| &it.value);
        let Some(step) = step.filter(|step| step.until.is_none()) else { return Handling::Handled };
        let Some(awaited) = step.awaited(of) else { return Handling::Handled };
        let job = &self.entry(step.job.as_deref()).name;
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.cluster, job, claims).is_none());
        let is_its = |leader: Leader| usize::from(leader == Leader::Second) == process;
        let is_due = is_due && awaited.leader.is_none_or(is_its);
        if !is_due || !asked(sent).matches(awaited, &self.cluster, job) {
            return Handling::Handled;
        }
        self.met = self.met.saturating_add(1);
        if self.met < awaited.nth.unwrap_or(1) {
            return Handling::Handled;
        }
        self.next();
        if step.crash.is_some() { Handling::Dies } else { handling_of(awaited, sent) }
    }

    /// The request of a step with `until` that still applies, and that this request matches. Drops the steps that no longer
    /// apply.
    fn lasting(&mut self, sent: &CallRequest, process: usize) -> Option<Request> {
        let mut lasting = std::mem::take(&mut self.lasting);
        let (scenario, cluster) = (self.scenario, &self.cluster);
        let job = |step: &Step| &self.entry(step.job.as_deref()).name;
        let step = |number: &usize| scenario.steps.get(*number).map(|it| &it.value);
        let applies = |step: &Step| {
            step.until.as_ref().is_some_and(|claims| objection(cluster, job(step), claims).is_some())
        };
        lasting.retain(|number| step(number).is_some_and(applies));
        let is_its = |leader: Leader| usize::from(leader == Leader::Second) == process;
        let is_meant = |step: &Step, awaited: &Request| {
            awaited.leader.is_none_or(is_its) && asked(sent).matches(awaited, cluster, job(step))
        };
        let mut found = lasting.iter().filter_map(|number| {
            let step = step(number)?;
            step.request.filter(|awaited| is_meant(step, awaited))
        });
        let found = found.next();
        self.lasting = lasting;
        found
    }

    /// Lets a held request continue. Returns false if there is none.
    ///
    /// A process that waits for a response sends no other request, so that each process has at most one.
    pub(crate) fn continue_request(&mut self, how: &HeldRequest) -> bool {
        let cluster = &self.cluster;
        let is_meant = |it: &Held| {
            let awaited = Request { pod: how.pod.or(it.awaited.pod), ..it.awaited };
            how.pod.is_none() || asked(&it.request).matches(&awaited, cluster, &it.job)
        };
        let Some(number) = self.held.iter().position(is_meant) else { return false };
        let Held { process, request, awaited, .. } = self.held.remove(number);
        let handling = handling_of(&how.settles(&awaited), &request);
        self.ask(process, &request, &handling);
        true
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
                    self.cluster.fault("lostResponse", actor, "the response is lost");
                }
                self.cluster.ask(request);
                None
            }
            Handling::Handled | Handling::Dies | Handling::Held(_) => Some(self.cluster.ask(request)),
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

pub(crate) fn handling_of(awaited: &Request, sent: &CallRequest) -> Handling {
    match awaited.outcome {
        Some(Met::Fails) => Handling::Fails(refusal(awaited, &asked(sent), NAMESPACE)),
        Some(Met::ResponseLost) => Handling::Lost,
        Some(Met::Held) => Handling::Held(*awaited),
        Some(Met::Handled) | None => Handling::Handled,
    }
}
