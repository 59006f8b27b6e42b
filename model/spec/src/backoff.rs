//! The backoff record in the memory of a controller: failures that delay the next pod (BO-01, BO-03, BO-05).

use std::collections::BTreeSet;

use crate::pod::Pod;
use crate::time::Time;
use crate::uid::Uid;
use crate::view::{Backoff, View};

/// The backoff record of one Job, with the UIDs of the pods that it contains.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct BackoffRecord {
    record: Backoff,
    recorded: BTreeSet<Uid>,
}

impl BackoffRecord {
    /// The record that a sync uses after it has read this view. Each pod enters once (BO-03).
    ///
    /// A success resets the record: only failures after the last success count.
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

    /// Stores the record after a successful status write that was decided from this view (BO-05).
    pub fn keep(&mut self, view: &View<'_>) {
        if delays_nothing(view) {
            return;
        }
        self.record = self.in_view(view);
        self.recorded.extend(view.new_successes().chain(view.new_failures()).map(|pod| pod.uid));
    }

    /// The same record with other UIDs for its pods.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(Uid) -> Uid) -> BackoffRecord {
        let BackoffRecord { record, recorded } = self;
        BackoffRecord { record: *record, recorded: recorded.iter().map(|uid| name(*uid)).collect() }
    }
}

/// Returns whether the record delays no creation: limits are per index, or the delay is 0.
fn delays_nothing(view: &View<'_>) -> bool {
    view.spec().backoff_limit_per_index.is_some() || view.constants.pod_failure_backoff_ms == 0
}

fn count(items: impl Iterator<Item = Time>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
