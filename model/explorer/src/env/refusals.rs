//! What the API server refuses every time: by a webhook, a quota, or a rule that a request never meets.
//!
//! Other faults end ([`crate::process::steps::Faults`]). These last, so that a Job may never come to its end; what else
//! there is to do has to be done all the same (B16, PC-13, TC-08).

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::process::io::CallName;
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

/// Requests that are refused whenever they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Creations, while so many pods of the Job have not ended: a quota.
    PodsBeyond(usize),
    /// Deletions of a pod.
    Deletion(Uid),
    /// Patches of a pod: its finalizer and its owner stay.
    Patch(Uid),
    /// Status writes, once the Job has begun.
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

    /// How many pods there may be that have not ended.
    #[must_use]
    pub fn most_pods(self) -> Option<usize> {
        match self {
            Refusal::PodsBeyond(most) => Some(most),
            Refusal::Deletion(_) | Refusal::Patch(_) | Refusal::Status => None,
        }
    }

    /// The pod that it names.
    #[must_use]
    pub fn pod(self) -> Option<Uid> {
        match self {
            Refusal::Deletion(uid) | Refusal::Patch(uid) => Some(uid),
            Refusal::PodsBeyond(_) | Refusal::Status => None,
        }
    }
}

/// As it follows "refused for ever:".
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

/// Whether a request is refused now, and will be whenever it is made again in the same world.
#[must_use]
pub fn is_refused(call: CallName, job_state: &JobState, scope: &Scope) -> bool {
    scope.refused.iter().any(|refusal| refusal.concerns(call, job_state))
}

/// What a refusal keeps from happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// What becomes of a pod.
    Pod(Uid),
    /// That there are pods.
    Creations,
    /// That anything is stored.
    Everything,
}

impl Blocked {
    /// Whether a pod is another one than the one that is kept.
    #[must_use]
    pub fn spares(self, pod: &Pod) -> bool {
        self != Blocked::Pod(pod.uid)
    }
}

/// What keeps a Job from its end now, though its manager did everything right.
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
        // Where pods end by themselves none has to be deleted.
        Refusal::Deletion(_) => pod.filter(|pod| scope.endless && pod.is_active()),
        Refusal::Patch(_) => pod.filter(|pod| pod.finalizer && (is_over || pod.is_terminated())),
    };
    kept.map(|pod| Blocked::Pod(pod.uid))
}
