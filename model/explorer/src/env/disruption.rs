//! What becomes of pods by others than users and kubelets: eviction, the loss of a node, and deletion by force.
//!
//! An eviction is two requests, as the scheduler and the taint manager make them: the condition DisruptionTarget, and
//! a DELETE; between them the pod may end. Pod GC gives the pods of a lost node the phase `Failed` with the same
//! condition, and deletes them without grace (EN-02, RP-07). What it does to pods that have ended is
//! [`UserAction::DeleteEndedPod`](crate::env::user::UserAction::DeleteEndedPod) (EN-04).
//!
//! # Caveats
//!
//! The kubelet of a pod that was deleted by force may still end it, and need not: then pod GC does, or the pod goes
//! without an end once no finalizer holds it, against EN-01. The server removes it with the last finalizer; here that
//! is a step of its own, so that everybody may also see the pod between the two. The Ready condition of a lost pod
//! turns false at the same moment as its phase.

use crate::scope::Scope;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

use super::kubelet::failed;

/// What others may do to a pod once in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// An active pod is evicted.
    Evict,
    /// The node of a pod that has not ended is gone.
    LoseNode,
    /// A pod that has not ended is deleted without grace.
    ForceDelete,
}

/// What is done to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisruptionStep {
    /// Condition DisruptionTarget becomes true.
    Evict,
    /// Phase `Failed` and condition DisruptionTarget, by pod GC.
    LoseNode,
    /// DELETE without grace: the pod goes, unless a finalizer holds it.
    ForceDelete,
    /// DELETE of a pod with the condition, by who set it.
    Delete,
    /// Phase `Failed`, by pod GC, of a pod that was deleted without grace, or before it was scheduled (RP-07).
    FailByPodGc,
}

impl Disruption {
    fn step(self) -> DisruptionStep {
        match self {
            Disruption::Evict => DisruptionStep::Evict,
            Disruption::LoseNode => DisruptionStep::LoseNode,
            Disruption::ForceDelete => DisruptionStep::ForceDelete,
        }
    }

    fn is_possible(self, pod: &Pod) -> bool {
        match self {
            Disruption::Evict => pod.is_active() && !pod.disrupted,
            Disruption::LoseNode => pod.scheduled && !pod.is_terminated(),
            Disruption::ForceDelete => !pod.is_terminated() && !pod.forced,
        }
    }
}

/// What others can still do, and what they have begun.
pub fn enabled(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(Uid, DisruptionStep)) {
    if scope.disruptions.is_empty() && !scope.unscheduled {
        return;
    }
    let mut left: Vec<Disruption> = unused(job_state, scope).map(|(_, disruption)| disruption).collect();
    left.dedup();
    for pod in job_state.pods.iter() {
        let possible = left.iter().filter(|disruption| disruption.is_possible(pod));
        let begun = (pod.disrupted && !pod.deleting).then_some(DisruptionStep::Delete);
        let released = pod.forced.then_some(DisruptionStep::FailByPodGc);
        let all = possible.map(|disruption| disruption.step()).chain(begun).chain(released);
        all.for_each(|what| add(pod.uid, what));
    }
}

/// The disruptions that are left, with their bits in [`JobState::used`]: those after the user's.
fn unused<'a>(job_state: &'a JobState, scope: &'a Scope) -> impl Iterator<Item = (u16, Disruption)> + 'a {
    let numbered = scope.disruptions.iter().enumerate();
    let bits = numbered.map(|(number, disruption)| (1 << (scope.user.len() + number), *disruption));
    bits.filter(|(bit, _)| job_state.used & bit == 0)
}

/// Does it.
pub fn apply(world: &mut World, job: JobId, uid: Uid, what: DisruptionStep, scope: &Scope) {
    let now = scope.stamp(world.now);
    let job_state = world.job_state_mut(job);
    let bit = unused(job_state, scope).find(|(_, disruption)| disruption.step() == what).map(|(bit, _)| bit);
    job_state.used |= bit.unwrap_or_default();
    let Some(pod) = job_state.pods.get(uid).cloned() else { return };
    let gone = |pod: Pod| failed(Pod { ready_changed: Some(now), ..pod }, None, job_state.job.as_ref(), now);
    let after = match what {
        DisruptionStep::Evict => Pod { disrupted: true, ..pod },
        DisruptionStep::LoseNode => gone(Pod { disrupted: true, ..pod }),
        DisruptionStep::ForceDelete => {
            let mut after = pod;
            after.delete(now);
            Pod { forced: true, ..after }
        }
        DisruptionStep::Delete => {
            let mut after = pod;
            after.delete(now);
            after
        }
        DisruptionStep::FailByPodGc => gone(pod),
    };
    job_state.ghost.pod_changed(&after);
    let is_held = after.finalizer || after.other_finalizers;
    let goes = what == DisruptionStep::ForceDelete && !is_held;
    job_state.set_pod(uid, (!goes).then_some(after), scope.lag);
}
