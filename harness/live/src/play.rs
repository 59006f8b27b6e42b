//! A run under way: what happens next, and what is waited for.

mod faults;
mod witness;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jobcheck_judge::replay::Subject;
use jobcheck_record::watch::{self, Scope, Shown};
use jobcheck_scenario::runtime::{
    Cluster as _, Lines, Rest, Standing, act, create_job, create_pod, header, objection,
};
use jobcheck_scenario::{JobEntry, Scenario, Step};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::{Resource, WatchKind};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::Error;
use crate::leader::{Heard, Leader, Recipe};
use crate::recording::Recording;
use crate::site::Site;
use crate::stage::Stage;
use crate::unfit::needs_proxy;
use crate::{Manager, Plan};

/// Who did nothing for so long is taken to be at rest: twice the time for which Job controllers collect events of pods.
pub const QUIET: Duration = Duration::from_secs(2);
/// Time between two looks at what is not shown by a watch.
const TICK: Duration = Duration::from_millis(50);
/// Time before something that was refused is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// The longest delay before a failed pod is replaced that is waited for.
const LONGEST: Duration = Duration::from_secs(40);
/// How much later a replacement may come.
const MARGIN: Duration = Duration::from_secs(2);
/// Milliseconds of a delay that passes by itself, in scenarios as in `sim`.
const PASSES: i64 = 1_000;

/// What was played.
pub(crate) struct Played {
    /// What did not come in time, or was not recorded.
    pub unmet: Option<String>,
    /// The trace.
    pub lines: Lines,
    /// What stood at each rest.
    pub rests: Vec<Rest>,
}

/// Plays a scenario in this namespace. For a thread that may wait.
///
/// # Errors
///
/// The API server or the controllers fail, or `stop` was cancelled.
pub(crate) fn play(
    site: &Site,
    namespace: &str,
    scenario: &Scenario,
    plan: &Plan,
    stop: &CancellationToken,
) -> Result<Played, Error> {
    let mut play = Play::begin(site, namespace, scenario, plan)?;
    let unmet = play.run(stop)?;
    let Play { mut stage, mut recording, rests, leaders, .. } = play;
    recording.tell(site.troubles());
    let (lines, trouble) = recording.end(&mut stage.connection, namespace)?;
    drop(leaders);
    Ok(Played { unmet: unmet.or(trouble), lines, rests })
}

/// A run.
struct Play<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    site: &'a Site,
    stage: Stage,
    events: Receiver<Heard>,
    _watches: Watches,
    recording: Recording,
    recipe: Recipe<'a>,
    /// Who manages the Jobs, as far as the run has started them.
    leaders: Vec<Leader>,
    faults: faults::Faults,
    /// The step that comes next.
    position: usize,
    /// When that was so first.
    since: Instant,
    /// When it was refused last.
    refused: Option<Instant>,
    /// Whether what was heard last was news.
    news: bool,
    /// Whether there is more to hear: nobody is known to be at rest then.
    lags: bool,
    /// When the time began that passes with it.
    passing: Option<Instant>,
    rests: Vec<Rest>,
    /// The delay before a failed pod is replaced.
    delay: Duration,
}

/// How the controllers of a run are started, and which rules its API server has.
fn subject(scenario: &Scenario, plan: &Plan, rules: RuleSet) -> Subject {
    let mut subject = match plan.manager {
        Manager::Shipped { .. } => scenario.subject().on(rules),
        Manager::BuiltIn { .. } => {
            let gates = scenario.subject().gates;
            return Subject { gates, ..Subject::default() }.on(rules);
        }
        // They cannot be told otherwise.
        Manager::External => return Subject::default().on(rules),
    };
    let usual = Subject::default().constants;
    if subject.constants.pod_failure_backoff_ms > PASSES {
        // Only `advance` lets such a delay pass: it is to be longer than a rest takes.
        let longer = subject.constants.pod_failure_backoff_ms.max(usual.pod_failure_backoff_ms);
        subject.constants.pod_failure_backoff_ms = longer;
        subject.constants.pod_failure_backoff_max_ms =
            subject.constants.pod_failure_backoff_max_ms.max(longer);
    }
    subject
}

/// What a scenario begins with was refused, or nobody has answered.
fn refused(stage: &Stage, why: String) -> Error {
    stage.connection.lost.clone().map_or(Error::Refused(why), Error::Server)
}

/// Whether a Job has fewer active pods than it is to have. One that has ended, or is suspended, wants none.
fn wants_pods(job: &Value) -> bool {
    let (spec, status) = (&job["spec"], &job["status"]);
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let parallelism = spec["parallelism"].as_i64().unwrap_or(1);
    let open = spec["completions"].as_i64().map_or(parallelism, |all| all - number("succeeded"));
    !conditions.into_iter().any(|it| it["status"] == "True") && number("active") < parallelism.min(open)
}

/// The watches of a run, which end with it.
struct Watches(Vec<JoinHandle<()>>);

impl Drop for Watches {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl<'a> Play<'a> {
    fn begin(
        site: &'a Site,
        namespace: &'a str,
        scenario: &'a Scenario,
        plan: &'a Plan,
    ) -> Result<Play<'a>, Error> {
        let subject = subject(scenario, plan, site.rules());
        let header = header(&subject, &format!("scenario {}", scenario.name));
        let mut recording = Recording::begin(header, site.audit_log())?;
        if plan.managed_by.is_none() {
            recording.introduce();
        }
        let connection = Connection::new(site.client(), site.runtime(), Arc::clone(site.troubles()));
        let mut stage = Stage::new(connection, namespace, site.node(), plan.managed_by.clone());
        let (sender, events) = channel();
        let mut watches = Watches(Vec::new());
        for resource in [Resource::Jobs, Resource::Pods] {
            let scope = Scope { namespace: Some(namespace.to_owned()), resource };
            let list = || site.runtime().block_on(watch::list(&site.client(), &scope)).map_err(Error::Server);
            let version = site.patiently(list)?.version;
            let out = sender.clone();
            let out = move |shown| out.send(Heard::Shown(resource, shown)).is_ok();
            watches.0.push(site.runtime().spawn(watch::follow(site.client(), scope, version, out)));
        }
        for entry in &scenario.jobs {
            // One that was sent twice may be there since the first time: the watch shows it.
            let created = create_job(&mut stage, entry)
                .or_else(|why| if stage.connection.repeated { Ok(()) } else { Err(refused(&stage, why)) });
            created?;
        }
        let is_faulty = needs_proxy(scenario) || matches!(plan.manager, Manager::BuiltIn { .. });
        let decides = is_faulty.then_some(sender);
        let recipe = Recipe { site, plan, namespace, subject, decides };
        let mut play = Play {
            scenario,
            plan,
            site,
            stage,
            events,
            _watches: watches,
            recording,
            delay: Duration::from_millis(recipe.subject.constants.pod_failure_backoff_ms.unsigned_abs()),
            recipe,
            leaders: Vec::new(),
            faults: faults::Faults::default(),
            position: 0,
            since: Instant::now(),
            refused: None,
            news: true,
            lags: false,
            passing: None,
            rests: Vec::new(),
        };
        play.create_pods()?;
        play.leaders.extend(site.patiently(|| play.recipe.start(0))?);
        Ok(play)
    }

    /// The pods that are there before the Job has had a sync.
    fn create_pods(&mut self) -> Result<(), Error> {
        let entry = &self.scenario.jobs[0];
        for (number, pod) in self.scenario.pods_before.iter().enumerate() {
            create_pod(&mut self.stage, entry, number, pod).map_err(|why| refused(&self.stage, why))?;
            self.stage.follow_up();
        }
        Ok(())
    }

    /// Runs to the end; what did not come in time.
    fn run(&mut self, stop: &CancellationToken) -> Result<Option<String>, Error> {
        loop {
            if stop.is_cancelled() {
                return Err(Error::Interrupted);
            }
            self.look_after_leaders()?;
            if let Ok(heard) = self.events.recv_timeout(TICK) {
                self.hear(heard)?;
                self.lags = true;
                // What waits for a passing moment is tried at each.
                while let Ok(heard) = self.events.try_recv() {
                    if self.news {
                        self.steps()?;
                    }
                    self.hear(heard)?;
                }
                self.lags = false;
            }
            self.steps()?;
            if self.position == self.scenario.steps.len() && self.at_rest() && self.unexpected().is_none() {
                self.note_rest(None);
                return Ok(None);
            }
            if self.since.elapsed() > self.patience() || self.is_overdue()? {
                self.note_rest(None);
                return Ok(Some(self.left_over()));
            }
        }
    }

    /// How long the step that comes next is waited for. A deviation that is expected may be that nothing comes.
    fn patience(&self) -> Duration {
        let deviates = self.scenario.deviations_on(self.plan.target()).next().is_some();
        if deviates { self.plan.patience.max(witness::LONG_ENOUGH) } else { self.plan.patience }
    }

    fn hear(&mut self, heard: Heard) -> Result<(), Error> {
        match heard {
            Heard::Asked(question) => {
                let before = self.position;
                self.decide(*question)?;
                self.news = self.position != before;
            }
            Heard::Shown(resource, shown) => {
                let before = self.stage.seen.changed;
                self.take(resource, shown);
                self.news = self.stage.seen.changed != before;
            }
        }
        Ok(())
    }

    fn take(&mut self, resource: Resource, shown: Shown) {
        match shown {
            Shown::Event { kind, object } => {
                self.recording.watched(kind.name(), &object);
                if kind == WatchKind::Deleted {
                    self.stage.seen.removed(&object);
                } else {
                    self.stage.seen.shown(object);
                }
            }
            Shown::Again { why, listed } => {
                self.recording.missed(resource, &why);
                self.stage.seen.listed(resource, listed);
            }
            Shown::Reached(_) | Shown::Lost(_) => {}
        }
    }

    /// Nothing was written for a while, and whoever manages the Jobs has looked at each.
    fn at_rest(&self) -> bool {
        let last = self.stage.seen.changed.max(self.since);
        let is_quiet =
            self.faults.last.map_or(last, |asked| asked.max(last)).elapsed() >= self.faults.quiet();
        is_quiet
            && !self.lags
            && !self.site.troubles().is_near()
            && (self.is_paused() || self.scenario.jobs.iter().all(|entry| self.was_looked_at(entry)))
            && !self.scenario.jobs.iter().any(|entry| self.is_delayed(entry))
    }

    /// Nobody looks at anything. A pause may come between the creation of a pod and the status write of the same sync.
    fn is_paused(&self) -> bool {
        !self.leaders.is_empty() && self.leaders.iter().all(|leader| leader.controller.is_paused())
    }

    /// Whether a pod that failed, or was deleted, waits for its replacement, by a delay that the scenario has shorter
    /// than the controller.
    fn is_delayed(&self, entry: &JobEntry) -> bool {
        let asked = self.scenario.subject().constants.pod_failure_backoff_ms;
        let Some((count, last)) = self.stage.seen.failures(&entry.name).filter(|_| asked <= PASSES) else {
            return false;
        };
        let doubled =
            u32::try_from(count - 1).map_or(LONGEST, |times| self.delay.saturating_mul(1 << times.min(8)));
        let goes_on = self.stage.job(&entry.name).is_some_and(wants_pods);
        goes_on && last.elapsed() < doubled.min(LONGEST) + MARGIN
    }

    /// Whether the kubelet has all pods that the status tells of. The watch of Jobs may be ahead of that of pods, and a
    /// pod that no kubelet has goes at once when it is deleted.
    fn has_its_pods(&self, entry: &JobEntry) -> bool {
        let Some(job) = self.stage.job(&entry.name).filter(|job| self.is_ours(job)) else { return true };
        let told = ["active", "succeeded", "failed"].map(|name| job["status"][name].as_u64().unwrap_or(0));
        let created = Standing::of(&self.stage, &entry.name).created as u64;
        self.stage.has_bound_all() && (self.plan.manager == Manager::External || created >= told.iter().sum())
    }

    fn is_ours(&self, job: &Value) -> bool {
        job["spec"]["managedBy"].as_str() == self.plan.managed_by.as_deref()
    }

    /// The first sync of a Job writes its status: that it has started, is suspended, or has ended.
    fn was_looked_at(&self, entry: &JobEntry) -> bool {
        let Some(job) = self.stage.job(&entry.name) else { return true };
        let status = &job["status"];
        let is_written = !status["startTime"].is_null() || !status["conditions"].is_null();
        !self.is_ours(job) || is_written || !job["metadata"]["deletionTimestamp"].is_null()
    }

    /// Kubelets do what they have to, and all steps happen that are possible now.
    fn steps(&mut self) -> Result<(), Error> {
        self.stage.follow_up();
        self.ends_lasting();
        while self.step()? {}
        Ok(())
    }

    /// The step happens, if it is possible; whether it is done.
    fn step(&mut self) -> Result<bool, Error> {
        let scenario = self.scenario;
        let Some(step) = scenario.steps.get(self.position) else { return Ok(false) };
        if self.refused.is_some_and(|at| at.elapsed() < AGAIN) {
            return Ok(false);
        }
        let (line, step) = (step.referenced.line(), &step.value);
        let entry = self.entry(step.job.as_deref());
        let due = self.passing.is_some() || self.is_due(step, entry);
        let sent = self.stage.connection.sent;
        let done = due && self.happens(step, entry, line)?;
        self.refused = (!done && self.stage.connection.sent > sent).then(Instant::now);
        let left_out = !done && step.optional.unwrap_or_default() && self.at_rest();
        if done || left_out {
            self.next();
        }
        Ok(done || left_out)
    }

    fn next(&mut self) {
        self.position += 1;
        (self.since, self.refused, self.passing) = (Instant::now(), None, None);
        self.faults.met = 0;
    }

    /// Whether it is time for a step.
    fn is_due(&self, step: &Step, entry: &JobEntry) -> bool {
        // Who writes the status of a Job first is taken for its manager.
        if step.deny.is_some() && !self.was_looked_at(entry) {
            return false;
        }
        if !self.scenario.jobs.iter().all(|entry| self.has_its_pods(entry)) {
            return false;
        }
        if let Some(claims) = &step.when {
            return objection(&self.stage, &entry.name, claims).is_none();
        }
        let at_once = u32::try_from(self.position).ok().and_then(|bit| self.plan.at_once.checked_shr(bit));
        step.r#await.is_some() || at_once.is_some_and(|bits| bits & 1 == 1) || self.at_rest()
    }

    fn happens(&mut self, step: &Step, entry: &JobEntry, line: u64) -> Result<bool, Error> {
        if let Some(done) = act(&mut self.stage, entry, step, &mut |_| 0) {
            return Ok(done);
        }
        if let Some(claims) = &step.r#await {
            return Ok(objection(&self.stage, &entry.name, claims).is_none());
        }
        if let Some(claims) = &step.settle {
            let settled = self.at_rest() && objection(&self.stage, &entry.name, claims).is_none();
            if settled {
                self.note_rest(Some(line));
            }
            return Ok(settled);
        }
        if let Some(span) = step.advance {
            let passing = *self.passing.get_or_insert_with(Instant::now);
            return Ok(passing.elapsed() >= Duration::from_millis(span.0.unsigned_abs()));
        }
        self.befalls(step)
    }

    fn entry(&self, name: Option<&str>) -> &'a JobEntry {
        let named = self.scenario.jobs.iter().find(|job| name.is_none_or(|name| job.name == name));
        named.unwrap_or(&self.scenario.jobs[0])
    }

    fn note_rest(&mut self, line: Option<u64>) {
        self.rests.extend(Rest::of(&self.stage, self.scenario, line));
    }

    /// The first expectation that is not met.
    fn unexpected(&self) -> Option<String> {
        self.scenario.expected_on(self.plan.target()).into_iter().find_map(|claims| {
            let job = self.entry(claims.job.as_deref());
            objection(&self.stage, &job.name, claims)
        })
    }

    /// What did not come.
    fn left_over(&self) -> String {
        let patience = self.since.elapsed().as_secs();
        let Some(step) = self.scenario.steps.get(self.position) else {
            let why = self.unexpected().unwrap_or_else(|| "something is written all the time".to_owned());
            return format!("an expectation is not met {patience} s after the last step: {why}");
        };
        let name = &self.entry(step.value.job.as_deref()).name;
        let claims = [&step.value.when, &step.value.r#await, &step.value.settle];
        let why = claims.into_iter().flatten().find_map(|claims| objection(&self.stage, name, claims));
        let why =
            why.unwrap_or_else(|| "there is nothing that it could happen to, or it is refused".to_owned());
        let (number, line) = (self.position + 1, step.referenced.line());
        format!("step {number} (line {line}) was not possible within {patience} s: {why}")
    }
}
