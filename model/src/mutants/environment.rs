//! Defects that show once others than users and kubelets act: evictions, strays, legacy pods, Jobs of the same name.

use super::{Mutant, Shows};
use crate::algorithm::switches::Switch;
use crate::catalogue::Req;
use crate::env::disruption::Disruption;
use crate::job::{FailureAction, JobSpec};
use crate::mutants::worlds::{retries, small};
use crate::scope::Scope;
use crate::scopes::environment::disrupted;
use crate::scopes::{many, policy};

/// Them.
pub const ENVIRONMENT: &[Mutant] = &[Mutant {
    id: "J-04",
    issues: &[],
    title: "an evicted pod that has not ended is passed over when its Job fails",
    switches: &[Switch::MatchesPolicyBeforeTheEnd],
    world: || {
        let ignores = policy(vec![disrupted(FailureAction::Ignore)]);
        let spec = JobSpec { pod_failure_policy: ignores, ..retries(0, many(2, 2)) };
        Scope { disruptions: vec![Disruption::Evict], ..small(spec, 2) }
    },
    shows: Shows::Breaks(Req::FT15, 10),
}];
