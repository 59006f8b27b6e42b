//! Claims of a scenario about a Job and its pods. They serve as conditions and as expectations.

use crate::world::{JobId, JobState};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{ConditionKind, Job, Text};
use jobcheck_spec::pod::{Phase, Pod};

/// An expectation about a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The Job.
    pub job: JobId,
    /// The claims that must hold.
    pub claims: Vec<Claim>,
    /// The requirement behind it, if the scenario names one.
    pub requirement: Option<Req>,
    /// The place in the scenario, such as `line 14`.
    pub place: String,
}

/// A claim about a Job and its pods as stored in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A number has this value.
    Number(Number, Count),
    /// A fact is true or false.
    Flag(Flag, bool),
    /// A condition is true, or is not.
    Condition(ConditionKind, bool),
    /// A condition is true with this reason.
    Reason(ConditionKind, Text),
    /// `completedIndexes` means these indexes.
    CompletedIndexes(Text),
    /// `failedIndexes` means these indexes.
    FailedIndexes(Text),
}

/// An expected number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Exactly this number.
    Exactly(u32),
    /// At least this number.
    AtLeast(u32),
    /// At most this number.
    AtMost(u32),
}

/// A number in the status of a Job, or a number of its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// `status.active`.
    Active,
    /// `status.ready`.
    Ready,
    /// `status.terminating`.
    Terminating,
    /// `status.succeeded`.
    Succeeded,
    /// `status.failed`.
    Failed,
    /// The number of UIDs in `status.uncountedTerminatedPods`.
    Uncounted,
    /// Existing pods.
    Pods,
    /// Pods that have not terminated and are not being deleted.
    ActivePods,
    /// Pods that are being deleted and have not terminated.
    TerminatingPods,
    /// Pods in phase `Succeeded`.
    SucceededPods,
    /// Pods in phase `Failed`.
    FailedPods,
    /// Pods with the tracking finalizer.
    TrackedPods,
    /// Pods that the Job controls.
    ControlledPods,
    /// Pods that were ever created.
    CreatedPods,
}

/// A fact about a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// The Job exists.
    Exists,
    /// The Job is being deleted.
    Deleting,
    /// The Job has `startTime`.
    StartTime,
    /// The Job has `completionTime`.
    CompletionTime,
    /// The Job has a terminal condition.
    Finished,
}

impl Count {
    /// Returns true if the number is as expected.
    #[must_use]
    pub fn fits(self, count: u32) -> bool {
        match self {
            Count::Exactly(expected) => count == expected,
            Count::AtLeast(expected) => count >= expected,
            Count::AtMost(expected) => count <= expected,
        }
    }

    fn text(self) -> String {
        match self {
            Count::Exactly(count) => count.to_string(),
            Count::AtLeast(count) => format!("at least {count}"),
            Count::AtMost(count) => format!("at most {count}"),
        }
    }
}

impl Number {
    /// All numbers.
    pub const ALL: [Number; 14] = [
        Number::Active,
        Number::Ready,
        Number::Terminating,
        Number::Succeeded,
        Number::Failed,
        Number::Uncounted,
        Number::Pods,
        Number::ActivePods,
        Number::TerminatingPods,
        Number::SucceededPods,
        Number::FailedPods,
        Number::TrackedPods,
        Number::ControlledPods,
        Number::CreatedPods,
    ];

    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Number::Active => "active",
            Number::Ready => "ready",
            Number::Terminating => "terminating",
            Number::Succeeded => "succeeded",
            Number::Failed => "failed",
            Number::Uncounted => "the number of uncounted pods",
            Number::Pods => "the number of pods",
            Number::ActivePods => "the number of active pods",
            Number::TerminatingPods => "the number of terminating pods",
            Number::SucceededPods => "the number of pods in phase Succeeded",
            Number::FailedPods => "the number of pods in phase Failed",
            Number::TrackedPods => "the number of pods with the tracking finalizer",
            Number::ControlledPods => "the number of pods that the Job controls",
            Number::CreatedPods => "the number of pods that were created",
        }
    }

    /// Returns true if the number is a field of the status.
    #[must_use]
    pub fn is_of_status(self) -> bool {
        self <= Number::Uncounted
    }

    /// The value. Returns `None` for a field of the status if the Job does not exist.
    #[must_use]
    pub fn value(self, job_state: &JobState) -> Option<u32> {
        let count =
            |which: fn(&Pod) -> bool| Some(small(job_state.pods.iter().filter(|pod| which(pod)).count()));
        let status =
            |of: fn(&Job) -> i32| job_state.job.as_ref().map(|job| u32::try_from(of(job)).unwrap_or(0));
        match self {
            Number::Active => status(|job| job.status.active),
            Number::Ready => status(|job| job.status.ready.unwrap_or(0)),
            Number::Terminating => status(|job| job.status.terminating.unwrap_or(0)),
            Number::Succeeded => status(|job| job.status.succeeded),
            Number::Failed => status(|job| job.status.failed),
            Number::Uncounted => job_state.job.as_ref().map(|job| small(job.status.recorded())),
            Number::Pods => count(|_| true),
            Number::ActivePods => count(Pod::is_active),
            Number::TerminatingPods => count(Pod::is_terminating),
            Number::SucceededPods => count(|pod| pod.phase == Phase::Succeeded),
            Number::FailedPods => count(|pod| pod.phase == Phase::Failed),
            Number::TrackedPods => count(|pod| pod.finalizer),
            Number::ControlledPods => count(|pod| pod.controlled),
            Number::CreatedPods => Some(small(job_state.ghost.pods.len())),
        }
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Flag {
    /// All facts.
    pub const ALL: [Flag; 5] =
        [Flag::Exists, Flag::Deleting, Flag::StartTime, Flag::CompletionTime, Flag::Finished];

    /// Returns true if the fact is true. Returns `None` if the Job does not exist.
    #[must_use]
    pub fn value(self, job_state: &JobState) -> Option<bool> {
        let job = job_state.job.as_ref();
        match self {
            Flag::Exists => Some(job.is_some()),
            Flag::Deleting => job.map(|job| job.deleting),
            Flag::StartTime => job.map(|job| job.status.start_time.is_some()),
            Flag::CompletionTime => job.map(|job| job.status.completion_time.is_some()),
            Flag::Finished => job.map(|job| job.status.is_finished()),
        }
    }

    fn text(self, holds: bool) -> &'static str {
        match (self, holds) {
            (Flag::Exists, true) => "the Job exists",
            (Flag::Exists, false) => "the Job does not exist",
            (Flag::Deleting, true) => "the Job is being deleted",
            (Flag::Deleting, false) => "the Job is not being deleted",
            (Flag::StartTime, true) => "the Job has a startTime",
            (Flag::StartTime, false) => "the Job has no startTime",
            (Flag::CompletionTime, true) => "the Job has a completionTime",
            (Flag::CompletionTime, false) => "the Job has no completionTime",
            (Flag::Finished, true) => "the Job is finished",
            (Flag::Finished, false) => "the Job is not finished",
        }
    }
}

impl Claim {
    /// The difference between claim and state. Returns `None` if the claim holds.
    #[must_use]
    pub fn objection(&self, job_state: &JobState) -> Option<String> {
        const GONE: &str = "the Job does not exist";
        match self {
            Claim::Number(number, expected) => match number.value(job_state) {
                Some(found) if expected.fits(found) => None,
                Some(found) => Some(format!("{} is {found}, not {}", number.name(), expected.text())),
                None => Some(GONE.to_owned()),
            },
            Claim::Flag(flag, expected) => match flag.value(job_state) {
                Some(found) if found == *expected => None,
                Some(found) => Some(flag.text(found).to_owned()),
                None => Some(GONE.to_owned()),
            },
            Claim::Condition(kind, expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = job.status.is_true(kind);
                let not = if found { "" } else { " not" };
                (found != *expected).then(|| format!("the condition {} is{not} true", kind.as_str()))
            }
            Claim::Reason(kind, expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = job.status.condition(kind).filter(|_| job.status.is_true(kind));
                let found = found.map(|condition| &condition.reason);
                let actual =
                    || found.map_or("not true".to_owned(), |reason| format!("true with reason {reason}"));
                (found != Some(expected)).then(|| {
                    format!("the condition {} is {}, expected reason {expected}", kind.as_str(), actual())
                })
            }
            Claim::CompletedIndexes(expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = &job.status.completed_indexes;
                differ(found, expected).then(|| format!("completedIndexes is {found:?}, not {expected:?}"))
            }
            Claim::FailedIndexes(expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = job.status.failed_indexes.as_deref().unwrap_or_default();
                differ(found, expected).then(|| format!("failedIndexes is {found:?}, not {expected:?}"))
            }
        }
    }
}

/// Returns true if the texts mean different indexes.
fn differ(found: &str, expected: &str) -> bool {
    IndexSet::read(found, None) != IndexSet::read(expected, None)
}
