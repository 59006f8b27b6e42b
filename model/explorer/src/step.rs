//! A step: a write of a controller, or an event of its environment.

mod kind;

pub use kind::StepKind;

use crate::alphabet::Write;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::UserStep;
use crate::process::steps::ProcessStep;
use crate::process::ttl::TtlStep;
use crate::world::JobId;
use jobcheck_spec::uid::Uid;

/// One atomic transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The manager of a Job writes.
    Write(JobId, Write),
    /// The TTL controller deletes a Job.
    Expire(JobId),
    /// The kubelet changes a pod.
    Kubelet(JobId, Uid, KubeletStep),
    /// A pod is evicted, loses its node, or is deleted by force.
    Disrupt(JobId, Uid, DisruptionStep),
    /// The user changes a Job or a pod; the number is that of the action in the scope.
    User(JobId, u8, UserStep),
    /// The garbage collector deletes a pod whose Job is being deleted or gone.
    Collect(JobId, Uid),
    /// A Job goes that was deleted, and has no pods any more, or whose namespace is being deleted.
    RemoveJob(JobId),
    /// The oldest change that the Pod cache lacks reaches it.
    ShowPod(JobId),
    /// The stored Job reaches the Job cache.
    ShowJob(JobId),
    /// The process that manages the Job dies, and another takes over; where the specification manages it.
    Crash(JobId),
    /// Another process takes over, with the scope's next gates.
    Rollout(JobId),
    /// A process of the Job does something, or something happens to it.
    Process(JobId, u8, ProcessStep),
    /// The TTL controller does something about the Job, or something happens to it; where it is an algorithm.
    Ttl(JobId, TtlStep),
    /// The request of a dead process reaches the server.
    HandleDelayed(JobId),
    /// A second passes.
    Tick,
    /// The scope's script goes on, without anything else.
    Proceed,
}

impl Step {
    /// The Job that it concerns; `None` where it concerns all.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self {
            Step::Write(job, _)
            | Step::Expire(job)
            | Step::Kubelet(job, ..)
            | Step::Disrupt(job, ..)
            | Step::User(job, ..)
            | Step::Collect(job, _)
            | Step::RemoveJob(job)
            | Step::ShowPod(job)
            | Step::ShowJob(job)
            | Step::Crash(job)
            | Step::Rollout(job)
            | Step::Process(job, ..)
            | Step::Ttl(job, _)
            | Step::HandleDelayed(job) => Some(*job),
            Step::Tick | Step::Proceed => None,
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        kind::kind(self)
    }
}
