//! Defects with feature gates off, and with Jobs of other managers.

use super::small_scopes::{per_index, retries, small, wins_with_0};
use super::{Mutant, Shows};
use crate::mutations::Mutation;
use crate::scope::Scope;
use crate::scopes::gates::{
    LENIENT, WITHOUT_ANY_INTERIM, WITHOUT_DELAY, WITHOUT_LIMITS, WITHOUT_REPLACEMENT, external,
};
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;

/// The mutants of this module, by requirement.
pub const GATES: &[Mutant] = &[
    Mutant {
        id: "MB-03",
        issues: &["kubeflow/trainer#3681"],
        title: "the built-in controller creates a pod for the Job of another manager",
        mutations: &[Mutation::IgnoresManagedBy],
        base: || small(external(), 1),
        shows: Shows::Breaks(Req::MB03, 2),
    },
    Mutant {
        id: "UG-03",
        issues: &[],
        title: "with three gates off, a stored SuccessCriteriaMet is ignored and the Job continues",
        mutations: &[Mutation::ForgetsSuccessCriteriaMet],
        base: || Scope {
            gates: vec![Gates::ON, WITHOUT_ANY_INTERIM],
            rules: LENIENT,
            // S-29: otherwise the server refuses to finish a Job whose success policy is not met.
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
        base: || Scope { gates: vec![WITHOUT_REPLACEMENT], ..small(replacing_failed(many(1, 1)), 1) },
        shows: Shows::Breaks(Req::UG05, 3),
    },
    Mutant {
        id: "UG-07",
        issues: &[],
        title: "an interim condition is stored although its gates are off",
        mutations: &[Mutation::StoresInterimWithoutGates],
        base: || Scope { gates: vec![WITHOUT_DELAY], rules: LENIENT, ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::UG07, 6),
    },
    Mutant {
        id: "UG-09",
        issues: &[],
        title: "failedIndexes is written although JobBackoffLimitPerIndex is off",
        mutations: &[Mutation::LimitsIndexesWithoutGate],
        base: || Scope { gates: vec![WITHOUT_LIMITS], ..small(per_index(0, many_indexes(1, 1)), 1) },
        shows: Shows::Breaks(Req::UG09, 3),
    },
];
