//! The global backoff record, as a controller's memory holds it (BO-01, BO-03, BO-05).

use std::collections::BTreeSet;

use crate::pod::Pod;
use crate::time::Time;
use crate::uid::Uid;
use crate::view::{Backoff, View};

/// The record of one Job, and which pods are in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct BackoffRecord {
    record: Backoff,
    recorded: BTreeSet<Uid>,
}

impl BackoffRecord {
    /// The record of a sync that reads this view: pods in it are not taken again (BO-03).
    #[must_use]
    pub fn in_view(&self, view: &View<'_>) -> Backoff {
        if delays_nothing(view) {
            return Backoff::default();
        }
        let fresh = |pod: &&Pod| !self.recorded.contains(&pod.uid);
        let last_success = view.new_successes().filter(fresh).map(Pod::finish_time).max();
        let failures = || view.new_failures().filter(fresh).map(Pod::finish_time);
        match last_success {
            None => Backoff {
                failures: self.record.failures.saturating_add(count(failures())),
                last_failure: failures().max().or(self.record.last_failure),
            },
            Some(success) => {
                let later = || failures().filter(|failure| *failure > success);
                Backoff { failures: count(later()), last_failure: later().max() }
            }
        }
    }

    /// A status write of this view succeeded: the record is kept (BO-05).
    pub fn keep(&mut self, view: &View<'_>) {
        if delays_nothing(view) {
            return;
        }
        self.record = self.in_view(view);
        self.recorded.extend(view.new_successes().chain(view.new_failures()).map(|pod| pod.uid));
    }

    /// The record of pods that bear other UIDs.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(Uid) -> Uid) -> BackoffRecord {
        let BackoffRecord { record, recorded } = self;
        BackoffRecord { record: *record, recorded: recorded.iter().map(|uid| name(*uid)).collect() }
    }
}

/// Whether no creation waits for the record: limits are per index, or delays are switched off.
fn delays_nothing(view: &View<'_>) -> bool {
    view.spec().backoff_limit_per_index.is_some() || view.constants.pod_failure_backoff_ms == 0
}

fn count(items: impl Iterator<Item = Time>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
