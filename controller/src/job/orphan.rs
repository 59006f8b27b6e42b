//! Pods that hold the tracking finalizer and have no unfinished Job whose syncs would remove it (FT-20 to FT-23).

use super::accounting::pod_ref;
use super::command::PodRef;
use super::conditions::finished;
use super::observed::{JobFacts, PodFacts, Settings};
use super::plan::is_ours;
use super::view::{PodState, pod_state};
use crate::answer::{Answer, Failure};
use crate::values::{Text, Uid};

/// The controller reference of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodOwner {
    /// The pod is ownerless.
    Nobody,
    /// An owner that is not a `batch/v1` Job.
    AnotherKind,
    /// A `batch/v1` Job.
    Job {
        /// The name in the reference.
        name: Text,
        /// The UID in the reference.
        uid: Uid,
    },
}

/// The result of looking up the owner of a pod in the cache.
#[derive(Clone, Copy, Debug)]
pub enum OwnerLookup<'a> {
    /// The cache is sufficient.
    Known(Owner<'a>),
    /// The cache does not show the Job, and may lag behind. The caller reads the Job from the API server, so that the pods
    /// of a new Job keep their finalizers (FT-21). It passes the response to [`owner_from_response`].
    Ask {
        /// The name of the Job to ask for.
        job: &'a Text,
        /// The UID of the Job that owns the pod.
        uid: &'a Uid,
    },
}

/// Looks up the owner of a pod in the cache.
///
/// `cached` is the cached Job with the name in the controller reference. `is_gone` returns true if a Job with this UID is
/// known to be deleted.
#[must_use]
pub fn look_up_owner<'a>(
    pod: &PodFacts,
    owner: &'a PodOwner,
    cached: Option<&'a JobFacts>,
    is_gone: impl FnOnce(&Uid) -> bool,
) -> OwnerLookup<'a> {
    let (job, uid) = match owner {
        PodOwner::Nobody => return OwnerLookup::Known(Owner::Nobody),
        PodOwner::AnotherKind => return OwnerLookup::Known(Owner::AnotherKind),
        PodOwner::Job { name, uid } => (name, uid),
    };
    match cached.filter(|job| job.uid == *uid) {
        Some(job) => OwnerLookup::Known(Owner::Job(job)),
        // A pod without the finalizer cannot lose it, and a deleted UID never returns.
        None if !pod.tracking_finalizer || is_gone(uid) => OwnerLookup::Known(Owner::Missing),
        None => OwnerLookup::Ask { job, uid },
    }
}

/// Returns the owner of a pod from the response to the GET of its Job, which has this UID.
///
/// The owner is none if the Job exists and the cache does not show it yet. The event of the Job wakes its pods then.
///
/// # Errors
///
/// The failure of the GET, unless it is a 404.
pub fn owner_from_response(uid: &Uid, answer: Answer) -> Result<Option<Owner<'static>>, Failure> {
    match answer {
        Ok(job) if job.uid == *uid => Ok(None),
        Ok(_) | Err(Failure::NotFound(_)) => Ok(Some(Owner::Missing)),
        Err(failure) => Err(failure),
    }
}

/// The input of a decision about one pod.
#[derive(Clone, Copy, Debug)]
pub struct OrphanObserved<'a> {
    /// The pod in the cache. [`PodFacts::controller`] and [`PodFacts::selected`] have no effect.
    pub pod: &'a PodFacts,
    /// The owner of the pod.
    pub owner: Owner<'a>,
    /// Limits and feature gates.
    pub settings: &'a Settings,
}

/// The owner of a pod.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The pod is ownerless.
    Nobody,
    /// An owner that is not a `batch/v1` Job.
    AnotherKind,
    /// A `batch/v1` Job that does not exist any more.
    Missing,
    /// The Job in the cache.
    Job(&'a JobFacts),
}

/// The plan for one pod: at most one call, whose effect is an event that plans the pod again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrphanPlan {
    /// Do nothing.
    Leave,
    /// Delete the pod, with UID and resourceVersion as preconditions: it was created after its Job had finished (S-08).
    /// It keeps the finalizer until the cache shows its deletion, so that a crash in between has no effect (FT-17).
    Delete(PodRef),
    /// Remove the tracking finalizer, with UID and resourceVersion as preconditions (S-25). A 404 is a success. After a
    /// 409 the pod is planned again.
    RemoveFinalizer(PodRef),
}

/// Decides what to do about a pod that holds the tracking finalizer, or whose Job has finished.
///
/// The finalizer is removed if the pod is ownerless, or if its Job does not exist any more or has finished (FT-21). It
/// stays if the owner is of another kind, an unfinished Job, or a Job of another manager (MB-04).
#[must_use]
pub fn plan(observed: &OrphanObserved) -> OrphanPlan {
    let pod = observed.pod;
    match observed.owner {
        Owner::AnotherKind => OrphanPlan::Leave,
        Owner::Nobody | Owner::Missing => remove_finalizer(pod),
        Owner::Job(job) if !is_ours(job, observed.settings) => OrphanPlan::Leave,
        Owner::Job(job) if !finished(&job.status.conditions) => OrphanPlan::Leave,
        // The garbage collector deletes the pods of a Job that is being deleted.
        Owner::Job(job) if job.deletion.is_none() && pod_state(pod) == PodState::Active => {
            OrphanPlan::Delete(pod_ref(pod))
        }
        Owner::Job(_) => remove_finalizer(pod),
    }
}

fn remove_finalizer(pod: &PodFacts) -> OrphanPlan {
    if pod.tracking_finalizer { OrphanPlan::RemoveFinalizer(pod_ref(pod)) } else { OrphanPlan::Leave }
}
