//! The kinds of steps, which statistics and generated tests count. Each kind is possible in some scope.

use super::Step;
use crate::alphabet::Write;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::{SpecEdit, UserAction, UserStep};
use crate::process::io::CallName;
use crate::process::steps::{ProcessStep, RequestOutcome};
use crate::process::ttl::TtlStep;
use jobcheck_spec::apiserver::Propagation;

/// Defines the enumeration, and the name of each variant.
macro_rules! kinds {
    (@needs_processes) => { false };
    (@needs_processes processes) => { true };
    ($($kind:ident = $name:literal $([$needs:ident])?,)*) => {
        /// A kind of step: a kind of event in the environment, or a request and its outcome.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum StepKind {
            $(#[doc = $name] $kind,)*
        }

        impl StepKind {
            /// All kinds, in the order of their discriminants. Reports use the same order.
            pub const ALL: &[StepKind] = &[$(StepKind::$kind,)*];

            /// The name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(StepKind::$kind => $name,)*
                }
            }

            /// Returns true if only processes take such steps. The specification has no syncs, and its writes
            /// never fail.
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
    PodRuns = "pod started",
    PodBecomesReady = "pod became ready",
    PodStopsBeingReady = "pod stopped being ready",
    ContainerRestarted = "container restarted",
    PodSucceeds = "pod succeeded",
    PodFails = "pod failed",
    SucceededPodFails = "phase changed from Succeeded to Failed",
    PodRemoved = "pod removed",
    PodEvicted = "pod evicted",
    NodeLost = "node lost",
    PodDeletedByForce = "pod deleted by force",
    EvictedPodDeleted = "evicted pod deleted",
    PodFailedByPodGc = "pod marked as failed by pod GC",
    UserDeletesPod = "user deleted a pod",
    UserRemovesOwner = "user removed the owner of a pod",
    UserChangesLabels = "user changed the labels of a pod",
    UserSuspends = "user suspended the Job",
    UserResumes = "user resumed the Job",
    UserScales = "user scaled the Job",
    UserSetsParallelism = "user set parallelism",
    UserSetsTtl = "user set the TTL",
    UserRemovesTtl = "user removed the TTL",
    UserSetsDeadline = "user set the deadline",
    UserRemovesDeadline = "user removed the deadline",
    UserSetsBackoffLimit = "user set backoffLimit",
    UserSetsMaxFailedIndexes = "user set maxFailedIndexes",
    UserSetsPodReplacementPolicy = "user set podReplacementPolicy",
    UserEditsTemplate = "user edited the pod template",
    UserAddsJobFinalizer = "user added a finalizer to the Job",
    UserRemovesJobFinalizer = "user removed a finalizer of the Job",
    UserDeniesCondition = "user set a condition to False",
    JobDeletedInForeground = "user deleted the Job, propagation Foreground",
    JobDeletedInBackground = "user deleted the Job, propagation Background",
    JobDeletedLeavingPods = "user deleted the Job, propagation Orphan",
    JobDeletedAgain = "user deleted the Job again",
    OwnerDeleted = "user deleted the owner of the Job",
    NamespaceDeleted = "user deleted the namespace",
    JobRecreated = "user recreated the Job",
    MirrorReports = "mirror wrote the status",
    PodCollected = "garbage collector deleted a pod",
    JobRemoved = "Job removed",
    JobExpired = "expired Job deleted",
    SecondPassed = "second passed",
    SyncStarted = "sync started" [processes],
    SyncStartedAfterRelist = "sync started after a relist" [processes],
    EqualPodChosen = "pod chosen among equal pods" [processes],
    PodCreated = "pod created",
    CreationFails = "pod creation failed" [processes],
    CreationResponseLost = "response to pod creation lost" [processes],
    PodDeleted = "pod deleted",
    DeletionFails = "pod deletion failed" [processes],
    DeletionResponseLost = "response to pod deletion lost" [processes],
    FinalizerRemoved = "finalizer removed",
    RemovalFails = "finalizer removal failed" [processes],
    RemovalResponseLost = "response to finalizer removal lost" [processes],
    PodAdopted = "pod adopted",
    AdoptionFails = "pod adoption failed" [processes],
    AdoptionResponseLost = "response to pod adoption lost" [processes],
    PodReleased = "pod released",
    ReleaseFails = "pod release failed" [processes],
    ReleaseResponseLost = "response to pod release lost" [processes],
    StatusWritten = "status written",
    StatusWriteFails = "status write failed" [processes],
    StatusResponseLost = "response to status write lost" [processes],
    OrphanHandled = "orphaned pod handled" [processes],
    OrphanRequestFails = "finalizer removal from an orphaned pod failed" [processes],
    OrphanResponseLost = "response to finalizer removal from an orphaned pod lost" [processes],
    PodCacheAdvanced = "Pod cache received an event",
    PodCacheRelisted = "Pod cache relisted" [processes],
    JobCacheAdvanced = "Job cache received an event",
    JobCacheRelisted = "Job cache relisted" [processes],
    ProcessCrashes = "process crashed",
    ProcessCrashesMidRequest = "process crashed during a request" [processes],
    DelayedRequestHandled = "delayed request handled" [processes],
    SecondLeaderElected = "second leader elected" [processes],
    OldLeaderStops = "old leader stopped" [processes],
    Rollout = "process with other gates took over",
    TtlSync = "TTL sync started" [processes],
    TtlRead = "TTL sync read the Job" [processes],
    TtlReadFails = "TTL sync failed to read the Job" [processes],
    TtlDeletion = "TTL sync deleted the Job" [processes],
    TtlDeletionFails = "TTL sync failed to delete the Job" [processes],
    TtlResponseLost = "response to TTL deletion lost" [processes],
    TtlCacheAdvanced = "TTL cache received an event" [processes],
    TtlControllerCrashes = "TTL controller crashed" [processes],
    ScriptProceeds = "script proceeded",
}

impl StepKind {
    /// The kinds that are possible without a script.
    pub fn outside_scripts() -> impl Iterator<Item = StepKind> {
        StepKind::ALL.iter().copied().filter(|kind| *kind != StepKind::ScriptProceeds)
    }
}

/// The kind of a step.
pub(super) fn kind(step: &Step) -> StepKind {
    match step {
        Step::Write(_, write) => of_write(write),
        Step::Kubelet(_, _, what) => of_kubelet(*what),
        Step::Disrupt(_, _, what) => of_disruption(*what),
        Step::User(_, _, what) => of_user(what),
        Step::Collect(..) => StepKind::PodCollected,
        Step::RemoveJob(_) => StepKind::JobRemoved,
        Step::Expire(_) => StepKind::JobExpired,
        Step::ShowPod(_) => StepKind::PodCacheAdvanced,
        Step::ShowJob(_) => StepKind::JobCacheAdvanced,
        Step::Crash(_) => StepKind::ProcessCrashes,
        Step::Process(_, _, what) => of_process(*what),
        Step::Ttl(_, what) => of_ttl(*what),
        Step::HandleDelayed(_) => StepKind::DelayedRequestHandled,
        Step::Rollout(_) => StepKind::Rollout,
        Step::Tick => StepKind::SecondPassed,
        Step::Proceed => StepKind::ScriptProceeds,
    }
}

fn of_write(write: &Write) -> StepKind {
    match write {
        Write::CreatePod(_) => StepKind::PodCreated,
        Write::DeletePod(_) => StepKind::PodDeleted,
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
        KubeletStep::Unready => StepKind::PodStopsBeingReady,
        KubeletStep::Restart => StepKind::ContainerRestarted,
        KubeletStep::Succeed => StepKind::PodSucceeds,
        KubeletStep::Fail(_) => StepKind::PodFails,
        KubeletStep::Flip => StepKind::SucceededPodFails,
        KubeletStep::Remove => StepKind::PodRemoved,
    }
}

fn of_disruption(what: DisruptionStep) -> StepKind {
    match what {
        DisruptionStep::Evict => StepKind::PodEvicted,
        DisruptionStep::LoseNode => StepKind::NodeLost,
        DisruptionStep::ForceDelete => StepKind::PodDeletedByForce,
        DisruptionStep::Delete => StepKind::EvictedPodDeleted,
        DisruptionStep::FailByPodGc => StepKind::PodFailedByPodGc,
    }
}

fn of_user(what: &UserStep) -> StepKind {
    let action = match what {
        UserStep::DeletePod(_) => return StepKind::UserDeletesPod,
        UserStep::StripOwner(_) => return StepKind::UserRemovesOwner,
        UserStep::Relabel(_) => return StepKind::UserChangesLabels,
        UserStep::Job(action) => action,
    };
    match action {
        UserAction::DeletePod | UserAction::DeleteEndedPod => StepKind::UserDeletesPod,
        UserAction::StripOwner => StepKind::UserRemovesOwner,
        UserAction::Relabel => StepKind::UserChangesLabels,
        UserAction::Edit(edit) => of_edit(*edit),
        UserAction::DenyFailureTarget | UserAction::DenyFailed => StepKind::UserDeniesCondition,
        UserAction::DeleteJob(asked) | UserAction::DeleteFinished(asked) => match asked {
            Propagation::Foreground => StepKind::JobDeletedInForeground,
            Propagation::Background => StepKind::JobDeletedInBackground,
            Propagation::Orphan => StepKind::JobDeletedLeavingPods,
        },
        UserAction::DeleteAgain(_) => StepKind::JobDeletedAgain,
        UserAction::DeleteOwner => StepKind::OwnerDeleted,
        UserAction::DeleteNamespace => StepKind::NamespaceDeleted,
        UserAction::HoldJob => StepKind::UserAddsJobFinalizer,
        UserAction::ReleaseJob => StepKind::UserRemovesJobFinalizer,
        UserAction::Recreate => StepKind::JobRecreated,
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
        SpecEdit::LabelTemplate => StepKind::UserEditsTemplate,
    }
}

fn of_process(what: ProcessStep) -> StepKind {
    match what {
        ProcessStep::Sync(delivery) if delivery.relists => StepKind::SyncStartedAfterRelist,
        ProcessStep::Sync(_) => StepKind::SyncStarted,
        ProcessStep::Choose(_) => StepKind::EqualPodChosen,
        ProcessStep::Call(name, outcome) => of_call(name, outcome),
        ProcessStep::Orphan(_, RequestOutcome::Handled) => StepKind::OrphanHandled,
        ProcessStep::Orphan(_, RequestOutcome::Fails) => StepKind::OrphanRequestFails,
        ProcessStep::Orphan(_, RequestOutcome::ResponseLost) => StepKind::OrphanResponseLost,
        ProcessStep::ShowPod => StepKind::PodCacheAdvanced,
        ProcessStep::RelistPods => StepKind::PodCacheRelisted,
        ProcessStep::ShowJob => StepKind::JobCacheAdvanced,
        ProcessStep::RelistJobs => StepKind::JobCacheRelisted,
        ProcessStep::Crash => StepKind::ProcessCrashes,
        ProcessStep::CrashInFlight(_) => StepKind::ProcessCrashesMidRequest,
        ProcessStep::ElectSecondLeader => StepKind::SecondLeaderElected,
        ProcessStep::StopOldLeader => StepKind::OldLeaderStops,
    }
}

fn of_call(name: CallName, outcome: RequestOutcome) -> StepKind {
    let [handled, fails, lost] = match name {
        CallName::CreatePod(_) => {
            [StepKind::PodCreated, StepKind::CreationFails, StepKind::CreationResponseLost]
        }
        CallName::DeletePod(_) => {
            [StepKind::PodDeleted, StepKind::DeletionFails, StepKind::DeletionResponseLost]
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
        TtlStep::Crash => StepKind::TtlControllerCrashes,
    }
}
