//! The table of known defects.

use super::{Mutant, Shows};
use crate::env::user::{SpecEdit, UserAction};
use crate::mutants::worlds::{
    capped, crashing, delayed, failing, fails_at_42, ignores_3, lagging, on_failure, per_index, retries,
    small,
};
use crate::mutations::Mutation;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// The departures of 1.36, what was found with this model, and the known defects of Job controllers in the order of
/// their numbers.
pub const JOBS: &[Mutant] = &[
    Mutant {
        id: "S-01",
        issues: &[],
        title: "a pod recorded as failed that ends well counts as a success in the decision",
        mutations: &[Mutation::CountsRecordedFailureAsSuccess],
        world: || {
            let scope = small(retries(1, many(1, 1)), 1);
            delayed(Scope { user: vec![UserAction::DeletePod], faults: failing(1), ..scope })
        },
        shows: Shows::Breaks(Req::S01, 12),
    },
    Mutant {
        id: "S-02",
        issues: &[],
        title: "an index is completed by a pod that is recorded as failed",
        mutations: &[Mutation::CountsRecordedFailureAsSuccess],
        world: || Scope {
            user: vec![UserAction::DeletePod],
            faults: failing(1),
            ..small(retries(0, many_indexes(1, 1)), 1)
        },
        shows: Shows::Breaks(Req::S02, 10),
    },
    Mutant {
        id: "S-02b",
        issues: &[],
        title: "an index is written as completed and as failed",
        mutations: &[Mutation::FailedIndexNotMinusCompleted],
        world: || {
            let scope =
                Scope { user: vec![UserAction::DeletePod], ..small(per_index(1, many_indexes(1, 1)), 2) };
            // What the texts must hold is another matter than that they must not overlap.
            scope.without(Req::BI01).without(Req::BI07)
        },
        shows: Shows::Breaks(Req::SS17, 11),
    },
    Mutant {
        id: "S-03",
        issues: &[],
        title: "a FailJob verdict that cannot be stored yet is dropped",
        mutations: &[Mutation::DropsFailJobVerdict],
        world: || Scope { exit_codes: &[42], faults: failing(1), ..small(fails_at_42(many(2, 2)), 2) },
        shows: Shows::Breaks(Req::PF09, 9),
    },
    Mutant {
        id: "S-04",
        issues: &[],
        title: "a suspended Job that meets its end finishes without startTime",
        mutations: &[Mutation::FinishesSuspendedWithoutStartTime],
        world: || Scope {
            user: vec![UserAction::DeletePod, UserAction::Edit(SpecEdit::SuspendStarted)],
            ..small(replacing_failed(many(1, 1)), 1)
        },
        shows: Shows::Breaks(Req::S04, 10),
    },
    Mutant {
        id: "S-07",
        issues: &["kubernetes/kubernetes#125410"],
        title: "a pod recorded as succeeded that fails after all is recorded as failed too",
        mutations: &[Mutation::RecordsFlippedSuccess],
        world: || Scope { flips: true, faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::Breaks(Req::S07, 10),
    },
    Mutant {
        id: "S-07b",
        issues: &[],
        title: "a healthy pod is deleted because a pod recorded as succeeded has failed after all (backoffLimit 0)",
        mutations: &[Mutation::RecordsFlippedSuccess],
        world: || Scope { flips: true, faults: failing(1), ..small(many(2, 1), 2) },
        shows: Shows::Breaks(Req::PC04, 11),
    },
    Mutant {
        id: "S-08",
        issues: &[],
        title: "a Job completes before a pod that it created was seen",
        mutations: &[Mutation::CompletesBeforeAllPodsAreSeen, Mutation::SyncsBeforeOwnWritesAreSeen],
        world: || lagging(2, small(JobSpec { completions: None, ..many(1, 2) }, 2)),
        shows: Shows::Breaks(Req::TC04, 10),
    },
    Mutant {
        id: "S-09",
        issues: &[],
        title: "a pod that is gone when it is released stays ready",
        mutations: &[Mutation::KeepsVanishedPodReady],
        world: || {
            let user = vec![UserAction::SUSPEND, UserAction::DeletePod];
            // The ideal of S-09 is ready <= active; that ready is counted right is another matter.
            Scope { phases: true, user, pods: 1, ..crashing(many(1, 1)) }.without(Req::PC03)
        },
        shows: Shows::Breaks(Req::SS19, 15),
    },
    Mutant {
        id: "S-12",
        issues: &[],
        title: "an interim condition is appended beside one that was set to False",
        mutations: &[Mutation::AppendsBesideFalseInterim],
        world: || Scope { user: vec![UserAction::DenyFailureTarget], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::S12, 7),
    },
    Mutant {
        id: "H1",
        issues: &[],
        title: "two changes of one pod pass for the deletions of two, and a healthy one is deleted",
        mutations: &[
            Mutation::CountsDeletions,
            Mutation::GateIgnoresDeletions,
            Mutation::OverlooksPodsWithoutFinalizer,
        ],
        world: || {
            let scope = Scope { user: vec![UserAction::scale(1)], ..small(retries(6, many(3, 3)), 3) };
            // What J-01 does to the counts is another defect.
            lagging(1, scope).without(Req::PC01).without(Req::PC02).without(Req::PC03)
        },
        shows: Shows::Breaks(Req::FT14, 19),
    },
    Mutant {
        id: "H2",
        issues: &[],
        title: "a creation that is refused because the namespace is being deleted counts as active",
        mutations: &[Mutation::CountsRefusedCreations],
        world: || Scope { user: vec![UserAction::DeleteNamespace], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC01, 4),
    },
    Mutant {
        id: "PC-12",
        issues: &[],
        title: "a creation that is refused because the namespace is being deleted is tried again",
        mutations: &[Mutation::RetriesWithoutNamespace],
        world: || Scope { user: vec![UserAction::DeleteNamespace], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC12, 6),
    },
    Mutant {
        id: "BO-07",
        issues: &[],
        title: "a pod that is being deleted delays the next one from its creation on, not from its deletion",
        mutations: &[Mutation::DatesDeletionsFromCreation],
        world: || delayed(Scope { user: vec![UserAction::DeletePod], ..small(retries(1, many(1, 1)), 2) }),
        shows: Shows::Breaks(Req::BO01, 7),
    },
    Mutant {
        id: "H3",
        issues: &[],
        title: "a pod is no longer ready although its DELETE failed",
        mutations: &[Mutation::LowersReadyOnFailedDelete],
        world: || Scope {
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
        title: "a DELETE answered with 404 counts as a terminating pod",
        mutations: &[Mutation::CountsVanishedAsTerminating],
        world: || Scope { user: vec![UserAction::SUSPEND, UserAction::DeletePod], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC02, 11),
    },
    Mutant {
        id: "J-01",
        issues: &[],
        title: "a sync does not wait for its own deletions, and writes a stale active",
        mutations: &[Mutation::GateIgnoresDeletions],
        world: || lagging(2, Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) }),
        shows: Shows::Breaks(Req::PC01, 12),
    },
    Mutant {
        id: "J-02",
        issues: &[],
        title: "a full list takes one more UID when a sync meets a new pod first",
        mutations: &[Mutation::ChecksCapAfterAdding],
        world: || capped(Scope { faults: failing(1), ..small(many(2, 2), 2) }),
        shows: Shows::Breaks(Req::SC05, 12),
    },
    Mutant {
        id: "J-03",
        issues: &[],
        title: "a pod that was gone when it was released is counted again while the cache shows it",
        mutations: &[Mutation::ForgetsVanishedRemovals],
        world: || {
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
    Mutant {
        id: "B01",
        issues: &["kubernetes/kubernetes#105200"],
        title: "a pod is counted again while the Pod cache still shows its finalizer",
        mutations: &[Mutation::ForgetsRemovals, Mutation::SyncsBeforeOwnWritesAreSeen],
        world: || lagging(1, small(many(2, 1), 2)),
        shows: Shows::Breaks(Req::FT02, 16),
    },
    Mutant {
        id: "B02",
        issues: &["kubernetes/kubernetes#105199"],
        title: "a status write that conflicts is made again, over what another wrote",
        mutations: &[Mutation::OverwritesOnConflict],
        world: || Scope { user: vec![UserAction::DenyFailureTarget], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::SY04, 4),
    },
    Mutant {
        id: "B03",
        issues: &["kubernetes/kubernetes#104666"],
        title: "a pod that still holds the finalizer is counted because the last removal worked",
        mutations: &[Mutation::CountsWholeListAfterLastRemoval],
        world: || Scope { faults: failing(1), ..small(many(2, 2), 2) },
        shows: Shows::Breaks(Req::FT02, 16),
    },
    Mutant {
        id: "B14",
        issues: &["kubernetes/kubernetes#99963"],
        title: "a Job announces its completion while a surplus pod runs",
        mutations: &[Mutation::LeavesExtraPods],
        world: || {
            let losing = Faults { losses: 1, ..Faults::default() };
            lagging(1, Scope { faults: losing, ..small(many(1, 1), 2) })
        },
        shows: Shows::Breaks(Req::PC24, 10),
    },
    Mutant {
        id: "B16",
        issues: &[
            "kubernetes/kubernetes#114366",
            "kubernetes/kubernetes#121828",
            "kubernetes/kubernetes#127917",
        ],
        title: "a pod is counted although the removal of its finalizer failed",
        mutations: &[Mutation::CountsDespiteFailedRemoval],
        world: || Scope { faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT02, 12),
    },
    Mutant {
        id: "B05",
        issues: &["kubernetes/kubernetes#109485"],
        title: "a Job fails before a pod that it created was seen",
        mutations: &[Mutation::FailsBeforeAllPodsAreSeen, Mutation::SyncsBeforeOwnWritesAreSeen],
        world: || lagging(2, small(many(2, 2), 2)),
        shows: Shows::Breaks(Req::TC04, 10),
    },
    Mutant {
        id: "B07",
        issues: &["kubernetes/kubernetes#119159"],
        title: "a Job finishes although a pod for which the lists had no room still holds the finalizer",
        mutations: &[Mutation::FinishesWithFullLists],
        world: || capped(small(many(2, 2), 2)),
        shows: Shows::Breaks(Req::FT10, 11),
    },
    Mutant {
        id: "B08",
        issues: &["kubernetes/kubernetes#111646"],
        title: "a pod recorded as failed that succeeds after all is recorded as succeeded too",
        mutations: &[Mutation::RecordsByPhaseOnly],
        world: || Scope {
            user: vec![UserAction::DeletePod],
            faults: failing(1),
            ..small(retries(1, many(2, 1)), 2)
        },
        shows: Shows::Breaks(Req::FT13, 11),
    },
    Mutant {
        id: "B11",
        issues: &[
            "kubernetes/kubernetes#91235",
            "kubernetes/kubernetes#78721",
            "kubernetes/kubernetes#28486",
        ],
        title: "a success is forgotten once its pod is gone",
        mutations: &[Mutation::RecomputesCounters],
        world: || Scope { user: vec![UserAction::DeleteEndedPod], ..small(many(2, 1), 2) }.without(Req::FT31),
        shows: Shows::Breaks(Req::SS28, 13),
    },
    Mutant {
        id: "B13",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a third pod is created for two completions: the Job cache lacks the last two status writes",
        mutations: &[Mutation::SyncsBeforeOwnWritesAreSeen],
        world: || Scope { job_lag: 2, ..small(many(2, 2), 3) },
        shows: Shows::Breaks(Req::PC04, 12),
    },
    Mutant {
        id: "B13b",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a second pod is created for a finished Job: the Job cache lacks the last two status writes",
        mutations: &[Mutation::SyncsBeforeOwnWritesAreSeen, Mutation::ForgetsFinishedJobs],
        world: || Scope { job_lag: 3, ..small(many(1, 1), 2) },
        shows: Shows::Breaks(Req::TC07, 11),
    },
    Mutant {
        id: "B18",
        issues: &["kubernetes/kubernetes#123775"],
        title: "a Job finishes while its pods terminate",
        mutations: &[Mutation::FinishesWhilePodsTerminate],
        world: || small(many(2, 2), 2),
        shows: Shows::Breaks(Req::TC04, 11),
    },
    Mutant {
        id: "B19",
        issues: &["kubernetes/kubernetes#125089", "kubernetes/kubernetes#125185"],
        title: "a sync reports its deletions in active alone",
        mutations: &[Mutation::ReportsDeletionsLate],
        world: || Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC02, 8),
    },
    Mutant {
        id: "B21",
        issues: &["kubernetes/kubernetes#139428"],
        title: "active=0 is written beside a ready pod while a replacement is delayed",
        mutations: &[Mutation::ReportsNoneActiveDuringDelay],
        world: || delayed(Scope { phases: true, ..small(retries(1, many(2, 2)), 2) }).without(Req::PC01),
        shows: Shows::Breaks(Req::SS19, 10),
    },
    Mutant {
        id: "B22",
        issues: &["kubernetes/kubernetes#134521"],
        title: "startTime is set again in every sync after a resumption",
        mutations: &[Mutation::ResetsStartTimeAfterResume],
        world: || Scope {
            user: vec![UserAction::SUSPEND, UserAction::RESUME],
            ticks: 1,
            ..small(many(1, 1), 2)
        },
        shows: Shows::Breaks(Req::SU04, 16),
    },
    Mutant {
        id: "B25",
        issues: &["kubernetes/kubernetes#110292"],
        title: "a terminal condition is appended beside one that was set to False",
        mutations: &[Mutation::AppendsTerminalConditions],
        world: || Scope { user: vec![UserAction::DenyFailed], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::S12, 9),
    },
    Mutant {
        id: "B27",
        issues: &["kubernetes/kubernetes#117303"],
        title: "a Job that has reached its completions and exceeded its backoffLimit in one sync completes",
        mutations: &[Mutation::LooksAtSuccessFirst],
        world: || small(JobSpec { completions: None, ..many(1, 2) }, 2),
        shows: Shows::Breaks(Req::TC01, 8),
    },
    Mutant {
        id: "B27b",
        issues: &[],
        title: "a Job that has reached its completions completes although its deadline had passed",
        mutations: &[Mutation::LooksAtSuccessFirst],
        world: || {
            let spec = JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) };
            Scope { ticks: 1, ..small(spec, 1) }
        },
        shows: Shows::Breaks(Req::TC01, 7),
    },
    Mutant {
        id: "B28",
        issues: &["kubernetes/kubernetes#115844", "kubernetes/kubernetes#116410"],
        title: "a pod that terminates is replaced though podReplacementPolicy is Failed",
        mutations: &[Mutation::ReplacesTerminatingPods],
        world: || Scope { user: vec![UserAction::DeletePod], ..small(replacing_failed(retries(1, many(1, 1))), 2) },
        shows: Shows::Breaks(Req::RP11, 6),
    },
    Mutant {
        id: "B29",
        issues: &["kubernetes/kubernetes#122235"],
        title: "terminating pods are taken for surplus, and a healthy pod is given up (1.28 panics where too few are active)",
        mutations: &[Mutation::CountsTerminatingAsSurplus],
        world: || Scope {
            user: vec![UserAction::DeletePod, UserAction::scale(1)],
            ..small(replacing_failed(retries(1, many(2, 2))), 2)
        },
        shows: Shows::Breaks(Req::FT14, 8),
    },
    Mutant {
        id: "B31",
        issues: &["kubernetes/kubernetes#99865"],
        title: "two pods of one index pass for two completions",
        mutations: &[Mutation::CountsPodsNotIndexes],
        world: || {
            let losing = Faults { losses: 1, ..Faults::default() };
            lagging(1, Scope { faults: losing, ..small(many_indexes(2, 1), 2) })
        },
        shows: Shows::Breaks(Req::PC21, 11),
    },
    Mutant {
        id: "B32",
        issues: &["kubernetes/kubernetes#115349"],
        title: "completedIndexes keeps an index beyond completions after a scale-down",
        mutations: &[Mutation::WritesIndexesOnlyWhenNew],
        world: || Scope { user: vec![UserAction::scale(1)], ..small(many_indexes(3, 3), 3) },
        shows: Shows::Breaks(Req::PC23, 13),
    },
    Mutant {
        id: "B33",
        issues: &["kubernetes/kubernetes#118009"],
        title: "a failed pod is released before its replacement carries its count on, and its index starts again at 0",
        mutations: &[Mutation::RemovesFinalizerBeforeReplacement],
        world: || delayed(small(per_index(1, many_indexes(1, 1)), 2)),
        shows: Shows::Breaks(Req::BI02, 10),
    },
    Mutant {
        id: "B34",
        issues: &["kubernetes/kubernetes#111113"],
        title: "a FailJob verdict is stored only with the end",
        mutations: &[Mutation::StoresInterimWithTerminal],
        world: || Scope { exit_codes: &[42], ..small(fails_at_42(many(1, 1)), 1) },
        shows: Shows::Breaks(Req::PF09, 7),
    },
    Mutant {
        id: "B35",
        issues: &["kubernetes/kubernetes#111026"],
        title: "a sync whose creation failed is not tried again",
        mutations: &[Mutation::SwallowsCreateErrors],
        world: || Scope { faults: failing(2), ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::PC11, 5),
    },
    Mutant {
        id: "B38",
        issues: &["ray-project/kuberay#715"],
        title: "a pod is created again while the cache does not show the first",
        mutations: &[Mutation::ForgetsCreations, Mutation::SyncsBeforeOwnWritesAreSeen],
        world: || lagging(1, small(many(1, 1), 2)),
        shows: Shows::Breaks(Req::PC08, 5),
    },
    Mutant {
        id: "B39",
        issues: &["kubernetes/kubernetes#62382", "kubernetes/kubernetes#63650"],
        title: "a Job goes on beyond backoffLimit",
        mutations: &[Mutation::IgnoresBackoffLimit],
        world: || small(many(1, 1), 2),
        shows: Shows::Breaks(Req::TC01, 6),
    },
    Mutant {
        id: "B40",
        issues: &[
            "kubernetes/kubernetes#70251",
            "kubernetes/kubernetes#60735",
            "kubernetes/kubernetes#92245",
            "kubernetes/kubernetes#93559",
        ],
        title: "a request that failed counts against backoffLimit like a pod that failed",
        mutations: &[Mutation::CountsRequeues],
        world: || Scope { faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::Breaks(Req::BO12, 6),
    },
    Mutant {
        id: "B41",
        issues: &["kubernetes/kubernetes#119159"],
        title: "backoffLimit is looked at only where a failure is new",
        mutations: &[Mutation::ChecksLimitOnNewFailuresOnly],
        world: || Scope { faults: failing(1), ..small(many(2, 2), 3) },
        shows: Shows::Breaks(Req::TC01, 12),
    },
    Mutant {
        id: "B42",
        issues: &["kubernetes/kubernetes#114391"],
        title: "a sync without a new failure forgets the delay",
        mutations: &[Mutation::ForgetsFailuresWhenNoneIsNew],
        world: || delayed(small(retries(1, many(1, 1)), 2)),
        shows: Shows::Breaks(Req::BO01, 10),
    },
    Mutant {
        id: "B45",
        issues: &["kubernetes/kubernetes#119434"],
        title: "ignored failures are replaced without delay",
        mutations: &[Mutation::IgnoredFailuresDoNotDelay],
        world: || delayed(Scope { exit_codes: &[3], ..small(ignores_3(many(1, 1)), 2) }),
        shows: Shows::Breaks(Req::BO01, 6),
    },
    Mutant {
        id: "B46",
        issues: &["kubernetes/kubernetes#54870"],
        title: "container restarts do not count against backoffLimit (restartPolicy OnFailure)",
        mutations: &[Mutation::IgnoresRestarts],
        world: || Scope { restarts: 1, ..small(on_failure(many(2, 2)), 2) },
        shows: Shows::Breaks(Req::BO13, 8),
    },
];
