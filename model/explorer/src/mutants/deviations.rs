//! The deviations of Kubernetes 1.36, and the defects that this model found.

use super::{Mutant, Shows};
use crate::env::user::{SpecEdit, UserAction};
use crate::mutants::small_scopes::{
    capped, crashing, delayed, failing, fails_at_42, lagging, per_index, retries, small,
};
use crate::mutations::Mutation;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// The mutants of this module.
pub const DEVIATIONS: &[Mutant] = &[
    Mutant {
        id: "S-01",
        issues: &[],
        title: "a pod that is recorded as failed and succeeds later counts as a success in the decision",
        mutations: &[Mutation::CountsRecordedFailureAsSuccess],
        base: || {
            let scope = small(retries(1, many(1, 1)), 1);
            delayed(Scope { user: vec![UserAction::DeletePod], faults: failing(1), ..scope })
        },
        shows: Shows::Breaks(Req::S01, 12),
    },
    Mutant {
        id: "S-02",
        issues: &[],
        title: "a pod that is recorded as failed completes its index",
        mutations: &[Mutation::CountsRecordedFailureAsSuccess],
        base: || Scope {
            user: vec![UserAction::DeletePod],
            faults: failing(1),
            ..small(retries(0, many_indexes(1, 1)), 1)
        },
        shows: Shows::Breaks(Req::S02, 10),
    },
    Mutant {
        id: "S-02b",
        issues: &[],
        title: "an index is stored as both completed and failed",
        mutations: &[Mutation::FailedIndexNotMinusCompleted],
        base: || {
            let scope =
                Scope { user: vec![UserAction::DeletePod], ..small(per_index(1, many_indexes(1, 1)), 2) };
            // This mutant is about the overlap of the two lists. Other requirements check their content.
            scope.without(Req::BI01).without(Req::BI07)
        },
        shows: Shows::Breaks(Req::SS17, 11),
    },
    Mutant {
        id: "S-03",
        issues: &[],
        title: "a FailJob verdict that cannot be stored yet is lost",
        mutations: &[Mutation::DropsFailJobVerdict],
        base: || Scope { exit_codes: &[42], faults: failing(1), ..small(fails_at_42(many(2, 2)), 2) },
        shows: Shows::Breaks(Req::PF09, 9),
    },
    Mutant {
        id: "S-04",
        issues: &[],
        title: "a suspended Job finishes without startTime",
        mutations: &[Mutation::FinishesSuspendedWithoutStartTime],
        base: || Scope {
            user: vec![UserAction::DeletePod, UserAction::Edit(SpecEdit::SuspendStarted)],
            ..small(replacing_failed(many(1, 1)), 1)
        },
        shows: Shows::Breaks(Req::S04, 10),
    },
    Mutant {
        id: "S-07",
        issues: &["kubernetes/kubernetes#125410"],
        title: "a pod that is recorded as succeeded and fails later is recorded as failed too",
        mutations: &[Mutation::RecordsFlippedSuccess],
        base: || Scope { flips: true, faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::Breaks(Req::S07, 10),
    },
    Mutant {
        id: "S-07b",
        issues: &[],
        title: "with backoffLimit 0, a healthy pod is deleted because a pod recorded as succeeded fails later",
        mutations: &[Mutation::RecordsFlippedSuccess],
        base: || Scope { flips: true, faults: failing(1), ..small(many(2, 1), 2) },
        shows: Shows::Breaks(Req::PC04, 11),
    },
    Mutant {
        id: "S-08",
        issues: &[],
        title: "a Job completes before its cache shows a pod that it created",
        mutations: &[Mutation::CompletesBeforeAllPodsAreSeen, Mutation::SyncsBeforeOwnWritesAreSeen],
        base: || lagging(2, small(JobSpec { completions: None, ..many(1, 2) }, 2)),
        shows: Shows::Breaks(Req::TC04, 10),
    },
    Mutant {
        id: "S-09",
        issues: &[],
        title: "ready includes a pod that was gone when its finalizer was to be removed",
        mutations: &[Mutation::KeepsVanishedPodReady],
        base: || {
            let user = vec![UserAction::SUSPEND, UserAction::DeletePod];
            // S-09 is about `ready` exceeding `active`. Other requirements check the exact value of `ready`.
            Scope { phases: true, user, pods: 1, ..crashing(many(1, 1)) }.without(Req::PC03)
        },
        shows: Shows::Breaks(Req::SS19, 15),
    },
    Mutant {
        id: "S-12",
        issues: &[],
        title: "an interim condition is appended although a condition of its type has status False",
        mutations: &[Mutation::AppendsBesideFalseInterim],
        base: || Scope { user: vec![UserAction::DenyFailureTarget], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::S12, 7),
    },
    Mutant {
        id: "H1",
        issues: &[],
        title: "two events of one pod count as the deletions of two pods, and a healthy pod is deleted",
        mutations: &[
            Mutation::CountsDeletions,
            Mutation::GateIgnoresDeletions,
            Mutation::OverlooksPodsWithoutFinalizer,
        ],
        base: || {
            let scope = Scope { user: vec![UserAction::scale(1)], ..small(retries(6, many(3, 3)), 3) };
            // J-01 is a separate mutant.
            lagging(1, scope).without(Req::PC01).without(Req::PC02).without(Req::PC03)
        },
        shows: Shows::Breaks(Req::FT14, 19),
    },
    Mutant {
        id: "H2",
        issues: &[],
        title: "a pod creation that a terminating namespace refuses counts as an active pod",
        mutations: &[Mutation::CountsRefusedCreations],
        base: || Scope { user: vec![UserAction::DeleteNamespace], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC01, 4),
    },
    Mutant {
        id: "PC-12",
        issues: &[],
        title: "a pod creation that a terminating namespace refuses is repeated",
        mutations: &[Mutation::RetriesWithoutNamespace],
        base: || Scope { user: vec![UserAction::DeleteNamespace], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC12, 6),
    },
    Mutant {
        id: "BO-07",
        issues: &[],
        title: "the delay after the deletion of a pod starts at the creation of the pod",
        mutations: &[Mutation::DatesDeletionsFromCreation],
        base: || delayed(Scope { user: vec![UserAction::DeletePod], ..small(retries(1, many(1, 1)), 2) }),
        shows: Shows::Breaks(Req::BO01, 7),
    },
    Mutant {
        id: "H3",
        issues: &[],
        title: "ready excludes a pod although its DELETE failed",
        mutations: &[Mutation::LowersReadyOnFailedDelete],
        base: || Scope {
            phases: true,
            user: vec![UserAction::SUSPEND],
            faults: failing(1),
            ..small(many(1, 1), 1)
        },
        shows: Shows::Breaks(Req::PC03, 10),
    },
    Mutant {
        id: "H4",
        issues: &[],
        title: "a pod whose DELETE was answered with 404 counts as terminating",
        mutations: &[Mutation::CountsVanishedAsTerminating],
        base: || Scope { user: vec![UserAction::SUSPEND, UserAction::DeletePod], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC02, 11),
    },
    Mutant {
        id: "J-01",
        issues: &[],
        title: "a sync does not wait until the cache shows its deletions, and writes an old value of active",
        mutations: &[Mutation::GateIgnoresDeletions],
        base: || lagging(2, Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) }),
        shows: Shows::Breaks(Req::PC01, 12),
    },
    Mutant {
        id: "J-02",
        issues: &[],
        title: "a full list takes one more UID if the sync finds a new pod first",
        mutations: &[Mutation::ChecksCapAfterAdding],
        base: || capped(Scope { faults: failing(1), ..small(many(2, 2), 2) }),
        shows: Shows::Breaks(Req::SC05, 12),
    },
    Mutant {
        id: "J-03",
        issues: &[],
        title: "a pod that was gone when its finalizer was to be removed is counted again while the cache shows it",
        mutations: &[Mutation::ForgetsVanishedRemovals],
        base: || {
            let losing = Faults { losses: 1, ..Faults::default() };
            lagging(
                2,
                Scope {
                    user: vec![UserAction::DeletePod],
                    faults: losing,
                    ..small(retries(1, many(1, 1)), 2)
                },
            )
        },
        shows: Shows::Breaks(Req::FT02, 20),
    },
];
