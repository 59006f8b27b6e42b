//! Faults of the controllers of a run, of their requests, and of their watches.

use std::time::{Duration, Instant};

use jobcheck_faultproxy::{
    Cut, Delivery, Handle, Handling, HeldRequest, RequestInfo, Verb as Sent, Watched, hold,
};
use jobcheck_record::AccessError;
use jobcheck_scenario::runtime::{Cluster, objection, refusal, rollout_gates};
use jobcheck_scenario::{ControllerName, Leader as Which, Outcome, Rollout, Step, Watched as Named};
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
        let RequestDecision { leader, asked, reply } = request;
        self.faults.last = Some(Instant::now());
        let handling = self.handling(leader, &asked)?;
        // The client may have disconnected meanwhile.
        let _ = reply.send(handling);
        Ok(())
    }

    /// The handling of a request, for which the next step may wait.
    fn handling(&mut self, leader: usize, asked: &RequestInfo) -> Result<Handling, Error> {
        let scenario = self.scenario;
        let Some(step) = scenario.steps.get(self.position).map(|it| &it.value) else {
            return Ok(Handling::Forward);
        };
        let job = &self.entry(step.job.as_deref()).name;
        let Some(awaited) = step.awaited(sender(asked)) else { return Ok(Handling::Forward) };
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.ns, job, claims).is_none());
        let body = body(asked);
        let sent = attributes(asked, body.as_ref());
        if !is_due || !sent.matches(awaited, &self.ns, job) {
            return Ok(Handling::Forward);
        }
        self.faults.met += 1;
        if self.faults.met < awaited.nth.unwrap_or(1) {
            return Ok(Handling::Forward);
        }
        self.next();
        if step.crash.is_some() {
            return self.crash_during(leader, asked);
        }
        Ok(match awaited.outcome {
            Some(Outcome::Fails) => {
                let error = refusal(awaited, &sent, &self.ns.namespace());
                self.faults.failed += 1;
                self.recording.refused(asked, actor(&asked.agent), &error);
                Handling::RefuseWith(error.status())
            }
            Some(Outcome::ResponseLost) => {
                self.faults.failed += 1;
                self.recording.loses_response(&asked.id, actor(&asked.agent));
                Handling::LoseResponse
            }
            Some(Outcome::Handled) | None => Handling::Forward,
        })
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
            self.hold(hold.watch);
        } else if let Some(release) = step.release {
            self.release(release.watch);
        } else if let Some(expiry) = step.expire {
            return Ok(self.expire(expiry.watch));
        } else if step.catch_up.is_some() {
            self.release(Named::Jobs);
            self.release(Named::Pods);
            return Ok(!self.is_behind());
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
        self.leaders.iter().filter_map(|leader| leader.proxy.as_ref())
    }

    fn hold(&mut self, watched: Named) {
        self.proxies().for_each(|proxy| proxy.hold(of(watched)));
        match watched {
            Named::Jobs => self.faults.holds_jobs = true,
            Named::Pods => self.faults.holds_pods = true,
        }
    }

    fn release(&mut self, watched: Named) {
        self.proxies().for_each(|proxy| proxy.release(of(watched), Delivery::Each));
        match watched {
            Named::Jobs => self.faults.holds_jobs = false,
            Named::Pods => self.faults.holds_pods = false,
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
                self.hold(watched);
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
