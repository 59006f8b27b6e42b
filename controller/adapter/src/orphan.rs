//! The orphan path: pods that no sync accounts for.

use jobcheck_controller::job::orphan::{self, OrphanObserved, OrphanPlan};
use jobcheck_explorer::mutations::{Mutation, Mutations};
use jobcheck_explorer::process::decisions::{OrphanDecision, OrphanRead, Owner, Precondition};
use jobcheck_spec::constants::Constants;

use crate::facts;
use crate::facts::pod::Surroundings;
use crate::names::Names;
use crate::sync::options;

/// The shipped controller's decision about a pod in the orphan queue.
#[must_use]
pub fn decide(read: &OrphanRead<'_>, mutations: &Mutations) -> OrphanDecision {
    let names = Names::in_order(vec![read.pod.uid]);
    let job = read.job.map(|job| facts::job::facts(job, &names));
    let owner = match (read.owner, &job) {
        (Owner::Nobody, _) => orphan::Owner::Nobody,
        (Owner::ThisJob, Some(job)) => orphan::Owner::Job(job),
        (Owner::Missing, _) | (Owner::ThisJob, None) => orphan::Owner::Missing,
    };
    let spec = read.job.map(|job| &*job.spec);
    let pod = facts::pod::facts(read.pod, &Surroundings { spec, exit_codes: &[], names: &names });
    // The orphan path depends on no delay and no limit.
    let settings = options(&Constants::V1_36, read.gates);
    if read.owner == Owner::Nobody && mutations.on(Mutation::ForgetsOwnerlessPods) {
        return OrphanDecision::Leave;
    }
    let strips = mutations.on(Mutation::TakesFinalizersOfAdoptedPods);
    match orphan::plan(&OrphanObserved { pod: &pod, owner, settings: &settings }) {
        OrphanPlan::Leave => OrphanDecision::Leave,
        OrphanPlan::Delete(_) => OrphanDecision::Delete(Precondition::Version),
        OrphanPlan::RemoveFinalizer(_) if strips => OrphanDecision::RemoveFinalizer(Precondition::Uid),
        OrphanPlan::RemoveFinalizer(_) => OrphanDecision::RemoveFinalizer(Precondition::Version),
    }
}
