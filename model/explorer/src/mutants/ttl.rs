//! Known defects around the TTL-after-finished controller.

use super::{Mutant, Shows};
use crate::env::user::{SpecEdit, UserAction};
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::reference::{both, empty, one_pod};
use crate::scopes::scope;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// In the order of their numbers.
pub const TTL: &[Mutant] = &[
    Mutant {
        id: "B48a",
        issues: &[],
        title: "the TTL controller decides by its cache alone, after the TTL was raised",
        mutations: &[Mutation::TtlTrustsItsCache],
        world: || Scope { user: vec![UserAction::Edit(SpecEdit::SetTtl(Some(2)))], ..small(empty(0), 0, 0) },
        shows: Shows::Breaks(Req::TT03, 7),
    },
    Mutant {
        id: "B48b",
        issues: &[],
        title: "the TTL controller deletes a new Job of the same name",
        mutations: &[Mutation::TtlOmitsUidPrecondition],
        world: || Scope {
            user: vec![UserAction::DeleteOwner, UserAction::Recreate],
            ..small(empty(0), 0, 0)
        },
        shows: Shows::Breaks(Req::TT13, 9),
    },
    Mutant {
        id: "B48c",
        issues: &[],
        title: "the TTL runs from an interim condition",
        mutations: &[Mutation::TtlStartsAtInterimCondition],
        world: || small(empty(0), 0, 0),
        shows: Shows::Breaks(Req::TT13, 6),
    },
    Mutant {
        id: "B48d",
        issues: &[],
        title: "an end in the future by the TTL controller's clock is taken for now",
        mutations: &[Mutation::TtlClampsFutureFinish],
        world: || small(empty(0), 1, -1),
        shows: Shows::Breaks(Req::TT10, 7),
    },
    Mutant {
        id: "B48e",
        issues: &[],
        title: "an expired Job is deleted in the background, before its pods",
        mutations: &[Mutation::TtlDeletesInBackground],
        world: || small(empty(0), 0, 0),
        shows: Shows::Breaks(Req::TT06, 7),
    },
    Mutant {
        id: "B49",
        issues: &["kubeflow/trainer#1533"],
        title: "a Job that is not expired yet is not looked at again",
        mutations: &[Mutation::TtlIsNotQueuedAgain],
        world: || small(empty(1), 1, 0),
        shows: Shows::NoProgress(Req::TT14, 7),
    },
    Mutant {
        id: "B50",
        issues: &["kubeflow/trainer#2239"],
        title: "a TTL runs out for a suspended Job that has not finished",
        mutations: &[Mutation::TtlStartsAtAnyCondition],
        world: || small(JobSpec { suspend: Some(true), ..one_pod(0) }, 0, 0),
        shows: Shows::Breaks(Req::TT13, 6),
    },
    Mutant {
        id: "TT-09",
        issues: &[],
        title: "a Job that is being deleted is deleted again",
        mutations: &[Mutation::TtlDeletesAgain],
        world: || small(one_pod(0), 0, 0),
        shows: Shows::Breaks(Req::TT09, 16),
    },
];

/// Both controllers, in a world of so many seconds; the clock of the TTL controller is `ahead`.
fn small(spec: JobSpec, ticks: i64, ahead: i64) -> Scope {
    let about = "the smallest world that shows a known defect of a TTL";
    both(Scope { ticks, ..scope("mutant", about, spec, 1) }, ahead)
}
