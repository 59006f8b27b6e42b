//! A run of a scenario: the order of events, and the result.

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::request::Request as CallRequest;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_scenario::runtime::{
    Cluster as _, QuiescentState, act, create_job, create_pod, describe_pods, header, objection,
    rollout_gates,
};
use jobcheck_scenario::{ControllerName, JobEntry, Leader, Rollout, Scenario, Step, Watch, Watched};
use jobcheck_spec::apiserver::RuleSet;
use serde_json::json;

use crate::Stop;
use crate::cluster::{Cluster, NAMESPACE};
use crate::handling::{Handling, Held};
use crate::process::{self, Cache, Process, SyncStart};
use crate::rng::Rng;
use crate::settings::{rolled_out, settings};
use crate::ttl::{self, TtlProcess};

/// The number of turns after which a run that is not quiescent ends.
const MOST_TURNS: usize = 4_000;
/// The maximum delay of a controller that passes without `advance`.
const SHORT: SignedDuration = SignedDuration::from_secs(1);

/// A run in progress.
pub struct ScenarioRun<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) cluster: Cluster,
    processes: Vec<Process>,
    ttl: Option<TtlProcess>,
    /// The number of the next step.
    pub(crate) position: usize,
    /// The number of requests so far that match the step.
    pub(crate) met: u8,
    /// The watches whose events are held back, of all processes or of one leader.
    holds: Vec<Watch>,
    paused: bool,
    /// The request of a terminated controller, with the time at which it was sent.
    delayed: Option<(CallRequest, String)>,
    /// The numbers of the steps with `until` whose outcome still applies to matching requests.
    pub(crate) lasting: Vec<usize>,
    /// The requests that wait for a step `heldRequest`, in the order in which they were sent.
    pub(crate) held: Vec<Held>,
    rng: Option<Rng>,
    /// The states at quiescence.
    pub(crate) states: Vec<QuiescentState>,
}

impl<'a> ScenarioRun<'a> {
    /// Returns a run that has not begun, with the rules of this version. Seed 0 delivers every event at once and
    /// takes steps at quiescence. Other seeds choose the order randomly.
    ///
    /// # Errors
    ///
    /// The API server refuses a Job or a pod.
    pub fn new(
        version: RuleSet,
        scenario: &'a Scenario,
        seed: u64,
        mutations: &Mutations,
    ) -> Result<ScenarioRun<'a>, String> {
        let subject = scenario.subject().on(version);
        let header = header(&subject, &format!("scenario {}, seed {seed}", scenario.name));
        let mut cluster =
            Cluster::new(seed, subject.rules, scenario.unscheduled, header).map_err(|error| error.message)?;
        cluster.introduce_controller(process::ACTOR);
        for entry in &scenario.jobs {
            create_job(&mut cluster, entry)?;
        }
        for (number, pod) in scenario.pods_before.iter().enumerate() {
            create_pod(&mut cluster, &scenario.jobs[0], number, pod)?;
        }
        let now = cluster.now();
        let processes =
            vec![Process::started(&mut cluster.server, now, settings(&subject), mutations.clone())];
        let ahead = scenario.ttl_controller.as_ref().and_then(|it| it.clock_ahead).unwrap_or_default();
        let ttl = TtlProcess::started(&mut cluster.server, now, SignedDuration::from_secs(ahead));
        Ok(ScenarioRun {
            scenario,
            cluster,
            processes,
            ttl: Some(ttl),
            position: 0,
            met: 0,
            holds: Vec::new(),
            paused: false,
            delayed: None,
            lasting: Vec::new(),
            held: Vec::new(),
            rng: (seed != 0).then(|| Rng::seeded(seed)),
            states: Vec::new(),
        })
    }

    /// Runs to the end. Returns the step or expectation that was not met. `None`: `stop` has ended the run.
    pub fn run(&mut self, stop: Stop<'_>) -> Option<Option<String>> {
        for _ in 0..MOST_TURNS {
            if stop() {
                return None;
            }
            // A step that is not done yet may have released a watch.
            if self.turn() || self.step(true) || self.turn() || self.wait() {
                continue;
            }
            self.states.extend(QuiescentState::of(&self.cluster, self.scenario, None));
            return Some(self.unmet_condition());
        }
        Some(Some(format!("the run is not quiescent after {MOST_TURNS} turns")))
    }

    /// The step or expectation that is not met at quiescence.
    fn unmet_condition(&self) -> Option<String> {
        if let Some(step) = self.scenario.steps.get(self.position) {
            let line = step.referenced.line();
            let why = self.why_not(&step.value);
            let number = self.position + 1;
            return Some(format!("step {number} (line {line}) is never possible: {why}"));
        }
        self.scenario.expect.iter().find_map(|claims| {
            let (line, claims) = (claims.referenced.line(), &claims.value);
            let job = &self.entry(claims.job.as_deref()).name;
            let why = objection(&self.cluster, job, claims)?;
            Some(format!("an expectation is not met at the end (line {line}, Job {job}): {why}"))
        })
    }

    fn why_not(&self, step: &Step) -> String {
        let job = &self.entry(step.job.as_deref()).name;
        let claims = [&step.when, &step.r#await, &step.settle];
        let claims = claims.into_iter().flatten().find_map(|claims| objection(&self.cluster, job, claims));
        claims.unwrap_or_else(|| format!("at quiescence {}", describe_pods(&self.cluster, job)))
    }

    /// Takes one enabled action of a component. Returns false if there is none.
    fn turn(&mut self) -> bool {
        let mut turns: Vec<Turn> = Vec::new();
        for number in 0..self.processes.len() {
            turns.extend([Turn::Show(number, Cache::Jobs), Turn::Show(number, Cache::Pods)]);
            turns.push(Turn::Work(number));
        }
        turns.extend([Turn::TtlShow, Turn::TtlWork, Turn::FollowUp]);
        // A step may wait for a condition that holds only between two events.
        let current = self.scenario.steps.get(self.position);
        let passing = current.is_some_and(|it| it.value.when.is_some() || it.value.r#await.is_some());
        match &mut self.rng {
            None if passing => turns.insert(0, Turn::Step),
            None => {}
            Some(rng) => {
                turns.push(Turn::Step);
                for place in (1..turns.len()).rev() {
                    turns.swap(place, rng.below(place + 1));
                }
            }
        }
        turns.into_iter().any(|turn| self.take(turn))
    }

    fn take(&mut self, turn: Turn) -> bool {
        match turn {
            Turn::Show(number, cache) => self.show(number, cache),
            Turn::Work(number) => !self.paused && self.work(number),
            Turn::TtlShow => self.show_ttl(),
            Turn::TtlWork => !self.paused && self.work_ttl(),
            Turn::FollowUp => self.cluster.follow_up(),
            Turn::Step => self.step(false),
        }
    }

    fn show(&mut self, number: usize, cache: Cache) -> bool {
        let watched = if cache == Cache::Pods { Watched::Pods } else { Watched::Jobs };
        let held = self.is_held(number, watched);
        let now = self.cluster.now();
        let Some(process) = self.processes.get_mut(number) else { return false };
        let behind = process.lag(&mut self.cluster.server, now, cache);
        if held || behind == 0 {
            return false;
        }
        process.show(cache);
        true
    }

    fn show_ttl(&mut self) -> bool {
        let now = self.cluster.now();
        let held = self.is_held(0, Watched::Jobs);
        let Some(ttl) = self.ttl.as_mut().filter(|_| !held) else { return false };
        let behind = ttl.lag(&mut self.cluster.server, now);
        if behind > 0 {
            ttl.show();
        }
        behind > 0
    }

    fn work(&mut self, number: usize) -> bool {
        if self.held.iter().any(|it| it.process == number) {
            return false;
        }
        let Some(process) = self.processes.get_mut(number) else { return false };
        let mut began = Vec::new();
        let request = process.next_request(self.cluster.now(), &mut self.rng, &mut began);
        began.iter().for_each(|began| self.observed(began));
        let Some(request) = request else { return !began.is_empty() };
        let job = self.scenario.steps.get(self.position).and_then(|step| step.value.job.as_deref());
        let job = self.entry(job).name.clone();
        match self.handling(&request, ControllerName::Job, number) {
            Handling::Dies => {
                self.delayed = Some((request, self.cluster.time()));
                self.restart(number, None);
            }
            Handling::Held(awaited) => self.held.push(Held { process: number, request, awaited, job }),
            handling => self.ask(number, &request, &handling),
        }
        true
    }

    /// Sends a request of a process, and delivers its outcome to the process.
    pub(crate) fn ask(&mut self, number: usize, request: &CallRequest, handling: &Handling) {
        let response = self.send(request, handling, process::ACTOR);
        let now = self.cluster.now();
        if let Some(process) = self.processes.get_mut(number) {
            process.answered(response.as_ref(), &mut self.cluster.server, now);
        }
    }

    fn work_ttl(&mut self) -> bool {
        let now = self.cluster.now();
        let Some(request) = self.ttl.as_mut().and_then(|ttl| ttl.next_request(now)) else { return false };
        match self.handling(&request, ControllerName::Ttl, 0) {
            Handling::Dies => {
                self.delayed = Some((request, self.cluster.time()));
                self.restart_ttl();
            }
            handling => {
                let response = self.send(&request, &handling, ttl::ACTOR);
                let now = self.cluster.now();
                self.ttl.as_mut().into_iter().for_each(|ttl| ttl.answered(response.as_ref(), now));
            }
        }
        true
    }

    fn observed(&mut self, began: &SyncStart) {
        // The observation follows the response to the last request of the previous sync.
        self.cluster.advance(SignedDuration::from_micros(1));
        let at = self.cluster.time();
        for (resource, version) in [("jobs", began.jobs), ("pods", began.pods)] {
            let line = json!({
                "at": at, "actor": process::ACTOR, "job": format!("{NAMESPACE}/{}", began.job),
                "resource": resource, "resourceVersion": version.to_string(),
            });
            self.cluster.recorder.note("observed", line);
        }
    }

    pub(crate) fn entry(&self, name: Option<&str>) -> &'a JobEntry {
        let scenario = self.scenario;
        let named = scenario.jobs.iter().find(|job| name.is_none_or(|name| job.name == name));
        named.unwrap_or(&scenario.jobs[0])
    }

    pub(crate) fn next(&mut self) {
        self.position += 1;
        self.met = 0;
    }

    /// Does the next step if it is possible. Returns true if it had an effect.
    fn step(&mut self, is_quiescent: bool) -> bool {
        let scenario = self.scenario;
        let Some(step) = scenario.steps.get(self.position) else { return false };
        let (line, step) = (Some(step.referenced.line()), &step.value);
        let entry = self.entry(step.job.as_deref());
        let due =
            step.when.as_ref().is_none_or(|claims| objection(&self.cluster, &entry.name, claims).is_none());
        let done = due && self.happens(step, entry, is_quiescent, line);
        let left_out = is_quiescent && !done && step.optional.unwrap_or_default();
        if done || left_out {
            self.next();
        }
        done || left_out
    }

    fn happens(&mut self, step: &Step, entry: &JobEntry, is_quiescent: bool, line: Option<u64>) -> bool {
        let rng = &mut self.rng;
        let mut choose = |count: usize| rng.as_mut().map_or(0, |rng| rng.below(count));
        if let Some(done) = act(&mut self.cluster, entry, step, &mut choose) {
            return done;
        }
        if let Some(claims) = &step.r#await {
            return objection(&self.cluster, &entry.name, claims).is_none();
        }
        if let Some(claims) = &step.settle {
            let settled = is_quiescent && objection(&self.cluster, &entry.name, claims).is_none();
            if settled {
                self.states.extend(QuiescentState::of(&self.cluster, self.scenario, line));
            }
            return settled;
        }
        if let Some(span) = step.advance {
            self.cluster.advance(SignedDuration::from_millis(span.0));
            return true;
        }
        self.apply_fault(step)
    }

    /// Applies a step to the controllers or to their watches.
    fn apply_fault(&mut self, step: &Step) -> bool {
        if let Some(crash) = step.crash.filter(|it| it.during.is_none()) {
            match crash.controller.unwrap_or(ControllerName::Job) {
                ControllerName::Job => self.restart(0, None),
                ControllerName::Ttl => self.restart_ttl(),
            }
        } else if step.late_request.is_some() {
            return self.deliver_delayed();
        } else if step.second_leader.is_some() {
            let settings = self.processes[0].settings().clone();
            let now = self.cluster.now();
            let mutations = self.processes[0].mutations().clone();
            self.processes.push(Process::started(&mut self.cluster.server, now, settings, mutations));
        } else if let Some(resignation) = step.resign {
            let number = usize::from(resignation.leader == Leader::Second);
            if self.processes.len() < 2 {
                return false;
            }
            self.processes.remove(number).stop(&mut self.cluster.server);
        } else if let Some(rollout) = &step.rollout {
            self.restart(0, Some(rollout));
        } else if let Some(hold) = step.hold {
            self.holds.push(hold);
        } else if let Some(release) = step.release {
            let is_of = |it: &Watch| {
                it.watch == release.watch && release.leader.is_none_or(|of| it.leader == Some(of))
            };
            self.holds.retain(|it| !is_of(it));
        } else if let Some(expiry) = step.expire {
            self.expire(expiry.watch);
        } else if step.until.is_some() {
            self.lasting.push(self.position);
        } else if let Some(held) = &step.held_request {
            return self.continue_request(held);
        } else if step.catch_up.is_some() {
            self.holds.clear();
            return !self.is_behind();
        } else if step.pause.is_some() || step.unpause.is_some() {
            self.paused = step.pause.is_some();
        } else {
            return false;
        }
        true
    }

    /// Returns true if a `hold` step holds back the events of this watch of the process with this number.
    fn is_held(&self, number: usize, watched: Watched) -> bool {
        let is_its = |leader: Leader| usize::from(leader == Leader::Second) == number;
        self.holds.iter().any(|it| it.watch == watched && it.leader.is_none_or(is_its))
    }

    /// Ends the watches with 410.
    fn expire(&mut self, watched: Watched) {
        let now = self.cluster.now();
        self.cluster.relists(process::ACTOR, if watched == Watched::Pods { "pods" } else { "jobs" });
        let server = &mut self.cluster.server;
        let cache = if watched == Watched::Pods { Cache::Pods } else { Cache::Jobs };
        self.processes.iter_mut().for_each(|process| process.relist(server, now, cache));
        self.ttl.iter_mut().filter(|_| cache == Cache::Jobs).for_each(|ttl| ttl.relist(server, now));
    }

    fn is_behind(&mut self) -> bool {
        let now = self.cluster.now();
        let server = &mut self.cluster.server;
        let mut lag = |it: &mut Process| it.lag(server, now, Cache::Jobs) + it.lag(server, now, Cache::Pods);
        self.processes.iter_mut().any(|process| lag(process) > 0)
    }

    /// Replaces a process, with other feature gates for a rollout.
    fn restart(&mut self, number: usize, rollout: Option<&Rollout>) {
        let before = &self.processes[number];
        let mut settings = before.settings().clone();
        before.stop(&mut self.cluster.server);
        let mut mark = json!({ "kind": "restart", "actor": process::ACTOR });
        match rollout {
            None => self.cluster.fault("crash", process::ACTOR, "the process dies and is started again"),
            Some(rollout) => {
                settings = rolled_out(&self.scenario.subject(), rollout);
                mark["assume"] = rollout_gates(rollout);
            }
        }
        self.held.retain(|it| it.process != number);
        self.cluster.advance(SignedDuration::from_millis(1));
        self.cluster.mark(mark);
        let now = self.cluster.now();
        let mutations = self.processes[number].mutations().clone();
        self.processes[number] = Process::started(&mut self.cluster.server, now, settings, mutations);
    }

    fn restart_ttl(&mut self) {
        let Some(before) = self.ttl.take() else { return };
        before.stop(&mut self.cluster.server);
        self.cluster.fault("crash", ttl::ACTOR, "the process dies and is started again");
        self.cluster.mark(json!({ "kind": "restart", "actor": ttl::ACTOR }));
        let now = self.cluster.now();
        self.ttl = Some(TtlProcess::started(&mut self.cluster.server, now, before.ahead()));
    }

    /// Delivers the request of the terminated controller.
    fn deliver_delayed(&mut self) -> bool {
        let Some((request, sent)) = self.delayed.take() else { return false };
        self.cluster.ask(&request);
        self.cluster.recorder.was_received(&request.user_agent, &sent);
        true
    }

    /// Advances the clock at quiescence over a short delay of a controller.
    fn wait(&mut self) -> bool {
        if self.paused {
            return false;
        }
        let waits = |number: usize| self.held.iter().any(|it| it.process == number);
        let free = self.processes.iter().enumerate().filter(|(number, _)| !waits(*number));
        let wakes = free.filter_map(|(_, process)| process.next_wake());
        let next: Option<Timestamp> = wakes.chain(self.ttl.as_ref().and_then(TtlProcess::next_wake)).min();
        let Some(wait) = next.map(|next| next.duration_since(self.cluster.now())) else { return false };
        if wait > SHORT {
            return false;
        }
        self.cluster.advance(wait.max(SignedDuration::from_millis(1)));
        true
    }
}

enum Turn {
    Show(usize, Cache),
    Work(usize),
    TtlShow,
    TtlWork,
    FollowUp,
    Step,
}
