//! Deletions by the process whose effect it does not know, or expects in another way.

use super::History;
use crate::validate::entry::Entry;
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

    /// Number of deletions by the process in the current sync.
    #[must_use]
    pub fn deletions_of_sync(&self) -> usize {
        self.deleted_in_sync().count()
    }

    fn deleted_in_sync(&self) -> impl Iterator<Item = &Entry> {
        let of_sync = self.range(self.sync_start, self.end());
        of_sync.filter(|entry| matches!(entry.own, Some(OwnWrite::Delete)))
    }

    /// Forgets the deletions of the current sync, since it got no response.
    pub fn unhear_deletions(&mut self) {
        let deleted = self.deleted_in_sync();
        for uid in deleted.map(|entry| entry.uid).collect::<Vec<_>>() {
            self.disown(uid, |write| matches!(write, OwnWrite::Delete));
        }
    }
}
