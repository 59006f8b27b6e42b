//! Defects that show once a Job is created again under its name: memory that is kept by the name, and not by the UID.

use super::worlds::{delayed, lagging, retries, small};
use super::{Mutant, Shows};
use crate::env::user::UserAction;
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::many;
use jobcheck_spec::catalogue::Req;

/// Them.
pub const RECREATION: &[Mutant] = &[
    Mutant {
        id: "B43",
        issues: &["kubernetes/kubernetes#132042", "kubernetes/kubernetes#132109"],
        title: "a Job inherits the delay of a deleted Job of its name",
        mutations: &[Mutation::KeepsFailuresByName],
        world: || again(0, delayed(small(retries(1, many(1, 1)), 1))),
        shows: Shows::Breaks(Req::BO06, 11),
    },
    Mutant {
        id: "J-07",
        issues: &[],
        title: "a Job gets no pods, for a creation of its predecessor that nobody will see",
        mutations: &[Mutation::KeepsExpectationsByName],
        world: || again(0, lagging(1, small(many(1, 1), 1))),
        shows: Shows::Breaks(Req::BO06, 9),
    },
    Mutant {
        id: "J-08",
        issues: &["kubernetes/kubernetes#132042"],
        title: "a Job inherits the delay where a relist shows it in the place of its predecessor",
        mutations: &[Mutation::KeepsFailuresAcrossRelist],
        world: || again(2, delayed(small(retries(1, many(1, 1)), 1))),
        shows: Shows::Breaks(Req::BO06, 13),
    },
    Mutant {
        id: "B13c",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a Job is taken for its predecessor, which has finished, by their name",
        mutations: &[Mutation::RemembersFinishByName],
        world: || again(3, small(many(1, 1), 1)),
        shows: Shows::Breaks(Req::BO06, 13),
    },
];

/// The Job goes and comes again, and the Job cache lags by so many versions.
fn again(job_lag: usize, scope: Scope) -> Scope {
    let user = vec![UserAction::DeleteOwner, UserAction::Recreate];
    Scope { user, job_lag, ..scope }
}
