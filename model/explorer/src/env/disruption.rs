//! Disruptions of pods by actors other than users and kubelets: eviction, the loss of a node, and forced
//! deletion.
//!
//! An eviction is two requests, as the scheduler and the taint manager make them: the condition
//! DisruptionTarget, and a DELETE. The pod may terminate in between. Pod GC sets the phase `Failed` and the
//! same condition on the pods of a lost node, and deletes them without grace (EN-02, RP-07). If a node is tainted
//! out-of-service, pod GC sets the phase of its terminating pods without the condition. Its deletion of
//! terminated pods is [`UserAction::DeleteEndedPod`](crate::env::user::UserAction::DeleteEndedPod) (EN-04).
//!
//! # Caveats
//!
//! - The kubelet may still terminate a pod that was deleted by force, and need not. Otherwise pod GC does, or
//!   the pod is removed without having terminated once no finalizer holds it, against EN-01.
//! - The server removes such a pod together with its last finalizer. Here the removal is a step of its own,
//!   so that other actors may see the pod in between.
//! - The Ready condition of a lost pod becomes false together with its phase.

use crate::scope::Scope;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

use super::kubelet::failed;

/// A disruption that may happen once in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// An active pod is evicted.
    Evict,
    /// The node of a pod that has not terminated is lost.
    LoseNode,
    /// A pod that has not terminated is deleted without grace.
    ForceDelete,
    /// The node of a pod that is being deleted is tainted out-of-service (EN-02): pod GC sets the phase `Failed`,
    /// without the condition DisruptionTarget.
    OutOfService,
}

/// A step that disrupts a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisruptionStep {
    /// The scheduler sets the condition DisruptionTarget to True.
    Evict,
    /// Pod GC sets the phase `Failed` and the condition DisruptionTarget.
    LoseNode,
    /// A user deletes the pod without grace. It is removed unless a finalizer holds it.
    ForceDelete,
    /// The actor that set the condition DisruptionTarget deletes the pod.
    Delete,
    /// Pod GC sets the phase `Failed` of a pod that was deleted without grace, or before it was scheduled
    /// (RP-07). It does the same if the node of a terminating pod is out of service (EN-02).
    FailByPodGc,
}

impl Disruption {
    fn step(self) -> DisruptionStep {
        match self {
            Disruption::Evict => DisruptionStep::Evict,
            Disruption::LoseNode => DisruptionStep::LoseNode,
            Disruption::ForceDelete => DisruptionStep::ForceDelete,
            Disruption::OutOfService => DisruptionStep::FailByPodGc,
        }
    }

    fn is_possible(self, pod: &Pod) -> bool {
        match self {
            Disruption::Evict => pod.is_active() && !pod.disrupted,
            Disruption::LoseNode => pod.scheduled && !pod.is_terminated(),
            Disruption::ForceDelete => !pod.is_terminated() && !pod.forced,
            Disruption::OutOfService => pod.scheduled && pod.deleting && !pod.is_terminated() && !pod.forced,
        }
    }
}

/// EN-01, EN-02: the disruptions that are left, and the steps that follow from earlier ones.
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

/// The disruptions that are left, with their bits in [`JobState::used`], which follow the bits of the user's
/// actions.
fn unused<'a>(job_state: &'a JobState, scope: &'a Scope) -> impl Iterator<Item = (u16, Disruption)> + 'a {
    let numbered = scope.disruptions.iter().enumerate();
    let bits = numbered.map(|(number, disruption)| (1 << (scope.user.len() + number), *disruption));
    bits.filter(|(bit, _)| job_state.used & bit == 0)
}

/// Takes a step.
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
