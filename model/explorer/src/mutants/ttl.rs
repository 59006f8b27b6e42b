//! Known defects of TTL-after-finished controllers.

use super::{Mutant, Shows};
use crate::env::user::{SpecEdit, UserAction};
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::reference::{both, empty, one_pod};
use crate::scopes::scope;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// The mutants of this module, by number.
pub const TTL: &[Mutant] = &[
    Mutant {
        id: "B48a",
        issues: &[],
        title: "the TTL-after-finished controller decides from its cache although the TTL was raised",
        mutations: &[Mutation::TtlTrustsItsCache],
        base: || Scope { user: vec![UserAction::Edit(SpecEdit::SetTtl(Some(2)))], ..small(empty(0), 0, 0) },
        shows: Shows::Breaks(Req::TT03, 7),
    },
    Mutant {
        id: "B48b",
        issues: &[],
        title: "the TTL-after-finished controller deletes a new Job of the same name",
        mutations: &[Mutation::TtlOmitsUidPrecondition],
        base: || Scope { user: vec![UserAction::DeleteOwner, UserAction::Recreate], ..small(empty(0), 0, 0) },
        shows: Shows::Breaks(Req::TT13, 9),
    },
    Mutant {
        id: "B48c",
        issues: &[],
        title: "the TTL starts at an interim condition",
        mutations: &[Mutation::TtlStartsAtInterimCondition],
        base: || small(empty(0), 0, 0),
        shows: Shows::Breaks(Req::TT13, 6),
    },
    Mutant {
        id: "B48d",
        issues: &[],
        title: "a finish time in the future, by the clock of the TTL-after-finished controller, counts as now",
        mutations: &[Mutation::TtlClampsFutureFinish],
        base: || small(empty(0), 1, -1),
        shows: Shows::Breaks(Req::TT10, 7),
    },
    Mutant {
        id: "B48e",
        issues: &[],
        title: "an expired Job is deleted in the background, before its pods",
        mutations: &[Mutation::TtlDeletesInBackground],
        base: || small(empty(0), 0, 0),
        shows: Shows::Breaks(Req::TT06, 7),
    },
    Mutant {
        id: "B49",
        issues: &["kubeflow/trainer#1533"],
        title: "a Job that has not expired yet is not checked again",
        mutations: &[Mutation::TtlIsNotQueuedAgain],
        base: || small(empty(1), 1, 0),
        shows: Shows::NoProgress(Req::TT14, 7),
    },
    Mutant {
        id: "B50",
        issues: &["kubeflow/trainer#2239"],
        title: "a suspended Job that has not finished expires",
        mutations: &[Mutation::TtlStartsAtAnyCondition],
        base: || small(JobSpec { suspend: Some(true), ..one_pod(0) }, 0, 0),
        shows: Shows::Breaks(Req::TT13, 6),
    },
    Mutant {
        id: "TT-09",
        issues: &[],
        title: "the TTL-after-finished controller deletes a Job that is already being deleted",
        mutations: &[Mutation::TtlDeletesAgain],
        base: || small(one_pod(0), 0, 0),
        shows: Shows::Breaks(Req::TT09, 16),
    },
];

/// A scope of this many seconds with both controllers. The clock of the TTL-after-finished controller is
/// `ahead` seconds fast.
fn small(spec: JobSpec, ticks: i64, ahead: i64) -> Scope {
    let about = "the smallest scope that shows a known defect of a TTL-after-finished controller";
    both(Scope { ticks, ..scope("mutant", about, spec, 1) }, ahead)
}
