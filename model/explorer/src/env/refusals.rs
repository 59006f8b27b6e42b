//! Requests that the API server always refuses, because of a webhook, a quota, or a rule that the request
//! never meets.
//!
//! Other faults end ([`crate::process::steps::Faults`]). A refusal is permanent, so that the Job may never
//! finish. All other obligations remain (B16, PC-13, TC-08).

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::process::io::CallName;
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

/// A kind of request that the server always refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Creations while this many pods of the Job have not terminated, as by a quota.
    PodsBeyond(usize),
    /// Deletions of this pod.
    Deletion(Uid),
    /// Patches of this pod, so that its finalizer and its owner stay.
    Patch(Uid),
    /// Status writes after the first one.
    Status,
}

impl Refusal {
    fn concerns(self, call: CallName, job_state: &JobState) -> bool {
        match (self, call) {
            (Refusal::PodsBeyond(most), CallName::CreatePod(_)) => {
                job_state.pods.iter().filter(|pod| !pod.is_terminated()).count() >= most
            }
            (Refusal::Deletion(refused), CallName::DeletePod(uid))
            | (
                Refusal::Patch(refused),
                CallName::RemoveFinalizer(uid) | CallName::AdoptPod(uid) | CallName::ReleasePod(uid),
            ) => refused == uid,
            (Refusal::Status, CallName::WriteStatus) => {
                job_state.job.as_ref().is_some_and(|job| job.status.start_time.is_some())
            }
            _ => false,
        }
    }

    /// The most pods that may exist without having terminated.
    #[must_use]
    pub fn most_pods(self) -> Option<usize> {
        match self {
            Refusal::PodsBeyond(most) => Some(most),
            Refusal::Deletion(_) | Refusal::Patch(_) | Refusal::Status => None,
        }
    }

    /// The pod that the refusal concerns.
    #[must_use]
    pub fn pod(self) -> Option<Uid> {
        match self {
            Refusal::Deletion(uid) | Refusal::Patch(uid) => Some(uid),
            Refusal::PodsBeyond(_) | Refusal::Status => None,
        }
    }
}

/// Completes the sentence "the API server always refuses …".
impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::PodsBeyond(0) => write!(f, "every creation of a pod"),
            Refusal::PodsBeyond(most) => write!(f, "creations of pods while {most} has not ended"),
            Refusal::Deletion(uid) => write!(f, "deletions of pod {}", uid.0),
            Refusal::Patch(uid) => write!(f, "changes of pod {}", uid.0),
            Refusal::Status => write!(f, "status writes after the first"),
        }
    }
}

/// Returns true if the server refuses the request now, and whenever it is repeated in the same state.
#[must_use]
pub fn is_refused(call: CallName, job_state: &JobState, scope: &Scope) -> bool {
    scope.refused.iter().any(|refusal| refusal.concerns(call, job_state))
}

/// The obligations that a refusal prevents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Those that concern this pod.
    Pod(Uid),
    /// Those that need another pod.
    Creations,
    /// All of them: no status is stored.
    Everything,
}

impl Blocked {
    /// Returns true if the refusal does not concern the pod.
    #[must_use]
    pub fn spares(self, pod: &Pod) -> bool {
        self != Blocked::Pod(pod.uid)
    }
}

/// The obligations that a refusal prevents now, although the manager has done everything right.
#[must_use]
pub fn blocked(job_state: &JobState, scope: &Scope) -> Option<Blocked> {
    scope.refused.iter().find_map(|refusal| block(*refusal, job_state, scope))
}

fn block(refusal: Refusal, job_state: &JobState, scope: &Scope) -> Option<Blocked> {
    let job = job_state.job.as_ref();
    let pod = refusal.pod().and_then(|uid| job_state.pods.get(uid));
    let is_over = job.is_none_or(|job| job.deleting || job.status.is_finished());
    let kept = match refusal {
        Refusal::Status => return Some(Blocked::Everything),
        Refusal::PodsBeyond(most) => {
            let wants = |job: &Arc<Job>| !job.spec.is_suspended() && !job.status.is_decided();
            let is_full =
                is_refused(CallName::CreatePod(0), job_state, scope) && (most == 0 || scope.endless);
            return (is_full && !is_over && job.is_some_and(wants)).then_some(Blocked::Creations);
        }
        // If pods terminate by themselves, no deletion is necessary.
        Refusal::Deletion(_) => pod.filter(|pod| scope.endless && pod.is_active()),
        Refusal::Patch(_) => pod.filter(|pod| pod.finalizer && (is_over || pod.is_terminated())),
    };
    kept.map(|pod| Blocked::Pod(pod.uid))
}
