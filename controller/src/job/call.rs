//! One API call of a plan, and the effects of its response on the plan, the memory, the caches, the events, and the
//! counters.

use std::sync::Arc;

use super::command::{
    CreationReason, Event, FinalizerRemoval, Metric, NewPod, PodRef, StatusWrite, policy_action_label,
};
use super::memory::MemoryUpdate;
use crate::answer::{Answer, Failure};
use crate::values::{ResourceVersion, Uid};

/// One API call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// GET of the Job from the API server, before adoptions (FT-24).
    ReadJob,
    /// PATCH of the status. The precondition is this version of the Job (SY-04).
    WriteStatus(Arc<StatusWrite>, ResourceVersion),
    /// PATCH that removes the tracking finalizer of a pod.
    RemoveFinalizer(FinalizerRemoval),
    /// POST of a pod.
    CreatePod(NewPod, CreationReason),
    /// DELETE of a pod.
    DeletePod(PodRef),
    /// PATCH that adds the controller reference and the tracking finalizer to a pod (FT-24).
    AdoptPod(PodRef),
    /// PATCH that removes the controller reference and the tracking finalizer of a pod (FT-26).
    ReleasePod(PodRef),
}

/// The effect of a response on the step that made the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The step continues.
    Done,
    /// The pod does not exist. The sequence ends without a failure; the caches will show the reason (H4, S-09, J-03).
    NotFound,
    /// The sequence ends, and the Job is planned again.
    Failed(Failure),
}

impl StepResult {
    /// Keeps the worse of two results: a failure, then a missing pod. The first of two failures is kept.
    pub fn worsen(&mut self, other: StepResult) {
        match (&self, other) {
            (StepResult::Failed(_), _) | (_, StepResult::Done) => {}
            (StepResult::Done | StepResult::NotFound, worse) => *self = worse,
        }
    }
}

/// The version that a cache must show before the Job is planned again (SY-03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The version of the Job after the write.
    Job(ResourceVersion),
    /// The version of a pod of the Job after the write.
    Pod(ResourceVersion),
    /// The outcome of the write is unknown. The stored object has to be read back from the API server.
    Unknown,
}

impl Call {
    /// The effect of the response on a step of a plan for the Job with this UID.
    #[must_use]
    pub fn result(&self, answer: &Answer, job: &Uid) -> StepResult {
        match (self, answer) {
            (Call::ReadJob, Ok(found)) if found.uid != *job || found.deleting => job_gone(),
            (Call::ReadJob, Err(Failure::NotFound(_))) => job_gone(),
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

    /// The effect of the response on the memory.
    #[must_use]
    pub fn memory_update(&self, answer: &Answer) -> Option<MemoryUpdate> {
        match (self, answer) {
            (Call::RemoveFinalizer(removal), Ok(_) | Err(Failure::NotFound(_))) => {
                Some(MemoryUpdate::FinalizerRemoved(removal.pod.uid.clone()))
            }
            // FT-26: a release removes the finalizer too, and may delete the pod by that. The pod is never counted.
            (Call::ReleasePod(pod), Ok(_)) => Some(MemoryUpdate::FinalizerRemoved(pod.uid.clone())),
            (Call::DeletePod(pod), Ok(_) | Err(Failure::NotFound(_))) => {
                Some(MemoryUpdate::Deleted(pod.uid.clone()))
            }
            (Call::CreatePod(..), Err(Failure::NamespaceTerminating(_))) => {
                Some(MemoryUpdate::NamespaceTerminating)
            }
            _ => None,
        }
    }

    /// The version that the caches must show after the response; none if nothing was written.
    #[must_use]
    pub fn written(&self, answer: &Answer) -> Option<Written> {
        match (self, answer) {
            (Call::ReadJob, _) => None,
            (_, Err(failure)) => failure.is_ambiguous().then_some(Written::Unknown),
            (Call::WriteStatus(..), Ok(shown)) => Some(Written::Job(shown.resource_version.clone())),
            (_, Ok(shown)) => Some(Written::Pod(shown.resource_version.clone())),
        }
    }

    /// The event that reports the response (EV-01 to EV-04).
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

    /// The counter that the response raises (MX-06, MX-07, S-10).
    #[must_use]
    pub fn metric(&self, answer: &Answer) -> Option<Metric> {
        match self {
            Call::CreatePod(_, reason) => {
                Some(Metric::PodCreated { reason: *reason, succeeded: answer.is_ok() })
            }
            Call::RemoveFinalizer(removal) if answer.is_ok() => {
                let action = removal.policy_action.and_then(policy_action_label)?;
                Some(Metric::PodFailureHandled { action })
            }
            _ => None,
        }
    }
}

fn job_gone() -> StepResult {
    StepResult::Failed(Failure::Conflict("the Job does not exist any more, or is being deleted".to_owned()))
}
