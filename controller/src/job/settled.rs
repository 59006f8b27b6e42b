//! Pods that no decision about their Job reads any more: a large Job has many, and they are left out of its syncs.

use super::observed::{JobFacts, Phase, PodFacts};
use super::view::{PodState, pod_state};

/// Whether a pod of the Job, which its selector matches, is settled: whatever is decided is decided without it.
///
/// It has ended and holds no finalizer: it is counted, or never will be. Only a failure policy still asks failed pods
/// (PF-08). Of such a pod a memory needs to know neither that it was released nor that its deletion was asked for.
#[must_use]
pub fn is_settled(job: &JobFacts, pod: &PodFacts) -> bool {
    is_over(pod) && (pod.phase != Phase::Failed || job.spec.pod_failure_policy.is_none())
}

/// Whether a pod has ended and holds no finalizer.
#[must_use]
pub fn is_over(pod: &PodFacts) -> bool {
    pod_state(pod) == PodState::Terminated && !pod.tracking_finalizer
}
