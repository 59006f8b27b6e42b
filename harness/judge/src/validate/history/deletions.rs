//! Deletions by the process whose effect it does not know, or expects in another way.

use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use rustc_hash::FxHashMap;

use super::{History, Position};
use crate::validate::entry::Entry;
use crate::validate::lost_requests::{Kind, PodWrite};
use crate::validate::own_write::OwnWrite;

impl History {
    /// H1: returns `true` if terminating pods changed as often as earlier syncs asked for deletions, before the last of
    /// these deletions was made. A controller that counts deletions then waits for no more.
    #[must_use]
    pub fn counts_deletions_early(&self) -> bool {
        let asked = |entry: &&Entry| matches!(entry.own, Some(OwnWrite::Delete));
        let terminates = |entry: &&Entry| entry.after.as_ref().is_none_or(|pod| pod.deleting);
        let wanted = self.range(self.start, self.sync_start).filter(asked).count();
        let since = self.range(self.start, self.sync_start).skip_while(|entry| !asked(entry));
        let mut asked_for = 0;
        let before_last = since.take_while(|entry| {
            asked_for += usize::from(asked(entry));
            asked_for < wanted
        });
        wanted > 1 && before_last.filter(terminates).count() >= wanted
    }

    /// The time since which each pod is being deleted, in microseconds, as far as the history has it.
    #[must_use]
    pub fn deletion_times(&self) -> FxHashMap<Uid, Option<i64>> {
        let is_deleted = |pod: &Option<Pod>| pod.as_ref().is_some_and(|pod| pod.deleting);
        let deletes = |entry: &&Entry| !is_deleted(&entry.before) && is_deleted(&entry.after);
        let all = self.range(self.start, self.end()).filter(deletes);
        all.map(|entry| (entry.uid, entry.written)).collect()
    }

    /// Returns `true` if a pod has lost its finalizer in the current sync.
    #[must_use]
    pub fn loses_finalizer_in_sync(&self) -> bool {
        let holds = |pod: &Option<Pod>| pod.as_ref().is_some_and(|pod| pod.finalizer);
        let mut of_sync = self.range(self.sync_start.max(self.start), self.end());
        of_sync.any(|entry| holds(&entry.before) && !holds(&entry.after))
    }

    /// The writes of the process to pods in the current sync.
    #[must_use]
    pub(in crate::validate) fn written_in_sync(&self) -> Vec<PodWrite> {
        let from = self.sync_start.max(self.start);
        let of_sync = (from..).zip(self.range(from, self.end()));
        let write = |(at, entry): (Position, &Entry)| {
            let kind = Kind::of(entry.own.as_ref()?);
            Some(PodWrite { uid: entry.uid, at, written: entry.written, kind })
        };
        of_sync.filter_map(write).collect()
    }
}
