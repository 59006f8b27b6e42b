//! Defects that show once others than users and kubelets act: evictions, strays, legacy pods, Jobs of the same name.

use super::{Mutant, Shows};
use crate::env::disruption::Disruption;
use crate::env::user::UserAction;
use crate::mutants::worlds::{failing, lagging, retries, small};
use crate::mutations::Mutation;
use crate::scope::{FoundPod, Scope};
use crate::scopes::environment::disrupted;
use crate::scopes::{many, policy};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::{FailureAction, JobSpec};
use jobcheck_spec::pod::Phase;

/// Them.
pub const ENVIRONMENT: &[Mutant] = &[
    Mutant {
        id: "J-04",
        issues: &[],
        title: "an evicted pod that has not ended is passed over when its Job fails",
        mutations: &[Mutation::MatchesPolicyBeforeTermination],
        world: || {
            let ignores = policy(vec![disrupted(FailureAction::Ignore)]);
            let spec = JobSpec { pod_failure_policy: ignores, ..retries(0, many(2, 2)) };
            Scope { disruptions: vec![Disruption::Evict], ..small(spec, 2) }
        },
        shows: Shows::Breaks(Req::FT15, 10),
    },
    Mutant {
        id: "J-05",
        issues: &[],
        title: "a listed pod that has lost its owner is counted while it holds its finalizer",
        mutations: &[Mutation::CountsRecordedOwnerlessPods],
        world: || Scope { user: vec![UserAction::StripOwner], faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT02, 10),
    },
    Mutant {
        id: "S-05",
        issues: &[],
        title: "a pod that was counted is adopted, and counted again",
        mutations: &[Mutation::AdoptsTerminatedPods],
        world: || Scope { user: vec![UserAction::StripOwner], ..small(many(2, 1), 2) },
        shows: Shows::Breaks(Req::FT02, 17),
    },
    Mutant {
        id: "S-25",
        issues: &[],
        title: "the orphan path takes the finalizer of a pod that was adopted meanwhile",
        mutations: &[Mutation::TakesFinalizersOfAdoptedPods],
        world: || lagging(2, Scope { user: vec![UserAction::StripOwner], ..small(many(1, 1), 1) }),
        shows: Shows::Breaks(Req::FT21, 9),
    },
    Mutant {
        id: "UG-01",
        issues: &[],
        title: "a pod that ended before there was the finalizer is counted",
        mutations: &[Mutation::CountsLegacyPods],
        world: || {
            let legacy = FoundPod { controlled: true, phase: Phase::Succeeded };
            Scope { found: vec![legacy], ..small(many(1, 1), 2) }
        },
        shows: Shows::Breaks(Req::FT06, 2),
    },
    Mutant {
        id: "B04b",
        issues: &["kubernetes/kubernetes#108645"],
        title: "pods of a Job deleted with --cascade=orphan keep their finalizer for ever",
        mutations: &[Mutation::ForgetsOwnerlessPods],
        world: || Scope { user: vec![UserAction::DeleteJob(Propagation::Orphan)], ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::FT20, 9),
    },
];
