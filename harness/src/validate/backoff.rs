//! The global backoff record, as the controller's memory holds it (BO-01, BO-03, BO-05).

use jobcheck_model::pod::Pod;
use jobcheck_model::view::{Backoff, View};
use jobcheck_model::{Time, Uid};
use rustc_hash::FxHashSet;

/// The record of one Job, and which pods are in it.
#[derive(Clone, Debug, Default)]
pub struct BackoffRecord {
    record: Backoff,
    recorded: FxHashSet<Uid>,
    /// The record of a process that keeps it from its decision on, after a status write whose answer was lost.
    unheard: Option<Box<BackoffRecord>>,
}

impl BackoffRecord {
    /// The record of a sync that reads this view: pods in it are not taken again (BO-03).
    #[must_use]
    pub fn in_view(&self, view: &View<'_>) -> Backoff {
        if view.spec().backoff_limit_per_index.is_some() {
            return Backoff::default();
        }
        let fresh = |pod: &&Pod| !self.recorded.contains(&pod.uid);
        let last_success = view.new_successes().filter(fresh).map(ended).max();
        let failures = || view.new_failures().filter(fresh).map(ended);
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

    /// When the last recorded failure ended.
    #[must_use]
    pub fn last_failure(&self) -> Option<Time> {
        self.record.last_failure
    }

    /// A status write of this view succeeded: the record is kept (BO-05).
    pub fn keep(&mut self, view: &View<'_>) {
        if let Some(unheard) = &mut self.unheard {
            unheard.keep(view);
        }
        self.record = self.in_view(view);
        self.recorded.extend(view.new_successes().chain(view.new_failures()).map(|pod| pod.uid));
    }

    /// A status write of this view was stored, and its sender does not know: 1.36 keeps the record after the answer, others
    /// may before the request.
    pub fn keep_perhaps(&mut self, view: &View<'_>) {
        let mut kept = self.unheard.take().unwrap_or_else(|| Box::new(self.clone()));
        kept.keep(view);
        self.unheard = Some(kept);
    }

    /// The other record, if there are two.
    #[must_use]
    pub fn unheard(&self) -> Option<BackoffRecord> {
        self.unheard.as_deref().cloned()
    }

    /// The controller was restarted: its memory is empty (SY-10).
    pub fn lose(&mut self) {
        *self = BackoffRecord::default();
    }
}

fn ended(pod: &Pod) -> Time {
    pod.finished.unwrap_or(pod.created)
}
