//! The kinds of steps: what statistics and generated tests count by, and what must be possible somewhere.

use super::Step;
use crate::alphabet::Write;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::{SpecEdit, UserAction, UserStep};
use crate::process::io::CallName;
use crate::process::steps::{ProcessStep, RequestOutcome};
use crate::process::ttl::TtlStep;
use jobcheck_spec::apiserver::Propagation;

/// An enumeration, and the name of each variant.
macro_rules! kinds {
    (@needs_processes) => { false };
    (@needs_processes processes) => { true };
    ($($kind:ident = $name:literal $([$needs:ident])?,)*) => {
        /// A kind of step: a sort of event in the environment, or a request and what became of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum StepKind {
            $(#[doc = $name] $kind,)*
        }

        impl StepKind {
            /// All kinds, in the order of their discriminants, which is that of reports.
            pub const ALL: &[StepKind] = &[$(StepKind::$kind,)*];

            /// What a report calls it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(StepKind::$kind => $name,)*
                }
            }

            /// Whether only processes take such steps: the specification has no syncs, and none of its writes fails.
            #[must_use]
            pub fn needs_processes(self) -> bool {
                match self {
                    $(StepKind::$kind => kinds!(@needs_processes $($needs)?),)*
                }
            }
        }
    };
}

kinds! {
    PodScheduled = "pod scheduled",
    PodRuns = "pod runs",
    PodBecomesReady = "pod becomes ready",
    PodCeasesToBeReady = "pod ceases to be ready",
    ContainerRestarted = "container restarted",
    PodSucceeds = "pod succeeds",
    PodFails = "pod fails",
    SuccessTakenBack = "success taken back",
    PodRemoved = "pod removed",
    PodEvicted = "pod evicted",
    NodeLost = "node lost",
    PodDeletedByForce = "pod deleted by force",
    EvictedPodDeleted = "evicted pod deleted",
    PodGivenUpByPodGc = "pod given up by pod GC",
    UserDeletesPod = "user deletes a pod",
    UserTakesOwnerAway = "user takes the owner away",
    UserChangesLabels = "user changes labels",
    UserSuspends = "user suspends",
    UserResumes = "user resumes",
    UserScales = "user scales",
    UserSetsParallelism = "user sets parallelism",
    UserSetsTtl = "user sets the TTL",
    UserRemovesTtl = "user removes the TTL",
    UserSetsDeadline = "user sets the deadline",
    UserRemovesDeadline = "user removes the deadline",
    UserSetsBackoffLimit = "user sets backoffLimit",
    UserSetsMaxFailedIndexes = "user sets maxFailedIndexes",
    UserSetsPodReplacementPolicy = "user sets podReplacementPolicy",
    UserDeniesCondition = "user denies a condition",
    JobDeletedInForeground = "user deletes the Job in the foreground",
    JobDeletedInBackground = "user deletes the Job in the background",
    JobDeletedLeavingPods = "user deletes the Job, leaving pods",
    JobDeletedOnceMore = "user deletes the Job once more",
    OwnerDeleted = "user deletes the Job's owner",
    NamespaceDeleted = "user deletes the namespace",
    JobCreatedAgain = "user creates the Job again",
    MirrorReports = "mirror reports",
    DependentCollected = "dependent collected",
    JobRemoved = "Job removed",
    JobExpired = "Job expired",
    SecondPassed = "second passed",
    SyncStarted = "sync started" [processes],
    SyncStartedAfterList = "sync started after a new list" [processes],
    FirstOfEqualsChosen = "first of equals chosen" [processes],
    PodCreated = "pod created",
    CreationFails = "pod creation fails" [processes],
    CreationResponseLost = "answer to pod creation lost" [processes],
    PodDeletion = "pod deletion",
    DeletionFails = "pod deletion fails" [processes],
    DeletionResponseLost = "answer to pod deletion lost" [processes],
    FinalizerRemoved = "finalizer removed",
    RemovalFails = "finalizer removal fails" [processes],
    RemovalResponseLost = "answer to finalizer removal lost" [processes],
    PodAdopted = "pod adopted",
    AdoptionFails = "pod adoption fails" [processes],
    AdoptionResponseLost = "answer to pod adoption lost" [processes],
    PodReleased = "pod given up",
    ReleaseFails = "giving a pod up fails" [processes],
    ReleaseResponseLost = "answer to giving a pod up lost" [processes],
    StatusWritten = "status written",
    StatusWriteFails = "status write fails" [processes],
    StatusResponseLost = "answer to status write lost" [processes],
    OrphanLookedAt = "orphan looked at" [processes],
    OrphanRequestFails = "request for an orphan fails" [processes],
    OrphanResponseLost = "answer about an orphan lost" [processes],
    PodCacheAdvanced = "Pod cache advanced",
    PodCacheListedAnew = "Pod cache listed anew" [processes],
    JobCacheAdvanced = "Job cache advanced",
    JobCacheListedAnew = "Job cache listed anew" [processes],
    ProcessDies = "process dies",
    ProcessDiesMidRequest = "process dies with a request on its way" [processes],
    DelayedRequestHandled = "late request handled" [processes],
    SecondLeaderStarts = "second leader starts" [processes],
    SecondLeaderStops = "second leader stops" [processes],
    Rollout = "process with other gates takes over",
    TtlSync = "TTL sync" [processes],
    TtlRead = "TTL read" [processes],
    TtlReadFails = "TTL read fails" [processes],
    TtlDeletion = "TTL deletion" [processes],
    TtlDeletionFails = "TTL deletion fails" [processes],
    TtlResponseLost = "answer to TTL deletion lost" [processes],
    TtlCacheAdvanced = "TTL cache advanced" [processes],
    TtlControllerDies = "TTL controller dies" [processes],
    ScriptGoesOn = "script goes on",
}

impl StepKind {
    /// All that a scope without a script may have.
    pub fn outside_scripts() -> impl Iterator<Item = StepKind> {
        StepKind::ALL.iter().copied().filter(|kind| *kind != StepKind::ScriptGoesOn)
    }
}

/// The kind of a step.
pub(super) fn kind(step: &Step) -> StepKind {
    match step {
        Step::Write(_, write) => of_write(write),
        Step::Kubelet(_, _, what) => of_kubelet(*what),
        Step::Disrupt(_, _, what) => of_disruption(*what),
        Step::User(_, _, what) => of_user(what),
        Step::Collect(..) => StepKind::DependentCollected,
        Step::RemoveJob(_) => StepKind::JobRemoved,
        Step::Expire(_) => StepKind::JobExpired,
        Step::ShowPod(_) => StepKind::PodCacheAdvanced,
        Step::ShowJob(_) => StepKind::JobCacheAdvanced,
        Step::Crash(_) => StepKind::ProcessDies,
        Step::Process(_, _, what) => of_process(*what),
        Step::Ttl(_, what) => of_ttl(*what),
        Step::HandleDelayed(_) => StepKind::DelayedRequestHandled,
        Step::Rollout(_) => StepKind::Rollout,
        Step::Tick => StepKind::SecondPassed,
        Step::Proceed => StepKind::ScriptGoesOn,
    }
}

fn of_write(write: &Write) -> StepKind {
    match write {
        Write::CreatePod(_) => StepKind::PodCreated,
        Write::DeletePod(_) => StepKind::PodDeletion,
        Write::RemoveFinalizer(_) => StepKind::FinalizerRemoved,
        Write::AdoptPod(_) => StepKind::PodAdopted,
        Write::ReleasePod(_) => StepKind::PodReleased,
        Write::Status(_) => StepKind::StatusWritten,
    }
}

fn of_kubelet(what: KubeletStep) -> StepKind {
    match what {
        KubeletStep::Schedule => StepKind::PodScheduled,
        KubeletStep::Run => StepKind::PodRuns,
        KubeletStep::Ready => StepKind::PodBecomesReady,
        KubeletStep::Unready => StepKind::PodCeasesToBeReady,
        KubeletStep::Restart => StepKind::ContainerRestarted,
        KubeletStep::Succeed => StepKind::PodSucceeds,
        KubeletStep::Fail(_) => StepKind::PodFails,
        KubeletStep::Flip => StepKind::SuccessTakenBack,
        KubeletStep::Remove => StepKind::PodRemoved,
    }
}

fn of_disruption(what: DisruptionStep) -> StepKind {
    match what {
        DisruptionStep::Evict => StepKind::PodEvicted,
        DisruptionStep::LoseNode => StepKind::NodeLost,
        DisruptionStep::ForceDelete => StepKind::PodDeletedByForce,
        DisruptionStep::Delete => StepKind::EvictedPodDeleted,
        DisruptionStep::FailByPodGc => StepKind::PodGivenUpByPodGc,
    }
}

fn of_user(what: &UserStep) -> StepKind {
    let action = match what {
        UserStep::DeletePod(_) => return StepKind::UserDeletesPod,
        UserStep::StripOwner(_) => return StepKind::UserTakesOwnerAway,
        UserStep::Relabel(_) => return StepKind::UserChangesLabels,
        UserStep::Job(action) => action,
    };
    match action {
        UserAction::DeletePod | UserAction::DeleteEndedPod => StepKind::UserDeletesPod,
        UserAction::StripOwner => StepKind::UserTakesOwnerAway,
        UserAction::Relabel => StepKind::UserChangesLabels,
        UserAction::Edit(edit) => of_edit(*edit),
        UserAction::DenyFailureTarget | UserAction::DenyFailed => StepKind::UserDeniesCondition,
        UserAction::DeleteJob(asked) | UserAction::DeleteFinished(asked) => match asked {
            Propagation::Foreground => StepKind::JobDeletedInForeground,
            Propagation::Background => StepKind::JobDeletedInBackground,
            Propagation::Orphan => StepKind::JobDeletedLeavingPods,
        },
        UserAction::DeleteAgain(_) => StepKind::JobDeletedOnceMore,
        UserAction::DeleteOwner => StepKind::OwnerDeleted,
        UserAction::DeleteNamespace => StepKind::NamespaceDeleted,
        UserAction::Recreate => StepKind::JobCreatedAgain,
        UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes => {
            StepKind::MirrorReports
        }
    }
}

fn of_edit(edit: SpecEdit) -> StepKind {
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => StepKind::UserSuspends,
        SpecEdit::Resume => StepKind::UserResumes,
        SpecEdit::Scale(_) => StepKind::UserScales,
        SpecEdit::SetParallelism(_) => StepKind::UserSetsParallelism,
        SpecEdit::SetTtl(None) => StepKind::UserRemovesTtl,
        SpecEdit::SetTtl(Some(_)) => StepKind::UserSetsTtl,
        SpecEdit::SetDeadline(None) => StepKind::UserRemovesDeadline,
        SpecEdit::SetDeadline(Some(_)) => StepKind::UserSetsDeadline,
        SpecEdit::SetBackoffLimit(_) => StepKind::UserSetsBackoffLimit,
        SpecEdit::SetMaxFailedIndexes(_) => StepKind::UserSetsMaxFailedIndexes,
        SpecEdit::SetReplacementPolicy(_) => StepKind::UserSetsPodReplacementPolicy,
    }
}

fn of_process(what: ProcessStep) -> StepKind {
    match what {
        ProcessStep::Sync(delivery) if delivery.relists => StepKind::SyncStartedAfterList,
        ProcessStep::Sync(_) => StepKind::SyncStarted,
        ProcessStep::Choose(_) => StepKind::FirstOfEqualsChosen,
        ProcessStep::Call(name, outcome) => of_call(name, outcome),
        ProcessStep::Orphan(_, RequestOutcome::Handled) => StepKind::OrphanLookedAt,
        ProcessStep::Orphan(_, RequestOutcome::Fails) => StepKind::OrphanRequestFails,
        ProcessStep::Orphan(_, RequestOutcome::ResponseLost) => StepKind::OrphanResponseLost,
        ProcessStep::ShowPod => StepKind::PodCacheAdvanced,
        ProcessStep::RelistPods => StepKind::PodCacheListedAnew,
        ProcessStep::ShowJob => StepKind::JobCacheAdvanced,
        ProcessStep::RelistJobs => StepKind::JobCacheListedAnew,
        ProcessStep::Crash => StepKind::ProcessDies,
        ProcessStep::CrashInFlight(_) => StepKind::ProcessDiesMidRequest,
        ProcessStep::ElectSecondLeader => StepKind::SecondLeaderStarts,
        ProcessStep::StopOldLeader => StepKind::SecondLeaderStops,
    }
}

fn of_call(name: CallName, outcome: RequestOutcome) -> StepKind {
    let [handled, fails, lost] = match name {
        CallName::CreatePod(_) => {
            [StepKind::PodCreated, StepKind::CreationFails, StepKind::CreationResponseLost]
        }
        CallName::DeletePod(_) => {
            [StepKind::PodDeletion, StepKind::DeletionFails, StepKind::DeletionResponseLost]
        }
        CallName::RemoveFinalizer(_) => {
            [StepKind::FinalizerRemoved, StepKind::RemovalFails, StepKind::RemovalResponseLost]
        }
        CallName::AdoptPod(_) => {
            [StepKind::PodAdopted, StepKind::AdoptionFails, StepKind::AdoptionResponseLost]
        }
        CallName::ReleasePod(_) => {
            [StepKind::PodReleased, StepKind::ReleaseFails, StepKind::ReleaseResponseLost]
        }
        CallName::WriteStatus => {
            [StepKind::StatusWritten, StepKind::StatusWriteFails, StepKind::StatusResponseLost]
        }
    };
    match outcome {
        RequestOutcome::Handled => handled,
        RequestOutcome::Fails => fails,
        RequestOutcome::ResponseLost => lost,
    }
}

fn of_ttl(what: TtlStep) -> StepKind {
    match what {
        TtlStep::Sync => StepKind::TtlSync,
        TtlStep::Get(RequestOutcome::Handled) => StepKind::TtlRead,
        TtlStep::Get(RequestOutcome::Fails | RequestOutcome::ResponseLost) => StepKind::TtlReadFails,
        TtlStep::Delete(RequestOutcome::Handled) => StepKind::TtlDeletion,
        TtlStep::Delete(RequestOutcome::Fails) => StepKind::TtlDeletionFails,
        TtlStep::Delete(RequestOutcome::ResponseLost) => StepKind::TtlResponseLost,
        TtlStep::Show => StepKind::TtlCacheAdvanced,
        TtlStep::Crash => StepKind::TtlControllerDies,
    }
}
