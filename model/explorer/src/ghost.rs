//! History variables (ghost history): what really happened, whatever any cache showed. Properties read them,
//! and guards do not.

mod decision;
mod gated;
mod misbehaviour;
mod recreation;
mod violations;

pub use decision::Decision;
use decision::restarts;
pub use gated::Writers;
pub use violations::Violations;

use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::counting::{CountingHistory, added};
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, Text};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The history of one Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GhostHistory {
    /// All pods that were ever created for this Job, in order. The pod at position p has the UID p + 1 +
    /// [`GhostHistory::former`].
    pub pods: Vec<PodHistory>,
    /// The incarnation of the Job ([`jobcheck_spec::incarnation`]).
    pub incarnation: u8,
    /// The number of pods of previous Jobs.
    pub former: u8,
    /// The number of pods that were created for a previous Job after this one existed.
    pub foreign_pods: u8,
    /// The largest `parallelism` so far.
    pub widest: i32,
    /// The largest `completions` so far.
    pub most: Option<i32>,
    /// The smallest `completions` so far. An index from there on was removed or added later. Its history
    /// counts for nothing, and it may run again although it has succeeded (PC-23).
    pub fewest: Option<i32>,
    /// True if an earlier specification allowed replacements for terminating pods.
    pub allowed_early_replacement: bool,
    /// The first interim condition that was stored.
    pub decision: Option<Decision>,
    /// The state at the time when the first terminal condition was stored.
    pub ending: Option<Ending>,
    /// The rule by which the server refused a status write.
    pub refused: Option<Req>,
    /// The first requirement that a write of a process broke.
    pub objection: Option<Req>,
    /// True if a creation was refused because the namespace is being deleted (PC-12).
    pub namespace_refused: bool,
    /// The state that the DELETE of the TTL-after-finished controller found.
    pub ttl_deletion: Option<TtlDeletion>,
    /// The feature gates that were on in every process so far.
    pub gates: Gates,
    /// The managers that have written the status.
    pub writers: Writers,
    /// Forbidden events that have happened.
    pub violations: Violations,
}

/// The history of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodHistory {
    /// Its completion index.
    pub index: Option<Index>,
    /// Its first final phase, once it has terminated.
    pub end: Option<End>,
    /// True if it was being deleted before it terminated.
    pub deleted: bool,
    /// True if it lost its finalizer before it terminated. Nothing may count it then (FT-16).
    pub finalizer_removed: bool,
    /// True if a policy rule ignores its failure.
    pub ignored: bool,
    /// The number of container restarts before it terminated.
    pub restarts: u32,
    /// True if its phase changed from `Succeeded` to `Failed`. `end` is the first of the two.
    pub flipped: bool,
    /// True if no leader could know of it. Its creation was not answered, its creator had crashed, two
    /// processes led, or it was ownerless at some time.
    pub unexpected: bool,
    /// True if another pod of its index was created after it, in a Job with limits per index.
    pub replaced: bool,
    /// The list in which it was recorded first.
    pub recorded: Option<End>,
    /// The number of times that it was moved into `succeeded`, at most 2.
    pub counted_succeeded: u8,
    /// The number of times that it was moved into `failed`, at most 2.
    pub counted_failed: u8,
}

/// A final phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// `Succeeded`.
    Success,
    /// `Failed`.
    Failure,
}

/// The state at the time when a Job finished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// True if the condition is `Complete`, false if it is `Failed`.
    pub good: bool,
    /// The reason and the message of the condition.
    pub text: (Text, Text),
    /// True if an earlier write stored the interim condition.
    pub decided_before: bool,
    /// True if the gates of the process ask for an interim condition (UG-07).
    pub needs_interim: bool,
    /// True if the gates of the process ask to wait for terminating pods (UG-07).
    pub needs_delay: bool,
    /// The number of terminating pods, without unexpected ones.
    pub terminating: u32,
    /// The number of active pods, without unexpected ones.
    pub active: u32,
    /// `completionTime`.
    pub completion_time: Option<Time>,
    /// The transition time of the condition, from which the TTL runs.
    pub finished_at: Option<Time>,
}

/// A deletion of a Job by the TTL-after-finished controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlDeletion {
    /// True if the Job was finished.
    pub finished: bool,
    /// True if its TTL had passed.
    pub expired: bool,
}

impl GhostHistory {
    /// The history of a new Job.
    #[must_use]
    pub fn new(job: &Job) -> GhostHistory {
        GhostHistory {
            pods: Vec::new(),
            incarnation: 0,
            former: 0,
            foreign_pods: 0,
            widest: job.spec.parallelism.unwrap_or(1),
            most: job.spec.completions,
            fewest: job.spec.completions,
            allowed_early_replacement: false,
            decision: None,
            ending: None,
            refused: None,
            objection: None,
            namespace_refused: false,
            ttl_deletion: None,
            gates: Gates::ON,
            writers: Writers::default(),
            violations: Violations::default(),
        }
    }

    /// The UID of the next pod of this Job.
    #[must_use]
    pub fn next_uid(&self) -> Uid {
        Uid(u128::from(self.former) + self.pods.len() as u128 + 1)
    }

    /// The history of a pod.
    #[must_use]
    pub fn pod(&self, uid: Uid) -> Option<&PodHistory> {
        self.pods.get(self.place(uid)?)
    }

    fn pod_mut(&mut self, uid: Uid) -> Option<&mut PodHistory> {
        let place = self.place(uid)?;
        self.pods.get_mut(place)
    }

    fn place(&self, uid: Uid) -> Option<usize> {
        usize::try_from(uid.0).ok()?.checked_sub(usize::from(self.former) + 1)
    }

    /// The histories of all pods with their UIDs.
    pub fn numbered(&self) -> impl Iterator<Item = (Uid, &PodHistory)> {
        (u128::from(self.former) + 1..).map(Uid).zip(&self.pods)
    }

    /// Notes that the manager created a pod. `job` is the stored Job. `fresh` is true if the manager's caches
    /// show everything.
    pub fn created(&mut self, pod: &Pod, job: Option<&Job>, fresh: bool, first_delay: i64, pods: &Pods) {
        if let Some(job) = job {
            self.note_creation(pod, job, fresh);
            let failures = self.failures_of(pod.index, job.spec.replaces_only_failed());
            let surprised = self.pods.iter().any(|ghost| ghost.unexpected && ghost.index == pod.index);
            // UG-10: failures are unknown if they happened while the gate was off.
            let known = self.gates.job_backoff_limit_per_index;
            // FT-16: a pod that was chosen for deletion counts nowhere, and the count that it carried is
            // lost.
            let forgotten = self.pods.iter().any(|ghost| ghost.finalizer_removed && ghost.index == pod.index);
            let fits = pod.failure_count == failures || (forgotten && pod.failure_count < failures);
            let wrong = !fits && fresh && !surprised && known && self.was_always_there(pod.index);
            if job.spec.backoff_limit_per_index.is_some() && wrong {
                self.violations.wrong_failure_count = Some(pod.uid);
            }
            if job.spec.backoff_limit_per_index.is_none()
                && fresh
                && self.is_premature(pod, job, first_delay, pods)
            {
                self.violations.premature_creation = Some(pod.uid);
            }
        }
        if job.is_some_and(|job| job.spec.backoff_limit_per_index.is_some()) {
            let before = self.pods.iter_mut().filter(|ghost| ghost.index == pod.index);
            before.for_each(|ghost| ghost.replaced = true);
        }
        self.pods.push(PodHistory::of(pod));
    }

    /// Notes that a pod was created of which no leader could know.
    pub fn created_unexpectedly(&mut self, pod: &Pod) {
        self.pods.push(PodHistory { unexpected: true, ..PodHistory::of(pod) });
    }

    fn note_creation(&mut self, pod: &Pod, job: &Job, fresh: bool) {
        if fresh && self.decision.is_some() {
            self.violations.creation_after_decision = Some(pod.uid);
        }
        if fresh && job.spec.is_suspended() {
            self.violations.creation_while_suspended = Some(pod.uid);
        }
        let limited = job.spec.backoff_limit_per_index.is_some();
        let failed = job.status.failed_set(None);
        if limited && pod.index.is_some_and(|index| failed.contains(index)) {
            self.violations.retry_of_failed_index = Some(pod.uid);
        }
    }

    /// The number of failed pods of this index, without ignored failures.
    fn failures_of(&self, index: Option<Index>, only_phase: bool) -> u32 {
        let failed = |pod: &&PodHistory| match pod.end {
            // FT-13: a pod that is recorded as failed stays a failure.
            _ if pod.recorded == Some(End::Failure) => true,
            Some(End::Failure) => !pod.ignored,
            Some(End::Success) => false,
            None => !only_phase && pod.deleted,
        };
        // FT-16: a pod that lost its finalizer before it terminated is either recorded, or counts nowhere.
        let counts =
            |pod: &&PodHistory| pod.index == index && (!pod.finalizer_removed || pod.recorded.is_some());
        let counted = self.pods.iter().filter(counts).filter(failed);
        u32::try_from(counted.count()).unwrap_or(u32::MAX)
    }

    /// Notes a change of a pod in etcd.
    pub fn pod_changed(&mut self, after: &Pod) {
        let Some(ghost) = self.pod_mut(after.uid) else { return };
        ghost.unexpected |= !after.controlled;
        if ghost.end.is_none() {
            ghost.deleted = after.deleting;
            ghost.finalizer_removed = !after.finalizer;
            ghost.ignored = after.is_ignored();
            ghost.restarts = ghost.restarts.max(after.restarts);
            ghost.end = match after.phase {
                Phase::Succeeded => Some(End::Success),
                Phase::Failed => Some(End::Failure),
                Phase::Pending | Phase::Running | Phase::Unknown => None,
            };
        } else {
            ghost.flipped |= ghost.end == Some(End::Success) && after.phase == Phase::Failed;
        }
    }

    /// Notes that the manager removed the finalizer of a pod, which its cache showed as `seen`. `fresh` is
    /// true if its caches showed everything.
    pub fn finalizer_removed(
        &mut self,
        pod: &Pod,
        seen: Option<&Pod>,
        job: Option<&Job>,
        fresh: bool,
        pods: &Pods,
    ) {
        if !self.owns(pod) {
            return;
        }
        let Some(job) = job.filter(|job| !job.deleting && !job.status.is_finished()) else { return };
        // FT-16: a pod that seemed to run was chosen for deletion, and counts nowhere.
        if seen.is_none_or(Pod::is_terminated) {
            self.count_lost(pod, job, pods);
        }
        if seen.is_some_and(Pod::is_terminated) && pod.is_terminated() && !self.is_stored(pod, job) {
            self.violations.lost = Some(pod.uid);
        }
        let verdict = |pod: &Pod| pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_));
        if seen.is_some_and(verdict) && self.decision.is_none() {
            self.violations.verdict_lost = Some(pod.uid);
        }
        if fresh && pod.is_active() && pod.controlled && self.is_wanted(pod, job, pods) {
            self.violations.uncountable = Some(pod.uid);
        }
    }

    /// Notes that the manager removed the finalizer of a pod that seemed to run. It counts nowhere, whatever
    /// its phase is (FT-16).
    pub fn chosen_for_deletion(&mut self, uid: Uid) {
        if let Some(ghost) = self.pod_mut(uid) {
            ghost.finalizer_removed = true;
        }
    }

    /// Returns true if the status includes a terminated pod, or need not include it.
    #[must_use]
    pub fn is_stored(&self, pod: &Pod, job: &Job) -> bool {
        let Some(ghost) = self.pod(pod.uid) else { return true };
        let in_range = pod.valid_index(job.spec.completion_count());
        let by_index = match (job.spec.is_indexed(), ghost.end) {
            (true, Some(End::Success)) => in_range.is_none_or(|index| {
                job.status.completed(None).contains(index) || job.status.failed_set(None).contains(index)
            }),
            (true, Some(End::Failure) | None) => in_range.is_none(),
            (false, _) => false,
        };
        by_index || ghost.ignored || ghost.recorded.is_some()
    }

    /// Notes that a status was stored.
    pub fn status_written(
        &mut self,
        spec: &JobSpec,
        old: &JobStatus,
        new: &JobStatus,
        pods: &Pods,
        now: Time,
    ) {
        self.count(old, new);
        for (end, before, after) in [
            (End::Success, old.uncounted_succeeded(), new.uncounted_succeeded()),
            (End::Failure, old.uncounted_failed(), new.uncounted_failed()),
        ] {
            for uid in added(before, after) {
                if let Some(ghost) = self.pod_mut(uid) {
                    ghost.recorded.get_or_insert(end);
                }
            }
        }
        self.violations.write_after_end |= self.ending.is_some() && old != new;
        self.violations.start_moved |= moves_start(spec, old, new);
        if self.ending.is_none() {
            let known =
                |pod: &&Pod| pod.controlled && self.pod(pod.uid).is_some_and(|ghost| !ghost.unexpected);
            let living = pods.iter().filter(known);
            self.ending = Ending::of(new, self.decision.is_some(), living);
        }
        if self.decision.is_none() {
            self.decision = Decision::of(spec, new, &self.pods, now);
        }
    }

    fn count(&mut self, old: &JobStatus, new: &JobStatus) {
        for uid in added(new.uncounted_succeeded(), old.uncounted_succeeded()) {
            if let Some(ghost) = self.pod_mut(uid) {
                ghost.counted_succeeded = (ghost.counted_succeeded + 1).min(2);
            }
        }
        for uid in added(new.uncounted_failed(), old.uncounted_failed()) {
            if let Some(ghost) = self.pod_mut(uid) {
                ghost.counted_failed = (ghost.counted_failed + 1).min(2);
            }
        }
    }

    /// PC-23: returns true if no user has ever removed the index. Without an index, always true.
    #[must_use]
    pub fn was_always_there(&self, index: Option<Index>) -> bool {
        let fewest = self.fewest.and_then(|fewest| Index::try_from(fewest).ok());
        index.zip(fewest).is_none_or(|(index, fewest)| index < fewest)
    }

    /// Notes that the user changed the specification.
    pub fn spec_changed(&mut self, before: &JobSpec, spec: &JobSpec) {
        self.allowed_early_replacement |= !before.replaces_only_failed();
        self.widest = self.widest.max(spec.parallelism.unwrap_or(1));
        self.most = self.most.max(spec.completions);
        self.fewest = self.fewest.min(spec.completions);
        if let Some(decision) = &mut self.decision {
            decision.completions = decision.completions.min(spec.completions);
        }
    }
}

impl CountingHistory for GhostHistory {
    fn is_counted(&self, uid: Uid) -> bool {
        self.pod(uid).is_some_and(|ghost| ghost.counted_succeeded + ghost.counted_failed > 0)
    }

    fn regained_finalizer(&self, _uid: Uid) -> bool {
        false
    }

    fn was_gone_at_removal(&self, _uid: Uid) -> bool {
        false
    }

    fn has_another_owner(&self, _uid: Uid) -> bool {
        false
    }

    fn policy_changed(&self) -> bool {
        false
    }

    fn decided_completions(&self) -> Option<i32> {
        self.decision.as_ref()?.completions
    }
}

impl PodHistory {
    /// Returns true if the pod has been in phase `Failed`.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.end == Some(End::Failure) || self.flipped
    }

    fn of(pod: &Pod) -> PodHistory {
        PodHistory {
            index: pod.index,
            end: None,
            deleted: false,
            finalizer_removed: false,
            ignored: false,
            restarts: 0,
            flipped: false,
            unexpected: false,
            replaced: false,
            recorded: None,
            counted_succeeded: 0,
            counted_failed: 0,
        }
    }
}

impl Ending {
    fn of<'a>(
        status: &JobStatus,
        decided_before: bool,
        pods: impl Iterator<Item = &'a Pod>,
    ) -> Option<Ending> {
        let (condition, good) = first_true(status, &ConditionKind::Complete, &ConditionKind::Failed)?;
        let (mut active, mut terminating) = (0, 0);
        for pod in pods {
            active += u32::from(pod.is_active());
            terminating += u32::from(pod.is_terminating());
        }
        Some(Ending {
            good,
            text: (condition.reason.clone(), condition.message.clone()),
            decided_before,
            needs_interim: true,
            needs_delay: true,
            terminating,
            active,
            completion_time: status.completion_time,
            finished_at: condition.last_transition_time,
        })
    }
}

/// The first true condition of one of two types. Also returns true if it has the first type.
fn first_true<'a>(
    status: &'a JobStatus,
    good: &ConditionKind,
    bad: &ConditionKind,
) -> Option<(&'a Condition, bool)> {
    let condition = status.conditions.iter().find(|condition| {
        condition.status == ConditionStatus::True && (condition.kind == *good || condition.kind == *bad)
    })?;
    Some((condition, condition.kind == *good))
}

/// Returns true if `startTime` moved. It may move while the Job is suspended, and in the write that shows its
/// resumption.
fn moves_start(spec: &JobSpec, old: &JobStatus, new: &JobStatus) -> bool {
    let was_suspended = old.is_true(&ConditionKind::Suspended);
    old.start_time.is_some() && old.start_time != new.start_time && !spec.is_suspended() && !was_suspended
}
