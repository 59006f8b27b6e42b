//! Ghost history: what really happened, whatever any cache showed. Properties are stated over it; guards never
//! see it.

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
use jobcheck_spec::guards::counting::{Ledger, added};
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, Text};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The history of one Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GhostHistory {
    /// All pods that the manager ever created for this Job, in order: `Uid(n)` stands at n - 1, less those of former
    /// Jobs of the name.
    pub pods: Vec<PodHistory>,
    /// Which Job of its name this is ([`jobcheck_spec::incarnation`]).
    pub incarnation: u8,
    /// Pods that former Jobs of the name had.
    pub former: u8,
    /// Pods that were created for a former Job when this one was there already, by a sync that did not know.
    pub strangers: u8,
    /// The largest `parallelism` so far.
    pub widest: i32,
    /// The largest `completions` so far.
    pub most: Option<i32>,
    /// The smallest `completions` so far. An index from there on was taken away, or came later: what it has been through
    /// counts for nothing, and it may run again though it has succeeded (PC-23).
    pub fewest: Option<i32>,
    /// Whether pods that terminate were replaced at once, by a specification that a user has changed since.
    pub was_impatient: bool,
    /// The first interim condition that was stored.
    pub decision: Option<Decision>,
    /// What held when the first terminal condition was stored.
    pub ending: Option<Ending>,
    /// The rule by which the server refused a status write.
    pub refused: Option<Req>,
    /// The first requirement that a write of the algorithm broke.
    pub objection: Option<Req>,
    /// Whether a process was told that the namespace takes no pods any more (PC-12).
    pub told_of_namespace: bool,
    /// What the TTL controller's DELETE found.
    pub removal: Option<Removal>,
    /// The feature gates that were on in every process so far.
    pub gates: Gates,
    /// Who wrote the status.
    pub writers: Writers,
    /// Things that must never happen, and have.
    pub violations: Violations,
}

/// The history of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodHistory {
    /// Its completion index.
    pub index: Option<Index>,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Whether it was being deleted before it ended.
    pub deleted: bool,
    /// Whether it lost its finalizer before it ended: then nothing is to count it (FT-16).
    pub finalizer_removed: bool,
    /// Whether a policy rule ignores its failure.
    pub ignored: bool,
    /// How often its containers were restarted before it ended.
    pub restarts: u32,
    /// Whether the kubelet took its success back, so that it has ended in both ways: `end` is the first of them.
    pub flipped: bool,
    /// Whether no leader knew that it would be created (the answer was lost, the process was dead, or two led), or it
    /// once had no controller: then nobody can have reckoned with it.
    pub unexpected: bool,
    /// Whether another pod of its index was created after it, where each index has a limit.
    pub replaced: bool,
    /// In which list it was recorded first.
    pub listed: Option<End>,
    /// How often it was moved into `succeeded`, up to 2.
    pub counted_succeeded: u8,
    /// How often it was moved into `failed`, up to 2.
    pub counted_failed: u8,
}

/// How a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// In phase `Succeeded`.
    Success,
    /// In phase `Failed`.
    Failure,
}

/// What held when a Job finished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// Whether the condition is `Complete`, and not `Failed`.
    pub good: bool,
    /// Reason and message of the condition.
    pub text: (Text, Text),
    /// Whether the decision stood in an earlier write.
    pub announced: bool,
    /// Whether the gates of the process ask for an interim condition (UG-07).
    pub owes_interim: bool,
    /// Whether they ask to wait for pods that terminate (UG-07).
    pub owes_delay: bool,
    /// Pods that were terminating, of those that a living process knew would be created.
    pub terminating: u32,
    /// Pods that were active, of the same.
    pub active: u32,
    /// `completionTime`.
    pub completion_time: Option<Time>,
    /// When it ended, as the condition says: the TTL runs from then.
    pub said: Option<Time>,
}

/// A Job that was deleted by the TTL controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Removal {
    /// Whether it was finished.
    pub finished: bool,
    /// Whether its TTL had passed since its end.
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
            strangers: 0,
            widest: job.spec.parallelism.unwrap_or(1),
            most: job.spec.completions,
            fewest: job.spec.completions,
            was_impatient: false,
            decision: None,
            ending: None,
            refused: None,
            objection: None,
            told_of_namespace: false,
            removal: None,
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

    /// The pod's history.
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

    /// The histories with the UIDs that they are of.
    pub fn numbered(&self) -> impl Iterator<Item = (Uid, &PodHistory)> {
        (u128::from(self.former) + 1..).map(Uid).zip(&self.pods)
    }

    /// The manager created a pod. `job` is the stored one, and `fresh` tells whether the manager's Job cache
    /// shows it.
    pub fn created(&mut self, pod: &Pod, job: Option<&Job>, fresh: bool, first_delay: i64, pods: &Pods) {
        if let Some(job) = job {
            self.note_creation(pod, job, fresh);
            let failures = self.failures_of(pod.index, job.spec.replaces_only_failed());
            let surprised = self.pods.iter().any(|ghost| ghost.unexpected && ghost.index == pod.index);
            // UG-10: what failed while nobody counted is not known.
            let known = self.gates.job_backoff_limit_per_index;
            // A pod that was chosen for deletion counts nowhere, and what it had carried on is forgotten (FT-16).
            let forgotten = self.pods.iter().any(|ghost| ghost.finalizer_removed && ghost.index == pod.index);
            let fits = pod.failure_count == failures || (forgotten && pod.failure_count < failures);
            let wrong = !fits && fresh && !surprised && known && self.was_always_there(pod.index);
            if job.spec.backoff_limit_per_index.is_some() && wrong {
                self.violations.wrong_failure_count = Some(pod.uid);
            }
            if job.spec.backoff_limit_per_index.is_none()
                && fresh
                && self.is_hasty(pod, job, first_delay, pods)
            {
                self.violations.hasty_creation = Some(pod.uid);
            }
        }
        if job.is_some_and(|job| job.spec.backoff_limit_per_index.is_some()) {
            let before = self.pods.iter_mut().filter(|ghost| ghost.index == pod.index);
            before.for_each(|ghost| ghost.replaced = true);
        }
        self.pods.push(PodHistory::of(pod));
    }

    /// A pod was created that no living process knew of.
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

    /// How many pods of this index have failed so far, ignored failures apart.
    fn failures_of(&self, index: Option<Index>, only_phase: bool) -> u32 {
        let failed = |pod: &&PodHistory| match pod.end {
            // FT-13: what is recorded as failed stays so, however it ends.
            _ if pod.listed == Some(End::Failure) => true,
            Some(End::Failure) => !pod.ignored,
            Some(End::Success) => false,
            None => !only_phase && pod.deleted,
        };
        // What was released before it ended was recorded, or chosen for deletion, and counts nowhere (FT-16).
        let counts =
            |pod: &&PodHistory| pod.index == index && (!pod.finalizer_removed || pod.listed.is_some());
        let counted = self.pods.iter().filter(counts).filter(failed);
        u32::try_from(counted.count()).unwrap_or(u32::MAX)
    }

    /// A pod changed in etcd.
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

    /// The manager removed the finalizer of a pod, which its cache showed as `seen`. `fresh` tells whether its
    /// caches showed everything.
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
        // FT-16: what seemed to run was chosen for deletion, and counts nowhere.
        if seen.is_none_or(Pod::is_terminated) {
            self.finalizer_removed_alone(pod, job, pods);
        }
        if seen.is_some_and(Pod::is_terminated) && pod.is_terminated() && !self.is_stored(pod, job) {
            self.violations.lost = Some(pod.uid);
        }
        let verdict = |pod: &Pod| pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_));
        if seen.is_some_and(verdict) && self.decision.is_none() {
            self.violations.verdict_lost = Some(pod.uid);
        }
        if fresh && pod.is_active() && pod.controlled && self.is_wanted(pod, job, pods) {
            self.violations.dropped = Some(pod.uid);
        }
    }

    /// A pod was released that seemed to run: it was chosen for deletion, and counts nowhere, whatever it had come
    /// to (FT-16).
    pub fn chosen(&mut self, uid: Uid) {
        if let Some(ghost) = self.pod_mut(uid) {
            ghost.finalizer_removed = true;
        }
    }

    /// Whether the status tells of a pod that has ended, or need not.
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
        by_index || ghost.ignored || ghost.listed.is_some()
    }

    /// A status write was stored.
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
                    ghost.listed.get_or_insert(end);
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

    /// PC-23: whether an index, or the Job where there are none, was never taken away by a user.
    #[must_use]
    pub fn was_always_there(&self, index: Option<Index>) -> bool {
        let fewest = self.fewest.and_then(|fewest| Index::try_from(fewest).ok());
        index.zip(fewest).is_none_or(|(index, fewest)| index < fewest)
    }

    /// The user changed the specification.
    pub fn respecified(&mut self, before: &JobSpec, spec: &JobSpec) {
        self.was_impatient |= !before.replaces_only_failed();
        self.widest = self.widest.max(spec.parallelism.unwrap_or(1));
        self.most = self.most.max(spec.completions);
        self.fewest = self.fewest.min(spec.completions);
        if let Some(decision) = &mut self.decision {
            decision.completions = decision.completions.min(spec.completions);
        }
    }
}

impl Ledger for GhostHistory {
    fn is_counted(&self, uid: Uid) -> bool {
        self.pod(uid).is_some_and(|ghost| ghost.counted_succeeded + ghost.counted_failed > 0)
    }

    fn was_readopted(&self, _uid: Uid) -> bool {
        false
    }

    fn was_vanished(&self, _uid: Uid) -> bool {
        false
    }

    fn is_strange(&self, _uid: Uid) -> bool {
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
    /// Whether it has been in phase `Failed`.
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
            listed: None,
            counted_succeeded: 0,
            counted_failed: 0,
        }
    }
}

impl Ending {
    fn of<'a>(status: &JobStatus, announced: bool, pods: impl Iterator<Item = &'a Pod>) -> Option<Ending> {
        let (condition, good) = first_true(status, &ConditionKind::Complete, &ConditionKind::Failed)?;
        let (mut active, mut terminating) = (0, 0);
        for pod in pods {
            active += u32::from(pod.is_active());
            terminating += u32::from(pod.is_terminating());
        }
        Some(Ending {
            good,
            text: (condition.reason.clone(), condition.message.clone()),
            announced,
            owes_interim: true,
            owes_delay: true,
            terminating,
            active,
            completion_time: status.completion_time,
            said: condition.last_transition_time,
        })
    }
}

/// The first condition of either kind that is true, and whether it is of the first kind.
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

/// `startTime` may move while the Job is suspended, and by the write that shows its resumption.
fn moves_start(spec: &JobSpec, old: &JobStatus, new: &JobStatus) -> bool {
    let was_suspended = old.is_true(&ConditionKind::Suspended);
    old.start_time.is_some() && old.start_time != new.start_time && !spec.is_suspended() && !was_suspended
}
