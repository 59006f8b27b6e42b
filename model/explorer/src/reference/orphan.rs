//! The orphan path: pods that hold the tracking finalizer, and that no sync looks at (FT-20, FT-21).

use crate::process::decisions::{OrphanDecision, OrphanRead, Owner, Precondition};

use crate::mutations::{Mutation, Mutations};
use crate::process::state::is_over;

/// What the reference algorithm does about a pod in the orphan queue.
#[must_use]
pub fn decide(read: &OrphanRead<'_>, mutations: &Mutations) -> OrphanDecision {
    // MB-04: what another manager's pods hold is its own business.
    let external = read.job.is_some_and(|job| !read.gates.read(job).is_managed_by_built_in());
    let over = is_over(read.job) && !external;
    let forgets = mutations.on(Mutation::ForgetsOwnerlessPods);
    match read.owner {
        Owner::Nobody if forgets => OrphanDecision::Leave,
        // The PATCH carries the resourceVersion that was seen, unlike that of 1.36 (FT-29, S-25).
        Owner::Nobody if !over && !mutations.on(Mutation::StripsAdoptedPods) => {
            OrphanDecision::RemoveFinalizer(Precondition::Owner)
        }
        Owner::ThisJob if !over => OrphanDecision::Leave,
        Owner::Nobody | Owner::Missing | Owner::ThisJob => OrphanDecision::RemoveFinalizer(Precondition::Uid),
    }
}
