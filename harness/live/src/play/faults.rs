//! Faults of the controllers of a run, of their requests, and of their watches.

use std::time::{Duration, Instant};

use jobcheck_faultproxy::{
    Cut, Delivery, Handle, Handling, HeldRequest, RequestInfo, Verb as Sent, Watched, hold,
};
use jobcheck_record::AccessError;
use jobcheck_scenario::runtime::{Cluster, objection, refusal, rollout_gates};
use jobcheck_scenario::{
    ControllerName, HeldRequest as HeldRequestStep, Leader as Which, Outcome, Request, Rollout, Step, Watch,
    Watched as Named,
};
use jobcheck_traces::Resource;
use serde_json::{Value, json};

use super::{Play, QUIET};
use crate::Manager;
use crate::error::Error;
use crate::leader::RequestDecision;
use crate::recording::time;

/// The name of the TTL controller at the end of its user agent.
const TTL: &str = "ttl-after-finished-controller";
/// The time in which the API server must respond to a delayed request.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval of checks while the API server is restarted.
const AGAIN: Duration = Duration::from_millis(100);
/// The first delay of a controller's retries, and the maximum number of its doublings.
const RETRY: (Duration, u32) = (Duration::from_secs(1), 3);

/// The state of the faults of a run.
#[derive(Default)]
pub(super) struct Faults {
    /// The number of requests so far that match the step.
    pub met: u8,
    /// The time of the last request of a controller.
    pub last: Option<Instant>,
    /// The number of requests that failed or whose response was lost.
    failed: u32,
    /// The request of a terminated controller that is still held.
    delayed: Option<DelayedRequest>,
    /// The numbers of the steps with `until` whose outcome still applies to matching requests.
    lasting: Vec<usize>,
    /// The requests that wait for a step `heldRequest`, with the step that has held them, in the order of their sending.
    held: Vec<Waiting>,
    /// True from the end of the watches until new ones are open.
    is_expiring: bool,
    holds_jobs: bool,
    holds_pods: bool,
}

/// A request that the proxy holds, and whose sender has terminated.
struct DelayedRequest {
    id: String,
    sent: String,
    is_write: bool,
    held: HeldRequest,
}

/// A request that waits in the proxy for a step `heldRequest`.
struct Waiting {
    request: RequestDecision,
    awaited: Request,
    job: String,
}

impl Faults {
    /// The time without requests after which a run is quiescent. It grows with the number of faults, because
    /// controllers retry with increasing delays.
    pub(super) fn quiet(&self) -> Duration {
        let (first, most) = RETRY;
        let doublings = self.failed.checked_sub(1).map(|times| times.min(most));
        QUIET + doublings.map_or(Duration::ZERO, |times| first * 2_u32.pow(times))
    }
}

/// The actor of a request in traces: the end of its user agent.
fn actor(agent: &str) -> &str {
    agent.rsplit(['/', ':']).next().unwrap_or_default()
}

impl Play<'_> {
    /// Decides how a request of a controller is handled, and sends the decision to the proxy.
    pub(super) fn decide(&mut self, request: RequestDecision) -> Result<(), Error> {
        self.faults.last = Some(Instant::now());
        let Some(handling) = self.handling(request.leader, &request.asked)? else {
            self.hold_request(request);
            return Ok(());
        };
        // The client may have disconnected meanwhile.
        let _ = request.reply.send(handling);
        Ok(())
    }

    /// Holds a request for the next step, which is done with that.
    fn hold_request(&mut self, request: RequestDecision) {
        let step = self.scenario.steps.get(self.position).map(|it| &it.value);
        let Some((step, awaited)) = step.and_then(|step| Some((step, step.request?))) else { return };
        let job = self.entry(step.job.as_deref()).name.clone();
        self.faults.held.push(Waiting { request, awaited, job });
        self.next();
    }

    /// Lets a held request continue. Returns false if there is none.
    fn continue_request(&mut self, how: &HeldRequestStep) -> bool {
        let ns = &self.ns;
        let is_meant = |it: &Waiting| {
            let pod = Request { pod: how.pod.or(it.awaited.pod), ..it.awaited };
            let body = body(&it.request.asked);
            how.pod.is_none() || attributes(&it.request.asked, body.as_ref()).matches(&pod, ns, &it.job)
        };
        let Some(number) = self.faults.held.iter().position(is_meant) else { return false };
        let Waiting { request: RequestDecision { asked, reply, .. }, awaited, .. } =
            self.faults.held.remove(number);
        self.faults.last = Some(Instant::now());
        let handling = self.apply_outcome(&how.settles(&awaited), &asked);
        let _ = reply.send(handling);
        true
    }

    /// Returns the handling of a request for the outcome of its step, and records it.
    fn apply_outcome(&mut self, awaited: &Request, asked: &RequestInfo) -> Handling {
        match awaited.outcome {
            Some(Outcome::Fails) => {
                let body = body(asked);
                let error = refusal(awaited, &attributes(asked, body.as_ref()), &self.ns.namespace());
                self.faults.failed = self.faults.failed.saturating_add(1);
                self.recording.refused(asked, actor(&asked.agent), &error);
                Handling::RefuseWith(error.status())
            }
            Some(Outcome::ResponseLost) => {
                self.faults.failed = self.faults.failed.saturating_add(1);
                self.recording.loses_response(&asked.id, actor(&asked.agent));
                Handling::LoseResponse
            }
            Some(Outcome::Handled | Outcome::Held) | None => Handling::Forward,
        }
    }

    /// The handling of a request, for which the next step may wait. Returns `None` if the step holds the request.
    fn handling(&mut self, leader: usize, asked: &RequestInfo) -> Result<Option<Handling>, Error> {
        let scenario = self.scenario;
        if let Some(awaited) = self.lasting(leader, asked) {
            return Ok(Some(self.apply_outcome(&awaited, asked)));
        }
        let Some(step) = scenario.steps.get(self.position).map(|it| &it.value) else {
            return Ok(Some(Handling::Forward));
        };
        if step.until.is_some() {
            return Ok(Some(Handling::Forward));
        }
        let job = &self.entry(step.job.as_deref()).name;
        let Some(awaited) = step.awaited(sender(asked)) else { return Ok(Some(Handling::Forward)) };
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.ns, job, claims).is_none());
        let body = body(asked);
        let sent = attributes(asked, body.as_ref());
        let is_meant = awaited.leader.is_none_or(|which| self.number_of(which) == Some(leader));
        if !is_due || !is_meant || !sent.matches(awaited, &self.ns, job) {
            return Ok(Some(Handling::Forward));
        }
        self.faults.met = self.faults.met.saturating_add(1);
        if self.faults.met < awaited.nth.unwrap_or(1) {
            return Ok(Some(Handling::Forward));
        }
        if awaited.outcome == Some(Outcome::Held) {
            return Ok(None);
        }
        self.next();
        if step.crash.is_some() {
            return self.crash_during(leader, asked).map(Some);
        }
        Ok(Some(self.apply_outcome(awaited, asked)))
    }

    /// The request of a step with `until` that still applies, and that this request matches.
    fn lasting(&self, leader: usize, asked: &RequestInfo) -> Option<Request> {
        if self.faults.lasting.is_empty() {
            return None;
        }
        let body = body(asked);
        let sent = attributes(asked, body.as_ref());
        self.faults.lasting.iter().find_map(|number| {
            let step = self.scenario.steps.get(*number).map(|it| &it.value)?;
            let job = &self.entry(step.job.as_deref()).name;
            let is_its = |which| self.number_of(which) == Some(leader);
            let is_meant = |it: &Request| it.leader.is_none_or(is_its) && sent.matches(it, &self.ns, job);
            step.request.filter(is_meant)
        })
    }

    /// Drops the outcomes of steps with `until` whose condition holds now.
    pub(super) fn drop_past_outcomes(&mut self) {
        let mut lasting = std::mem::take(&mut self.faults.lasting);
        lasting.retain(|number| {
            let step = self.scenario.steps.get(*number).map(|it| &it.value);
            let until = step.and_then(|step| Some((step, step.until.as_ref()?)));
            until.is_some_and(|(step, claims)| {
                objection(&self.ns, &self.entry(step.job.as_deref()).name, claims).is_some()
            })
        });
        self.faults.lasting = lasting;
    }

    /// The number of the first leader, or of the second.
    fn number_of(&self, which: Which) -> Option<usize> {
        self.leaders.get(usize::from(which == Which::Second)).map(|leader| leader.number)
    }

    /// Holds the request, and kills its sender.
    fn crash_during(&mut self, leader: usize, asked: &RequestInfo) -> Result<Handling, Error> {
        let (hold, held) = hold();
        let is_write = asked.verb != Sent::Get;
        self.faults.delayed = Some(DelayedRequest { id: asked.id.clone(), sent: time(), is_write, held });
        self.restart(leader, None)?;
        Ok(Handling::Hold(hold))
    }

    /// Applies a step to the controllers or to their watches. Returns true if it is done.
    pub(super) fn apply_fault(&mut self, step: &Step) -> Result<bool, Error> {
        let Some(first) = self.leaders.first().map(|leader| leader.number) else { return Ok(false) };
        if let Some(crash) = step.crash {
            if crash.during.is_some() {
                return Ok(false);
            }
            self.restart(first, None)?;
        } else if let Some(rollout) = &step.rollout {
            self.restart(first, Some(rollout))?;
        } else if step.pause.is_some() {
            self.leaders.iter_mut().for_each(|leader| leader.controller.pause());
        } else if step.unpause.is_some() {
            self.leaders.iter_mut().try_for_each(|leader| leader.controller.unpause())?;
        } else if let Some(hold) = step.hold {
            self.hold(hold);
        } else if let Some(release) = step.release {
            self.release(release);
        } else if let Some(expiry) = step.expire {
            return Ok(self.expire(expiry.watch));
        } else if step.catch_up.is_some() {
            self.release(Watch { watch: Named::Jobs, leader: None });
            self.release(Watch { watch: Named::Pods, leader: None });
            return Ok(!self.is_behind());
        } else if step.until.is_some() {
            self.faults.lasting.push(self.position);
        } else if let Some(held) = &step.held_request {
            return Ok(self.continue_request(held));
        } else if step.late_request.is_some() {
            return self.deliver_delayed_request();
        } else if step.second_leader.is_some() {
            return self.elect_second_leader();
        } else if let Some(resignation) = step.resign {
            return Ok(self.stop_leader(resignation.leader));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Restarts controllers that have ended during a disruption, as a supervisor would.
    ///
    /// # Errors
    ///
    /// A controller has ended without a disruption.
    pub(super) fn look_after_leaders(&mut self) -> Result<(), Error> {
        for number in 0..self.leaders.len() {
            let Some(leader) = self.leaders.get_mut(number) else { continue };
            match leader.controller.check() {
                Err(_) if self.cluster.disruptions().is_near() => {
                    let leader = leader.number;
                    self.restart(leader, None)?;
                }
                checked => checked?,
            }
        }
        Ok(())
    }

    /// Replaces a process, with other feature gates for a rollout.
    fn restart(&mut self, leader: usize, rollout: Option<&Rollout>) -> Result<(), Error> {
        let actors = self.actors();
        let Some(leader) = self.leaders.iter_mut().find(|it| it.number == leader) else { return Ok(()) };
        leader.controller.end();
        for actor in actors {
            let mut mark = json!({ "kind": "restart", "actor": actor });
            match rollout {
                None => self.recording.fault("crash", actor, "the process dies and is started again"),
                Some(rollout) => mark["assume"] = rollout_gates(rollout),
            }
            self.recording.mark(mark);
        }
        // A controller ends if it cannot reach its API server at the start.
        while self.cluster.disruptions().is_under_way() {
            std::thread::sleep(AGAIN);
        }
        leader.controller.begin(rollout.map(Rollout::gates))
    }

    /// The controllers of a process, by the last part of their user agents.
    fn actors(&self) -> Vec<&'static str> {
        let of_jobs = if self.plan.managed_by.is_some() { "jobcheck-controller" } else { "job-controller" };
        match self.plan.manager {
            Manager::Shipped { ttl: false, .. } | Manager::External => vec![of_jobs],
            Manager::Shipped { ttl: true, .. } | Manager::BuiltIn { .. } => vec![of_jobs, TTL],
        }
    }

    fn proxies(&self) -> impl Iterator<Item = &Handle> {
        self.proxies_of(None)
    }

    /// The proxies of all leaders, or of one.
    fn proxies_of(&self, which: Option<Which>) -> impl Iterator<Item = &Handle> {
        let number = which.map(|which| self.number_of(which));
        let meant =
            self.leaders.iter().filter(move |it| number.is_none_or(|number| number == Some(it.number)));
        meant.filter_map(|leader| leader.proxy.as_ref())
    }

    fn hold(&mut self, Watch { watch, leader }: Watch) {
        self.proxies_of(leader).for_each(|proxy| proxy.hold(of(watch)));
        self.notes_hold(watch, leader, true);
    }

    fn release(&mut self, Watch { watch, leader }: Watch) {
        self.proxies_of(leader).for_each(|proxy| proxy.release(of(watch), Delivery::Each));
        self.notes_hold(watch, leader, false);
    }

    /// A leader that begins later finds held what is held for all.
    fn notes_hold(&mut self, watch: Named, leader: Option<Which>, is_held: bool) {
        match watch {
            _ if leader.is_some() => {}
            Named::Jobs => self.faults.holds_jobs = is_held,
            Named::Pods => self.faults.holds_pods = is_held,
        }
    }

    /// Ends the watches with 410. Returns true when new ones are open, which follow a list.
    fn expire(&mut self, named: Named) -> bool {
        let watched = of(named);
        if !std::mem::replace(&mut self.faults.is_expiring, true) {
            self.recording.relists(resource(named));
            self.proxies().for_each(|proxy| proxy.cut(watched, Cut::Expire));
        }
        let is_back = self.proxies().all(|proxy| proxy.open(watched) > 0);
        self.faults.is_expiring = !is_back;
        is_back
    }

    /// Returns true if a held event was not delivered yet.
    fn is_behind(&self) -> bool {
        self.proxies().any(|proxy| proxy.undelivered(Watched::Jobs) + proxy.undelivered(Watched::Pods) > 0)
    }

    /// Delivers the request of the terminated controller.
    fn deliver_delayed_request(&mut self) -> Result<bool, Error> {
        let Some(DelayedRequest { id, sent, is_write, held }) = self.faults.delayed.take() else {
            return Ok(false);
        };
        self.recording.was_sent(&id, &sent);
        let delivered = async { tokio::time::timeout(PATIENCE, held.deliver()).await };
        let delivered = self.cluster.runtime().block_on(delivered).ok().flatten();
        // The response to a read has no receiver any longer.
        if is_write && delivered.is_none() && self.cluster.disruptions().is_near() {
            self.recording.gap("a delayed request got no response");
        } else if is_write && delivered.is_none() {
            return Err(AccessError::Server("no response to a delayed request".to_owned()).into());
        }
        Ok(true)
    }

    /// Starts a second process that leads too.
    fn elect_second_leader(&mut self) -> Result<bool, Error> {
        let number = self.leaders.last().map_or(0, |leader| leader.number + 1);
        let second = self.cluster.patiently(|| self.setup.start(number))?;
        let Some(second) = second else { return Ok(false) };
        self.leaders.push(second);
        for (watched, is_held) in
            [(Named::Jobs, self.faults.holds_jobs), (Named::Pods, self.faults.holds_pods)]
        {
            if is_held {
                self.hold(Watch { watch: watched, leader: None });
            }
        }
        Ok(true)
    }

    /// Stops one of two leaders. Returns false if there is only one.
    fn stop_leader(&mut self, which: Which) -> bool {
        let is_one_of_two = self.leaders.len() > 1;
        if is_one_of_two {
            self.leaders.remove(usize::from(which == Which::Second));
        }
        is_one_of_two
    }
}

/// The controller that has sent a request.
fn sender(asked: &RequestInfo) -> ControllerName {
    if actor(&asked.agent) == TTL { ControllerName::Ttl } else { ControllerName::Job }
}

/// The body of a creation.
fn body(asked: &RequestInfo) -> Option<Value> {
    (asked.verb == Sent::Create).then(|| asked.json().unwrap_or_default())
}

/// The attributes of a request, for comparison with a step.
fn attributes<'a>(
    asked: &'a RequestInfo,
    body: Option<&'a Value>,
) -> jobcheck_scenario::runtime::SentRequest<'a> {
    jobcheck_scenario::runtime::SentRequest {
        verb: asked.verb.name(),
        resource: &asked.resource,
        subresource: asked.subresource.as_deref(),
        name: asked.name.as_deref(),
        body,
    }
}

fn resource(watched: Named) -> Resource {
    match watched {
        Named::Jobs => Resource::Jobs,
        Named::Pods => Resource::Pods,
    }
}

fn of(watched: Named) -> Watched {
    match watched {
        Named::Jobs => Watched::Jobs,
        Named::Pods => Watched::Pods,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_identified_by_the_end_of_its_user_agent() {
        assert_eq!(actor("jobcheck-controller/0.1.0 (linux/x86_64)/job-controller"), "job-controller");
        let built_in = "kube-controller-manager/v1.36.3 (linux/amd64) k/1/system:serviceaccount:kube-system:job-controller";
        assert_eq!(actor(built_in), "job-controller");
    }

    #[test]
    fn each_fault_prolongs_the_wait_for_quiescence_up_to_a_bound() {
        let quiet = |failed| Faults { failed, ..Faults::default() }.quiet().saturating_sub(QUIET).as_secs();
        assert_eq!([0, 1, 2, 3, 4, 5, u32::MAX].map(quiet), [0, 1, 2, 4, 8, 8, 8]);
    }
}
