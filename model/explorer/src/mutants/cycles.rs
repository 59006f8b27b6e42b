//! Defects that break no single write: a Job never finishes.

use super::{Mutant, Shows};
use crate::env::refusals::Refusal;
use crate::env::user::{SpecEdit, UserAction};
use crate::mutants::small_scopes::{crashing, failing, lagging, per_index, retries, small};
use crate::mutations::Mutation;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, replacing_failed};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::uid::Uid;

/// The mutants of this module.
pub const CYCLES: &[Mutant] = &[
    Mutant {
        id: "L1",
        issues: &[],
        title: "a suspended Job that reaches its end repeats a refused status write forever (as S-04)",
        mutations: &[Mutation::FinishesSuspendedWithoutStartTime],
        base: || Scope {
            user: vec![UserAction::DeletePod, UserAction::Edit(SpecEdit::SuspendStarted)],
            ..small(replacing_failed(many(1, 1)), 1)
        },
        shows: Shows::NoProgress(Req::SS10, 16),
    },
    Mutant {
        id: "L2",
        issues: &[],
        title: "an index is both completed and failed, and its status write is refused forever (as S-02b)",
        mutations: &[Mutation::FailedIndexNotMinusCompleted],
        base: || Scope { user: vec![UserAction::DeletePod], ..small(per_index(1, many_indexes(1, 1)), 2) },
        shows: Shows::NoProgress(Req::SS17, 11),
    },
    Mutant {
        id: "B16b",
        issues: &["kubernetes/kubernetes#114366"],
        title: "no pod is counted because a webhook keeps the finalizer of one pod",
        mutations: &[Mutation::StopsAtFailedRemoval],
        base: || small(many(2, 2), 2).refusing(Refusal::Patch(Uid(1))),
        shows: Shows::NoProgress(Req::FT01, 9),
    },
    Mutant {
        id: "PC-13",
        issues: &[],
        title: "no status is written while a quota refuses pods",
        mutations: &[Mutation::ForgetsStatusAfterFailedCreation],
        base: || Scope { endless: true, ..small(many(2, 2), 2).refusing(Refusal::PodsBeyond(1)) },
        shows: Shows::NoProgress(Req::PC01, 3),
    },
    Mutant {
        id: "TC-08",
        issues: &[],
        title: "no pod is counted while the deletion of another pod is refused",
        mutations: &[Mutation::ForgetsCountsAfterFailedDeletion],
        base: || Scope { endless: true, ..small(many(2, 2), 2).refusing(Refusal::Deletion(Uid(1))) },
        shows: Shows::NoProgress(Req::FT01, 5),
    },
    Mutant {
        id: "J-06",
        issues: &[],
        title: "a pod that a delayed request creates for a finished Job keeps its finalizer",
        mutations: &[Mutation::ForgetsDelayedPods],
        base: || crashing(many(1, 1)),
        shows: Shows::NoProgress(Req::FT23, 13),
    },
    Mutant {
        id: "J-09",
        issues: &[],
        title: "the Job waits for the creation of a pod that a relist shows as being deleted, and creates no replacement",
        // Version 1.36 has both defects. Without S-08 a Job whose pod has succeeded would also wait.
        mutations: &[Mutation::OverlooksCreationsInLists, Mutation::CompletesBeforeAllPodsAreSeen],
        base: || Scope { user: vec![UserAction::DeletePod], ..lagging(2, small(retries(1, many(1, 1)), 2)) },
        shows: Shows::NoProgress(Req::PC11, 14),
    },
    Mutant {
        id: "J-10",
        issues: &[],
        title: "a failed pod waits for a replacement that a terminating namespace refuses, and blocks the namespace",
        mutations: &[Mutation::WaitsForReplacementInVain],
        base: || {
            let spec = many_indexes(1, 1);
            Scope { user: vec![UserAction::DeleteNamespace], ..small(per_index(1, spec), 2) }
        },
        shows: Shows::NoProgress(Req::PC11, 10),
    },
    Mutant {
        id: "B09",
        issues: &["kubernetes/kubernetes#125410"],
        title: "one UID is in both uncounted lists, and the status write is refused forever (as S-07)",
        mutations: &[Mutation::RecordsFlippedSuccess],
        base: || Scope { flips: true, faults: failing(1), ..small(retries(1, many(1, 1)), 1) },
        shows: Shows::NoProgress(Req::SS02, 10),
    },
    Mutant {
        id: "B04",
        issues: &["kubernetes/kubernetes#108645"],
        title: "the pods of a deleted Job keep their finalizers forever",
        mutations: &[Mutation::ForgetsPodsOfGoneJobs],
        base: || Scope { user: vec![UserAction::DeleteJob(Propagation::Background)], ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::FT20, 7),
    },
    Mutant {
        id: "B06",
        issues: &["kubernetes/kubernetes#109429"],
        title: "the pods of a finished Job keep their finalizers, and its deletion by TTL never ends",
        mutations: &[Mutation::ForgetsPodsOfFinishedJobs],
        base: || crashing(JobSpec { ttl_seconds_after_finished: Some(0), ..many(1, 1) }),
        shows: Shows::NoProgress(Req::TT15, 17),
    },
    Mutant {
        id: "B20",
        issues: &["kubernetes/kubernetes#121342"],
        title: "a change of terminating alone is not written",
        mutations: &[Mutation::ComparesTerminatingWithItself],
        base: || Scope { user: vec![UserAction::SUSPEND], ..small(many(1, 1), 1) },
        shows: Shows::NoProgress(Req::RP08, 11),
    },
    Mutant {
        id: "B47",
        issues: &["kubernetes/kubernetes#110239", "kubernetes/kubernetes#62134"],
        title: "a restart loses the timer of the deadline, which is set only when the Job starts",
        mutations: &[Mutation::ArmsDeadlineAtStartOnly],
        base: || {
            let deadline = JobSpec { active_deadline_seconds: Some(1), ..many(1, 1) };
            let faults = Faults { crashes: 1, ..Faults::default() };
            Scope { ticks: 1, faults, ..lagging(1, small(deadline, 1)) }
        },
        shows: Shows::NoProgress(Req::SU10, 6),
    },
];
