//! Scenarios as data.

use jobcheck_report::types::Stage;
use jobcheck_spec::Req;

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

/// The state for which the suite waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A copy on a worker that no earlier step has found.
    Copy,
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
    /// Nothing was written for this many seconds.
    Rest(u64),
}

impl Awaited {
    /// The sentence for reports.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Awaited::Copy => "a new copy on a worker".to_owned(),
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
            Awaited::Rest(seconds) => format!("{seconds} s without a write"),
        }
    }
}
