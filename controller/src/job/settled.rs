//! Pods that no decision about their Job reads any more. A large Job has many of them, and its syncs leave them out.

use super::observed::{JobFacts, Phase, PodFacts};
use super::view::{PodState, pod_state};

/// Returns true if a pod of the Job that its selector matches is settled: every plan is the same without it.
///
/// A settled pod has terminated and holds no finalizer, so it is counted or never will be. Only a failure policy still
/// applies to failed pods (PF-08). [`Memory`](super::memory::Memory) needs no entry about a settled pod.
#[must_use]
pub fn is_settled(job: &JobFacts, pod: &PodFacts) -> bool {
    is_terminated_untracked(pod) && (pod.phase != Phase::Failed || job.spec.pod_failure_policy.is_none())
}

/// Returns true if the pod has terminated and holds no tracking finalizer.
#[must_use]
pub fn is_terminated_untracked(pod: &PodFacts) -> bool {
    pod_state(pod) == PodState::Terminated && !pod.tracking_finalizer
}
