//! The tally of a sync: how many of the pods that it read are active, have succeeded, have failed, and must be replaced.

use std::collections::BTreeMap;

use jobcheck_spec::constants::Constants;
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::job::{FailureAction, Job, JobSpec};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

use crate::mutations::Mutations;
use crate::process::io::{Io, Stop};
use crate::process::read::{Failures, Read};
use crate::process::settings::Settings;

/// The numbers of one sync.
#[derive(Debug)]
pub struct Tally<'a> {
    pub(super) job: &'a Job,
    pub(super) read: &'a Read,
    settings: Settings<'a>,
    /// True if a creation may have to wait after failures.
    delays: bool,
    /// Active pods.
    pub active: Vec<&'a Pod>,
    /// The number of terminating pods.
    pub terminating: i32,
    /// The number of ready pods.
    pub ready: i32,
    /// Pods with the finalizer that have succeeded, and that neither a list nor a counter includes.
    pub new_successes: Vec<&'a Pod>,
    /// Pods with the finalizer that have failed, and that neither a list nor a counter includes.
    pub new_failures: Vec<&'a Pod>,
    /// The number of successes so far.
    pub succeeded: i64,
    /// The number of failures so far, without ignored failures.
    pub failed: i64,
    /// The completed indexes.
    pub completed: IndexSet,
    /// The failed indexes; `None` if retries are not limited per index.
    pub failed_indexes: Option<IndexSet>,
    /// For each index that waits for a replacement, its last failed pod (BI-08).
    pub delayed: BTreeMap<Index, &'a Pod>,
    /// For each such index, all pods that failed last, before [`Tally::settle_ties`] has chosen one.
    ties: BTreeMap<Index, Vec<&'a Pod>>,
}

impl<'a> Tally<'a> {
    /// Counts the pods that a sync read.
    #[must_use]
    pub fn of(job: &'a Job, read: &'a Read, settings: &Settings<'a>) -> Tally<'a> {
        let pods = || read.pods.iter();
        let mut tally = Tally {
            job,
            read,
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
            ties: BTreeMap::new(),
        };
        tally.new_successes = pods().filter(|pod| tally.is_new_success(pod)).collect();
        tally.new_failures = pods().filter(|pod| tally.is_new_failure(pod)).collect();
        tally.count_indexes();
        tally.count_totals();
        tally
    }

    /// The mutations of the algorithm.
    #[must_use]
    pub fn mutations(&self) -> &'a Mutations {
        self.settings.mutations
    }

    /// The settings of the process.
    #[must_use]
    pub fn settings(&self) -> &Settings<'a> {
        &self.settings
    }

    pub(super) fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// FT-06, FT-28: returns true if accounting looks at the pod.
    #[must_use]
    pub fn is_tracked(&self, pod: &Pod) -> bool {
        self.has_finalizer(pod) && !self.is_removal_unseen(pod)
    }

    /// FT-09: an Indexed Job only counts pods with a valid index.
    #[must_use]
    pub fn has_place(&self, pod: &Pod) -> bool {
        !self.spec().is_indexed() || pod.valid_index(self.spec().completion_count()).is_some()
    }

    /// FT-18: returns true if the pod is a failure under the Job's policies.
    #[must_use]
    pub fn is_failure(&self, pod: &Pod) -> bool {
        pod.has_failed(self.settings.replaces_after_termination(self.spec()))
    }

    fn is_new_success(&self, pod: &Pod) -> bool {
        pod.phase == Phase::Succeeded
            && self.is_tracked(pod)
            && self.has_place(pod)
            && !self.job.status.uncounted_succeeded().contains(&pod.uid)
            && !self.stays_recorded_as_failed(pod)
    }

    fn is_new_failure(&self, pod: &Pod) -> bool {
        self.is_failure(pod)
            && self.is_tracked(pod)
            && self.has_place(pod)
            && !self.job.status.uncounted_failed().contains(&pod.uid)
            && !self.stays_recorded_as_succeeded(pod)
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
            // BI-05: every failed pod that still has the finalizer counts, recorded or not.
            let spent = self.read.pods.iter().filter(|pod| self.is_tracked(pod) && self.is_failure(pod));
            let spent = spent.filter(|pod| exhausts_index(pod, limit));
            failed.extend(spent.filter_map(|pod| pod.valid_index(completions)));
            if self.separates_indexes() {
                failed = failed.minus(&self.completed.minus(&stored));
                self.completed = self.completed.minus(&stored);
            }
            self.failed_indexes = Some(failed);
            self.delay_removals();
        }
    }

    /// BI-08: the last failed pod of an index keeps its finalizer until its replacement exists. The pod carries the
    /// number of failures of the index.
    fn delay_removals(&mut self) {
        if self.replacements_are_impossible() {
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
            let last = self.ties.entry(index).or_default();
            last.retain(|other| rank(other) >= rank(pod));
            if last.iter().all(|other| rank(other) == rank(pod)) {
                last.push(pod);
            }
        }
    }

    /// Chooses one of several pods of an index that failed last. The choice is random.
    ///
    /// # Errors
    ///
    /// A choice that was not made yet.
    pub fn settle_ties(&mut self, io: &mut Io<'_>) -> Result<(), Stop> {
        for (index, pods) in &self.ties {
            let uids: Vec<Uid> = pods.iter().map(|pod| pod.uid).collect();
            let chosen = io.pick(&uids, 1)?;
            self.delayed.extend(pods.iter().find(|pod| chosen.contains(&pod.uid)).map(|pod| (*index, *pod)));
        }
        Ok(())
    }

    fn count_totals(&mut self) {
        let status = &self.job.status;
        let counting = self.new_failures.iter().filter(|pod| !pod.is_ignored()).count();
        self.failed = i64::from(status.failed) + len(status.uncounted_failed().len()) + len(counting);
        let succeeded = if self.counts_by_index() {
            i64::from(self.completed.len())
        } else {
            i64::from(status.succeeded)
                + len(status.uncounted_succeeded().len())
                + len(self.new_successes.len())
        };
        self.succeeded = self.successes_or_mutated(succeeded);
    }

    /// BO-13: the number of container restarts in the pods that have not terminated.
    #[must_use]
    pub fn restarts(&self) -> i64 {
        let living = self.read.pods.iter().filter(|pod| matches!(pod.phase, Phase::Pending | Phase::Running));
        living.map(|pod| i64::from(pod.restarts)).sum()
    }

    /// BO-03: the backoff record that this sync leads to.
    #[must_use]
    pub fn backoff(&self) -> Backoff {
        let old = self.read.failures.record;
        if self.forgets_backoff() {
            return Backoff::default();
        }
        let fresh = |pod: &&&Pod| !self.read.failures.pods.contains(&pod.uid);
        let ends =
            |pods: &[&Pod]| pods.iter().filter(fresh).map(|pod| self.failure_time(pod)).collect::<Vec<_>>();
        let delaying: Vec<&Pod> =
            self.new_failures.iter().copied().filter(|pod| self.failure_delays(pod)).collect();
        let (successes, failures) = (ends(&self.new_successes), ends(&delaying));
        match successes.into_iter().max() {
            None => Backoff {
                failures: old.failures + count(failures.len()),
                // BO-05: a known failure that is not stored yet may have got a later time. The pod was terminating
                // when the record took it in, and has terminated since.
                last_failure: delaying.iter().map(|pod| self.failure_time(pod)).max().or(old.last_failure),
            },
            Some(success) => {
                let later: Vec<Time> = failures.into_iter().filter(|failure| *failure > success).collect();
                Backoff { failures: count(later.len()), last_failure: later.into_iter().max() }
            }
        }
    }

    /// The failures that the process remembers after this sync. If no creation can be delayed, the record stays empty.
    #[must_use]
    pub fn recorded(&self) -> Failures {
        let mut failures = self.read.failures.clone();
        if self.delays {
            failures.record = self.backoff();
            failures.pods.extend(self.new_successes.iter().chain(&self.new_failures).map(|pod| pod.uid));
        }
        failures
    }

    /// BO-01, BO-10: the time at which the delay after the last failure ends; `None` if it has ended.
    #[must_use]
    pub fn delay_ends(&self, backoff: Backoff, constants: &Constants) -> Option<Time> {
        let last = backoff.last_failure?;
        let delay = constants.backoff_ms(backoff.failures) / 1000;
        (delay > 0).then(|| last.plus(delay)).filter(|end| *end > self.read.now)
    }
}

/// BI-01: returns true if this failure is the last that its index may have.
fn exhausts_index(pod: &Pod, limit: i32) -> bool {
    match &pod.policy {
        PolicyMatch::Action(FailureAction::FailIndex) => true,
        PolicyMatch::Action(FailureAction::Ignore) => false,
        PolicyMatch::Action(FailureAction::Count | FailureAction::FailJob | FailureAction::Unknown)
        | PolicyMatch::FailJob(_)
        | PolicyMatch::None => i64::from(pod.failure_count) >= i64::from(limit),
    }
}

/// The order of the failures of an index: the last failure has the highest rank.
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
