//! Defects with recreated Jobs: memory that belongs to the name instead of the UID.

use super::small_scopes::{delayed, lagging, retries, small};
use super::{Mutant, Shows};
use crate::env::user::UserAction;
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::many;
use jobcheck_spec::catalogue::Req;

/// The mutants of this module.
pub const RECREATION: &[Mutant] = &[
    Mutant {
        id: "B43",
        issues: &["kubernetes/kubernetes#132042", "kubernetes/kubernetes#132109"],
        title: "a recreated Job inherits the backoff delay of the previous Job",
        mutations: &[Mutation::KeepsFailuresByName],
        base: || again(0, delayed(small(retries(1, many(1, 1)), 1))),
        shows: Shows::Breaks(Req::BO06, 11),
    },
    Mutant {
        id: "J-07",
        issues: &[],
        title: "a recreated Job gets no pods because it inherits an expected creation of the previous Job",
        mutations: &[Mutation::KeepsExpectationsByName],
        base: || again(0, lagging(1, small(many(1, 1), 1))),
        shows: Shows::Breaks(Req::BO06, 9),
    },
    Mutant {
        id: "J-08",
        issues: &["kubernetes/kubernetes#132042"],
        title: "a recreated Job inherits the backoff delay if a relist shows it in place of the previous Job",
        mutations: &[Mutation::KeepsFailuresAcrossRelist],
        base: || again(2, delayed(small(retries(1, many(1, 1)), 1))),
        shows: Shows::Breaks(Req::BO06, 13),
    },
    Mutant {
        id: "B13c",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a recreated Job is taken for the finished previous Job of the same name",
        mutations: &[Mutation::RemembersFinishByName],
        base: || again(3, small(many(1, 1), 1)),
        shows: Shows::Breaks(Req::BO06, 13),
    },
];

/// A user deletes the owner of the Job and recreates the Job. The Job cache lags by `job_lag` versions.
fn again(job_lag: usize, scope: Scope) -> Scope {
    let user = vec![UserAction::DeleteOwner, UserAction::Recreate];
    Scope { user, job_lag, ..scope }
}
