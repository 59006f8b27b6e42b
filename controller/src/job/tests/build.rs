//! Jobs and pods for tests, and plans as short texts.

use std::sync::Arc;
use std::time::Duration;

use crate::job::command::{Command, Plan, Sequence};
use crate::job::conditions;
use crate::job::memory::Memory;
use crate::job::observed::{
    CompletionMode, Condition, ContainerFacts, ContainerKind, Controller, Deletion, JobFacts, Observed,
    Phase, PodCondition, PodConditionPattern, PodFacts, PodFailureAction, PodFailureMatch, PodFailureRule,
    PodReplacementPolicy, Settings, SpecFacts, StatusFacts, Terminated, Uncounted,
};
use crate::job::plan::plan;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The time of all tests: a whole second.
pub const NOW: Time = Time::from_seconds(1_000_000);

/// The time so many seconds before [`NOW`].
pub fn ago(seconds: i64) -> Time {
    NOW.minus_seconds(seconds)
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A started Job with parallelism 1 and completions 1.
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

/// A started Job with this parallelism and these completions.
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

/// An Indexed Job with a backoff limit per index.
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

    /// With a deletion whose grace period has passed.
    pub(crate) fn deleted(self) -> Self {
        PodFacts { deletion: Some(Deletion { at: ago(50), grace_seconds: 0 }), ..self }
    }

    /// Without the tracking finalizer.
    pub(crate) fn untracked(self) -> Self {
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

    /// With a container that exited at this time with this code.
    pub(crate) fn exited(self, at: Time, exit_code: i32) -> Self {
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

    /// Without a controller reference.
    pub(crate) fn ownerless(self) -> Self {
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

    pub(crate) fn recording(mut self, succeeded: &[&str], failed: &[&str]) -> Self {
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

/// A rule that matches a pod condition with status True.
pub fn rule(action: PodFailureAction, condition: &str) -> PodFailureRule {
    let pattern = PodConditionPattern { kind: Text::from(condition), status: Text::from("True") };
    PodFailureRule { action, on: PodFailureMatch::PodConditions(vec![pattern]) }
}

/// The owned input of a decision.
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

    /// All status writes of the plan if no call fails.
    pub fn writes(&self) -> Vec<StatusFacts> {
        written(performed(&self.plan(), Stopping::Succeeds))
    }

    /// The status after the first status write.
    pub fn first(&self) -> StatusFacts {
        self.writes().first().expect("a status write").clone()
    }

    /// The status after the last status write.
    pub fn last(&self) -> StatusFacts {
        self.writes().last().expect("a status write").clone()
    }
}

/// The result of the deletions that stop a Job.
#[derive(Clone, Copy)]
enum Stopping {
    Succeeds,
    Fails,
}

/// The sequences that are performed if no other call fails.
fn performed(plan: &Plan, stopping: Stopping) -> Vec<&Sequence> {
    let accounting = plan.stop.iter().flat_map(|stop| match stopping {
        Stopping::Succeeds => &stop.if_all,
        Stopping::Fails => &stop.if_none,
    });
    let deletions = plan.stop.iter().flat_map(|stop| &stop.deletions);
    plan.claims.iter().chain(deletions).chain(accounting).chain(&plan.account).chain(&plan.scale).collect()
}

fn written(sequences: Vec<&Sequence>) -> Vec<StatusFacts> {
    let writes = sequences.into_iter().flatten().filter_map(|step| match &step.command {
        Command::WriteStatus(write) => Some(write.after.clone()),
        _ => None,
    });
    writes.collect()
}

/// The status writes that are performed if no active pod can be deleted.
pub fn writes_if_not_stopped(plan: &Plan) -> Vec<StatusFacts> {
    written(performed(plan, Stopping::Fails))
}

/// The commands of a plan as text, if no call fails; for example `write, untrack a b, write | delete c`.
///
/// Each command has the UIDs of its pods, or the indexes of new pods. Commas separate steps that depend on each other,
/// bars independent sequences. `untrack` is the removal of the finalizer.
pub fn shape(plan: &Plan) -> String {
    shape_of(plan, Stopping::Succeeds)
}

/// The same if no active pod can be deleted.
pub fn shape_if_not_stopped(plan: &Plan) -> String {
    shape_of(plan, Stopping::Fails)
}

fn shape_of(plan: &Plan, stopping: Stopping) -> String {
    // The accounting after all deletions depends on them.
    let if_all = match stopping {
        Stopping::Succeeds => plan.stop.iter().flat_map(|stop| &stop.if_all).collect(),
        Stopping::Fails => Vec::new(),
    };
    performed(plan, stopping).into_iter().fold(String::new(), |text, sequence| {
        let depends = if_all.iter().any(|it| std::ptr::eq(*it, sequence));
        let separator = match (text.is_empty(), depends) {
            (true, _) => "",
            (false, true) => ", ",
            (false, false) => " | ",
        };
        let steps: Vec<String> = sequence.iter().map(|step| command(&step.command)).collect();
        text + separator + &steps.join(", ")
    })
}

fn command(command: &Command) -> String {
    let of =
        |verb: &str, uids: Vec<&Uid>| uids.iter().fold(verb.to_owned(), |text, uid| format!("{text} {uid}"));
    match command {
        Command::WriteStatus(_) => "write".to_owned(),
        Command::RemoveFinalizers(pods) => of("untrack", pods.iter().map(|it| &it.pod.uid).collect()),
        Command::DeletePods(pods) => of("delete", pods.iter().map(|it| &it.uid).collect()),
        Command::AdoptPods(pods) => of("adopt", pods.iter().map(|it| &it.uid).collect()),
        Command::ReleasePods(pods) => of("release", pods.iter().map(|it| &it.uid).collect()),
        Command::CreatePods(creation) => creation.pods.iter().fold("create".to_owned(), |text, pod| {
            let index = pod.index.map_or("_".to_owned(), |index| index.to_string());
            format!("{text} {index}")
        }),
    }
}

/// The UIDs as texts.
pub fn uids(list: &[Uid]) -> Vec<&str> {
    list.iter().map(Uid::as_str).collect()
}

/// The status and the reason of the condition of a type.
pub fn condition_of<'a>(status: &'a StatusFacts, kind: &str) -> Option<(&'a str, &'a str)> {
    let found: Vec<&Condition> = status.conditions.iter().filter(|it| &*it.kind == kind).collect();
    assert!(found.len() <= 1, "two conditions of type {kind}");
    found.first().map(|it| (&*it.status, &*it.reason))
}
