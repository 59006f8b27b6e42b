//! Defects around feature gates that are turned off, and Jobs of other managers.

use super::worlds::{per_index, retries, small, wins_with_0};
use super::{Mutant, Shows};
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::gates::{
    LENIENT, WITHOUT_ANY_INTERIM, WITHOUT_DELAY, WITHOUT_LIMITS, WITHOUT_REPLACEMENT, external,
};
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;

/// In the order of the requirements that they break.
pub const GATES: &[Mutant] = &[
    Mutant {
        id: "MB-03",
        issues: &["kubeflow/trainer#3681"],
        title: "the built-in creates a pod for a Job of another manager",
        mutations: &[Mutation::IgnoresManagedBy],
        world: || small(external(), 1),
        shows: Shows::Breaks(Req::MB03, 2),
    },
    Mutant {
        id: "UG-03",
        issues: &[],
        title: "without three gates a stored SuccessCriteriaMet is forgotten, and the Job goes on",
        mutations: &[Mutation::ForgetsSuccessCriteriaMet],
        world: || Scope {
            gates: vec![Gates::ON, WITHOUT_ANY_INTERIM],
            rules: LENIENT,
            // S-29: otherwise the server refuses the end of a Job with a success policy that has not met it.
            without: vec![Req::SS05],
            ..small(retries(0, wins_with_0(many_indexes(2, 1))), 2)
        },
        shows: Shows::Breaks(Req::TC07, 9),
    },
    Mutant {
        id: "UG-05",
        issues: &[],
        title: "terminating is reported although its gate is off",
        mutations: &[Mutation::ReportsTerminatingWithoutGate],
        world: || Scope { gates: vec![WITHOUT_REPLACEMENT], ..small(replacing_failed(many(1, 1)), 1) },
        shows: Shows::Breaks(Req::UG05, 3),
    },
    Mutant {
        id: "UG-07",
        issues: &[],
        title: "an end is announced although no gate asks for it",
        mutations: &[Mutation::StoresInterimWithoutGates],
        world: || Scope { gates: vec![WITHOUT_DELAY], rules: LENIENT, ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::UG07, 6),
    },
    Mutant {
        id: "UG-09",
        issues: &[],
        title: "failedIndexes is written although JobBackoffLimitPerIndex is off",
        mutations: &[Mutation::LimitsIndexesWithoutGate],
        world: || Scope { gates: vec![WITHOUT_LIMITS], ..small(per_index(0, many_indexes(1, 1)), 1) },
        shows: Shows::Breaks(Req::UG09, 3),
    },
];
