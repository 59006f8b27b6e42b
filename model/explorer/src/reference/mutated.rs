//! The effects of mutations on the reference algorithm.
//!
//! Each function states in its first sentence what is right, and then what a mutation makes of it. Without mutations the
//! rest of its body can be ignored. No other file of the algorithm names a mutation.

use std::collections::BTreeSet;

use jobcheck_spec::failure_policy::{FailureEvidence, evaluate};
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{ConditionKind, ConditionStatus, FailureAction, Job, JobSpec, JobStatus};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use super::account::Accounting;
use super::decide::{Termination, success_policy};
use super::manage::{Counts, PodManager, StepResult};
use super::sync::Sync;
use super::tally::Tally;
use crate::mutations::{Mutation, Mutations};
use crate::process::decisions::{OrphanDecision, Precondition, TtlRead};
use crate::process::io::{Answer, Call, Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::ttl::Request;

/// The specification and the gates.
impl Settings<'_> {
    /// The gate JobManagedBy is on. `IgnoresManagedBy`: never.
    pub(super) fn reads_managed_by(&self) -> bool {
        self.gates.job_managed_by && !self.mutations.on(Mutation::IgnoresManagedBy)
    }

    /// The gate JobBackoffLimitPerIndex is on. `LimitsIndexesWithoutGate`: always.
    pub(super) fn limits_indexes(&self) -> bool {
        self.gates.job_backoff_limit_per_index || self.mutations.on(Mutation::LimitsIndexesWithoutGate)
    }

    /// The gate JobPodReplacementPolicy is on. `ReportsTerminatingWithoutGate`: always.
    pub(super) fn reports_terminating(&self) -> bool {
        self.gates.job_pod_replacement_policy || self.mutations.on(Mutation::ReportsTerminatingWithoutGate)
    }

    /// The gate JobSuccessPolicy is on. `MeetsSuccessPolicyWithoutGate`: always.
    pub(super) fn has_success_policies(&self) -> bool {
        self.gates.job_success_policy || self.mutations.on(Mutation::MeetsSuccessPolicyWithoutGate)
    }

    /// A stored SuccessCriteriaMet always counts. `ForgetsSuccessCriteriaMet`: only if a gate for it is on.
    pub(super) fn reads_success_criteria_met(&self) -> bool {
        let has_gate = self.delays_the_end() || self.gates.job_success_policy;
        has_gate || !self.mutations.on(Mutation::ForgetsSuccessCriteriaMet)
    }

    /// Only pods that have not terminated are adopted. `AdoptsTerminatedPods`: all, which may count a pod twice (S-05).
    pub(super) fn adopts_in_phase_of(&self, pod: &Pod) -> bool {
        !pod.is_terminated() || self.mutations.on(Mutation::AdoptsTerminatedPods)
    }

    /// A failed Job waits until the cache shows all creations and deletions. `FailsBeforeAllPodsAreSeen`: it does not.
    pub(super) fn has_seen_all_pods(&self, read: &Read) -> bool {
        read.satisfied || self.mutations.on(Mutation::FailsBeforeAllPodsAreSeen)
    }

    /// A completed Job waits until the cache shows all creations. `CompletesBeforeAllPodsAreSeen`: it does not.
    pub(super) fn has_seen_creations(&self, read: &Read) -> bool {
        read.creations_seen || self.mutations.on(Mutation::CompletesBeforeAllPodsAreSeen)
    }

    /// No pod is active. `LeavesExtraPods`: always true.
    pub(super) fn none_is_active(&self, active: i32) -> bool {
        active == 0 || self.mutations.on(Mutation::LeavesExtraPods)
    }

    /// The pod that proves a FailJob verdict stays until the verdict is stored. `DropsFailJobVerdict`: it does not.
    pub(super) fn keeps_verdict(&self, decided: &Termination) -> bool {
        decided.by_fail_job && !self.mutations.on(Mutation::DropsFailJobVerdict)
    }
}

impl Sync<'_> {
    /// A sync continues after a failed deletion. `ForgetsCountsAfterFailedDeletion`: it ends.
    pub(super) fn continue_after_deletions(&self, result: StepResult) -> Result<(), Stop> {
        self.continue_unless(result, Mutation::ForgetsCountsAfterFailedDeletion)
    }

    /// A sync continues after a failed creation. `ForgetsStatusAfterFailedCreation`: it ends.
    pub(super) fn continue_after_creations(&self, result: StepResult) -> Result<(), Stop> {
        self.continue_unless(result, Mutation::ForgetsStatusAfterFailedCreation)
    }

    fn continue_unless(&self, result: StepResult, mutation: Mutation) -> Result<(), Stop> {
        let ends = result == StepResult::Failed && self.settings.mutations.on(mutation);
        if ends { Err(Stop::Failed) } else { Ok(()) }
    }

    /// The `startTime` of a resumed Job stays. `ResetsStartTimeAfterResume`: each sync sets it again.
    pub(super) fn keep_start_time(&self, status: &mut JobStatus, shown: Option<ConditionStatus>) {
        let resumed = shown == Some(ConditionStatus::False) && !self.job.spec.is_suspended();
        if resumed && self.settings.mutations.on(Mutation::ResetsStartTimeAfterResume) {
            status.start_time = Some(self.read.now);
        }
    }

    /// Every sync arms the timer of the deadline. `ArmsDeadlineAtStartOnly`: only the sync that starts the Job.
    pub(super) fn arms_timer(&self) -> bool {
        let starts = self.job.status.start_time.is_none();
        starts || !self.settings.mutations.on(Mutation::ArmsDeadlineAtStartOnly)
    }
}

impl Tally<'_> {
    fn on(&self, mutation: Mutation) -> bool {
        self.mutations().on(mutation)
    }

    /// The pod holds the tracking finalizer. `CountsLegacyPods`: or it has terminated.
    pub(super) fn has_finalizer(&self, pod: &Pod) -> bool {
        pod.finalizer || (pod.is_terminated() && self.on(Mutation::CountsLegacyPods))
    }

    /// FT-28: the process has removed the finalizer, and its cache does not show that yet. `ForgetsRemovals`: never.
    pub(super) fn is_removal_unseen(&self, pod: &Pod) -> bool {
        self.read.removing_finalizers.contains(&pod.uid) && !self.on(Mutation::ForgetsRemovals)
    }

    /// FT-13: a pod that is recorded as failed stays a failure. `CountsRecordedFailureAsSuccess`: it may become a success.
    pub(super) fn stays_recorded_as_failed(&self, pod: &Pod) -> bool {
        self.job.status.uncounted_failed().contains(&pod.uid)
            && !self.on(Mutation::CountsRecordedFailureAsSuccess)
    }

    /// FT-13: a pod that is recorded as succeeded stays a success. `RecordsFlippedSuccess`: it may become a failure.
    pub(super) fn stays_recorded_as_succeeded(&self, pod: &Pod) -> bool {
        self.job.status.uncounted_succeeded().contains(&pod.uid) && !self.on(Mutation::RecordsFlippedSuccess)
    }

    /// BI-14: no index is both completed and failed. `FailedIndexNotMinusCompleted`: an index may be.
    pub(super) fn separates_indexes(&self) -> bool {
        !self.on(Mutation::FailedIndexNotMinusCompleted)
    }

    /// A namespace that is being deleted takes no replacement. `WaitsForReplacementInVain`: the pod waits for it.
    pub(super) fn replacements_are_impossible(&self) -> bool {
        let terminating = self.read.own_requests.namespace_goes(self.read.now);
        terminating && !self.on(Mutation::WaitsForReplacementInVain)
    }

    /// The successes of an Indexed Job are its indexes. `CountsPodsNotIndexes`: its pods.
    pub(super) fn counts_by_index(&self) -> bool {
        self.spec().is_indexed() && !self.on(Mutation::CountsPodsNotIndexes)
    }

    /// The number is right as it is. `RecomputesCounters`: it is the number of succeeded pods in the cache.
    pub(super) fn successes_or_mutated(&self, succeeded: i64) -> i64 {
        if !self.on(Mutation::RecomputesCounters) {
            return succeeded;
        }
        let pods = self.read.pods.iter().filter(|pod| pod.phase == Phase::Succeeded).count();
        i64::try_from(pods).unwrap_or(i64::MAX)
    }

    /// BO-07: the time from which the delay after a failure runs. `DatesDeletionsFromCreation`: for a terminating pod, its
    /// creation.
    pub(super) fn failure_time(&self, pod: &Pod) -> Time {
        let by_creation = pod.is_terminating() && self.on(Mutation::DatesDeletionsFromCreation);
        if by_creation { pod.created } else { pod.finish_time() }
    }

    /// The backoff record survives a sync without new failures. `ForgetsFailuresWhenNoneIsNew`: it is reset.
    pub(super) fn forgets_backoff(&self) -> bool {
        self.new_failures.is_empty() && self.on(Mutation::ForgetsFailuresWhenNoneIsNew)
    }

    /// Every failure delays the next creation. `IgnoredFailuresDoNotDelay`: ignored failures do not.
    pub(super) fn failure_delays(&self, pod: &Pod) -> bool {
        !pod.is_ignored() || !self.on(Mutation::IgnoredFailuresDoNotDelay)
    }

    /// Failure comes before success, so that nothing is decided here. `LooksAtSuccessFirst`: success comes first.
    pub(super) fn success_before_failure(&self, spec: &JobSpec) -> Option<Termination> {
        if !self.on(Mutation::LooksAtSuccessFirst) {
            return None;
        }
        let wanted = i64::from(spec.completions.unwrap_or(1));
        let enough = self.succeeded >= wanted && self.active.is_empty();
        let completed = || enough.then(|| Termination::completions_reached(self.settings().gates));
        success_policy(spec, self).or_else(completed)
    }

    /// BO-13: container restarts count. `IgnoresRestarts`: they do not.
    pub(super) fn reads_restarts(&self) -> bool {
        !self.on(Mutation::IgnoresRestarts)
    }

    /// The number that `backoffLimit` limits: the failures. `CountsRequeues`: the retries of the key, if a failure is new.
    pub(super) fn failures_against_limit(&self, read: &Read) -> i64 {
        let requeues = !self.new_failures.is_empty() && self.on(Mutation::CountsRequeues);
        if requeues { i64::from(read.requeues) + 1 } else { self.failed }
    }

    /// Every sync checks `backoffLimit`. `ChecksLimitOnNewFailuresOnly`: only one with new failures.
    /// `IgnoresBackoffLimit`: none.
    pub(super) fn checks_backoff_limit(&self) -> bool {
        let checks = !self.new_failures.is_empty() || !self.on(Mutation::ChecksLimitOnNewFailuresOnly);
        checks && !self.on(Mutation::IgnoresBackoffLimit)
    }
}

impl PodManager<'_> {
    fn on(&self, mutation: Mutation) -> bool {
        self.mutations().on(mutation)
    }

    /// A deleted pod is not ready any more. `LowersReadyOnFailedDelete`: nor is one whose deletion failed.
    /// `ReportsDeletionsLate`: the next sync reports it.
    pub(super) fn lowers_ready(&self, answer: Answer) -> bool {
        let gone = answer != Answer::Error || self.on(Mutation::LowersReadyOnFailedDelete);
        gone && !self.on(Mutation::ReportsDeletionsLate)
    }

    /// A deleted pod terminates. `CountsVanishedAsTerminating`: so does one that is gone. `ReportsDeletionsLate`: the next
    /// sync reports it.
    pub(super) fn raises_terminating(&self, answer: Answer) -> bool {
        let vanished = answer != Answer::Error && self.on(Mutation::CountsVanishedAsTerminating);
        (answer == Answer::Done || vanished) && !self.on(Mutation::ReportsDeletionsLate)
    }

    /// A pod that is gone counts as deleted. `KeepsVanishedPodReady`: it counts as ready.
    pub(super) fn count_vanished(&self, pod: &Pod, counts: &mut Counts) {
        if self.on(Mutation::KeepsVanishedPodReady) {
            counts.active -= 1;
        } else {
            self.count_as_deleted(pod, counts);
        }
    }

    /// The active pods beyond the wanted number. `CountsTerminatingAsSurplus`: with the terminating pods.
    /// `LeavesExtraPods`: beyond `parallelism`.
    pub(super) fn surplus(&self, counts: &Counts, wanted: i32) -> i32 {
        let terminating = if self.on(Mutation::CountsTerminatingAsSurplus) { counts.terminating } else { 0 };
        let leaves = self.on(Mutation::LeavesExtraPods);
        let target = if leaves { self.spec.parallelism.unwrap_or(1) } else { wanted };
        counts.active + terminating - target
    }

    /// RP-02: pods are only replaced once they have terminated. `ReplacesTerminatingPods`: always before.
    pub(super) fn terminating_pods_hold_slots(&self) -> bool {
        self.settings.replaces_after_termination(self.spec) && !self.on(Mutation::ReplacesTerminatingPods)
    }

    /// PC-12: a namespace that is being deleted refuses creations. `RetriesWithoutNamespace`: they are tried all the same.
    pub(super) fn creations_are_futile(&self) -> bool {
        let terminating = self.read.own_requests.namespace_goes(self.read.now);
        terminating && !self.on(Mutation::RetriesWithoutNamespace)
    }

    /// The numbers are right during a delay. `ReportsNoneActiveDuringDelay`: active is 0.
    pub(super) fn report_delay(&self, counts: &mut Counts) {
        if self.on(Mutation::ReportsNoneActiveDuringDelay) {
            counts.active = 0;
        }
    }

    /// The server has created the pod. `CountsRefusedCreations`: or the namespace is being deleted (H2).
    pub(super) fn is_created(&self, answer: Answer) -> bool {
        let refused = answer == Answer::NamespaceTerminating;
        answer == Answer::Done || (refused && self.on(Mutation::CountsRefusedCreations))
    }

    /// PC-13: the sync is retried. `SwallowsCreateErrors`: it is not.
    pub(super) fn result_of_failed_creation(&self) -> StepResult {
        if self.on(Mutation::SwallowsCreateErrors) { StepResult::Done } else { StepResult::Failed }
    }
}

/// A pod without finalizer is deleted first. `OverlooksPodsWithoutFinalizer`: it is not.
pub(super) fn prefers_without_finalizer(pod: &Pod, mutations: &Mutations) -> bool {
    pod.finalizer && !mutations.on(Mutation::OverlooksPodsWithoutFinalizer)
}

impl Accounting<'_> {
    fn on(&self, mutation: Mutation) -> bool {
        self.settings.mutations.on(mutation)
    }

    /// An ownerless pod holds its finalizer until the orphan path removes it. `CountsRecordedOwnerlessPods`: it counts as
    /// if it had none.
    pub(super) fn holds_without_owner(&self, pod: &Pod) -> bool {
        pod.finalizer && !self.on(Mutation::CountsRecordedOwnerlessPods)
    }

    /// The counters are right as they are. `RecomputesCounters`, `RecomputesFailures`: they are the numbers of pods in the
    /// cache.
    pub(super) fn keep_counters(&mut self) {
        if self.on(Mutation::RecomputesCounters) {
            let succeeded = self.read.pods.iter().filter(|pod| pod.phase == Phase::Succeeded).count();
            self.status.succeeded = i32::try_from(succeeded).unwrap_or(i32::MAX);
        }
        if self.on(Mutation::RecomputesFailures) {
            let failed = self.read.pods.iter().filter(|pod| self.tally.is_failure(pod)).count();
            self.status.failed = i32::try_from(failed).unwrap_or(i32::MAX);
        }
    }

    /// FT-10: full lists may leave a pod unrecorded. `FinishesWithFullLists`: the Job finishes all the same.
    pub(super) fn may_finish(&self, full: bool) -> bool {
        !full || self.on(Mutation::FinishesWithFullLists)
    }

    /// The cap is checked before a UID is added. `ChecksCapAfterAdding`: afterwards, so that full lists grow.
    pub(super) fn checks_cap_after_adding(&self) -> bool {
        self.on(Mutation::ChecksCapAfterAdding)
    }

    /// Every sync writes the indexes. `WritesIndexesOnlyWhenNew`: only one that has completed an index.
    pub(super) fn writes_indexes(&self, fresh: &IndexSet) -> bool {
        !fresh.is_empty() || !self.on(Mutation::WritesIndexesOnlyWhenNew)
    }

    /// BI-08: the last failed pod of an index waits for its replacement. `RemovesFinalizerBeforeReplacement`: it does not.
    pub(super) fn waits_for_replacement(&self, pod: &Pod) -> bool {
        let delayed = self.tally.delayed.values().any(|last| last.uid == pod.uid);
        delayed && !self.on(Mutation::RemovesFinalizerBeforeReplacement)
    }

    /// FT-13: a pod that was recorded as failed is no success. `RecordsByPhaseOnly`: it is.
    pub(super) fn records_success(&self, was_failed: bool) -> bool {
        !was_failed || self.on(Mutation::RecordsByPhaseOnly)
    }

    /// FT-13: a pod that is recorded as succeeded stays a success. `RecordsFlippedSuccess`: it may become a failure.
    pub(super) fn stays_recorded_as_succeeded(&self, pod: &Pod) -> bool {
        self.status.uncounted_succeeded().contains(&pod.uid) && !self.on(Mutation::RecordsFlippedSuccess)
    }

    /// The failure policy is only asked about terminated pods. `MatchesPolicyBeforeTermination`: about evicted pods too
    /// (J-04).
    pub(super) fn ignores_early(&self, pod: &Pod) -> bool {
        if pod.is_terminated() || !pod.disrupted || !self.on(Mutation::MatchesPolicyBeforeTermination) {
            return false;
        }
        let conditions = vec![("DisruptionTarget".into(), "True".into())];
        let evidence = FailureEvidence { conditions, ..FailureEvidence::default() };
        let policy = self.job.spec.pod_failure_policy.as_ref();
        policy.is_some_and(|policy| evaluate(policy, &evidence) == PolicyMatch::Action(FailureAction::Ignore))
    }

    /// The completed indexes. `CountsPodsNotIndexes`: the successful pods.
    pub(super) fn successes_by_index(&self) -> i64 {
        let by_pods = self.on(Mutation::CountsPodsNotIndexes);
        if by_pods { self.tally.succeeded } else { i64::from(self.tally.completed.len()) }
    }

    /// UG-07: the gates, or a policy, ask for an interim condition. `StoresInterimWithoutGates`: always.
    /// `StoresInterimWithTerminal`: never.
    pub(super) fn stores_interim(&self, termination: &Termination) -> bool {
        let asked = self.settings.delays_the_end() || self.on(Mutation::StoresInterimWithoutGates);
        (asked || termination.is_of_a_policy()) && !self.on(Mutation::StoresInterimWithTerminal)
    }

    /// S-04: a decided Job gets a `startTime`. `FinishesSuspendedWithoutStartTime`: it does not.
    pub(super) fn sets_missing_start_time(&self) -> bool {
        !self.on(Mutation::FinishesSuspendedWithoutStartTime)
    }

    /// S-12: the interim condition replaces one that is False. `AppendsBesideFalseInterim`: it is added beside it.
    pub(super) fn appends_interim(&self) -> bool {
        self.on(Mutation::AppendsBesideFalseInterim)
    }

    /// The interim condition is stored earlier. `StoresInterimWithTerminal`: in the write of the terminal condition.
    pub(super) fn stores_interim_with_terminal(&self) -> bool {
        self.on(Mutation::StoresInterimWithTerminal)
    }

    /// TC-09: the terminal condition replaces one that is False. `AppendsTerminalConditions`: it is added beside it.
    pub(super) fn replaces_terminal(&self) -> bool {
        !self.on(Mutation::AppendsTerminalConditions)
    }

    /// TC-04: the terminal condition waits for terminating pods, if the gates ask for that. `FinishesWhilePodsTerminate`:
    /// never.
    pub(super) fn waits_for_terminating_pods(&self) -> bool {
        let terminating = self.terminating > 0 && self.settings.delays_the_end();
        terminating && !self.on(Mutation::FinishesWhilePodsTerminate)
    }

    /// The removals are sent at the same time. `StopsAtFailedRemoval`: one after the other.
    pub(super) fn removes_one_by_one(&self) -> bool {
        self.on(Mutation::StopsAtFailedRemoval)
    }

    /// `StopsAtFailedRemoval`: removes finalizers one after the other, up to the first failure.
    pub(super) fn remove_finalizers_in_turn(
        &self,
        removable: &[Uid],
        held: &mut BTreeSet<Uid>,
        io: &mut Io<'_>,
    ) -> Result<Answer, Stop> {
        for uid in removable {
            io.note(Effect::ExpectFinalizerRemoval(*uid));
            if io.call(Call::RemoveFinalizer(*uid))? == Answer::Error {
                io.note(Effect::NoFinalizerRemoval(*uid));
                return Ok(Answer::Error);
            }
            held.remove(uid);
        }
        Ok(Answer::Done)
    }

    /// No removal counts for the others. `CountsWholeListAfterLastRemoval`: the last one does (B03); which one is last is
    /// random.
    pub(super) fn last_removal(&self, removable: &[Uid], io: &mut Io<'_>) -> Result<Option<Uid>, Stop> {
        if !self.on(Mutation::CountsWholeListAfterLastRemoval) {
            return Ok(None);
        }
        let earlier = io.pick(removable, removable.len().saturating_sub(1))?;
        Ok(removable.iter().copied().find(|uid| !earlier.contains(uid)))
    }

    /// FT-28: a failed removal is not awaited; that of a pod that is gone is, though another actor made it.
    /// `ForgetsVanishedRemovals`: it is not.
    pub(super) fn forgets_removal(&self, answer: Answer) -> bool {
        let vanished = answer == Answer::NotFound && self.on(Mutation::ForgetsVanishedRemovals);
        answer == Answer::Error || vanished
    }

    /// A pod is counted once its finalizer is gone. `CountsDespiteFailedRemoval`: even if the removal failed.
    pub(super) fn counts_after(&self, answer: Answer) -> bool {
        answer != Answer::Error || self.on(Mutation::CountsDespiteFailedRemoval)
    }

    /// Every change is written. `ComparesTerminatingWithItself`: a change of `terminating` alone is not.
    pub(super) fn without_ignored_changes(&self, status: JobStatus, stored: &JobStatus) -> JobStatus {
        if self.on(Mutation::ComparesTerminatingWithItself) {
            JobStatus { terminating: stored.terminating, ..status }
        } else {
            status
        }
    }
}

/// The decision is right as it is. `ForgetsOwnerlessPods`: nothing is done. `TakesFinalizersOfAdoptedPods`: the request has
/// no precondition on the owner.
pub(super) fn of_an_ownerless_pod(decision: OrphanDecision, mutations: &Mutations) -> OrphanDecision {
    match () {
        () if mutations.on(Mutation::ForgetsOwnerlessPods) => OrphanDecision::Leave,
        () if mutations.on(Mutation::TakesFinalizersOfAdoptedPods) => {
            OrphanDecision::RemoveFinalizer(Precondition::Uid)
        }
        () => decision,
    }
}

/// TT-05: the Job was just read from the server. `TtlTrustsItsCache`: always true.
pub(super) fn is_fresh(read: &TtlRead<'_>, mutations: &Mutations) -> bool {
    read.fresh || mutations.on(Mutation::TtlTrustsItsCache)
}

/// TT-09: the Job is being deleted. `TtlDeletesAgain`: never true.
pub(super) fn is_deleted_already(job: &Job, mutations: &Mutations) -> bool {
    job.deleting && !mutations.on(Mutation::TtlDeletesAgain)
}

/// The TTL starts with the terminal condition, even if its time is in the future (TT-10). `TtlClampsFutureFinish`: at the
/// latest now.
pub(super) fn finish_of_ttl(finished: Time, clock: Time, mutations: &Mutations) -> Time {
    if mutations.on(Mutation::TtlClampsFutureFinish) { finished.min(clock) } else { finished }
}

/// TT-01: the TTL starts with a terminal condition. `TtlStartsAtInterimCondition`: or with an interim one.
/// `TtlStartsAtAnyCondition`: or with any other.
pub(super) fn starts_ttl(kind: &ConditionKind, mutations: &Mutations) -> bool {
    match kind {
        ConditionKind::Complete | ConditionKind::Failed => true,
        ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget => {
            mutations.on(Mutation::TtlStartsAtInterimCondition)
        }
        _ => mutations.on(Mutation::TtlStartsAtAnyCondition),
    }
}

/// TT-06: the DELETE has the UID as its precondition, and the propagation Foreground. `TtlOmitsUidPrecondition`: without
/// the UID. `TtlDeletesInBackground`: with the propagation Background.
pub(super) fn ttl_request(uid: Uid, mutations: &Mutations) -> Request {
    Request {
        uid: Some(uid).filter(|_| !mutations.on(Mutation::TtlOmitsUidPrecondition)),
        if_unchanged: false,
        foreground: !mutations.on(Mutation::TtlDeletesInBackground),
    }
}
