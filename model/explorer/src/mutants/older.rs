//! Defects of versions before finalizers, defects of caches and of feature gates, and defects of the API
//! server.

use super::small_scopes::{failing, retries, small, wins_with_0};
use super::{Mutant, Shows};
use crate::env::user::UserAction;
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::gates::WITHOUT_SUCCESS_POLICY;
use crate::scopes::{many, many_indexes};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// The mutants of this module, by number.
pub const OLDER: &[Mutant] = &[
    Mutant {
        id: "B12",
        issues: &["kubernetes/kubernetes#94921", "kubernetes/kubernetes#95469"],
        title: "failed is computed from the existing pods and loses a counted one",
        mutations: &[Mutation::RecomputesFailures],
        base: || Scope { ticks: 1, ..small(JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) }, 1) },
        shows: Shows::Breaks(Req::FT31, 9),
    },
    Mutant {
        id: "B23",
        issues: &["kubernetes/kubernetes#132144", "kubernetes/kubernetes#132614"],
        title: "the server refuses forever to finish a suspended Job without completions",
        mutations: &[Mutation::ServerAsksEmptyJobForStartTime, Mutation::FinishesSuspendedWithoutStartTime],
        base: || small(JobSpec { suspend: Some(true), ..many(0, 1) }, 1),
        shows: Shows::NoProgress(Req::SS10, 3),
    },
    Mutant {
        id: "B26",
        issues: &["kubernetes/kubernetes#125429"],
        title: "SuccessCriteriaMet is stored for a success policy whose gate is off",
        mutations: &[Mutation::MeetsSuccessPolicyWithoutGate],
        base: || Scope {
            gates: vec![WITHOUT_SUCCESS_POLICY],
            ..small(retries(1, wins_with_0(many_indexes(2, 1))), 2)
        },
        shows: Shows::Breaks(Req::SX01, 6),
    },
    Mutant {
        id: "B36",
        issues: &["kubernetes/kubernetes#104130"],
        title: "a status that could not be written is treated as stored, and the pod loses its finalizer",
        mutations: &[Mutation::KeepsFailedWrites],
        base: || Scope { faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT03, 8),
    },
    Mutant {
        id: "B37",
        issues: &["kubernetes/kubernetes#42176"],
        title: "the pods of another Job with matching labels are treated as the Job's own",
        mutations: &[Mutation::TakesPodsOfOthers],
        base: || Scope { user: vec![UserAction::DeleteOwner, UserAction::Recreate], ..small(many(1, 1), 2) },
        shows: Shows::Breaks(Req::PC01, 7),
    },
];
