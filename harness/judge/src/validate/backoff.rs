//! The global backoff record in the memory of the controller (BO-01, BO-03, BO-05).

use jobcheck_spec::constants::Constants;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::{Backoff, View};
use jobcheck_spec::{Time, Uid};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// The record of one Job, with the pods that it contains.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BackoffRecord {
    record: Backoff,
    recorded: FxHashSet<Uid>,
    /// The record also takes pods that the status has recorded already, while they hold the finalizer.
    takes_listed: bool,
    /// A second record, if the trace does not decide between two. It differs after a status write whose response was
    /// lost, and after a restart, when the predecessor has recorded pods without counting them.
    other: Option<Box<BackoffRecord>>,
}

impl BackoffRecord {
    /// The record of a sync with this view that has removed the finalizers of `let_go`. Pods in the record are not
    /// taken again (BO-03).
    #[must_use]
    pub fn in_view(&self, view: &View<'_>, let_go: &[Uid]) -> Backoff {
        if view.spec().backoff_limit_per_index.is_some() {
            return Backoff::default();
        }
        let fresh = |pod: &&Pod| !self.recorded.contains(&pod.uid);
        let last_success = self.successes(view, let_go).filter(fresh).map(Pod::finish_time).max();
        let failures = || self.failures(view, let_go).filter(fresh).map(Pod::finish_time);
        match last_success {
            None => {
                let count = u32::try_from(failures().count()).unwrap_or(u32::MAX);
                let last_failure = failures().max().or(self.record.last_failure);
                Backoff { failures: self.record.failures.saturating_add(count), last_failure }
            }
            Some(success) => {
                let later = || failures().filter(|failure| *failure > success);
                Backoff {
                    failures: u32::try_from(later().count()).unwrap_or(u32::MAX),
                    last_failure: later().max(),
                }
            }
        }
    }

    fn successes<'v>(&self, view: &'v View<'_>, let_go: &'v [Uid]) -> impl Iterator<Item = &'v Pod> {
        let listed = self.listed(view, view.job.status.uncounted_succeeded(), let_go);
        view.new_successes().chain(listed)
    }

    fn failures<'v>(&self, view: &'v View<'_>, let_go: &'v [Uid]) -> impl Iterator<Item = &'v Pod> {
        let listed = self.listed(view, view.job.status.uncounted_failed(), let_go);
        view.new_failures().chain(listed)
    }

    /// The recorded pods that held their finalizer when the sync read them. A view shows the removals of its own sync.
    fn listed<'v>(
        &self,
        view: &'v View<'_>,
        uids: &'v [Uid],
        let_go: &'v [Uid],
    ) -> impl Iterator<Item = &'v Pod> {
        let taken = if self.takes_listed { uids } else { &[] };
        let held = |pod: &&Pod| pod.finalizer || let_go.contains(&pod.uid);
        taken.iter().filter_map(|uid| view.cache.get(*uid)).filter(held)
    }

    /// The end of the last failure in the record.
    #[must_use]
    pub fn last_failure(&self) -> Option<Time> {
        self.record.last_failure
    }

    /// The end of the delay of this record, in microseconds, rounded up.
    #[must_use]
    pub fn ends(&self, constants: &Constants) -> Option<i64> {
        let delay = constants.backoff_ms(self.record.failures).saturating_mul(1000);
        let last = self.record.last_failure.filter(|_| delay > 0)?.0.saturating_mul(1_000_000);
        Some(last.saturating_add(delay).saturating_add(2_000_000))
    }

    /// Keeps the record after a successful status write with this view (BO-05).
    pub fn keep(&mut self, view: &View<'_>, let_go: &[Uid]) {
        if let Some(other) = &mut self.other {
            other.keep(view, let_go);
        }
        self.record = self.in_view(view, let_go);
        let pods = self.successes(view, let_go).chain(self.failures(view, let_go));
        let taken: Vec<Uid> = pods.map(|pod| pod.uid).collect();
        self.recorded.extend(taken);
        let is_same =
            |other: &BackoffRecord| (other.record, &other.recorded) == (self.record, &self.recorded);
        if self.other.as_deref().is_some_and(is_same) {
            self.other = None;
        }
    }

    /// Keeps the record as an alternative, after a status write with this view that was refused, or whose response was
    /// lost. 1.36 keeps the record after the response; other controllers may do so before the request.
    pub fn keep_perhaps(&mut self, view: &View<'_>, let_go: &[Uid]) {
        let mut kept = self.other.take().unwrap_or_else(|| Box::new(self.clone()));
        kept.keep(view, let_go);
        self.other = Some(kept);
    }

    /// The second record, if there is one.
    #[must_use]
    pub fn other(&self) -> Option<&BackoffRecord> {
        self.other.as_deref()
    }

    /// Empties the record after a restart (SY-10). 1.36 then takes pods that are neither recorded nor counted; other
    /// controllers may take every pod that holds the finalizer.
    pub fn lose(&mut self) {
        let other = BackoffRecord { takes_listed: true, ..BackoffRecord::default() };
        *self = BackoffRecord { other: Some(Box::new(other)), ..BackoffRecord::default() };
    }
}

#[cfg(test)]
mod tests;
