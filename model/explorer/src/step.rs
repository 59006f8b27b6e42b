//! The steps: writes of controllers, and events of the environment.

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

/// An atomic transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The manager of a Job writes to the API server.
    Write(JobId, Write),
    /// The TTL-after-finished controller deletes a Job.
    Expire(JobId),
    /// The kubelet, the scheduler or pod GC changes a pod.
    Kubelet(JobId, Uid, KubeletStep),
    /// A pod is evicted, loses its node, or is deleted by force.
    Disrupt(JobId, Uid, DisruptionStep),
    /// The user changes a Job or a pod. The number is the position of the action in the scope.
    User(JobId, u8, UserStep),
    /// The garbage collector deletes a pod whose Job is being deleted or gone.
    Collect(JobId, Uid),
    /// A deleted Job disappears. It has no pods any more, or its namespace is being deleted.
    RemoveJob(JobId),
    /// The Pod cache receives the oldest event that it lacks.
    ShowPod(JobId),
    /// The Job cache receives the stored Job.
    ShowJob(JobId),
    /// The process of the specification's manager crashes, and its successor takes over.
    Crash(JobId),
    /// A process with the scope's next feature gates takes over.
    Rollout(JobId),
    /// A process of the Job takes a step, or a fault stops it.
    Process(JobId, u8, ProcessStep),
    /// The explored TTL-after-finished controller takes a step, or a fault stops it.
    Ttl(JobId, TtlStep),
    /// The delayed request of a crashed process reaches the server.
    HandleDelayed(JobId),
    /// One second passes.
    Tick,
    /// The script proceeds to its next line, and nothing else happens.
    Proceed,
}

impl Step {
    /// The Job that the step concerns. Returns `None` if it concerns all Jobs.
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

    /// The kind of the step.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        kind::kind(self)
    }
}
