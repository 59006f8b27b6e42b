//! The known defects of Job controllers.

use super::{Mutant, Shows};
use crate::env::user::UserAction;
use crate::mutants::small_scopes::{
    capped, delayed, failing, fails_at_42, ignores_3, lagging, on_failure, per_index, retries, small,
};
use crate::mutations::Mutation;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

/// The mutants of this module, by number.
pub const JOBS: &[Mutant] = &[
    Mutant {
        id: "B01",
        issues: &["kubernetes/kubernetes#105200"],
        title: "a pod is counted again while the Pod cache still shows its finalizer",
        mutations: &[Mutation::ForgetsRemovals, Mutation::SyncsBeforeOwnWritesAreSeen],
        base: || lagging(1, small(many(2, 1), 2)),
        shows: Shows::Breaks(Req::FT02, 16),
    },
    Mutant {
        id: "B02",
        issues: &["kubernetes/kubernetes#105199"],
        title: "a status write that conflicts is repeated and overwrites what another actor wrote",
        mutations: &[Mutation::OverwritesOnConflict],
        base: || Scope { user: vec![UserAction::DenyFailureTarget], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::SY04, 4),
    },
    Mutant {
        id: "B03",
        issues: &["kubernetes/kubernetes#104666"],
        title: "a pod that holds the finalizer is counted because the last finalizer removal succeeded",
        mutations: &[Mutation::CountsWholeListAfterLastRemoval],
        base: || Scope { faults: failing(1), ..small(many(2, 2), 2) },
        shows: Shows::Breaks(Req::FT02, 16),
    },
    Mutant {
        id: "B14",
        issues: &["kubernetes/kubernetes#99963"],
        title: "a Job stores SuccessCriteriaMet while a surplus pod is active",
        mutations: &[Mutation::LeavesExtraPods],
        base: || {
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
        title: "a pod is counted although its finalizer removal failed",
        mutations: &[Mutation::CountsDespiteFailedRemoval],
        base: || Scope { faults: failing(1), ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::FT02, 12),
    },
    Mutant {
        id: "B05",
        issues: &["kubernetes/kubernetes#109485"],
        title: "a Job fails before its cache shows a pod that it created",
        mutations: &[Mutation::FailsBeforeAllPodsAreSeen, Mutation::SyncsBeforeOwnWritesAreSeen],
        base: || lagging(2, small(many(2, 2), 2)),
        shows: Shows::Breaks(Req::TC04, 10),
    },
    Mutant {
        id: "B07",
        issues: &["kubernetes/kubernetes#119159"],
        title: "a Job finishes although a terminated pod that did not fit the lists still holds the finalizer",
        mutations: &[Mutation::FinishesWithFullLists],
        base: || capped(small(many(2, 2), 2)),
        shows: Shows::Breaks(Req::FT10, 11),
    },
    Mutant {
        id: "B08",
        issues: &["kubernetes/kubernetes#111646"],
        title: "a pod that is recorded as failed and succeeds later is recorded as succeeded too",
        mutations: &[Mutation::RecordsByPhaseOnly],
        base: || Scope {
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
        title: "a success is no longer counted once its pod is gone",
        mutations: &[Mutation::RecomputesCounters],
        base: || Scope { user: vec![UserAction::DeleteEndedPod], ..small(many(2, 1), 2) }.without(Req::FT31),
        shows: Shows::Breaks(Req::SS28, 13),
    },
    Mutant {
        id: "B13",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a third pod is created for two completions, because the Job cache lacks the last two status writes",
        mutations: &[Mutation::SyncsBeforeOwnWritesAreSeen],
        base: || Scope { job_lag: 2, ..small(many(2, 2), 3) },
        shows: Shows::Breaks(Req::PC04, 12),
    },
    Mutant {
        id: "B13b",
        issues: &["kubernetes/kubernetes#130103"],
        title: "a second pod is created for a finished Job, because the Job cache lacks the last two status writes",
        mutations: &[Mutation::SyncsBeforeOwnWritesAreSeen, Mutation::ForgetsFinishedJobs],
        base: || Scope { job_lag: 3, ..small(many(1, 1), 2) },
        shows: Shows::Breaks(Req::TC07, 11),
    },
    Mutant {
        id: "B18",
        issues: &["kubernetes/kubernetes#123775"],
        title: "a Job finishes while its pods are terminating",
        mutations: &[Mutation::FinishesWhilePodsTerminate],
        base: || small(many(2, 2), 2),
        shows: Shows::Breaks(Req::TC04, 11),
    },
    Mutant {
        id: "B19",
        issues: &["kubernetes/kubernetes#125089", "kubernetes/kubernetes#125185"],
        title: "a sync that deletes pods changes active but not terminating",
        mutations: &[Mutation::ReportsDeletionsLate],
        base: || Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::PC02, 8),
    },
    Mutant {
        id: "B21",
        issues: &["kubernetes/kubernetes#139428"],
        title: "active is written as 0 while a pod is ready and a replacement is delayed",
        mutations: &[Mutation::ReportsNoneActiveDuringDelay],
        base: || delayed(Scope { phases: true, ..small(retries(1, many(2, 2)), 2) }).without(Req::PC01),
        shows: Shows::Breaks(Req::SS19, 10),
    },
    Mutant {
        id: "B22",
        issues: &["kubernetes/kubernetes#134521"],
        title: "startTime is set again in every sync after a resumption",
        mutations: &[Mutation::ResetsStartTimeAfterResume],
        base: || Scope {
            user: vec![UserAction::SUSPEND, UserAction::RESUME],
            ticks: 1,
            ..small(many(1, 1), 2)
        },
        shows: Shows::Breaks(Req::SU04, 16),
    },
    Mutant {
        id: "B25",
        issues: &["kubernetes/kubernetes#110292"],
        title: "a terminal condition is appended although a condition of its type has status False",
        mutations: &[Mutation::AppendsTerminalConditions],
        base: || Scope { user: vec![UserAction::DenyFailed], ..small(many(1, 1), 1) },
        shows: Shows::Breaks(Req::S12, 9),
    },
    Mutant {
        id: "B27",
        issues: &["kubernetes/kubernetes#117303"],
        title: "a Job that reaches completions and exceeds backoffLimit in the same sync completes",
        mutations: &[Mutation::LooksAtSuccessFirst],
        base: || small(JobSpec { completions: None, ..many(1, 2) }, 2),
        shows: Shows::Breaks(Req::TC01, 8),
    },
    Mutant {
        id: "B27b",
        issues: &[],
        title: "a Job that reaches completions after its deadline completes",
        mutations: &[Mutation::LooksAtSuccessFirst],
        base: || {
            let spec = JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) };
            Scope { ticks: 1, ..small(spec, 1) }
        },
        shows: Shows::Breaks(Req::TC01, 7),
    },
    Mutant {
        id: "B28",
        issues: &["kubernetes/kubernetes#115844", "kubernetes/kubernetes#116410"],
        title: "with podReplacementPolicy Failed, a terminating pod is replaced",
        mutations: &[Mutation::ReplacesTerminatingPods],
        base: || Scope {
            user: vec![UserAction::DeletePod],
            ..small(replacing_failed(retries(1, many(1, 1))), 2)
        },
        shows: Shows::Breaks(Req::RP11, 6),
    },
    Mutant {
        id: "B29",
        issues: &["kubernetes/kubernetes#122235"],
        title: "terminating pods count as surplus, and a healthy pod is deleted (1.28 panics if too few pods are active)",
        mutations: &[Mutation::CountsTerminatingAsSurplus],
        base: || Scope {
            user: vec![UserAction::DeletePod, UserAction::scale(1)],
            ..small(replacing_failed(retries(1, many(2, 2))), 2)
        },
        shows: Shows::Breaks(Req::FT14, 8),
    },
    Mutant {
        id: "B31",
        issues: &["kubernetes/kubernetes#99865"],
        title: "two pods of one index count as two completions",
        mutations: &[Mutation::CountsPodsNotIndexes],
        base: || {
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
        base: || Scope { user: vec![UserAction::scale(1)], ..small(many_indexes(3, 3), 3) },
        shows: Shows::Breaks(Req::PC23, 13),
    },
    Mutant {
        id: "B33",
        issues: &["kubernetes/kubernetes#118009"],
        title: "a failed pod loses its finalizer before a replacement carries its failure count, and its index starts again at 0",
        mutations: &[Mutation::RemovesFinalizerBeforeReplacement],
        base: || delayed(small(per_index(1, many_indexes(1, 1)), 2)),
        shows: Shows::Breaks(Req::BI02, 10),
    },
    Mutant {
        id: "B34",
        issues: &["kubernetes/kubernetes#111113"],
        title: "a FailJob verdict is stored only with the terminal condition",
        mutations: &[Mutation::StoresInterimWithTerminal],
        base: || Scope { exit_codes: &[42], ..small(fails_at_42(many(1, 1)), 1) },
        shows: Shows::Breaks(Req::PF09, 7),
    },
    Mutant {
        id: "B35",
        issues: &["kubernetes/kubernetes#111026"],
        title: "a sync with a failed pod creation is not retried",
        mutations: &[Mutation::SwallowsCreateErrors],
        base: || Scope { faults: failing(2), ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::PC11, 5),
    },
    Mutant {
        id: "B38",
        issues: &["ray-project/kuberay#715"],
        title: "a pod is created again while the cache does not show the first one",
        mutations: &[Mutation::ForgetsCreations, Mutation::SyncsBeforeOwnWritesAreSeen],
        base: || lagging(1, small(many(1, 1), 2)),
        shows: Shows::Breaks(Req::PC08, 5),
    },
    Mutant {
        id: "B39",
        issues: &["kubernetes/kubernetes#62382", "kubernetes/kubernetes#63650"],
        title: "a Job continues after its failures exceed backoffLimit",
        mutations: &[Mutation::IgnoresBackoffLimit],
        base: || small(many(1, 1), 2),
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
        title: "a failed request counts towards backoffLimit like a failed pod",
        mutations: &[Mutation::CountsRequeues],
        base: || Scope { faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::Breaks(Req::BO12, 6),
    },
    Mutant {
        id: "B41",
        issues: &["kubernetes/kubernetes#119159"],
        title: "backoffLimit is checked only after a new failure",
        mutations: &[Mutation::ChecksLimitOnNewFailuresOnly],
        base: || Scope { faults: failing(1), ..small(many(2, 2), 3) },
        shows: Shows::Breaks(Req::TC01, 12),
    },
    Mutant {
        id: "B42",
        issues: &["kubernetes/kubernetes#114391"],
        title: "a sync without a new failure clears the backoff delay",
        mutations: &[Mutation::ForgetsFailuresWhenNoneIsNew],
        base: || delayed(small(retries(1, many(1, 1)), 2)),
        shows: Shows::Breaks(Req::BO01, 10),
    },
    Mutant {
        id: "B45",
        issues: &["kubernetes/kubernetes#119434"],
        title: "an ignored failure causes no backoff delay",
        mutations: &[Mutation::IgnoredFailuresDoNotDelay],
        base: || delayed(Scope { exit_codes: &[3], ..small(ignores_3(many(1, 1)), 2) }),
        shows: Shows::Breaks(Req::BO01, 6),
    },
    Mutant {
        id: "B46",
        issues: &["kubernetes/kubernetes#54870"],
        title: "with restartPolicy OnFailure, container restarts do not count towards backoffLimit",
        mutations: &[Mutation::IgnoresRestarts],
        base: || Scope { restarts: 1, ..small(on_failure(many(2, 2)), 2) },
        shows: Shows::Breaks(Req::BO13, 8),
    },
];
