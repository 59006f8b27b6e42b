//! Pods that hold the tracking finalizer and have no Job that would take it from them (FT-20 to FT-23).

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
    /// There is none.
    Nobody,
    /// A kind or apiVersion other than `batch/v1` Job.
    AnotherKind,
    /// A `batch/v1` Job.
    Job {
        /// Its name.
        name: Text,
        /// Its UID.
        uid: Uid,
    },
}

/// Who owns a pod, as far as the cache knows.
#[derive(Clone, Copy, Debug)]
pub enum Look<'a> {
    /// Enough is known.
    Known(Owner<'a>),
    /// The cache does not show the Job, and may be behind: the API server has to be asked for the Job of this name, lest
    /// the finalizers of a new Job's pods go (FT-21). [`asked`] takes the answer.
    Ask {
        /// Name of the Job.
        job: &'a Text,
        /// The UID that it has to have.
        uid: &'a Uid,
    },
}

/// Looks in the cache for the owner of a pod. `cached` is the Job that the cache shows under the name of the controller
/// reference, `is_gone` whether a Job with that UID was found to be gone before: it does not come back.
#[must_use]
pub fn look<'a>(
    pod: &PodFacts,
    owner: &'a PodOwner,
    cached: Option<&'a JobFacts>,
    is_gone: impl FnOnce(&Uid) -> bool,
) -> Look<'a> {
    let (job, uid) = match owner {
        PodOwner::Nobody => return Look::Known(Owner::Nobody),
        PodOwner::AnotherKind => return Look::Known(Owner::AnotherKind),
        PodOwner::Job { name, uid } => (name, uid),
    };
    match cached.filter(|job| job.uid == *uid) {
        Some(job) => Look::Known(Owner::Job(job)),
        // There is nothing to lose.
        None if !pod.tracking_finalizer || is_gone(uid) => Look::Known(Owner::Missing),
        None => Look::Ask { job, uid },
    }
}

/// Who owns a pod whose Job, which has this UID, was asked for; nobody knows yet where the cache does not show a Job that is
/// there. Its own event looks at its pods then.
///
/// # Errors
///
/// The API server did not say.
pub fn asked(uid: &Uid, answer: Answer) -> Result<Option<Owner<'static>>, Failure> {
    match answer {
        Ok(job) if job.uid == *uid => Ok(None),
        Ok(_) | Err(Failure::NotFound(_)) => Ok(Some(Owner::Missing)),
        Err(failure) => Err(failure),
    }
}

/// One look at such a pod.
#[derive(Clone, Copy, Debug)]
pub struct OrphanObserved<'a> {
    /// The pod as the cache shows it; [`PodFacts::controller`] and [`PodFacts::selected`] are not read.
    pub pod: &'a PodFacts,
    /// Who its controller reference names.
    pub owner: Owner<'a>,
    /// Limits and feature gates.
    pub settings: &'a Settings,
}

/// Who the controller reference of a pod names.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// There is no controller reference.
    Nobody,
    /// A kind or apiVersion other than `batch/v1` Job.
    AnotherKind,
    /// A `batch/v1` Job that the cache does not hold under this name with this UID.
    Missing,
    /// This Job.
    Job(&'a JobFacts),
}

/// What to do: at most one call. Its effect is an event of the pod, after which it is planned again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrphanPlan {
    /// Nothing.
    Leave,
    /// Delete the pod, with UID and resourceVersion as preconditions (S-08): it was created too late to be of use. It
    /// keeps the finalizer until it is seen to be deleted, so that a crash in between is made good (FT-17).
    Delete(PodRef),
    /// Take the tracking finalizer from the pod, with UID and resourceVersion as preconditions (S-25). 404 is a success,
    /// 409 a reason to look again.
    RemoveFinalizer(PodRef),
}

/// What to do about a pod that holds the tracking finalizer, or that a finished Job left behind.
///
/// The finalizer goes if the pod has no controller, its Job is gone, or its Job has finished (FT-21). It stays on a pod
/// of another kind of controller, of an unfinished Job, and of a Job that somebody else manages (MB-04).
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
