//! Mutations: the deviations of the built-in controller of Kubernetes 1.36, and known defects. A few concern
//! the API server.

use jobcheck_spec::apiserver::RuleSet;

/// A deliberate change that makes the algorithm wrong. Without mutations the algorithm is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mutation {
    /// S-01, S-02: decisions count a UID in `uncounted.failed` as a success if the pod has succeeded.
    CountsRecordedFailureAsSuccess,
    /// L2: the failed indexes may include completed ones.
    FailedIndexNotMinusCompleted,
    /// S-03: if a FailJob verdict cannot be stored yet, the pod is recorded and loses its finalizer, and the
    /// verdict is lost.
    DropsFailJobVerdict,
    /// S-04, L1: a suspended Job finishes without `startTime`.
    FinishesSuspendedWithoutStartTime,
    /// S-07: a failure is recorded although `uncounted.succeeded` contains its UID.
    RecordsFlippedSuccess,
    /// S-08: completion does not wait for pods that the cache does not show yet.
    CompletesBeforeAllPodsAreSeen,
    /// S-09: `ready` includes a pod whose finalizer removal was answered with 404.
    KeepsVanishedPodReady,
    /// S-12: an interim condition is appended although a condition of its type has status False.
    AppendsBesideFalseInterim,
    /// H1: expected deletions are a number, not a set of UIDs.
    CountsDeletions,
    /// S-11, H1: among pods that PC-09 ranks equally, one without finalizer is not deleted first.
    OverlooksPodsWithoutFinalizer,
    /// H2: `active` includes a pod whose creation was refused because the namespace is being deleted.
    CountsRefusedCreations,
    /// PC-12: a creation is repeated although it was refused because the namespace is being deleted.
    RetriesWithoutNamespace,
    /// J-10, 1.36: a failed pod of an index waits for its replacement although the namespace is being
    /// deleted.
    WaitsForReplacementInVain,
    /// H3: `ready` excludes a pod although its DELETE failed.
    LowersReadyOnFailedDelete,
    /// H4: `terminating` includes a pod whose DELETE was answered with 404.
    CountsVanishedAsTerminating,
    /// SY-03, 1.36: a sync does not wait until the caches show the process's own deletions.
    GateIgnoresDeletions,
    /// 1.36: the limit of the lists is checked after a UID was added.
    ChecksCapAfterAdding,
    /// S-05, 1.36: terminated pods are adopted too.
    AdoptsTerminatedPods,
    /// S-25, 1.36: the orphan path removes the finalizer of a pod that was adopted meanwhile.
    TakesFinalizersOfAdoptedPods,
    /// B04: the orphan path ignores pods without a controller.
    ForgetsOwnerlessPods,
    /// UG-01: terminated pods are counted although they never had the finalizer.
    CountsLegacyPods,
    /// J-05, 1.36: a recorded pod that became ownerless counts while it holds the finalizer.
    CountsRecordedOwnerlessPods,
    /// J-04, 1.36: when a Job fails, its failure policy is applied to pods that have not terminated.
    MatchesPolicyBeforeTermination,
    /// Before 1.36: a sync does not wait until the caches show the process's own writes.
    SyncsBeforeOwnWritesAreSeen,
    /// B01: a pod whose finalizer was removed is accounted for again until the cache shows the removal.
    ForgetsRemovals,
    /// J-03, 1.36: the same for a pod that was gone when its finalizer was to be removed.
    ForgetsVanishedRemovals,
    /// B02: a status write that conflicts is repeated on the stored version.
    OverwritesOnConflict,
    /// B03: all UIDs are counted once the last finalizer removal has succeeded.
    CountsWholeListAfterLastRemoval,
    /// B16: a UID is counted although its finalizer removal failed.
    CountsDespiteFailedRemoval,
    /// B16: finalizers are removed one after another, until the first removal fails.
    StopsAtFailedRemoval,
    /// PC-13: after a failed pod creation no status is written.
    ForgetsStatusAfterFailedCreation,
    /// TC-08: after a failed pod deletion no terminated pod is counted.
    ForgetsCountsAfterFailedDeletion,
    /// B04: nothing removes the finalizers of the pods of a Job that no longer exists.
    ForgetsPodsOfGoneJobs,
    /// B06: nothing removes the finalizers of the pods of a finished Job.
    ForgetsPodsOfFinishedJobs,
    /// J-06, 1.36: a new pod of a finished Job does not trigger a sync.
    ForgetsDelayedPods,
    /// B05: the Job fails before the cache shows all its pods.
    FailsBeforeAllPodsAreSeen,
    /// B07: the Job finishes before all terminated pods are recorded.
    FinishesWithFullLists,
    /// B08: a pod that succeeds is recorded as succeeded, although the other list contains it.
    RecordsByPhaseOnly,
    /// B11: `succeeded` is the number of succeeded pods in the cache.
    RecomputesCounters,
    /// B12: `failed` is the number of failed pods in the cache.
    RecomputesFailures,
    /// B23, until 1.33: the server also requires `startTime` of a suspended Job with `completions` 0 that
    /// finishes.
    ServerAsksEmptyJobForStartTime,
    /// B26: a success policy applies although its gate is off.
    MeetsSuccessPolicyWithoutGate,
    /// B36: a status write that failed stays in the cache as if it had been stored.
    KeepsFailedWrites,
    /// B37: all pods whose labels match belong to the Job, whatever controls them.
    TakesPodsOfOthers,
    /// B13: the process does not remember that it finished a Job.
    ForgetsFinishedJobs,
    /// B14: only pods beyond parallelism are surplus, and completion does not wait for them.
    LeavesExtraPods,
    /// B18: a Job finishes while its pods are terminating.
    FinishesWhilePodsTerminate,
    /// B19: a sync reports its deletions only in `active`.
    ReportsDeletionsLate,
    /// B20: a status that differs only in `terminating` is not written.
    ComparesTerminatingWithItself,
    /// B21: `active` is 0 while a replacement is delayed.
    ReportsNoneActiveDuringDelay,
    /// B22: `startTime` is set in a later write than the one that shows the resumption.
    ResetsStartTimeAfterResume,
    /// B25: a terminal condition is appended although a condition of its type has status False.
    AppendsTerminalConditions,
    /// B27: success, by completions or by policy, takes precedence over failure.
    LooksAtSuccessFirst,
    /// B28: a terminating pod occupies neither a slot nor an index.
    ReplacesTerminatingPods,
    /// B29: terminating pods count as surplus.
    CountsTerminatingAsSurplus,
    /// B31: pods are counted where indexes should be.
    CountsPodsNotIndexes,
    /// B32: the indexes are written only if a new one was completed.
    WritesIndexesOnlyWhenNew,
    /// B33: a failed pod loses its finalizer before its replacement exists.
    RemovesFinalizerBeforeReplacement,
    /// B34: one write stores both the interim and the terminal condition.
    StoresInterimWithTerminal,
    /// B35: a sync with a failed creation is not retried.
    SwallowsCreateErrors,
    /// B38: creations are not expected.
    ForgetsCreations,
    /// B39: `backoffLimit` is ignored.
    IgnoresBackoffLimit,
    /// B40: `backoffLimit` limits the number of requeues, whatever their reason.
    CountsRequeues,
    /// B41: `backoffLimit` is checked only after a new failure.
    ChecksLimitOnNewFailuresOnly,
    /// B42: a sync without a new failure clears the backoff record.
    ForgetsFailuresWhenNoneIsNew,
    /// B43: the backoff record belongs to the name of the Job. Only a sync that finds no Job deletes it.
    KeepsFailuresByName,
    /// J-08, 1.36: the backoff record belongs to the name of the Job. A deletion event deletes it, but a
    /// relist shows no such event.
    KeepsFailuresAcrossRelist,
    /// J-09, 1.36: a pod that a relist shows first, and that is being deleted, does not count as an expected
    /// creation.
    OverlooksCreationsInLists,
    /// J-07, 1.36: expectations belong to the name of the Job. Only a sync that finds no Job deletes them.
    KeepsExpectationsByName,
    /// B13, fixed by name: the memory that a Job was finished belongs to the name.
    RemembersFinishByName,
    /// B45: ignored failures cause no delay.
    IgnoredFailuresDoNotDelay,
    /// BO-07: the delay after the deletion of a pod starts at the creation of the pod.
    DatesDeletionsFromCreation,
    /// B46: container restarts do not count.
    IgnoresRestarts,
    /// B47: only the sync that starts the Job sets the timer of the deadline.
    ArmsDeadlineAtStartOnly,
    /// 1.36, with the gates JobManagedBy, JobPodReplacementPolicy and JobSuccessPolicy off: a stored
    /// SuccessCriteriaMet is ignored.
    ForgetsSuccessCriteriaMet,
    /// MB-03: `managedBy` is ignored.
    IgnoresManagedBy,
    /// UG-05: `terminating` is reported although its gate is off.
    ReportsTerminatingWithoutGate,
    /// UG-07: interim conditions are stored although their gates are off.
    StoresInterimWithoutGates,
    /// UG-09: limits per index apply although their gate is off.
    LimitsIndexesWithoutGate,
    /// B48 a: the TTL-after-finished controller decides from its cache, without a GET.
    TtlTrustsItsCache,
    /// B48 b: its DELETE has no UID precondition.
    TtlOmitsUidPrecondition,
    /// B48 c: the TTL starts at the interim condition.
    TtlStartsAtInterimCondition,
    /// B48 d: a finish time in the future counts as now.
    TtlClampsFutureFinish,
    /// B48 e: it deletes with propagation Background.
    TtlDeletesInBackground,
    /// B49: a Job that has not expired is not queued again.
    TtlIsNotQueuedAgain,
    /// B50 a: the TTL starts at the first condition, whatever its type.
    TtlStartsAtAnyCondition,
    /// TT-09: it deletes a Job that is already being deleted.
    TtlDeletesAgain,
}

/// A set of mutations.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mutations(Vec<Mutation>);

impl Mutations {
    /// No mutation.
    pub const NONE: Mutations = Mutations(Vec::new());

    /// The set of these mutations.
    #[must_use]
    pub fn of(mutations: &[Mutation]) -> Mutations {
        Mutations(mutations.to_vec())
    }

    /// The rules of an API server, with the mutations that concern the server.
    #[must_use]
    pub fn on_server(&self, rules: RuleSet) -> RuleSet {
        let exempt = rules.suspended_with_zero_completions;
        let asks = self.on(Mutation::ServerAsksEmptyJobForStartTime);
        RuleSet { suspended_with_zero_completions: exempt && !asks, ..rules }
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mutations of the set.
    pub fn iter(&self) -> impl Iterator<Item = Mutation> {
        self.0.iter().copied()
    }

    /// Returns true if the set contains the mutation.
    #[must_use]
    pub fn on(&self, mutation: Mutation) -> bool {
        self.0.contains(&mutation)
    }
}
