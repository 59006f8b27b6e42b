//! Writes that no manager with up-to-date caches may make. `fresh` is true if the manager's caches show
//! everything.

use super::{End, GhostHistory, PodHistory};
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{FailureAction, Job, JobStatus};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::pods::Pods;

impl GhostHistory {
    /// FT-32, BI-16: notes that a manager deletes a pod.
    pub fn deleted(&mut self, pod: &Pod, job: Option<&Job>, fresh: bool, pods: &Pods) {
        if !fresh || pod.deleting || !self.owns(pod) {
            return;
        }
        if pod.is_terminated() {
            self.violations.deleted_terminated.get_or_insert(pod.uid);
        } else if job.is_some_and(|job| self.is_left_to_its_index(pod, job, pods)) {
            self.violations.deleted_for_others.get_or_insert(pod.uid);
        }
    }

    /// BI-16: returns true if only other indexes could be the reason to end this pod. No limit of the whole
    /// Job is reached, and the pod is the only one of its index.
    fn is_left_to_its_index(&self, pod: &Pod, job: &Job, pods: &Pods) -> bool {
        let (spec, status) = (&job.spec, &job.status);
        let fails_job = spec
            .pod_failure_policy
            .as_ref()
            .is_some_and(|policy| policy.rules.iter().any(|rule| rule.action == FailureAction::FailJob));
        let limited = spec.max_failed_indexes.is_some()
            || spec.backoff_limit.is_some_and(|limit| limit < i32::MAX)
            || spec.active_deadline_seconds.is_some()
            || spec.success_policy.is_some();
        let ends = self.decision.is_some() || job.deleting || spec.is_suspended() || fails_job || limited;
        // UG-09: while the gate was off, failed indexes may have got pods again.
        let counts = spec.backoff_limit_per_index.is_some() && self.gates.job_backoff_limit_per_index;
        let Some(index) = pod.index.filter(|_| counts && !ends) else {
            return false;
        };
        let open = !status.completed(None).contains(index) && !status.failed_set(None).contains(index);
        // A success of the index, stored or not, makes the pod surplus. An unexpected pod may have failed for
        // the index, or make any pod surplus.
        let settles = |ghost: &PodHistory| {
            ghost.unexpected || (ghost.index == Some(index) && ghost.end == Some(End::Success))
        };
        let known = !self.pods.iter().any(settles);
        let alone = pods.index_use(index).active == 1 && known;
        open && alone && self.was_always_there(Some(index)) && pods.sums().active <= spec.parallelism_count()
    }

    /// Returns true if too few countable pods would remain without this active one.
    pub(super) fn is_wanted(&self, pod: &Pod, job: &Job, pods: &Pods) -> bool {
        let Some(completions) = job.spec.completion_count() else { return false };
        let in_range = |pod: &Pod| !job.spec.is_indexed() || pod.valid_index(Some(completions)).is_some();
        if self.decision.is_some() || job.spec.is_suspended() || !in_range(pod) {
            return false;
        }
        let missing = completions.saturating_sub(self.successes(job)).min(job.spec.parallelism_count());
        let counts =
            |pod: &Pod| pod.is_active() && pod.finalizer && pod.controlled && self.owns(pod) && in_range(pod);
        let others = |other: &&Pod| other.uid != pod.uid && counts(other);
        if job.spec.is_indexed() && pods.iter().filter(others).any(|other| other.index == pod.index) {
            return false;
        }
        u32::try_from(pods.iter().filter(others).count()).unwrap_or(u32::MAX) < missing
    }

    /// The number of pods that succeeded and count or will count. For an Indexed Job, the number of their
    /// indexes.
    fn successes(&self, job: &Job) -> u32 {
        let counts = |ghost: &&PodHistory| {
            ghost.end == Some(End::Success)
                && !ghost.finalizer_removed
                && ghost.recorded != Some(End::Failure)
        };
        let successes = self.pods.iter().filter(counts);
        if job.spec.is_indexed() {
            // PC-23: a success of an index that was removed does not count.
            let there = job.spec.completion_count().unwrap_or(0);
            let indexes = successes.filter_map(|ghost| ghost.index);
            let counting = indexes.filter(|index| *index < there && self.was_always_there(Some(*index)));
            counting.collect::<IndexSet>().len()
        } else {
            u32::try_from(successes.count()).unwrap_or(u32::MAX)
        }
    }

    /// TC-14: notes that a manager writes a status. If the counted and terminated pods decide the Job, the
    /// write must store the interim condition.
    pub fn check_interim(&mut self, job: &Job, new: &JobStatus, fresh: bool, pods: &Pods) {
        let open = self.decision.is_none() && !new.is_decided() && !new.is_finished() && !job.deleting;
        if fresh && open && self.gates.delays_terminal_condition() {
            self.violations.missing_interim |=
                self.has_failed_too_often(job, pods) || self.has_succeeded(job, pods);
        }
    }

    /// BO-12: returns true if more pods have failed than `backoffLimit` allows, without unexpected pods.
    #[must_use]
    pub fn has_failed_too_often(&self, job: &Job, pods: &Pods) -> bool {
        let spec = &job.spec;
        let replacing_failed = spec.replaces_only_failed();
        let failed = |ghost: &&PodHistory| match ghost.end {
            Some(End::Failure) => !ghost.ignored,
            Some(End::Success) => false,
            None => ghost.deleted && !replacing_failed,
        };
        let misplaced =
            |ghost: &PodHistory| spec.completion_count().zip(ghost.index).is_some_and(|(n, i)| i >= n);
        let count = self.counting(job, pods).filter(failed).filter(|ghost| !misplaced(ghost)).count();
        let limit = spec.backoff_limit.and_then(|limit| usize::try_from(limit).ok());
        limit.is_some_and(|limit| count > limit)
    }

    /// PC-24: returns true if a Job with `completions` has enough successes.
    #[must_use]
    pub fn has_succeeded(&self, job: &Job, pods: &Pods) -> bool {
        let Some(completions) = job.spec.completion_count() else { return false };
        let ended_well =
            |ghost: &&PodHistory| ghost.end == Some(End::Success) && ghost.recorded != Some(End::Failure);
        // PC-23: a success of an index that was removed does not count.
        let stays = |ghost: &&PodHistory| self.was_always_there(ghost.index);
        let successes = self.counting(job, pods).filter(ended_well).filter(stays);
        // S-02: a success of a failed index does not count.
        let indexed = job.spec.is_indexed();
        if job.spec.backoff_limit_per_index.is_some() {
            return false;
        }
        let count = if indexed {
            successes.filter_map(|ghost| ghost.index).collect::<IndexSet>().len()
        } else {
            u32::try_from(successes.count()).unwrap_or(u32::MAX)
        };
        count >= completions && pods.sums().active == 0
    }

    /// The pods that are in the status, or will be because they hold the finalizer. Other pods were chosen
    /// for deletion (FT-16).
    fn counting<'a>(&'a self, job: &'a Job, pods: &'a Pods) -> impl Iterator<Item = &'a PodHistory> {
        let completed = job.status.completed(None);
        let counts = move |uid, ghost: &PodHistory| {
            let completes =
                ghost.end == Some(End::Success) && ghost.index.is_some_and(|it| completed.contains(it));
            let stored = ghost.recorded.is_some() || completes;
            let known = !ghost.finalizer_removed && !ghost.unexpected && !ghost.flipped;
            known && (stored || pods.get(uid).is_some_and(|pod| pod.finalizer))
        };
        self.numbered().filter(move |(uid, ghost)| counts(*uid, ghost)).map(|(_, ghost)| ghost)
    }

    /// BI-15: notes that a manager removes the finalizer of a failed pod. If its index is open, another pod
    /// must carry the number of its failures.
    pub(super) fn count_lost(&mut self, pod: &Pod, job: &Job, pods: &Pods) {
        // UG-10: writes from the time when the gate was off do not count.
        let counts = job.spec.backoff_limit_per_index.is_some()
            && self.gates.job_backoff_limit_per_index
            && self.was_always_there(pod.index);
        let Some(index) = pod.index.filter(|_| counts) else { return };
        let completions = job.spec.completion_count();
        if pod.phase != Phase::Failed || self.decision.is_some() || pod.valid_index(completions).is_none() {
            return;
        }
        let open =
            !job.status.completed(None).contains(index) && !job.status.failed_set(None).contains(index);
        let failures = |pod: &Pod| pod.failure_count + pod.ignored_failure_count;
        let knows = |other: &Pod| other.finalizer || failures(other) > failures(pod);
        let is_other = |other: &Pod| other.index == Some(index) && other.uid != pod.uid;
        let carried = pods.iter().any(|other| is_other(other) && knows(other));
        // BI-02: an unexpected pod of the index takes the place of a replacement, and carries no count.
        let surprised = self.pods.iter().any(|ghost| ghost.unexpected && ghost.index == pod.index);
        // FT-16: the pod was recorded after its replacement had been created. The later history of the
        // replacement does not matter.
        let settled = self.pod(pod.uid).is_some_and(|ghost| ghost.recorded.is_some() && ghost.replaced);
        // J-10: no replacement is possible.
        let in_vain = self.namespace_refused;
        if open && !carried && !surprised && !settled && !in_vain {
            self.violations.count_lost.get_or_insert(pod.uid);
        }
    }

    /// BI-17: notes that a manager creates a pod. `first_delay` is the scope's, whether or not processes were
    /// restarted.
    pub fn check_retry(&mut self, pod: &Pod, job: Option<&Job>, fresh: bool, first_delay: i64, pods: &Pods) {
        let counts = job.is_some_and(|job| job.spec.backoff_limit_per_index.is_some());
        let Some((index, job)) = pod.index.filter(|_| counts && fresh).zip(job) else { return };
        let of_index = |other: &&Pod| other.index == Some(index);
        let last = self.delaying(job, pods).filter(of_index).filter_map(|pod| pod.finished).max();
        if last.is_some_and(|last| pod.created.since(last) < first_delay) {
            self.violations.premature_retry.get_or_insert(pod.uid);
        }
    }

    /// Returns true if the pod was created within the first delay after a failure, without a success in
    /// between.
    pub(super) fn is_premature(&self, pod: &Pod, job: &Job, first_delay: i64, pods: &Pods) -> bool {
        let own = |other: &&Pod| other.incarnation == pod.incarnation;
        let succeeded = |other: &&Pod| other.phase == Phase::Succeeded;
        let last_failure = self.delaying(job, pods).filter(own).filter_map(|pod| pod.finished).max();
        let last_success = pods.iter().filter(own).filter(succeeded).filter_map(|pod| pod.finished).max();
        last_failure.is_some_and(|failure| {
            last_success.is_none_or(|success| success < failure) && pod.created.since(failure) < first_delay
        })
    }

    /// RP-10: the pods from whose failure a delay runs. Unless replacements wait for termination, a deleted
    /// pod has failed with its deletion, and its delay may be over when it terminates.
    fn delaying<'a>(&'a self, job: &'a Job, pods: &'a Pods) -> impl Iterator<Item = &'a Pod> {
        let replacing_failed = job.spec.replaces_only_failed();
        pods.iter().filter(move |pod| {
            let ghost = self.pod(pod.uid);
            let deleted_first = ghost.is_some_and(|ghost| ghost.deleted)
                && (!replacing_failed || self.allowed_early_replacement);
            if !deleted_first {
                return pod.phase == Phase::Failed;
            }
            // FT-16: a pod that was chosen for deletion counts nowhere.
            let counts = pod.finalizer || ghost.is_some_and(|ghost| ghost.recorded.is_some());
            pod.is_terminating() && !replacing_failed && counts
        })
    }
}
