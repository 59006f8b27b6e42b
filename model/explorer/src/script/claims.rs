//! What a scenario may say of a Job and its pods: conditions to wait for, and expectations.

use crate::world::{JobId, JobState};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{ConditionKind, Job, Text};
use jobcheck_spec::pod::{Phase, Pod};

/// Something that is expected of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The Job.
    pub job: JobId,
    /// What is expected.
    pub claims: Vec<Claim>,
    /// The requirement that asks for it, if one is named.
    pub requirement: Option<Req>,
    /// Where it stands, as a report calls it, such as `line 14`.
    pub place: String,
}

/// One thing that is said of a Job, as etcd holds it and its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A number.
    Number(Number, Count),
    /// True if something is so.
    Flag(Flag, bool),
    /// True if a condition is true.
    Condition(ConditionKind, bool),
    /// The reason of a condition that is true.
    Reason(ConditionKind, Text),
    /// `completedIndexes`.
    CompletedIndexes(Text),
    /// `failedIndexes`.
    FailedIndexes(Text),
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Exactly(u32),
    /// So many or more.
    AtLeast(u32),
    /// So many or less.
    AtMost(u32),
}

/// A number of a Job's status, or a number of its pods.
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
    /// UIDs in `status.uncountedTerminatedPods`.
    Uncounted,
    /// Pods that there are.
    Pods,
    /// Pods that have not ended and are not being deleted.
    ActivePods,
    /// Pods that are being deleted and have not ended.
    TerminatingPods,
    /// Pods in phase `Succeeded`.
    SucceededPods,
    /// Pods in phase `Failed`.
    FailedPods,
    /// Pods with the tracking finalizer.
    TrackedPods,
    /// Pods that the Job controls.
    ControlledPods,
    /// Pods that there ever were.
    CreatedPods,
}

/// Something that is so, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// The Job is there.
    Exists,
    /// It is being deleted.
    Deleting,
    /// It has `startTime`.
    StartTime,
    /// It has `completionTime`.
    CompletionTime,
    /// It has a terminal condition.
    Finished,
}

impl Count {
    /// Returns true if it is so many.
    #[must_use]
    pub fn fits(self, count: u32) -> bool {
        match self {
            Count::Exactly(expected) => count == expected,
            Count::AtLeast(expected) => count >= expected,
            Count::AtMost(expected) => count <= expected,
        }
    }

    fn told(self) -> String {
        match self {
            Count::Exactly(count) => count.to_string(),
            Count::AtLeast(count) => format!("at least {count}"),
            Count::AtMost(count) => format!("at most {count}"),
        }
    }
}

impl Number {
    /// All.
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

    /// What it is called in words.
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

    /// Returns true if it is one of the status.
    #[must_use]
    pub fn is_of_status(self) -> bool {
        self <= Number::Uncounted
    }

    /// Its value; `None` where it is one of the status, and there is no Job.
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
            Number::Uncounted => job_state.job.as_ref().map(|job| small(job.status.listed())),
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
    /// All.
    pub const ALL: [Flag; 5] =
        [Flag::Exists, Flag::Deleting, Flag::StartTime, Flag::CompletionTime, Flag::Finished];

    /// Returns true if it is so; `None` where there is no Job.
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

    fn told(self, so: bool) -> &'static str {
        match (self, so) {
            (Flag::Exists, true) => "the Job is there",
            (Flag::Exists, false) => "the Job is gone",
            (Flag::Deleting, true) => "the Job is being deleted",
            (Flag::Deleting, false) => "the Job is not being deleted",
            (Flag::StartTime, true) => "the Job has startTime",
            (Flag::StartTime, false) => "the Job has no startTime",
            (Flag::CompletionTime, true) => "the Job has completionTime",
            (Flag::CompletionTime, false) => "the Job has no completionTime",
            (Flag::Finished, true) => "the Job is finished",
            (Flag::Finished, false) => "the Job is not finished",
        }
    }
}

impl Claim {
    /// What is against it; `None` where it holds.
    #[must_use]
    pub fn objection(&self, job_state: &JobState) -> Option<String> {
        const GONE: &str = "the Job is gone";
        match self {
            Claim::Number(number, expected) => match number.value(job_state) {
                Some(found) if expected.fits(found) => None,
                Some(found) => Some(format!("{} is {found}, not {}", number.name(), expected.told())),
                None => Some(GONE.to_owned()),
            },
            Claim::Flag(flag, expected) => match flag.value(job_state) {
                Some(found) if found == *expected => None,
                Some(found) => Some(flag.told(found).to_owned()),
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
                let told = || found.map_or("not there".to_owned(), |reason| format!("there for {reason}"));
                (found != Some(expected))
                    .then(|| format!("the condition {} is {}, not for {expected}", kind.as_str(), told()))
            }
            Claim::CompletedIndexes(expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = &job.status.completed_indexes;
                is_other(found, expected).then(|| format!("completedIndexes is {found:?}, not {expected:?}"))
            }
            Claim::FailedIndexes(expected) => {
                let Some(job) = &job_state.job else { return Some(GONE.to_owned()) };
                let found = job.status.failed_indexes.as_deref().unwrap_or_default();
                is_other(found, expected).then(|| format!("failedIndexes is {found:?}, not {expected:?}"))
            }
        }
    }
}

/// Returns true if two texts mean different indexes.
fn is_other(found: &str, expected: &str) -> bool {
    IndexSet::read(found, None) != IndexSet::read(expected, None)
}
