//! One API call of a plan, and what its answer comes to: for the plan, the memory, the caches, and what is told of it.

use std::sync::Arc;

use super::command::{
    CreationReason, Event, FinalizerRemoval, Metric, NewPod, PodRef, StatusWrite, policy_action_label,
};
use super::observed::Memory;
use crate::answer::{Answer, Failure};
use crate::values::{ResourceVersion, Time, Uid};

/// One API call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// GET of the Job from the API server, before pods are adopted (FT-24).
    ReadJob,
    /// PATCH of the status, with this version of the Job as precondition (SY-04).
    WriteStatus(Arc<StatusWrite>, ResourceVersion),
    /// PATCH that takes the tracking finalizer from a pod.
    RemoveFinalizer(FinalizerRemoval),
    /// POST of a pod.
    CreatePod(NewPod, CreationReason),
    /// DELETE of a pod.
    DeletePod(PodRef),
    /// PATCH that adds controller reference and tracking finalizer to a pod (FT-24).
    AdoptPod(PodRef),
    /// PATCH that takes both from a pod (FT-26).
    ReleasePod(PodRef),
}

/// What an answer comes to for the step that made the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The step goes on.
    Done,
    /// A pod was gone: the sequence ends, and nothing is wrong. The caches will show the rest (H4, S-09, J-03).
    NotFound,
    /// The sequence ends, and the Job is planned again.
    Failed(Failure),
}

impl StepResult {
    /// With another answer: the first failure counts, and each of them more than a pod that is gone.
    pub fn worsen(&mut self, other: StepResult) {
        match (&self, other) {
            (StepResult::Failed(_), _) | (_, StepResult::Done) => {}
            (StepResult::Done | StepResult::NotFound, worse) => *self = worse,
        }
    }
}

/// What an answer adds to the memory of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// This pod holds the finalizer no more ([`Memory::finalizer_removed`]).
    FinalizerRemoved(Uid),
    /// The deletion of this pod was asked for ([`Memory::deleted`]).
    Deleted(Uid),
    /// The namespace is being deleted ([`Memory::refused`]).
    NamespaceGoes,
}

/// What an answer says of the version that a cache must show before the Job is planned again (SY-03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The Job has this version.
    Job(ResourceVersion),
    /// A pod of the Job has this version.
    Pod(ResourceVersion),
    /// Nobody knows whether something was written: the API server has to be asked.
    Unknown,
}

impl Call {
    /// What the answer comes to for a plan for the Job with this UID.
    #[must_use]
    pub fn went(&self, answer: &Answer, job: &Uid) -> StepResult {
        match (self, answer) {
            (Call::ReadJob, Ok(found)) if found.uid != *job || found.deleting => gone(),
            (Call::ReadJob, Err(Failure::NotFound(_))) => gone(),
            (Call::RemoveFinalizer(_) | Call::DeletePod(_), Err(Failure::NotFound(_))) => {
                StepResult::NotFound
            }
            (Call::ReleasePod(_), Err(Failure::NotFound(_) | Failure::Refused { code: 422, .. })) => {
                StepResult::Done
            }
            (_, Err(failure)) => StepResult::Failed(failure.clone()),
            (_, Ok(_)) => StepResult::Done,
        }
    }

    /// What the answer adds to the memory.
    #[must_use]
    pub fn lesson(&self, answer: &Answer) -> Option<Lesson> {
        match (self, answer) {
            (Call::RemoveFinalizer(remove_finalizer), Ok(_) | Err(Failure::NotFound(_))) => {
                Some(Lesson::FinalizerRemoved(remove_finalizer.pod.uid.clone()))
            }
            // It takes the finalizer, too, and the pod may be gone by that: nothing counts it (FT-26).
            (Call::ReleasePod(pod), Ok(_)) => Some(Lesson::FinalizerRemoved(pod.uid.clone())),
            (Call::DeletePod(pod), Ok(_) | Err(Failure::NotFound(_))) => {
                Some(Lesson::Deleted(pod.uid.clone()))
            }
            (Call::CreatePod(..), Err(Failure::NamespaceTerminating(_))) => Some(Lesson::NamespaceGoes),
            _ => None,
        }
    }

    /// What the caches must show after the answer; none for a read, and where nothing was written.
    #[must_use]
    pub fn written(&self, answer: &Answer) -> Option<Written> {
        match (self, answer) {
            (Call::ReadJob, _) => None,
            (_, Err(failure)) => failure.is_ambiguous().then_some(Written::Unknown),
            (Call::WriteStatus(..), Ok(shown)) => Some(Written::Job(shown.resource_version.clone())),
            (_, Ok(shown)) => Some(Written::Pod(shown.resource_version.clone())),
        }
    }

    /// The event that the answer is worth (EV-01 to EV-04).
    #[must_use]
    pub fn event(&self, answer: &Answer) -> Option<Event> {
        match (self, answer) {
            (Call::CreatePod(..), Ok(created)) => Some(Event::created(&created.name)),
            // PC-12.
            (Call::CreatePod(..), Err(Failure::NamespaceTerminating(_) | Failure::NotSent(_))) => None,
            (Call::CreatePod(..), Err(failure)) => Some(Event::create_failed(failure.message())),
            (Call::DeletePod(pod), Ok(_)) => Some(Event::deleted(&pod.name)),
            (Call::DeletePod(_), Err(Failure::NotFound(_) | Failure::NotSent(_))) => None,
            (Call::DeletePod(_), Err(failure)) => Some(Event::delete_failed(failure.message())),
            _ => None,
        }
    }

    /// The counter that the answer raises (MX-06, MX-07, S-10).
    #[must_use]
    pub fn metric(&self, answer: &Answer) -> Option<Metric> {
        match self {
            Call::CreatePod(_, reason) => {
                Some(Metric::PodCreated { reason: *reason, succeeded: answer.is_ok() })
            }
            Call::RemoveFinalizer(remove_finalizer) if answer.is_ok() => {
                let action = remove_finalizer.policy_action.and_then(policy_action_label)?;
                Some(Metric::PodFailureHandled { action })
            }
            _ => None,
        }
    }
}

impl Memory {
    /// Keeps what an answer taught at this time.
    pub fn learn(&mut self, lesson: Lesson, now: Time) {
        match lesson {
            Lesson::FinalizerRemoved(pod) => drop(self.finalizer_removed.insert(pod)),
            Lesson::Deleted(pod) => drop(self.deleted.insert(pod)),
            Lesson::NamespaceGoes => self.refused = Some(now),
        }
    }
}

fn gone() -> StepResult {
    StepResult::Failed(Failure::Conflict("the Job is gone, or is being deleted".to_owned()))
}
