//! A run of a scenario: the order of steps, and the waits for conditions.

mod faults;
mod probe;

pub(crate) use probe::OVERDUE;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jobcheck_judge::replay::Subject;
use jobcheck_record::AccessError;
use jobcheck_record::watch::{self, WatchTarget, WatchUpdate};
use jobcheck_scenario::runtime::{
    Cluster as _, ObservedJob, QuiescentState, TraceLines, act, create_job, create_pod, header, objection,
};
use jobcheck_scenario::{JobEntry, Scenario, Step};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::{Resource, WatchKind};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::Error;
use crate::leader::{ControllerSetup, Leader, RunEvent};
use crate::namespace::Namespace;
use crate::recording::Recording;
use crate::test_cluster::TestCluster;
use crate::unsupported::needs_proxy;
use crate::{Manager, Plan, patience};

/// The time without writes after which a run is treated as quiescent. It is twice the time for which Job controllers
/// collect events of pods.
pub const QUIET: Duration = Duration::from_secs(2);
/// The interval of checks for conditions that no watch shows.
const TICK: Duration = Duration::from_millis(50);
/// The delay before a refused step is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// The maximum backoff delay that a run waits for.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(40);
/// The time that a replacement may take after the backoff delay.
const MARGIN: Duration = Duration::from_secs(2);
/// The maximum backoff delay of a scenario, in milliseconds, that passes without `advance`, as on `sim`.
const PASSES: i64 = 1_000;

/// The result of a run before the trace is judged.
pub(crate) struct RunRecord {
    /// The step or expectation that was not met in time, or the reason why the recording is incomplete.
    pub unmet: Option<String>,
    /// The trace.
    pub lines: TraceLines,
    /// The states at quiescence.
    pub states: Vec<QuiescentState>,
}

/// Plays a scenario in this namespace. Blocks the thread.
///
/// # Errors
///
/// The API server or the controllers fail, or `stop` was cancelled.
pub(crate) fn play(
    cluster: &TestCluster,
    namespace: &str,
    scenario: &Scenario,
    plan: &Plan,
    stop: &CancellationToken,
) -> Result<RunRecord, Error> {
    let mut play = Play::begin(cluster, namespace, scenario, plan)?;
    let unmet = play.run(stop)?;
    let Play { mut ns, mut recording, states, leaders, .. } = play;
    recording.add_disruptions(cluster.disruptions());
    let (lines, incomplete) = recording.end(&mut ns.connection, namespace)?;
    drop(leaders);
    Ok(RunRecord { unmet: unmet.or(incomplete), lines, states })
}

/// A run.
struct Play<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    cluster: &'a TestCluster,
    ns: Namespace,
    events: Receiver<RunEvent>,
    _watches: Watches,
    recording: Recording,
    setup: ControllerSetup<'a>,
    /// The controllers that the run has started.
    leaders: Vec<Leader>,
    faults: faults::Faults,
    /// The number of the next step.
    position: usize,
    /// The time since which it is the next step.
    since: Instant,
    /// The time at which it was last refused.
    refused: Option<Instant>,
    /// True if the last event changed the state of the run.
    is_new: bool,
    /// True if further events have arrived. The run is not quiescent then.
    lags: bool,
    /// The time at which its `advance` began.
    passing: Option<Instant>,
    states: Vec<QuiescentState>,
    /// The first backoff delay.
    delay: Duration,
    /// The maximum time to wait for a step or an expectation.
    patience: Duration,
}

/// The constants and gates with which the controllers of a run are started, and the rules of its API server.
fn subject(scenario: &Scenario, plan: &Plan, rules: RuleSet) -> Subject {
    let mut subject = match plan.manager {
        Manager::Shipped { .. } => scenario.subject().on(rules),
        // The constants of these two cannot be changed.
        Manager::BuiltIn { .. } => {
            let gates = scenario.subject().gates;
            return Subject { gates, ..Subject::default() }.on(rules);
        }
        Manager::External => return Subject::default().on(rules),
    };
    let usual = Subject::default().constants;
    if subject.constants.pod_failure_backoff_ms > PASSES {
        // Only `advance` lets such a delay pass, so that it must be longer than the wait for quiescence.
        let longer = subject.constants.pod_failure_backoff_ms.max(usual.pod_failure_backoff_ms);
        subject.constants.pod_failure_backoff_ms = longer;
        subject.constants.pod_failure_backoff_max_ms =
            subject.constants.pod_failure_backoff_max_ms.max(longer);
    }
    subject
}

/// The error for an initial object that was not created: a refusal, or no response.
fn refused(ns: &Namespace, why: String) -> Error {
    ns.connection.lost.clone().map_or(Error::Refused(why), |why| AccessError::Server(why).into())
}

/// Returns true if a Job has fewer active pods than it should have. A finished or suspended Job needs none.
fn wants_pods(job: &Value) -> bool {
    let (spec, status) = (&job["spec"], &job["status"]);
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let parallelism = spec["parallelism"].as_i64().unwrap_or(1);
    let open = spec["completions"].as_i64().map_or(parallelism, |all| all - number("succeeded"));
    !conditions.into_iter().any(|it| it["status"] == "True") && number("active") < parallelism.min(open)
}

/// The watches of a run. They end when the value is dropped.
struct Watches(Vec<JoinHandle<()>>);

impl Drop for Watches {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl<'a> Play<'a> {
    fn begin(
        cluster: &'a TestCluster,
        namespace: &'a str,
        scenario: &'a Scenario,
        plan: &'a Plan,
    ) -> Result<Play<'a>, Error> {
        // The audit policy of a test cluster leaves out nothing.
        let logs_all = cluster.audit_log().is_some();
        let subject = Subject { logs_all, ..subject(scenario, plan, cluster.rules()) };
        let header = header(&subject, &format!("scenario {}", scenario.name));
        let mut recording = Recording::begin(header, cluster.audit_log())?;
        if plan.managed_by.is_none() {
            recording.introduce_controller();
        }
        let connection =
            Connection::new(cluster.client(), cluster.runtime(), Arc::clone(cluster.disruptions()));
        let mut ns = Namespace::new(connection, namespace, cluster.node(), plan.managed_by.clone());
        let (sender, events) = channel();
        let mut watches = Watches(Vec::new());
        for resource in [Resource::Jobs, Resource::Pods] {
            let target = WatchTarget { namespace: Some(namespace.to_owned()), resource };
            let list = || {
                cluster
                    .runtime()
                    .block_on(watch::list(&cluster.client(), &target))
                    .map_err(|why| AccessError::Server(why).into())
            };
            let version = cluster.patiently(list)?.version;
            let out = sender.clone();
            let out = move |shown| out.send(RunEvent::Shown(resource, shown)).is_ok();
            watches.0.push(cluster.runtime().spawn(watch::follow(cluster.client(), target, version, out)));
        }
        for entry in &scenario.jobs {
            // If the request was repeated, the first attempt may have created the Job. The watch shows
            // it.
            let created = create_job(&mut ns, entry)
                .or_else(|why| if ns.connection.repeated { Ok(()) } else { Err(refused(&ns, why)) });
            created?;
        }
        let is_faulty = needs_proxy(scenario) || matches!(plan.manager, Manager::BuiltIn { .. });
        let decides = is_faulty.then_some(sender);
        let delay = Duration::from_millis(subject.constants.pod_failure_backoff_ms.unsigned_abs());
        let setup = ControllerSetup { cluster, plan, namespace, subject, decides };
        let mut play = Play {
            scenario,
            plan,
            cluster,
            ns,
            events,
            _watches: watches,
            recording,
            delay,
            patience: plan.patience.unwrap_or_else(|| patience::needed(scenario, delay)),
            setup,
            leaders: Vec::new(),
            faults: faults::Faults::default(),
            position: 0,
            since: Instant::now(),
            refused: None,
            is_new: true,
            lags: false,
            passing: None,
            states: Vec::new(),
        };
        play.create_pods()?;
        play.leaders.extend(cluster.patiently(|| play.setup.start(0))?);
        Ok(play)
    }

    /// Creates the pods that exist before the first sync of the Job.
    fn create_pods(&mut self) -> Result<(), Error> {
        let entry = &self.scenario.jobs[0];
        for (number, pod) in self.scenario.pods_before.iter().enumerate() {
            create_pod(&mut self.ns, entry, number, pod).map_err(|why| refused(&self.ns, why))?;
            self.ns.follow_up();
        }
        Ok(())
    }

    /// Runs to the end. Returns the step or expectation that was not met in time.
    fn run(&mut self, stop: &CancellationToken) -> Result<Option<String>, Error> {
        loop {
            if stop.is_cancelled() {
                return Err(Error::Interrupted);
            }
            self.look_after_leaders()?;
            if let Ok(heard) = self.events.recv_timeout(TICK) {
                self.hear(heard)?;
                self.lags = true;
                // A step may wait for a condition that holds only between two events.
                while let Ok(heard) = self.events.try_recv() {
                    if self.is_new {
                        self.steps()?;
                    }
                    self.hear(heard)?;
                }
                self.lags = false;
            }
            self.steps()?;
            if self.position == self.scenario.steps.len()
                && self.is_quiescent()
                && self.unexpected().is_none()
            {
                self.record_state(None);
                return Ok(None);
            }
            if self.since.elapsed() > self.patience || self.is_overdue()? {
                self.record_state(None);
                return Ok(Some(self.unmet_condition()));
            }
        }
    }

    fn hear(&mut self, heard: RunEvent) -> Result<(), Error> {
        match heard {
            RunEvent::Request(request) => {
                let before = self.position;
                self.decide(*request)?;
                self.is_new = self.position != before;
            }
            RunEvent::Shown(resource, shown) => {
                let before = self.ns.cache.changed;
                self.take(resource, shown);
                self.is_new = self.ns.cache.changed != before;
            }
        }
        Ok(())
    }

    fn take(&mut self, resource: Resource, shown: WatchUpdate) {
        match shown {
            WatchUpdate::Event { kind, object } => {
                self.recording.watched(kind.name(), &object);
                if kind == WatchKind::Deleted {
                    self.ns.cache.removed(&object);
                } else {
                    self.ns.cache.shown(object);
                }
            }
            WatchUpdate::Relisted { why, listed } => {
                self.recording.missed(resource, &why);
                self.ns.cache.listed(resource, listed);
            }
            WatchUpdate::Open | WatchUpdate::Ended | WatchUpdate::Reached(_) | WatchUpdate::Lost(_) => {}
        }
    }

    /// Returns true at quiescence: nothing was written for a while, and the controllers have synced each Job.
    fn is_quiescent(&self) -> bool {
        let last = self.ns.cache.changed.max(self.since);
        let is_quiet =
            self.faults.last.map_or(last, |asked| asked.max(last)).elapsed() >= self.faults.quiet();
        is_quiet
            && !self.lags
            && !self.cluster.disruptions().is_near()
            && (self.is_paused() || self.scenario.jobs.iter().all(|entry| self.was_synced(entry)))
            && !self.scenario.jobs.iter().any(|entry| self.is_delayed(entry))
    }

    /// Returns true if all controllers are paused. A pause may occur between the creation of a pod and the status
    /// write of the same sync.
    fn is_paused(&self) -> bool {
        !self.leaders.is_empty() && self.leaders.iter().all(|leader| leader.controller.is_paused())
    }

    /// Returns true if a failed or deleted pod waits for its replacement, because the controller's backoff delay
    /// is longer than the scenario's.
    fn is_delayed(&self, entry: &JobEntry) -> bool {
        let asked = self.scenario.subject().constants.pod_failure_backoff_ms;
        let Some((count, last)) = self.ns.cache.failures(&entry.name).filter(|_| asked <= PASSES) else {
            return false;
        };
        let doubled = u32::try_from(count - 1)
            .map_or(MAX_BACKOFF, |times| self.delay.saturating_mul(1 << times.min(8)));
        let goes_on = self.ns.job(&entry.name).is_some_and(wants_pods);
        goes_on && last.elapsed() < doubled.min(MAX_BACKOFF) + MARGIN
    }

    /// Returns true if the kubelet has all pods that the status counts. The watch of Jobs may be ahead of the
    /// watch of pods, and a deletion removes a pod without a kubelet at once.
    fn has_its_pods(&self, entry: &JobEntry) -> bool {
        let Some(job) = self.ns.job(&entry.name).filter(|job| self.is_ours(job)) else { return true };
        let told = ["active", "succeeded", "failed"].map(|name| job["status"][name].as_u64().unwrap_or(0));
        let created = ObservedJob::of(&self.ns, &entry.name).created as u64;
        self.ns.has_bound_all() && (self.plan.manager == Manager::External || created >= told.iter().sum())
    }

    fn is_ours(&self, job: &Value) -> bool {
        job["spec"]["managedBy"].as_str() == self.plan.managed_by.as_deref()
    }

    /// Returns true if a controller has synced the Job: the first sync writes its status.
    fn was_synced(&self, entry: &JobEntry) -> bool {
        let Some(job) = self.ns.job(&entry.name) else { return true };
        let status = &job["status"];
        let is_written = !status["startTime"].is_null() || !status["conditions"].is_null();
        !self.is_ours(job) || is_written || !job["metadata"]["deletionTimestamp"].is_null()
    }

    /// Does the pending work of kubelets, and all steps that are possible now.
    fn steps(&mut self) -> Result<(), Error> {
        self.ns.follow_up();
        self.drop_past_outcomes();
        while self.step()? {}
        Ok(())
    }

    /// Does the next step if it is possible. Returns true if it is done.
    fn step(&mut self) -> Result<bool, Error> {
        let scenario = self.scenario;
        let Some(step) = scenario.steps.get(self.position) else { return Ok(false) };
        if self.refused.is_some_and(|at| at.elapsed() < AGAIN) {
            return Ok(false);
        }
        let (line, step) = (step.referenced.line(), &step.value);
        let entry = self.entry(step.job.as_deref());
        let due = self.passing.is_some() || self.is_due(step, entry);
        let sent = self.ns.connection.sent;
        let done = due && self.happens(step, entry, line)?;
        self.refused = (!done && self.ns.connection.sent > sent).then(Instant::now);
        let left_out = !done && step.optional.unwrap_or_default() && self.is_quiescent();
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

    /// Returns true if the condition of a step holds.
    fn is_due(&self, step: &Step, entry: &JobEntry) -> bool {
        // The judge treats the first writer of a status as the manager of the Job.
        if step.deny.is_some() && !self.was_synced(entry) {
            return false;
        }
        if !self.scenario.jobs.iter().all(|entry| self.has_its_pods(entry)) {
            return false;
        }
        if let Some(claims) = &step.when {
            return objection(&self.ns, &entry.name, claims).is_none();
        }
        let at_once = u32::try_from(self.position).ok().and_then(|bit| self.plan.at_once.checked_shr(bit));
        step.r#await.is_some() || at_once.is_some_and(|bits| bits & 1 == 1) || self.is_quiescent()
    }

    fn happens(&mut self, step: &Step, entry: &JobEntry, line: u64) -> Result<bool, Error> {
        if let Some(done) = act(&mut self.ns, entry, step, &mut |_| 0) {
            return Ok(done);
        }
        if let Some(claims) = &step.r#await {
            return Ok(objection(&self.ns, &entry.name, claims).is_none());
        }
        if let Some(claims) = &step.settle {
            let settled = self.is_quiescent() && objection(&self.ns, &entry.name, claims).is_none();
            if settled {
                self.record_state(Some(line));
            }
            return Ok(settled);
        }
        if let Some(span) = step.advance {
            let passing = *self.passing.get_or_insert_with(Instant::now);
            return Ok(passing.elapsed() >= Duration::from_millis(span.0.unsigned_abs()));
        }
        self.apply_fault(step)
    }

    fn entry(&self, name: Option<&str>) -> &'a JobEntry {
        let named = self.scenario.jobs.iter().find(|job| name.is_none_or(|name| job.name == name));
        named.unwrap_or(&self.scenario.jobs[0])
    }

    fn record_state(&mut self, line: Option<u64>) {
        self.states.extend(QuiescentState::of(&self.ns, self.scenario, line));
    }

    /// The first expectation that is not met.
    fn unexpected(&self) -> Option<String> {
        self.scenario.expected_on(self.plan.target()).into_iter().find_map(|claims| {
            let job = self.entry(claims.job.as_deref());
            objection(&self.ns, &job.name, claims)
        })
    }

    /// The message about the step or expectation that was not met.
    fn unmet_condition(&self) -> String {
        let patience = self.since.elapsed().as_secs();
        let Some(step) = self.scenario.steps.get(self.position) else {
            let why = self.unexpected().unwrap_or_else(|| "writes continue without end".to_owned());
            return format!("an expectation is not met {patience} s after the last step: {why}");
        };
        let name = &self.entry(step.value.job.as_deref()).name;
        let claims = [&step.value.when, &step.value.r#await, &step.value.settle];
        let why = claims.into_iter().flatten().find_map(|claims| objection(&self.ns, name, claims));
        let why = why.unwrap_or_else(|| "no object fits the step, or the API server refuses it".to_owned());
        let (number, line) = (self.position + 1, step.referenced.line());
        format!("step {number} (line {line}) was not possible within {patience} s: {why}")
    }
}
