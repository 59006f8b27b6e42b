//! What happens to the controllers of a run, to their requests, and to their watches.

use std::time::{Duration, Instant};

use jobcheck_faultproxy::{Asked, Cut, Delivery, Handle, Handling, Late, Verb as Sent, Watched, held};
use jobcheck_scenario::runtime::{Cluster, gates_told, objection, refusal};
use jobcheck_scenario::{
    ControllerName, HeldRequest, Leader as Which, Outcome, Request, Rollout, Step, Watch, Watched as Named,
};
use jobcheck_traces::Resource;
use serde_json::{Value, json};

use super::{Play, QUIET};
use crate::Manager;
use crate::error::Error;
use crate::leader::Question;
use crate::recording::time;

/// How the TTL controller calls itself at the end of its agent.
const TTL: &str = "ttl-after-finished-controller";
/// How long the API server may take for a request that arrives late.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at an API server that is restarted.
const AGAIN: Duration = Duration::from_millis(100);
/// The first delay after which a controller tries again what went wrong, and how often it is doubled at most.
const RETRY: (Duration, u32) = (Duration::from_secs(1), 3);

/// Faults so far.
#[derive(Default)]
pub(super) struct Faults {
    /// Requests of the kind that the step waits for, so far.
    pub met: u8,
    /// When a controller asked for something last.
    pub last: Option<Instant>,
    /// Requests whose sender was told that they failed, or nothing.
    failed: u32,
    /// A request of a controller that is dead.
    late: Option<Posthumous>,
    /// The numbers of the steps that say what becomes of all such requests for a while.
    lasting: Vec<usize>,
    /// Requests that wait for a step `heldRequest`, and the step that has held them, in the order in which they were sent.
    held: Vec<Waiting>,
    /// Whether watches were ended, and new ones have not begun yet.
    is_expiring: bool,
    holds_jobs: bool,
    holds_pods: bool,
}

/// A request that waits in the proxy, and whose sender is dead.
struct Posthumous {
    id: String,
    sent: String,
    is_write: bool,
    late: Late,
}

/// A request that waits in the proxy until the scenario says what becomes of it.
struct Waiting {
    question: Question,
    awaited: Request,
    job: String,
}

impl Faults {
    /// How long nothing is done by who is at rest: a controller that has failed tries again after a while.
    pub(super) fn quiet(&self) -> Duration {
        let (first, most) = RETRY;
        let doublings = self.failed.checked_sub(1).map(|times| times.min(most));
        QUIET + doublings.map_or(Duration::ZERO, |times| first * 2_u32.pow(times))
    }
}

/// As traces name the sender of a request: by the end of its agent.
fn actor(agent: &str) -> &str {
    agent.rsplit(['/', ':']).next().unwrap_or_default()
}

impl Play<'_> {
    /// A controller asks for something: it hears what becomes of that.
    pub(super) fn decide(&mut self, question: Question) -> Result<(), Error> {
        self.faults.last = Some(Instant::now());
        let Some(handling) = self.handling(question.leader, &question.asked)? else {
            self.next_held(question);
            return Ok(());
        };
        // One that is gone meanwhile needs no answer.
        let _ = question.reply.send(handling);
        Ok(())
    }

    /// The step that comes next has held this request.
    fn next_held(&mut self, question: Question) {
        let step = self.scenario.steps.get(self.position).map(|it| &it.value);
        let Some((step, awaited)) = step.and_then(|step| Some((step, step.request?))) else { return };
        let job = self.entry(step.job.as_deref()).name.clone();
        self.faults.held.push(Waiting { question, awaited, job });
        self.next();
    }

    /// A request that was held goes on; whether there was one.
    fn goes_on(&mut self, how: &HeldRequest) -> bool {
        let stage = &self.stage;
        let is_meant = |it: &Waiting| {
            let pod = Request { pod: how.pod.or(it.awaited.pod), ..it.awaited };
            let body = body(&it.question.asked);
            how.pod.is_none() || in_words(&it.question.asked, body.as_ref()).fits(&pod, stage, &it.job)
        };
        let Some(number) = self.faults.held.iter().position(is_meant) else { return false };
        let Waiting { question: Question { asked, reply, .. }, awaited, .. } =
            self.faults.held.remove(number);
        self.faults.last = Some(Instant::now());
        let handling = self.meets(&how.settles(&awaited), &asked);
        let _ = reply.send(handling);
        true
    }

    /// What becomes of a request that a step is about.
    fn meets(&mut self, awaited: &Request, asked: &Asked) -> Handling {
        match awaited.outcome {
            Some(Outcome::Fails) => {
                let body = body(asked);
                let error = refusal(awaited, &in_words(asked, body.as_ref()), &self.stage.namespace());
                self.faults.failed = self.faults.failed.saturating_add(1);
                self.recording.refused(asked, actor(&asked.agent), &error);
                Handling::RefuseWith(error.status())
            }
            Some(Outcome::ResponseLost) => {
                self.faults.failed = self.faults.failed.saturating_add(1);
                self.recording.loses_answer(&asked.id, actor(&asked.agent));
                Handling::LoseAnswer
            }
            Some(Outcome::Handled | Outcome::Held) | None => Handling::Forward,
        }
    }

    /// What becomes of a request: the step may wait for it. None where the step holds it.
    fn handling(&mut self, leader: usize, asked: &Asked) -> Result<Option<Handling>, Error> {
        let scenario = self.scenario;
        if let Some(awaited) = self.lasting(leader, asked) {
            return Ok(Some(self.meets(&awaited, asked)));
        }
        let Some(step) = scenario.steps.get(self.position).map(|it| &it.value) else {
            return Ok(Some(Handling::Forward));
        };
        if step.until.is_some() {
            return Ok(Some(Handling::Forward));
        }
        let job = &self.entry(step.job.as_deref()).name;
        let Some(awaited) = step.awaited(sender(asked)) else { return Ok(Some(Handling::Forward)) };
        let is_due = step.when.as_ref().is_none_or(|claims| objection(&self.stage, job, claims).is_none());
        let body = body(asked);
        let told = in_words(asked, body.as_ref());
        let is_meant = awaited.leader.is_none_or(|which| self.number_of(which) == Some(leader));
        if !is_due || !is_meant || !told.fits(awaited, &self.stage, job) {
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
            return self.dies_during(leader, asked).map(Some);
        }
        Ok(Some(self.meets(awaited, asked)))
    }

    /// The step, if any, that says what becomes of all such requests, and still does.
    fn lasting(&self, leader: usize, asked: &Asked) -> Option<Request> {
        let body = body(asked);
        let told = in_words(asked, body.as_ref());
        self.faults.lasting.iter().find_map(|number| {
            let step = self.scenario.steps.get(*number).map(|it| &it.value)?;
            let job = &self.entry(step.job.as_deref()).name;
            let is_its = |which| self.number_of(which) == Some(leader);
            let is_meant = |it: &Request| it.leader.is_none_or(is_its) && told.fits(it, &self.stage, job);
            step.request.filter(is_meant)
        })
    }

    /// Forgets what was to become of requests until something holds that holds now.
    pub(super) fn ends_lasting(&mut self) {
        let mut lasting = std::mem::take(&mut self.faults.lasting);
        lasting.retain(|number| {
            let step = self.scenario.steps.get(*number).map(|it| &it.value);
            let until = step.and_then(|step| Some((step, step.until.as_ref()?)));
            until.is_some_and(|(step, claims)| {
                objection(&self.stage, &self.entry(step.job.as_deref()).name, claims).is_some()
            })
        });
        self.faults.lasting = lasting;
    }

    /// The number of the first leader, or of the second.
    fn number_of(&self, which: Which) -> Option<usize> {
        self.leaders.get(usize::from(which == Which::Second)).map(|leader| leader.number)
    }

    /// Its sender dies, and the request waits.
    fn dies_during(&mut self, leader: usize, asked: &Asked) -> Result<Handling, Error> {
        let (held, late) = held();
        let is_write = asked.verb != Sent::Get;
        self.faults.late = Some(Posthumous { id: asked.id.clone(), sent: time(), is_write, late });
        self.restart(leader, None)?;
        Ok(Handling::Hold(held))
    }

    /// What happens to the controllers, and to their watches; whether it has happened.
    pub(super) fn befalls(&mut self, step: &Step) -> Result<bool, Error> {
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
            return Ok(self.goes_on(held));
        } else if step.late_request.is_some() {
            return self.land();
        } else if step.second_leader.is_some() {
            return self.usurp();
        } else if let Some(resignation) = step.resign {
            return Ok(self.resign(resignation.leader));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// A controller that ends where its API server is gone is started again, as whoever supervises it would do.
    ///
    /// # Errors
    ///
    /// One has ended by itself, for no such reason.
    pub(super) fn look_after_leaders(&mut self) -> Result<(), Error> {
        for number in 0..self.leaders.len() {
            let Some(leader) = self.leaders.get_mut(number) else { continue };
            match leader.controller.check() {
                Err(_) if self.site.troubles().is_near() => {
                    let leader = leader.number;
                    self.restart(leader, None)?;
                }
                checked => checked?,
            }
        }
        Ok(())
    }

    /// A process is replaced, perhaps by one with other feature gates.
    fn restart(&mut self, leader: usize, rollout: Option<&Rollout>) -> Result<(), Error> {
        let actors = self.actors();
        let Some(leader) = self.leaders.iter_mut().find(|it| it.number == leader) else { return Ok(()) };
        leader.controller.end();
        for actor in actors {
            let mut mark = json!({ "kind": "restart", "actor": actor });
            match rollout {
                None => self.recording.fault("crash", actor, "the process dies and is started again"),
                Some(rollout) => mark["assume"] = gates_told(rollout),
            }
            self.recording.mark(mark);
        }
        // It would look for its API server once, and end.
        while self.site.troubles().is_under_way() {
            std::thread::sleep(AGAIN);
        }
        leader.controller.begin(rollout.map(Rollout::gates))
    }

    /// The controllers of a process, as the last part of their agent calls them.
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

    /// The watches end with 410; whether new ones have begun since, which a list comes before.
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

    /// Whether a controller has not been shown what was held.
    fn is_behind(&self) -> bool {
        self.proxies().any(|proxy| proxy.kept(Watched::Jobs) + proxy.kept(Watched::Pods) > 0)
    }

    /// The request of a controller that is dead arrives.
    fn land(&mut self) -> Result<bool, Error> {
        let Some(Posthumous { id, sent, is_write, late }) = self.faults.late.take() else { return Ok(false) };
        self.recording.was_sent(&id, &sent);
        let landed = async { tokio::time::timeout(PATIENCE, late.land()).await };
        let landed = self.site.runtime().block_on(landed).ok().flatten();
        // What was to be read by one who is dead, nobody reads.
        if is_write && landed.is_none() && self.site.troubles().is_near() {
            self.recording.gap("a request that arrived late got no answer");
        } else if is_write && landed.is_none() {
            return Err(Error::Server("it gives no answer to a request that arrives late".to_owned()));
        }
        Ok(true)
    }

    /// A second process leads, too.
    fn usurp(&mut self) -> Result<bool, Error> {
        let number = self.leaders.last().map_or(0, |leader| leader.number + 1);
        let second = self.site.patiently(|| self.recipe.start(number))?;
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

    /// One of two leaders stops; whether there were two.
    fn resign(&mut self, which: Which) -> bool {
        let is_one_of_two = self.leaders.len() > 1;
        if is_one_of_two {
            self.leaders.remove(usize::from(which == Which::Second));
        }
        is_one_of_two
    }
}

/// Which controller has sent it.
fn sender(asked: &Asked) -> ControllerName {
    if actor(&asked.agent) == TTL { ControllerName::Ttl } else { ControllerName::Job }
}

/// What is to be created.
fn body(asked: &Asked) -> Option<Value> {
    (asked.verb == Sent::Create).then(|| asked.json().unwrap_or_default())
}

/// A request in the words of an audit log.
fn in_words<'a>(asked: &'a Asked, body: Option<&'a Value>) -> jobcheck_scenario::runtime::Asked<'a> {
    jobcheck_scenario::runtime::Asked {
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
    fn controllers_are_known_by_the_end_of_their_agents() {
        assert_eq!(actor("jobcheck-controller/0.1.0 (linux/x86_64)/job-controller"), "job-controller");
        let built_in = "kube-controller-manager/v1.36.3 (linux/amd64) k/1/system:serviceaccount:kube-system:job-controller";
        assert_eq!(actor(built_in), "job-controller");
    }

    #[test]
    fn after_each_fault_rest_takes_longer_up_to_a_bound() {
        let quiet = |failed| Faults { failed, ..Faults::default() }.quiet().saturating_sub(QUIET).as_secs();
        assert_eq!([0, 1, 2, 3, 4, 5, u32::MAX].map(quiet), [0, 1, 2, 4, 8, 8, 8]);
    }
}
