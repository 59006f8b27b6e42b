//! The orphan path: pods that hold the tracking finalizer, and that no sync looks at (FT-20, FT-21).

use super::mutated;
use crate::mutations::Mutations;
use crate::process::decisions::{OrphanDecision, OrphanRead, Owner, Precondition};
use crate::process::state::is_done;

/// The reference algorithm's decision about a pod in the orphan queue.
#[must_use]
pub fn decide(read: &OrphanRead<'_>, mutations: &Mutations) -> OrphanDecision {
    // MB-04: the finalizers of another manager's pods are not the built-in controller's to remove.
    let external = read.job.is_some_and(|job| !read.gates.read(job).is_managed_by_built_in());
    let done = is_done(read.job) && !external;
    match read.owner {
        Owner::Nobody => mutated::of_an_ownerless_pod(of_an_ownerless_pod(done), mutations),
        Owner::ThisJob if !done => OrphanDecision::Leave,
        Owner::Missing | Owner::ThisJob => OrphanDecision::RemoveFinalizer(Precondition::Uid),
    }
}

/// FT-29, S-25: the finalizer of an ownerless pod is removed, unless a Job adopts the pod first. If the Job in the cache
/// is done, no Job can.
fn of_an_ownerless_pod(done: bool) -> OrphanDecision {
    OrphanDecision::RemoveFinalizer(if done { Precondition::Uid } else { Precondition::Owner })
}
