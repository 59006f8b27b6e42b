//! Defects that need disruptions, ownerless pods, or pods without the tracking finalizer.

use super::{Mutant, Shows};
use crate::env::disruption::Disruption;
use crate::env::user::UserAction;
use crate::mutants::small_scopes::{failing, lagging, retries, small};
use crate::mutations::Mutation;
use crate::scope::{FoundPod, Scope};
use crate::scopes::environment::disrupted;
use crate::scopes::{many, policy};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::{FailureAction, JobSpec};
use jobcheck_spec::pod::Phase;

/// The mutants of this module.
pub const ENVIRONMENT: &[Mutant] = &[
    Mutant {
        id: "J-04",
        issues: &[],
        title: "an evicted pod that has not terminated is ignored when its Job fails",
        mutations: &[Mutation::MatchesPolicyBeforeTermination],
        base: || {
            let ignores = policy(vec![disrupted(FailureAction::Ignore)]);
            let spec = JobSpec { pod_failure_policy: ignores, ..retries(0, many(2, 2)) };
            Scope { disruptions: vec![Disruption::Evict], ..small(spec, 2) }
        },
        shows: Shows::Breaks(Req::FT15, 10),
    },
    Mutant {
        id: "J-05",
        issues: &[],
        title: "a recorded pod that became ownerless is counted while it holds the finalizer",
        mutations: &[Mutation::CountsRecordedOwnerlessPods],
        base: || Scope { user: vec![UserAction::StripOwner], faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT02, 10),
    },
    Mutant {
        id: "S-05",
        issues: &[],
        title: "a counted pod is adopted and counted again",
        mutations: &[Mutation::AdoptsTerminatedPods],
        base: || Scope { user: vec![UserAction::StripOwner], ..small(many(2, 1), 2) },
        shows: Shows::Breaks(Req::FT02, 17),
    },
    Mutant {
        id: "S-25",
        issues: &[],
        title: "the orphan path removes the finalizer of a pod that was adopted meanwhile",
        mutations: &[Mutation::TakesFinalizersOfAdoptedPods],
        base: || lagging(2, Scope { user: vec![UserAction::StripOwner], ..small(many(1, 1), 1) }),
        shows: Shows::Breaks(Req::FT21, 9),
    },
    Mutant {
        id: "UG-01",
        issues: &[],
        title: "a pod that terminated before the tracking finalizer existed is counted",
        mutations: &[Mutation::CountsLegacyPods],
        base: || {
            let legacy = FoundPod { controlled: true, phase: Phase::Succeeded };
            Scope { found: vec![legacy], ..small(many(1, 1), 2) }
        },
        shows: Shows::Breaks(Req::FT06, 2),
    },
    Mutant {
        id: "B04b",
        issues: &["kubernetes/kubernetes#108645"],
        title: "the pods of a Job deleted with propagation Orphan keep their finalizers forever",
        mutations: &[Mutation::ForgetsOwnerlessPods],
        base: || Scope { user: vec![UserAction::DeleteJob(Propagation::Orphan)], ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::FT20, 9),
    },
];
