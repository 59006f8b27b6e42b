//! Jobs and pods for tests, and a way to read plans.

use std::sync::Arc;
use std::time::Duration;

use crate::job::command::{Command, FinalizerRemoval, Plan, When};
use crate::job::conditions;
use crate::job::observed::{
    CompletionMode, Condition, ContainerFacts, ContainerKind, Controller, Deletion, JobFacts, Memory,
    Observed, Phase, PodCondition, PodConditionPattern, PodFacts, PodFailureAction, PodFailureMatch,
    PodFailureRule, PodReplacementPolicy, Settings, SpecFacts, StatusFacts, Terminated, Uncounted,
};
use crate::job::plan::plan;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The time of all tests: a whole second.
pub const NOW: Time = Time::from_seconds(1_000_000);

/// That many seconds before [`NOW`].
pub fn ago(seconds: i64) -> Time {
    NOW.minus_seconds(seconds)
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A Job that has begun: one pod at a time, one completion.
pub fn job() -> JobFacts {
    JobFacts {
        namespace: Text::from("ns"),
        name: Text::from("job"),
        uid: Uid::new("job-uid"),
        resource_version: ResourceVersion::new("1"),
        deletion: None,
        spec: SpecFacts {
            parallelism: 1,
            completions: Some(1),
            completion_mode: CompletionMode::NonIndexed,
            backoff_limit: 6,
            backoff_limit_per_index: None,
            max_failed_indexes: None,
            active_deadline_seconds: None,
            suspend: false,
            ttl_seconds_after_finished: None,
            pod_replacement_policy: Some(PodReplacementPolicy::TerminatingOrFailed),
            pod_failure_policy: None,
            success_policy: None,
            managed_by: None,
            restarts_on_failure: false,
        },
        status: StatusFacts {
            start_time: Some(ago(100)),
            ready: Some(0),
            terminating: Some(0),
            uncounted: Some(Uncounted::default()),
            ..StatusFacts::default()
        },
    }
}

/// The same with that many pods at a time and completions.
pub fn wide(parallelism: i32, completions: i32) -> JobFacts {
    let mut job = job();
    job.spec.parallelism = parallelism;
    job.spec.completions = Some(completions);
    job
}

/// An Indexed Job.
pub fn indexed(parallelism: i32, completions: i32) -> JobFacts {
    let mut job = wide(parallelism, completions);
    job.spec.completion_mode = CompletionMode::Indexed;
    job
}

/// An Indexed Job with a limit for each index.
pub fn limited(completions: i32, limit: i32) -> JobFacts {
    let mut job = indexed(completions, completions);
    job.spec.backoff_limit_per_index = Some(limit);
    job.spec.backoff_limit = i32::MAX;
    job.status.failed_indexes = Some(Text::from(""));
    job
}

/// A running pod of the Job.
pub fn pod(uid: &str) -> PodFacts {
    PodFacts {
        name: Text::from(format!("pod-{uid}").as_str()),
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new("2"),
        created: Some(ago(90)),
        deletion: None,
        tracking_finalizer: true,
        controller: Controller::ThisJob,
        selected: true,
        completion_index: None,
        failure_count: None,
        ignored_failure_count: None,
        scheduled: true,
        phase: Phase::Running,
        conditions: Arc::default(),
        containers: Arc::default(),
    }
}

impl PodFacts {
    pub(crate) fn phase(self, phase: Phase) -> Self {
        PodFacts { phase, ..self }
    }

    pub(crate) fn succeeded(self) -> Self {
        self.phase(Phase::Succeeded)
    }

    pub(crate) fn failed(self) -> Self {
        self.phase(Phase::Failed)
    }

    /// Being deleted, with no grace left.
    pub(crate) fn deleted(self) -> Self {
        PodFacts { deletion: Some(Deletion { at: ago(50), grace_seconds: 0 }), ..self }
    }

    /// Without the finalizer.
    pub(crate) fn free(self) -> Self {
        PodFacts { tracking_finalizer: false, ..self }
    }

    pub(crate) fn index(self, index: i64) -> Self {
        PodFacts { completion_index: Some(Text::from(index.to_string().as_str())), ..self }
    }

    pub(crate) fn failures(self, count: &str) -> Self {
        PodFacts { failure_count: Some(Text::from(count)), ..self }
    }

    pub(crate) fn ignored(self, count: &str) -> Self {
        PodFacts { ignored_failure_count: Some(Text::from(count)), ..self }
    }

    pub(crate) fn condition(mut self, kind: &str, status: &str, since: Option<Time>) -> Self {
        Arc::make_mut(&mut self.conditions).push(PodCondition {
            kind: Text::from(kind),
            status: Text::from(status),
            last_transition: since,
        });
        self
    }

    pub(crate) fn ready(self) -> Self {
        self.condition("Ready", "True", Some(ago(60)))
    }

    /// With a container that ended at that time with that code.
    pub(crate) fn ended(self, at: Time, exit_code: i32) -> Self {
        self.container(
            "main",
            ContainerKind::Regular,
            0,
            Some(Terminated { exit_code, finished_at: Some(at) }),
        )
    }

    pub(crate) fn container(
        mut self,
        name: &str,
        kind: ContainerKind,
        restarts: i32,
        terminated: Option<Terminated>,
    ) -> Self {
        let container = ContainerFacts { name: Text::from(name), kind, restarts, terminated };
        Arc::make_mut(&mut self.containers).push(container);
        self
    }

    /// Without any owner.
    pub(crate) fn ownerless_pod(self) -> Self {
        PodFacts { controller: Controller::Nobody, ..self }
    }
}

impl JobFacts {
    pub(crate) fn deleting(self) -> Self {
        JobFacts { deletion: Some(ago(5)), ..self }
    }

    pub(crate) fn status_with(mut self, kind: &str, status: &str, reason: &str) -> Self {
        let new = conditions::new(kind, status, &Text::from(reason), &Text::from("why"), ago(20));
        self.status.conditions.push(new);
        self
    }

    pub(crate) fn listing(mut self, succeeded: &[&str], failed: &[&str]) -> Self {
        let uids = |uids: &[&str]| uids.iter().map(|it| Uid::new(it)).collect();
        self.status.uncounted = Some(Uncounted { succeeded: uids(succeeded), failed: uids(failed) });
        self
    }

    pub(crate) fn rules(mut self, rules: Vec<PodFailureRule>) -> Self {
        self.spec.pod_failure_policy = Some(Arc::new(rules));
        self.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
        self
    }
}

/// A rule about a pod condition that is True.
pub fn rule(action: PodFailureAction, condition: &str) -> PodFailureRule {
    let pattern = PodConditionPattern { kind: Text::from(condition), status: Text::from("True") };
    PodFailureRule { action, on: PodFailureMatch::PodConditions(vec![pattern]) }
}

/// What a decision reads.
#[derive(Clone, Debug)]
pub struct Case {
    pub job: JobFacts,
    pub pods: Vec<PodFacts>,
    pub memory: Memory,
    pub settings: Settings,
    pub now: Time,
    pub caches_show_own_writes: bool,
}

impl Case {
    pub fn new(job: JobFacts, pods: impl IntoIterator<Item = PodFacts>) -> Self {
        let memory = Memory { uid: Some(job.uid.clone()), ..Memory::default() };
        let pods = pods.into_iter().collect();
        Case { job, pods, memory, settings: Settings::default(), now: NOW, caches_show_own_writes: true }
    }

    pub fn observed(&self) -> Observed<'_> {
        Observed {
            job: &self.job,
            pods: &self.pods,
            memory: &self.memory,
            caches_show_own_writes: self.caches_show_own_writes,
            now: self.now,
            settings: &self.settings,
        }
    }

    pub fn plan(&self) -> Plan {
        plan(&self.observed())
    }

    pub fn shape(&self) -> String {
        shape(&self.plan())
    }

    /// All status writes of the plan, as far as nothing fails.
    pub fn writes(&self) -> Vec<StatusFacts> {
        let plan = self.plan();
        let steps = plan.sequences.iter().filter(|it| it.when != When::NotStopped).flat_map(|it| &it.steps);
        steps.filter_map(|step| written(&step.command)).cloned().collect()
    }

    /// The only status write, or the first of two.
    pub fn first(&self) -> StatusFacts {
        self.writes().first().expect("a status write").clone()
    }

    /// The status after the plan.
    pub fn last(&self) -> StatusFacts {
        self.writes().last().expect("a status write").clone()
    }
}

fn written(command: &Command) -> Option<&StatusFacts> {
    match command {
        Command::WriteStatus(write) => Some(&write.after),
        _ => None,
    }
}

/// `write, release a b, write | delete c`: the commands of a plan with the UIDs of their pods, or the indexes of new
/// ones, as far as nothing fails; commas stand between steps, bars between sequences that do not depend on each other.
pub fn shape(plan: &Plan) -> String {
    shape_without(plan, When::NotStopped)
}

/// The same where what stops the Job fails.
pub fn shape_if_not_stopped(plan: &Plan) -> String {
    shape_without(plan, When::Stopped)
}

fn shape_without(plan: &Plan, left_out: When) -> String {
    plan.sequences.iter().filter(|it| it.when != left_out).fold(String::new(), |text, sequence| {
        let steps: Vec<String> = sequence.steps.iter().map(|step| command(&step.command)).collect();
        let by = match sequence.when {
            _ if text.is_empty() => "",
            When::Stopped => ", ",
            When::Always | When::Stop | When::NotStopped => " | ",
        };
        text + by + &steps.join(", ")
    })
}

fn command(command: &Command) -> String {
    let of =
        |verb: &str, uids: Vec<&Uid>| uids.iter().fold(verb.to_owned(), |text, uid| format!("{text} {uid}"));
    let finalizer_removed =
        |all: &[FinalizerRemoval]| all.iter().map(|it| it.pod.uid.clone()).collect::<Vec<_>>();
    match command {
        Command::WriteStatus(_) => "write".to_owned(),
        Command::RemoveFinalizers(pods) => of("release", finalizer_removed(pods).iter().collect()),
        Command::DeletePods(pods) => of("delete", pods.iter().map(|it| &it.uid).collect()),
        Command::AdoptPods(pods) => of("adopt", pods.iter().map(|it| &it.uid).collect()),
        Command::ReleasePods(pods) => of("give-up", pods.iter().map(|it| &it.uid).collect()),
        Command::CreatePods(creation) => creation.pods.iter().fold("create".to_owned(), |text, pod| {
            let index = pod.index.map_or("_".to_owned(), |index| index.to_string());
            format!("{text} {index}")
        }),
    }
}

/// The UIDs of a list.
pub fn uids(list: &[Uid]) -> Vec<&str> {
    list.iter().map(Uid::as_str).collect()
}

/// The status of the condition of a type, and its reason.
pub fn said<'a>(status: &'a StatusFacts, kind: &str) -> Option<(&'a str, &'a str)> {
    let found: Vec<&Condition> = status.conditions.iter().filter(|it| &*it.kind == kind).collect();
    assert!(found.len() <= 1, "{kind} stands twice");
    found.first().map(|it| (&*it.status, &*it.reason))
}
