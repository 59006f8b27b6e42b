//! Scenarios as data.

use jobcheck_report::types::Stage;
use jobcheck_spec::Req;

use crate::{aggregate, field, mirror};

/// The promise of what is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A manager that copies the status of one Job elsewhere.
    Mirror,
    /// A manager that sums up the statuses of several Jobs elsewhere.
    Aggregate,
    /// The API server and the built-in controller, which keep `spec.managedBy` as it was set.
    Field,
}

impl Profile {
    /// Its name, with which the ids of its scenarios begin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Mirror => "mirror",
            Profile::Aggregate => "aggregate",
            Profile::Field => "field",
        }
    }

    /// Its scenarios, in the order in which they are listed.
    #[must_use]
    pub fn scenarios(self) -> &'static [Scenario] {
        match self {
            Profile::Mirror => mirror::SCENARIOS,
            Profile::Aggregate => aggregate::SCENARIOS,
            Profile::Field => field::SCENARIOS,
        }
    }
}

/// The scenarios that are only about what nobody may do. The list is no part of a scenario, whose digest is frozen.
const PROHIBITIONS: [&str; 7] = [
    "mirror/strangers",
    "mirror/rest",
    "aggregate/strangers",
    "aggregate/rest",
    "field/default",
    "field/not-added",
    "field/reserved",
];

/// A scenario: a Job, and what happens to it.
#[derive(Debug)]
pub struct Scenario {
    /// Its id, such as `mirror/redispatch-after-failure`.
    pub id: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// The requirements at which it aims.
    pub requirements: &'static [Req],
    /// Its weight.
    pub stage: Stage,
    /// The Job.
    pub job: Shape,
    /// Its steps, in this order.
    pub steps: &'static [Step],
}

impl Scenario {
    /// The hooks that its steps need.
    pub fn hooks(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Hook(name) => Some(*name),
            _ => None,
        })
    }

    /// Returns true if each pass meets the premise of one of its requirements. A scenario about what nobody may do gives a
    /// right controller no occasion to break it.
    #[must_use]
    pub fn meets_premise(&self) -> bool {
        !PROHIBITIONS.contains(&self.id)
    }

    /// Returns true if members are played, whose statuses are summed up.
    pub(crate) fn is_sum(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Report(..)))
    }

    /// Returns true if a step is about a custom resource.
    pub(crate) fn needs_resource(&self) -> bool {
        let is_custom = |step: &Step| {
            matches!(
                step,
                Step::Offer(Kind::Custom, ..) | Step::Create(Kind::Custom, _) | Step::Change(Kind::Custom, _)
            )
        };
        self.steps.iter().any(is_custom)
    }
}

/// The specification of a Job, without its template.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// `completions`; 1 if it is 0.
    pub completions: i32,
    /// `parallelism`; 1 if it is 0.
    pub parallelism: i32,
    /// `backoffLimit`.
    pub backoff_limit: i32,
    /// True for an Indexed Job.
    pub indexed: bool,
    /// `suspend`, at its creation.
    pub suspend: bool,
    /// `ttlSecondsAfterFinished`.
    pub ttl: Option<i32>,
}

/// A step: something that the suite does, or for which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The user creates the Job on the cluster of the manager. Later: creates it again under its name.
    CreateJob,
    /// A running pod of the copy succeeds.
    PodSucceeds,
    /// A running pod of the copy fails.
    PodFails,
    /// From now on, every pod succeeds once it runs.
    AllSucceed,
    /// The user suspends the Job.
    Suspend,
    /// The user resumes the Job.
    Resume,
    /// The user changes `parallelism`.
    Scale(i32),
    /// The user deletes the Job.
    DeleteJob,
    /// Somebody deletes the copy on its worker.
    DeleteCopy,
    /// The Job controller of a member's cluster writes this status. Clusters are counted from 1.
    Report(usize, Reported),
    /// Somebody deletes the copy on this cluster.
    DeleteMember(usize),
    /// The user creates an object with this value of `managedBy`, which the API server stores as it is, or refuses.
    Offer(Kind, Option<&'static str>, Answer),
    /// The user creates the object of the scenario with this value of `managedBy`.
    Create(Kind, Option<&'static str>),
    /// The user changes `managedBy` of the object of the scenario, which the API server refuses.
    Change(Kind, Option<&'static str>),
    /// A controller writes another `managedBy` with a status, which changes nothing.
    ChangeWithStatus(&'static str),
    /// The user creates a Job of the built-in controller, and waits until it has started.
    BuiltInWorks,
    /// Somebody creates Jobs of their own: with another manager on the cluster of the manager, and on each worker.
    Strangers,
    /// Somebody creates a Job on each worker that has the name of the Job.
    TakeName,
    /// They delete their Jobs again.
    RemoveStrangers,
    /// Somebody adds a condition of their own to the status of the Job.
    AddCondition,
    /// The command of this hook is run.
    Hook(&'static str),
    /// The suite waits.
    Await(Awaited),
}

/// The kind of an object with the field `spec.managedBy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Job.
    Job,
    /// The custom resource that the user names.
    Custom,
}

/// The answer of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It stores the object.
    Accepts,
    /// It refuses the object as invalid.
    Refuses,
}

/// The status that a member reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// `active` and `ready`.
    pub active: i32,
    /// `terminating`, which an older Kubernetes does not write.
    pub terminating: Option<i32>,
    /// `succeeded`; [`Reported::ALL`] for as many as the member needs.
    pub succeeded: i32,
    /// `failed`.
    pub failed: i32,
    /// The conditions that are true.
    pub conditions: &'static [&'static str],
}

impl Reported {
    /// `completions` of the member.
    pub const ALL: i32 = i32::MAX;
}

/// The state for which the suite waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A copy on a worker that no earlier step has found.
    Copy,
    /// A copy on this worker that no earlier step has found. Workers are counted from 1.
    CopyOn(usize),
    /// The end of the copy on its worker.
    CopyEnd,
    /// No copy is on a worker.
    CopyGone,
    /// `status.active` of the Job.
    Active(i32),
    /// `status.succeeded` of the Job, or more.
    Succeeded(i32),
    /// `status.failed` of the Job, or more.
    Failed(i32),
    /// The Job is suspended: Suspended=True, and `active` 0.
    Suspended,
    /// The Job has the condition Complete.
    Complete,
    /// The Job has the condition Failed.
    FailedEnd,
    /// The Job is gone.
    JobGone,
    /// The Jobs of others are as they were created.
    StrangersUntouched,
    /// The status of the Job reports nothing: it has no copy.
    Unreported,
    /// The Job has `startTime`.
    Started,
    /// Nobody has written to the Job since its creation, and it has no pod.
    Untouched,
    /// Nothing was written for this many seconds.
    Rest(u64),
    /// Nothing was written for longer than the clocks of the clusters may differ. So the judge cannot take a later report of
    /// a member for an earlier one.
    RestBeyondSkew,
}

impl Awaited {
    /// The sentence for reports.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Awaited::Copy => "a new copy on a worker".to_owned(),
            Awaited::CopyOn(worker) => format!("a new copy on cluster {worker}"),
            Awaited::CopyEnd => "the end of the copy on its worker".to_owned(),
            Awaited::CopyGone => "no copy on any worker".to_owned(),
            Awaited::Active(count) => format!("active {count} in the status of the Job"),
            Awaited::Succeeded(count) => format!("succeeded {count} in the status of the Job"),
            Awaited::Failed(count) => format!("failed {count} in the status of the Job"),
            Awaited::Suspended => "Suspended=True and active 0 in the status of the Job".to_owned(),
            Awaited::Complete => "the condition Complete of the Job".to_owned(),
            Awaited::FailedEnd => "the condition Failed of the Job".to_owned(),
            Awaited::JobGone => "the removal of the Job".to_owned(),
            Awaited::StrangersUntouched => "the Jobs of others as they were created".to_owned(),
            Awaited::Unreported => "a status of the Job that reports nothing".to_owned(),
            Awaited::Started => "startTime in the status of the Job".to_owned(),
            Awaited::Untouched => "the Job as it was created, without a pod".to_owned(),
            Awaited::Rest(seconds) => format!("{seconds} s without a write"),
            Awaited::RestBeyondSkew => "more time than --skew without a write".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Awaited, Profile, Scenario, Step};

    /// Returns true if the steps end with the last Job, as `jobcheck_report` requires of the traces of a pass.
    fn waits_for_its_end(scenario: &Scenario) -> bool {
        let begin = scenario.steps.iter().rposition(|step| *step == Step::CreateJob);
        let last = begin.map_or(scenario.steps, |at| &scenario.steps[at..]);
        let waits_for = |state| last.contains(&Step::Await(state));
        let has_end = waits_for(Awaited::Complete) || waits_for(Awaited::FailedEnd);
        let is_deleted = last.contains(&Step::DeleteJob);
        has_end || is_deleted && waits_for(Awaited::JobGone) && waits_for(Awaited::CopyGone)
    }

    #[test]
    fn each_scenario_of_a_manager_waits_for_the_end_of_its_last_job() {
        for scenario in [Profile::Mirror, Profile::Aggregate].into_iter().flat_map(Profile::scenarios) {
            assert!(waits_for_its_end(scenario), "{}", scenario.id);
        }
    }

    #[test]
    fn an_end_that_nobody_waits_for_is_found() {
        let success = &Profile::Mirror.scenarios()[0];
        let without = |count: usize| Scenario { steps: &success.steps[..count], ..*success };
        assert!(waits_for_its_end(&without(success.steps.len())));
        assert!(!waits_for_its_end(&without(success.steps.len() - 1)));
    }
}
