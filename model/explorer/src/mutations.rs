//! Ways to do it wrong: the departures of the built-in of 1.36, and known defects; a few are those of an API server.

use jobcheck_spec::apiserver::RuleSet;

/// A departure from the algorithm. Off, the algorithm is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mutation {
    /// S-01, S-02: a UID in `uncounted.failed` whose pod has succeeded counts as a success in decisions.
    CountsListedFailureAsSuccess,
    /// L2: failed indexes are computed without regard to completed ones.
    FailedIndexNotMinusCompleted,
    /// S-03: a FailJob verdict that cannot be stored yet is dropped, its pod recorded and released.
    DropsFailJobVerdict,
    /// S-04, L1: a suspended Job finishes without `startTime`.
    FinishesSuspendedWithoutStartTime,
    /// S-07: a failure is recorded although its UID stands in `uncounted.succeeded`.
    RecordsFlippedSuccess,
    /// S-08: completion does not wait for pods that the cache does not show yet.
    CompletesBeforeAllPodsAreSeen,
    /// S-09: a pod whose PATCH answers 404 stays ready.
    KeepsVanishedPodReady,
    /// S-12: an interim condition is appended beside one that was set to False.
    AppendsBesideFalseInterim,
    /// H1: deletions are counted, not told apart.
    CountsDeletions,
    /// S-11, H1: of pods that PC-09 holds equal, one that lost its finalizer already is not deleted first.
    OverlooksStrippedPods,
    /// H2: a creation that is refused because the namespace is being deleted counts.
    CountsRefusedCreations,
    /// PC-12: a creation that is refused because the namespace is being deleted is tried again.
    RetriesWithoutNamespace,
    /// J-10, 1.36: a failed pod of an index waits for its replacement although the namespace is being deleted.
    WaitsForReplacementInVain,
    /// H3: a pod is no longer ready although its DELETE failed.
    LowersReadyOnFailedDelete,
    /// H4: a pod whose DELETE answers 404 terminates.
    CountsVanishedAsTerminating,
    /// SY-03 of 1.36: a sync does not wait until the caches show the process's own deletions.
    GateIgnoresDeletions,
    /// 1.36: the cap of the lists is looked at after a UID was added.
    ChecksCapAfterAdding,
    /// S-05, 1.36: pods that have ended are adopted, too.
    AdoptsEndedPods,
    /// S-25, 1.36: the orphan path takes the finalizer of a pod that was adopted meanwhile.
    StripsAdoptedPods,
    /// B04: the orphan path does not look at pods without a controller.
    ForgetsOwnerlessPods,
    /// UG-01: pods that have ended are counted without their finalizer.
    CountsLegacyPods,
    /// J-05, 1.36: a listed pod that has lost its owner is counted while it holds its finalizer.
    CountsRecordedOwnerlessPods,
    /// J-04, 1.36: the failure policy is asked about pods that have not ended when their Job fails.
    MatchesPolicyBeforeTheEnd,
    /// Before 1.36: a sync does not wait until the caches show the process's own writes.
    SyncsBeforeOwnWritesAreSeen,
    /// B01: a pod whose finalizer was removed is looked at as long as the cache shows the finalizer.
    ForgetsRemovals,
    /// J-03, 1.36: a pod that is gone when it is released is looked at as long as the cache shows its finalizer.
    ForgetsVanishedRemovals,
    /// B02: a status write that conflicts is made again, on the version that is stored.
    OverwritesOnConflict,
    /// B03: all UIDs are counted once the last removal has worked.
    CountsWholeListAfterLastRemoval,
    /// B16: a UID is counted although the removal of its finalizer failed.
    CountsDespiteFailedRemoval,
    /// B16: one finalizer after the other is removed, up to the first that cannot be.
    StopsAtFailedRemoval,
    /// PC-13: where a pod could not be created no status is written.
    ForgetsStatusAfterFailedCreation,
    /// TC-08: where a pod could not be deleted, none that has ended is counted.
    ForgetsCountsAfterFailedDeletion,
    /// B04: nobody looks at the pods of a Job that is gone.
    ForgetsPodsOfGoneJobs,
    /// B06: nobody looks at the pods of a Job that is finished.
    ForgetsPodsOfFinishedJobs,
    /// J-06, 1.36: that a pod of a finished Job appears wakes nobody.
    ForgetsLatePods,
    /// B05: the Job's end does not wait for pods that are to be seen.
    FailsBeforeAllPodsAreSeen,
    /// B07: the Job finishes although not all pods that have ended were recorded.
    FinishesWithFullLists,
    /// B08: a pod that succeeds is recorded as succeeded, whatever list holds it.
    RecordsByPhaseOnly,
    /// B11: `succeeded` is the number of succeeded pods in the cache.
    RecomputesCounters,
    /// B12: `failed` is the number of failed pods in the cache.
    RecomputesFailures,
    /// B23, until 1.33: the server asks a suspended Job with `completions` 0 for `startTime`, too, when it finishes.
    ServerAsksEmptyJobForStartTime,
    /// B26: a success policy is met whether or not its gate is on.
    MeetsSuccessPolicyWithoutGate,
    /// B36: a status write that failed stays in the cache, as if it had been stored.
    KeepsFailedWrites,
    /// B37: pods are the Job's whose labels match, whoever controls them.
    TakesPodsOfOthers,
    /// B13: what was finished is not remembered.
    ForgetsFinishedJobs,
    /// B14: surplus is what exceeds parallelism, and completion does not wait for it.
    LeavesExtraPods,
    /// B18: a Job finishes while its pods terminate.
    FinishesWhilePodsTerminate,
    /// B19: a sync reports its deletions in `active` alone.
    ReportsDeletionsLate,
    /// B20: a change of `terminating` alone is not written.
    ComparesTerminatingWithItself,
    /// B21: no active pods are reported while a replacement is delayed.
    ReportsNoneActiveDuringDelay,
    /// B22: `startTime` is set anew in a write after the one that shows the resumption.
    ResetsStartTimeAfterResume,
    /// B25: a terminal condition is appended beside one that was set to False.
    AppendsTerminalConditions,
    /// B27: success, by completions or by policy, is looked at before failure.
    LooksAtSuccessFirst,
    /// B28: a pod that terminates holds neither slot nor index.
    ReplacesTerminatingPods,
    /// B29: pods that terminate are taken for surplus.
    CountsTerminatingAsSurplus,
    /// B31: pods are counted, not indexes.
    CountsPodsNotIndexes,
    /// B32: the indexes are written only where one was completed.
    WritesIndexesOnlyWhenNew,
    /// B33: a failed pod is released before its replacement was created.
    RemovesFinalizerBeforeReplacement,
    /// B34: the interim condition is written together with the terminal one.
    AnnouncesWithTheEnd,
    /// B35: a sync whose creation failed is not tried again.
    SwallowsCreateErrors,
    /// B38: creations are not remembered.
    ForgetsCreations,
    /// B39: `backoffLimit` is never looked at.
    IgnoresBackoffLimit,
    /// B40: `backoffLimit` counts how often the key was queued again, for whatever reason.
    CountsRequeues,
    /// B41: `backoffLimit` is looked at only where a failure is new.
    ChecksLimitOnNewFailuresOnly,
    /// B42: a sync without a new failure resets the record of failures.
    ForgetsFailuresWhenNoneIsNew,
    /// B43: the record of failures is kept by name, and only a sync that finds no Job drops it.
    KeepsFailuresByName,
    /// J-08, 1.36: the record is kept by name, and the event of a deletion drops it, which a relist does not show.
    KeepsFailuresAcrossRelist,
    /// J-09, 1.36: a pod that comes into the cache by a new list, and is being deleted, is no creation that was waited for.
    OverlooksCreationsInLists,
    /// J-07, 1.36: expectations are kept by name, and only a sync that finds no Job drops them.
    KeepsExpectationsByName,
    /// B13 fixed by name: that a Job was finished is remembered by its name.
    RemembersFinishByName,
    /// B45: ignored failures do not delay.
    IgnoredFailuresDoNotDelay,
    /// BO-07: a failed pod that has not ended is dated from its creation, not from its deletion.
    DatesDeletionsFromCreation,
    /// B46: restarts in a pod do not count.
    IgnoresRestarts,
    /// B47: the deadline is waited for from the sync alone that starts the Job.
    ArmsDeadlineAtStartOnly,
    /// 1.36, with the gates JobManagedBy, JobPodReplacementPolicy and JobSuccessPolicy off: a stored SuccessCriteriaMet is
    /// not looked at.
    ForgetsSuccessCriteriaMet,
    /// MB-03: it does not look at `managedBy`.
    IgnoresManagedBy,
    /// UG-05: it reports `terminating` whether or not its gate is on.
    ReportsTerminatingWithoutGate,
    /// UG-07: it announces every end.
    AnnouncesWithoutGates,
    /// UG-09: it keeps to limits per index whether or not their gate is on.
    LimitsIndexesWithoutGate,
    /// B48 a: the TTL controller decides by its cache, without a fresh GET.
    TtlTrustsItsCache,
    /// B48 b: its DELETE has no UID as precondition.
    TtlOmitsUidPrecondition,
    /// B48 c: it takes an interim condition for the end.
    TtlTakesInterimForEnd,
    /// B48 d: it takes an end in the future for now.
    TtlClampsFutureEnd,
    /// B48 e: it deletes in the background.
    TtlDeletesInBackground,
    /// B49: it does not queue a Job again that is not expired yet.
    TtlIsNotQueuedAgain,
    /// B50 a: it takes the first condition for the end, whatever it says.
    TtlTakesAnyConditionForEnd,
    /// TT-09: it does not look whether the Job is being deleted.
    TtlDeletesAgain,
}

/// A set of switches.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mutations(Vec<Mutation>);

impl Mutations {
    /// No mutation.
    pub const NONE: Mutations = Mutations(Vec::new());

    /// These switches.
    #[must_use]
    pub fn of(mutations: &[Mutation]) -> Mutations {
        Mutations(mutations.to_vec())
    }

    /// The rules of an API server, with the departures that are its own.
    #[must_use]
    pub fn on_server(&self, rules: RuleSet) -> RuleSet {
        let exempt = rules.suspended_with_zero_completions;
        let asks = self.on(Mutation::ServerAsksEmptyJobForStartTime);
        RuleSet { suspended_with_zero_completions: exempt && !asks, ..rules }
    }

    /// Whether all are off.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that are on.
    pub fn iter(&self) -> impl Iterator<Item = Mutation> {
        self.0.iter().copied()
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn on(&self, mutation: Mutation) -> bool {
        self.0.contains(&mutation)
    }
}
