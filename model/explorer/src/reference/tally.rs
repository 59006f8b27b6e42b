//! What a sync makes of the pods that it read.

use std::collections::BTreeMap;

use jobcheck_spec::constants::Constants;
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::job::{FailureAction, Job, JobSpec};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

use crate::mutations::{Mutation, Mutations};
use crate::process::io::{Io, Stop};
use crate::process::read::{Failures, Read};
use crate::process::settings::Settings;

/// What the pods come to (step 8).
#[derive(Debug)]
pub struct Tally<'a> {
    job: &'a Job,
    read: &'a Read,
    mutations: &'a Mutations,
    settings: Settings<'a>,
    delays: bool,
    /// Active pods.
    pub active: Vec<&'a Pod>,
    /// Number of terminating pods.
    pub terminating: i32,
    /// Number of ready pods.
    pub ready: i32,
    /// Pods with the finalizer whose success is in no list and no counter.
    pub new_successes: Vec<&'a Pod>,
    /// Pods with the finalizer whose failure is in no list and no counter.
    pub new_failures: Vec<&'a Pod>,
    /// Successes so far.
    pub succeeded: i64,
    /// Failures so far, ignored ones apart.
    pub failed: i64,
    /// Completed indexes.
    pub completed: IndexSet,
    /// Failed indexes, where they are tracked.
    pub failed_indexes: Option<IndexSet>,
    /// For each index that waits for a replacement its last failed pod (BI-08).
    pub delayed: BTreeMap<Index, &'a Pod>,
    /// Of several that failed last, all.
    last: BTreeMap<Index, Vec<&'a Pod>>,
}

impl<'a> Tally<'a> {
    /// Counts what was read.
    #[must_use]
    pub fn of(job: &'a Job, read: &'a Read, settings: &Settings<'a>) -> Tally<'a> {
        let pods = || read.pods.iter();
        let mut tally = Tally {
            job,
            read,
            mutations: settings.mutations,
            settings: *settings,
            delays: settings.has_delays && settings.limit_per_index(&job.spec).is_none(),
            active: pods().filter(|pod| pod.is_active()).collect(),
            terminating: int(pods().filter(|pod| pod.is_terminating()).count()),
            ready: int(pods().filter(|pod| pod.is_ready()).count()),
            new_successes: Vec::new(),
            new_failures: Vec::new(),
            succeeded: 0,
            failed: 0,
            completed: IndexSet::new(),
            failed_indexes: None,
            delayed: BTreeMap::new(),
            last: BTreeMap::new(),
        };
        tally.new_successes = pods().filter(|pod| tally.is_new_success(pod)).collect();
        tally.new_failures = pods().filter(|pod| tally.is_new_failure(pod)).collect();
        tally.count_indexes();
        tally.count_totals();
        tally
    }

    /// Departures from the algorithm.
    #[must_use]
    pub fn mutations(&self) -> &'a Mutations {
        self.mutations
    }

    /// The settings of the process.
    #[must_use]
    pub fn settings(&self) -> &Settings<'a> {
        &self.settings
    }

    fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// FT-06: whether accounting looks at the pod.
    #[must_use]
    pub fn is_tracked(&self, pod: &Pod) -> bool {
        let finalizer_removed =
            self.read.removing_finalizers.contains(&pod.uid) && !self.mutations.on(Mutation::ForgetsRemovals);
        let legacy = pod.is_terminated() && self.mutations.on(Mutation::CountsLegacyPods);
        (pod.finalizer || legacy) && !finalizer_removed
    }

    /// FT-09: an Indexed Job counts pods with a valid index only.
    #[must_use]
    pub fn has_place(&self, pod: &Pod) -> bool {
        !self.spec().is_indexed() || pod.valid_index(self.spec().completion_count()).is_some()
    }

    /// FT-18: whether the pod is a failure under the Job's policies.
    #[must_use]
    pub fn is_failure(&self, pod: &Pod) -> bool {
        pod.has_failed(self.settings.is_patient(self.spec()))
    }

    /// Whether the UID is recorded as a failure, which it stays (FT-13, S-01, S-02).
    fn is_recorded_failure(&self, pod: &Pod) -> bool {
        self.job.status.uncounted_failed().contains(&pod.uid)
            && !self.mutations.on(Mutation::CountsListedFailureAsSuccess)
    }

    fn is_new_success(&self, pod: &Pod) -> bool {
        pod.phase == Phase::Succeeded
            && self.is_tracked(pod)
            && self.has_place(pod)
            && !self.job.status.uncounted_succeeded().contains(&pod.uid)
            && !self.is_recorded_failure(pod)
    }

    fn is_new_failure(&self, pod: &Pod) -> bool {
        let flipped = self.job.status.uncounted_succeeded().contains(&pod.uid)
            && !self.mutations.on(Mutation::RecordsFlippedSuccess);
        self.is_failure(pod)
            && self.is_tracked(pod)
            && self.has_place(pod)
            && !self.job.status.uncounted_failed().contains(&pod.uid)
            && !flipped
    }

    fn count_indexes(&mut self) {
        let spec = self.spec();
        if !spec.is_indexed() {
            return;
        }
        let completions = spec.completion_count();
        self.completed = self.job.status.completed(completions);
        self.completed.extend(self.new_successes.iter().filter_map(|pod| pod.valid_index(completions)));
        if let Some(limit) = self.settings.limit_per_index(spec) {
            let stored = self.job.status.failed_set(completions);
            let mut failed = stored.clone();
            // BI-05: every failed pod that still has the finalizer, recorded or not.
            let spent = self.read.pods.iter().filter(|pod| self.is_tracked(pod) && self.is_failure(pod));
            let spent = spent.filter(|pod| exhausts_index(pod, limit));
            failed.extend(spent.filter_map(|pod| pod.valid_index(completions)));
            if !self.mutations.on(Mutation::FailedIndexNotMinusCompleted) {
                failed = failed.minus(&self.completed.minus(&stored));
                self.completed = self.completed.minus(&stored);
            }
            self.failed_indexes = Some(failed);
            self.delay_removals();
        }
    }

    /// BI-08: the last failed pod of an index keeps the number of its failures until its replacement is seen.
    fn delay_removals(&mut self) {
        let in_vain = self.read.kept.namespace_goes(self.read.now);
        if in_vain && !self.mutations.on(Mutation::WaitsForReplacementInVain) {
            return;
        }
        let completions = self.spec().completion_count();
        let failures = self.read.pods.iter().filter(|pod| self.is_tracked(pod) && self.is_failure(pod));
        let failures: Vec<&Pod> = failures.collect();
        for pod in failures {
            let Some(index) = pod.valid_index(completions) else { continue };
            let is_active = self.active.iter().any(|other| other.index == Some(index));
            let is_failed = self.failed_indexes.as_ref().is_some_and(|failed| failed.contains(index));
            if is_active || is_failed || self.completed.contains(index) {
                continue;
            }
            let last = self.last.entry(index).or_default();
            last.retain(|other| rank(other) >= rank(pod));
            if last.iter().all(|other| rank(other) == rank(pod)) {
                last.push(pod);
            }
        }
    }

    /// Of several pods of an index that failed last it is chance which one is kept.
    ///
    /// # Errors
    ///
    /// A choice that was not made yet.
    pub fn settle_ties(&mut self, io: &mut Io<'_>) -> Result<(), Stop> {
        for (index, pods) in &self.last {
            let uids: Vec<Uid> = pods.iter().map(|pod| pod.uid).collect();
            let kept = io.pick(&uids, 1)?;
            self.delayed.extend(pods.iter().find(|pod| kept.contains(&pod.uid)).map(|pod| (*index, *pod)));
        }
        Ok(())
    }

    fn count_totals(&mut self) {
        let status = &self.job.status;
        let counting = self.new_failures.iter().filter(|pod| !pod.is_ignored()).count();
        self.failed = i64::from(status.failed) + len(status.uncounted_failed().len()) + len(counting);
        let by_index = self.spec().is_indexed() && !self.mutations.on(Mutation::CountsPodsNotIndexes);
        if self.mutations.on(Mutation::RecomputesCounters) {
            self.succeeded = len(self.read.pods.iter().filter(|pod| pod.phase == Phase::Succeeded).count());
            return;
        }
        self.succeeded = if by_index {
            i64::from(self.completed.len())
        } else {
            i64::from(status.succeeded)
                + len(status.uncounted_succeeded().len())
                + len(self.new_successes.len())
        };
    }

    /// BO-13: how often containers were restarted in the pods that have not ended.
    #[must_use]
    pub fn restarts(&self) -> i64 {
        let living = self.read.pods.iter().filter(|pod| matches!(pod.phase, Phase::Pending | Phase::Running));
        living.map(|pod| i64::from(pod.restarts)).sum()
    }

    /// BO-07: when the pod ended, as delays count from there.
    #[must_use]
    pub fn ended(&self, pod: &Pod) -> Time {
        let by_creation = self.mutations.on(Mutation::DatesDeletionsFromCreation) && pod.is_terminating();
        if by_creation { pod.created } else { pod.finish_time() }
    }

    /// BO-03: the record of failures once this sync has been stored.
    #[must_use]
    pub fn backoff(&self) -> Backoff {
        let old = self.read.failures.record;
        if self.new_failures.is_empty() && self.mutations.on(Mutation::ForgetsFailuresWhenNoneIsNew) {
            return Backoff::default();
        }
        let fresh = |pod: &&&Pod| !self.read.failures.pods.contains(&pod.uid);
        let ends = |pods: &[&Pod]| pods.iter().filter(fresh).map(|pod| self.ended(pod)).collect::<Vec<_>>();
        let all = !self.mutations.on(Mutation::IgnoredFailuresDoNotDelay);
        let delaying: Vec<&Pod> =
            self.new_failures.iter().copied().filter(|pod| all || !pod.is_ignored()).collect();
        let (successes, failures) = (ends(&self.new_successes), ends(&delaying));
        match successes.into_iter().max() {
            None => Backoff {
                failures: old.failures + count(failures.len()),
                // One that is known, but not stored, may have ended since: it was only being deleted then (BO-05).
                last_failure: delaying.iter().map(|pod| self.ended(pod)).max().or(old.last_failure),
            },
            Some(success) => {
                let later: Vec<Time> = failures.into_iter().filter(|failure| *failure > success).collect();
                Backoff { failures: count(later.len()), last_failure: later.into_iter().max() }
            }
        }
    }

    /// The record as it is kept. Where nothing waits for it, it stays empty.
    #[must_use]
    pub fn recorded(&self) -> Failures {
        let mut kept = self.read.failures.clone();
        if self.delays {
            kept.record = self.backoff();
            kept.pods.extend(self.new_successes.iter().chain(&self.new_failures).map(|pod| pod.uid));
        }
        kept
    }

    /// BO-01, BO-10: when the delay is over, in seconds, the last failure of this run being known.
    #[must_use]
    pub fn delay_ends(&self, backoff: Backoff, constants: &Constants) -> Option<Time> {
        let last = backoff.last_failure?;
        let delay = constants.backoff_ms(backoff.failures) / 1000;
        (delay > 0).then(|| last.plus(delay)).filter(|end| *end > self.read.now)
    }
}

/// BI-01: whether this failure is the last that its index may have.
fn exhausts_index(pod: &Pod, limit: i32) -> bool {
    match &pod.policy {
        PolicyMatch::Action(FailureAction::FailIndex) => true,
        PolicyMatch::Action(FailureAction::Ignore) => false,
        PolicyMatch::Action(FailureAction::Count | FailureAction::FailJob | FailureAction::Unknown)
        | PolicyMatch::FailJob(_)
        | PolicyMatch::None => i64::from(pod.failure_count) >= i64::from(limit),
    }
}

fn rank(pod: &Pod) -> (u32, Time) {
    (pod.failure_count + pod.ignored_failure_count, pod.finish_time())
}

fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn len(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
