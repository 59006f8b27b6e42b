//! Defects that break no single write: a Job strays from its end for ever.

use super::{Mutant, Shows};
use crate::env::refusals::Refusal;
use crate::env::user::{SpecEdit, UserAction};
use crate::mutants::worlds::{crashing, failing, lagging, per_index, retries, small};
use crate::mutations::Mutation;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::uid::Uid;

/// Them.
pub const CYCLES: &[Mutant] = &[
    Mutant {
        id: "L1",
        issues: &[],
        title: "a suspended Job that meets its end tries the same refused write for ever (S-04 again)",
        mutations: &[Mutation::FinishesSuspendedWithoutStartTime],
        world: || Scope {
            user: vec![UserAction::DeletePod, UserAction::Edit(SpecEdit::SuspendStarted)],
            ..small(replacing_failed(many(1, 1)), 1)
        },
        shows: Shows::NoProgress(Req::SS10, 16),
    },
    Mutant {
        id: "L2",
        issues: &[],
        title: "an index is completed and failed at once, and the same status write is refused for ever (S-02b again)",
        mutations: &[Mutation::FailedIndexNotMinusCompleted],
        world: || Scope { user: vec![UserAction::DeletePod], ..small(per_index(1, many_indexes(1, 1)), 2) },
        shows: Shows::NoProgress(Req::SS17, 11),
    },
    Mutant {
        id: "B16b",
        issues: &["kubernetes/kubernetes#114366"],
        title: "a pod whose finalizer no webhook lets go keeps all others from being counted",
        mutations: &[Mutation::StopsAtFailedRemoval],
        world: || small(many(2, 2), 2).refusing(Refusal::Patch(Uid(1))),
        shows: Shows::NoProgress(Req::FT01, 9),
    },
    Mutant {
        id: "PC-13",
        issues: &[],
        title: "no status is written while a quota refuses pods",
        mutations: &[Mutation::ForgetsStatusAfterFailedCreation],
        world: || Scope { endless: true, ..small(many(2, 2), 2).refusing(Refusal::PodsBeyond(1)) },
        shows: Shows::NoProgress(Req::PC01, 3),
    },
    Mutant {
        id: "TC-08",
        issues: &[],
        title: "no pod is counted while one that has to go cannot be deleted",
        mutations: &[Mutation::ForgetsCountsAfterFailedDeletion],
        world: || Scope { endless: true, ..small(many(2, 2), 2).refusing(Refusal::Deletion(Uid(1))) },
        shows: Shows::NoProgress(Req::FT01, 5),
    },
    Mutant {
        id: "J-06",
        issues: &[],
        title: "a pod that a late request creates for a finished Job keeps its finalizer",
        mutations: &[Mutation::ForgetsDelayedPods],
        world: || crashing(many(1, 1)),
        shows: Shows::NoProgress(Req::FT23, 13),
    },
    Mutant {
        id: "J-09",
        issues: &[],
        title: "a pod that a relist shows when it is being deleted is waited for still, and gets no replacement",
        // As 1.36 is: without S-08 a Job whose pod has succeeded would wait, too.
        mutations: &[Mutation::OverlooksCreationsInLists, Mutation::CompletesBeforeAllPodsAreSeen],
        world: || Scope { user: vec![UserAction::DeletePod], ..lagging(2, small(retries(1, many(1, 1)), 2)) },
        shows: Shows::NoProgress(Req::PC11, 14),
    },
    Mutant {
        id: "J-10",
        issues: &[],
        title: "a failed pod waits for a replacement that cannot come, and its namespace waits for it",
        mutations: &[Mutation::WaitsForReplacementInVain],
        world: || {
            let spec = many_indexes(1, 1);
            Scope { user: vec![UserAction::DeleteNamespace], ..small(per_index(1, spec), 2) }
        },
        shows: Shows::NoProgress(Req::PC11, 10),
    },
    Mutant {
        id: "B09",
        issues: &["kubernetes/kubernetes#125410"],
        title: "a Job that lists one UID in both lists tries the same refused write for ever (S-07 again)",
        mutations: &[Mutation::RecordsFlippedSuccess],
        world: || Scope { flips: true, faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::NoProgress(Req::SS02, 10),
    },
    Mutant {
        id: "B04",
        issues: &["kubernetes/kubernetes#108645"],
        title: "pods of a deleted Job keep their finalizer for ever",
        mutations: &[Mutation::ForgetsPodsOfGoneJobs],
        world: || Scope {
            user: vec![UserAction::DeleteJob(Propagation::Background)],
            ..small(many(1, 1), 1)
        },
        shows: Shows::NoProgress(Req::FT20, 7),
    },
    Mutant {
        id: "B06",
        issues: &["kubernetes/kubernetes#109429"],
        title: "nobody looks at the pods of a finished Job, and its deletion by TTL never ends",
        mutations: &[Mutation::ForgetsPodsOfFinishedJobs],
        world: || crashing(JobSpec { ttl_seconds_after_finished: Some(0), ..many(1, 1) }),
        shows: Shows::NoProgress(Req::TT15, 17),
    },
    Mutant {
        id: "B20",
        issues: &["kubernetes/kubernetes#121342"],
        title: "terminating is written only where something else has changed",
        mutations: &[Mutation::ComparesTerminatingWithItself],
        world: || Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::RP08, 11),
    },
    Mutant {
        id: "B47",
        issues: &["kubernetes/kubernetes#110239", "kubernetes/kubernetes#62134"],
        title: "a deadline timer armed only at the start is lost with a restart",
        mutations: &[Mutation::ArmsDeadlineAtStartOnly],
        world: || {
            let deadline = JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) };
            let faults = Faults { crashes: 1, ..Faults::default() };
            Scope { ticks: 1, faults, ..lagging(1, small(deadline, 1)) }
        },
        shows: Shows::NoProgress(Req::SU10, 6),
    },
];
