//! Defects of before finalizers, of caches that were written to, of feature gates, and of the API server.

use super::worlds::{failing, retries, small, wins_with_0};
use super::{Mutant, Shows};
use crate::env::user::UserAction;
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::gates::WITHOUT_SUCCESS_POLICY;
use crate::scopes::{many, many_indexes};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// In the order of their numbers.
pub const OLDER: &[Mutant] = &[
    Mutant {
        id: "B12",
        issues: &["kubernetes/kubernetes#94921", "kubernetes/kubernetes#95469"],
        title: "failed is taken from the pods that are there, and forgets one that was counted",
        mutations: &[Mutation::RecomputesFailures],
        world: || Scope { ticks: 1, ..small(JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) }, 1) },
        shows: Shows::Breaks(Req::FT31, 9),
    },
    Mutant {
        id: "B23",
        issues: &["kubernetes/kubernetes#132144", "kubernetes/kubernetes#132614"],
        title: "the server refuses the end of a suspended Job without completions, for ever",
        mutations: &[Mutation::ServerAsksEmptyJobForStartTime, Mutation::FinishesSuspendedWithoutStartTime],
        world: || small(JobSpec { suspend: Some(true), ..many(0, 1) }, 1),
        shows: Shows::NoProgress(Req::SS10, 3),
    },
    Mutant {
        id: "B26",
        issues: &["kubernetes/kubernetes#125429"],
        title: "SuccessCriteriaMet is written by a success policy whose gate is off",
        mutations: &[Mutation::MeetsSuccessPolicyWithoutGate],
        world: || Scope {
            gates: vec![WITHOUT_SUCCESS_POLICY],
            ..small(retries(1, wins_with_0(many_indexes(2, 1))), 2)
        },
        shows: Shows::Breaks(Req::SX01, 6),
    },
    Mutant {
        id: "B36",
        issues: &["kubernetes/kubernetes#104130"],
        title: "a status that could not be written is taken for stored, and the pod is released",
        mutations: &[Mutation::KeepsFailedWrites],
        world: || Scope { faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT03, 8),
    },
    Mutant {
        id: "B37",
        issues: &["kubernetes/kubernetes#42176"],
        title: "the pods of another Job whose labels match are taken for its own",
        mutations: &[Mutation::TakesPodsOfOthers],
        world: || Scope { user: vec![UserAction::DeleteOwner, UserAction::Recreate], ..small(many(1, 1), 2) },
        shows: Shows::Breaks(Req::PC01, 7),
    },
];
