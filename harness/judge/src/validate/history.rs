//! The history of the pods of one Job, and every state that a Pod cache may have been in.
//!
//! A cache is a prefix of the history, and its process also knows its own writes (`docs/reference/judging.md`, *View
//! and truth*). A state of a cache is therefore a position in the history, with the process's own later writes folded
//! in. Two states can move along it: the pods that the sync read ([`History::cache`]), and the same with the writes of
//! the sync itself ([`History::post`]; see [`jobcheck_spec::view::View`]).

use std::collections::{BTreeSet, VecDeque};

use jobcheck_spec::Uid;
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::pods::Pods;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::clock::Written;
use super::entry::{Dropped, Entry, Next};
use super::observed::{Reach, Seen};
use super::own_write::OwnWrite;
use super::ownerless::put;

/// A position in the history: the number of entries before it.
pub type Position = u64;

/// The history of the pods of one Job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct History {
    /// The pods in etcd that the Job controls.
    pub stored: Pods,
    /// The pods in etcd that the Job controlled, that have no controller now, and that hold its finalizer.
    pub ownerless: Pods,
    /// The pods that were counted, and hold the finalizer again (S-05).
    pub settled: BTreeSet<Uid>,
    entries: VecDeque<Entry>,
    /// Position of the first kept entry.
    start: Position,
    /// The dropped entries.
    dropped: Dropped,
    /// Own writes before this position belong to earlier syncs.
    sync_start: Position,
    /// The position of [`History::cache`] and [`History::post`].
    at: Position,
    cache: Pods,
    post: Pods,
    /// The pods in [`History::post`] without a controller.
    post_ownerless: Pods,
    /// The positions of own writes by pod, oldest first.
    own: FxHashMap<Uid, Vec<Position>>,
    /// Later entries that the current states contain.
    pulled: Vec<Position>,
    /// Caches may lack deletions of earlier syncs (J-01).
    forgets_deletions: bool,
    /// The next entry.
    next: Next,
}

impl History {
    /// The position behind the last entry.
    #[must_use]
    pub fn end(&self) -> Position {
        self.start + self.entries.len() as u64
    }

    /// The current position.
    #[must_use]
    pub fn position(&self) -> Position {
        self.at
    }

    /// The pods in the cache at the current position.
    #[must_use]
    pub fn cache(&self) -> &Pods {
        &self.cache
    }

    /// The pods at the current position after the writes of the sync.
    #[must_use]
    pub fn post(&self) -> &Pods {
        &self.post
    }

    /// The pods without a controller after the writes of the sync.
    #[must_use]
    pub fn post_ownerless(&self) -> &Pods {
        &self.post_ownerless
    }

    /// A pod that the Job controls, or did.
    #[must_use]
    pub fn known(&self, uid: Uid) -> Option<&Pod> {
        self.stored.get(uid).or_else(|| self.ownerless.get(uid))
    }

    /// The pods with the tracking finalizer.
    pub fn holders_of_finalizers(&self) -> impl Iterator<Item = Uid> {
        let held = self.stored.iter().filter(|pod| pod.finalizer);
        held.chain(self.ownerless.iter()).map(|pod| pod.uid)
    }

    /// Returns `true` if there are any.
    #[must_use]
    pub fn holds_finalizers(&self) -> bool {
        self.holders_of_finalizers().next().is_some()
    }

    /// Appends a new state of a pod in etcd. A view may contain it from position `early` on.
    pub fn push(&mut self, uid: Uid, after: Option<Pod>, own: Option<OwnWrite>, early: Position) {
        let before = put(&mut self.stored, &mut self.ownerless, uid, after.clone());
        let position = self.end();
        if let Some(write) = &own {
            self.own.entry(uid).or_default().push(position);
            self.fold_in(uid, write);
        }
        let early = self.next.early.map_or(early, |loose| early.min(loose)).clamp(self.start, position);
        let version = self.next.version;
        let written = self.next.written.leaves(after.as_ref()).behind(self.written_before(position));
        self.entries.push_back(Entry { uid, before, after, own, early, perhaps: None, version, written });
    }

    /// Sets the `resourceVersion` of the next entries; returns the previous one.
    pub fn take_in(&mut self, version: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.next.version, version)
    }

    /// Notes that the next entries have their earliest places ([`Next::places_early`]).
    pub fn places_early(&mut self, until: i64) {
        self.next.places_early(self.end(), until);
    }

    /// Sets when the request of the next entries was received.
    pub fn receives(&mut self, received: Option<i64>) {
        self.next.receives(received);
    }

    /// Sets the time of the next entries; returns the previous one.
    pub fn date(&mut self, written: Written) -> Written {
        std::mem::replace(&mut self.next.written, written)
    }

    /// Lower bound for the time of the content of a cache at this position, in microseconds. Reorderable entries behind
    /// the position give no bound.
    fn written_before(&self, position: Position) -> Option<i64> {
        match position.checked_sub(self.start + 1) {
            Some(last) => self.entries.get(last as usize).and_then(|entry| entry.written),
            None => self.dropped.written,
        }
    }

    /// The same for the current position.
    #[must_use]
    pub fn written(&self) -> Option<i64> {
        self.written_before(self.at)
    }

    /// The positions of a cache that had come this far.
    #[must_use]
    pub fn reach(&self, seen: Seen) -> Reach {
        Reach::behind(self.entries.iter().map(|entry| entry.version), self.start, seen)
    }

    /// The last `resourceVersion` before the first kept entry.
    #[must_use]
    pub fn dropped_version(&self) -> Option<u64> {
        self.dropped.version
    }

    /// The position of the first kept entry.
    #[must_use]
    pub fn start(&self) -> Position {
        self.start
    }

    /// Folds a write of the process into the current states.
    fn fold_in(&mut self, uid: Uid, write: &OwnWrite) {
        if write.precedes_the_count() {
            let before = self.cache.get(uid).cloned();
            self.cache.set(uid, write.fold(before).filter(|pod| pod.controlled));
        }
        let before = self.post.get(uid).or_else(|| self.post_ownerless.get(uid)).cloned();
        put(&mut self.post, &mut self.post_ownerless, uid, write.fold(before));
    }

    /// Appends a state of a pod that may be the manager's doing. A view may contain it from `early` on.
    pub fn push_perhaps(&mut self, uid: Uid, after: Option<Pod>, write: OwnWrite, early: Position) {
        self.push(uid, after, None, early);
        if let Some(entry) = self.entries.back_mut() {
            entry.perhaps = Some(write);
        }
    }

    /// Ends a sync at a status write: earlier writes of the process belong to an earlier sync.
    pub fn end_sync(&mut self) {
        self.set_sync_start(self.end());
    }

    /// The position at which the current sync began.
    #[must_use]
    pub fn sync_start(&self) -> Position {
        self.sync_start
    }

    /// The pods whose finalizer the process has removed in the current sync.
    #[must_use]
    pub fn finalizers_removed_in_sync(&self) -> Vec<Uid> {
        self.finalizer_removals().map(|entry| entry.uid).collect()
    }

    /// Number of succeeded, unrecorded pods whose finalizer the current sync has removed: pods of newly completed
    /// indexes.
    #[must_use]
    pub fn new_successes_removed(&self, is_listed: impl Fn(Uid) -> bool) -> usize {
        let ended_well = |pod: &Pod| pod.phase == Phase::Succeeded && !is_listed(pod.uid);
        self.finalizer_removals().filter(|entry| entry.before.as_ref().is_some_and(ended_well)).count()
    }

    fn finalizer_removals(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.range(self.sync_start, self.end());
        entries.filter(|entry| matches!(entry.own, Some(OwnWrite::RemoveFinalizer)))
    }

    /// Sets the position at which the current sync began.
    pub fn set_sync_start(&mut self, position: Position) {
        let position = position.clamp(self.start, self.end());
        let (from, to) = (position.min(self.sync_start), position.max(self.sync_start));
        self.sync_start = position;
        let written: Vec<Uid> =
            self.range(from, to).filter(|entry| entry.own.is_some()).map(|entry| entry.uid).collect();
        for uid in written {
            self.restore(uid);
        }
    }

    /// Returns `true` if the cache at `position` contains every pod that the process created or adopted in earlier
    /// syncs (PC-27).
    #[must_use]
    pub fn shows_earlier_gains(&self, position: Position) -> bool {
        !self.range(position, self.sync_start).any(|entry| matches!(entry.own, Some(OwnWrite::Create(_))))
    }

    /// Returns `true` if the cache at `position` may lack a deletion by an earlier sync, which had removed the
    /// finalizer before (PC-26).
    #[must_use]
    pub fn lacks_earlier_deletions(&self, position: Position) -> bool {
        let uncounted = |pod: &Option<Pod>| pod.as_ref().is_some_and(|pod| !pod.finalizer);
        self.range(position, self.sync_start).any(|entry| match entry.own {
            Some(OwnWrite::Delete) => uncounted(&entry.before),
            Some(OwnWrite::Miss) => true,
            _ => false,
        })
    }

    /// Notes a write of the process that changed nothing. Its response shows the process what another actor had done to
    /// the pod.
    pub fn acknowledge(&mut self, uid: Uid, write: OwnWrite) {
        let Some(number) = self.entries.iter().rposition(|entry| entry.uid == uid) else { return };
        let entry = &mut self.entries[number];
        if entry.own.is_some() {
            return;
        }
        entry.own = Some(write);
        self.own.entry(uid).or_default().push(self.start + number as u64);
        self.restore(uid);
    }

    /// Forgets responses to a replaced process.
    pub fn forget_misses(&mut self) {
        let missed = self.entries.iter().filter(|entry| matches!(entry.own, Some(OwnWrite::Miss)));
        for uid in missed.map(|entry| entry.uid).collect::<Vec<_>>() {
            self.disown(uid, |write| matches!(write, OwnWrite::Miss));
        }
    }

    /// Forgets that the process removed the finalizer of a pod, since it got no response.
    pub fn unhear_release(&mut self, uid: Uid) {
        self.disown(uid, |write| matches!(write, OwnWrite::RemoveFinalizer));
    }

    /// Forgets an own write: it came from another process.
    pub fn unhear(&mut self, uid: Uid, at: Position) {
        if at < self.start || at >= self.end() {
            return;
        }
        let own = self.entries.get_mut((at - self.start) as usize).filter(|entry| entry.uid == uid);
        if own.and_then(|entry| entry.own.take()).is_none() {
            return;
        }
        if let Some(positions) = self.own.get_mut(&uid) {
            positions.retain(|position| *position != at);
        }
        self.own.retain(|_, positions| !positions.is_empty());
        self.restore(uid);
    }

    fn disown(&mut self, uid: Uid, is_meant: impl Fn(&OwnWrite) -> bool) {
        let Some(positions) = self.own.get_mut(&uid) else { return };
        let (start, entries) = (self.start, &mut self.entries);
        positions.retain(|position| {
            let own = &mut entries[(*position - start) as usize].own;
            let is_meant = own.as_ref().is_some_and(&is_meant);
            *own = own.take().filter(|_| !is_meant);
            !is_meant
        });
        if positions.is_empty() {
            self.own.remove(&uid);
        }
        self.restore(uid);
    }

    /// Lets views lack deletions of earlier syncs (J-01), or no longer.
    pub fn forget_deletions(&mut self, forgets: bool) {
        self.forgets_deletions = forgets;
        let written: Vec<Uid> = self.own.keys().copied().collect();
        for uid in written {
            self.restore(uid);
        }
    }

    /// Returns `true` if a cache at `position` lacks this pod.
    #[must_use]
    pub fn gains_after(&self, position: Position, uid: Uid) -> bool {
        let owned = |pod: &Option<Pod>| pod.as_ref().is_some_and(|pod| pod.controlled);
        self.range(position, self.end())
            .any(|entry| entry.uid == uid && !owned(&entry.before) && owned(&entry.after))
    }

    /// The states of pods in caches from `position` on.
    pub fn states_since(&self, position: Position) -> impl Iterator<Item = &Pod> {
        let past = self.range(position, self.end()).flat_map(|entry| [&entry.before, &entry.after]);
        past.flatten().chain(self.stored.iter())
    }

    /// Moves both states to `position`, without reorderable entries.
    pub fn seek(&mut self, position: Position) {
        self.pull(&[]);
        while self.at < position.min(self.end()) {
            self.at += 1;
            self.refresh(self.at - 1, true);
        }
        while self.at > position.max(self.start) {
            self.at -= 1;
            self.refresh(self.at, false);
        }
    }

    /// The entries behind the current position that a view at this position may contain.
    #[must_use]
    pub fn floating(&self) -> Vec<Position> {
        const FAR: usize = 4096;
        let offset = (self.at - self.start) as usize;
        (self.at..)
            .zip(self.entries.iter().skip(offset).take(FAR))
            .filter(|(position, entry)| {
                entry.early <= self.at && (entry.early < *position || entry.perhaps.is_some())
            })
            .map(|(position, _)| position)
            .collect()
    }

    /// Returns `true` for an entry whose sender the trace does not show.
    #[must_use]
    pub fn is_unattributed(&self, position: Position) -> bool {
        self.entry(position).perhaps.is_some()
    }

    /// Makes the current states contain exactly these later entries.
    pub fn pull(&mut self, positions: &[Position]) {
        let previous = std::mem::take(&mut self.pulled);
        for position in previous {
            let uid = self.entry(position).uid;
            self.restore(uid);
        }
        for position in positions {
            let entry = self.entry(*position);
            let (uid, after) = (entry.uid, entry.after.clone());
            match entry.perhaps.clone() {
                // A cache need not contain a write of its own process.
                Some(write) => self.fold_in(uid, &write),
                None => self.set_folded(uid, after, position + 1),
            }
            self.pulled.push(*position);
        }
    }

    /// Drops entries that every view contains.
    pub fn forget_before(&mut self, position: Position) {
        let position = position.min(self.end());
        if position <= self.start {
            return;
        }
        if self.at < position {
            self.seek(position);
        }
        for _ in self.start..position {
            let entry = self.entries.pop_front();
            self.dropped.version = entry.as_ref().and_then(|entry| entry.version).max(self.dropped.version);
            self.dropped.written = entry.as_ref().and_then(|entry| entry.written);
            if let Some(entry) = entry.filter(|entry| entry.own.is_some()) {
                self.forget_own(entry.uid, position);
            }
        }
        self.start = position;
        self.sync_start = self.sync_start.max(position);
    }

    /// Drops all lag: every view contains the state of etcd.
    pub fn settle(&mut self) {
        self.seek(self.end());
        self.sync_start = self.end();
        self.forget_before(self.end());
        self.dropped.written = None;
    }

    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.own.shrink_to_fit();
        self.pulled = Vec::new();
    }

    fn forget_own(&mut self, uid: Uid, position: Position) {
        if let Some(positions) = self.own.get_mut(&uid) {
            positions.retain(|own| *own >= position);
            if positions.is_empty() {
                self.own.remove(&uid);
            }
        }
    }

    fn entry(&self, position: Position) -> &Entry {
        &self.entries[(position - self.start) as usize]
    }

    fn range(&self, from: Position, to: Position) -> impl Iterator<Item = &Entry> {
        let from = from.max(self.start);
        let to = to.min(self.end());
        let (skip, take) = ((from - self.start) as usize, to.saturating_sub(from) as usize);
        self.entries.iter().skip(skip).take(take)
    }

    /// Sets a pod after a step over the entry at `position`, forward or backward.
    fn refresh(&mut self, position: Position, forward: bool) {
        let entry = self.entry(position);
        let uid = entry.uid;
        let base = if forward { entry.after.clone() } else { entry.before.clone() };
        let from = if forward { position + 1 } else { position };
        self.set_folded(uid, base, from);
    }

    /// Recomputes the state of a pod at the current position from the entries.
    fn restore(&mut self, uid: Uid) {
        let later = self.range(self.at, self.end()).find(|entry| entry.uid == uid);
        let base = match later {
            Some(entry) => entry.before.clone(),
            None => self.known(uid).cloned(),
        };
        self.set_folded(uid, base, self.at);
    }

    /// Folds the own writes from `from` on into `base`, and sets the pod.
    fn set_folded(&mut self, uid: Uid, base: Option<Pod>, from: Position) {
        let mut cached = base.clone();
        let mut left = base;
        if let Some(positions) = self.own.get(&uid) {
            for position in positions.iter().filter(|position| **position >= from) {
                let entry = &self.entries[(*position - self.start) as usize];
                let Some(write) = entry.own.clone() else { continue };
                let is_earlier = *position < self.sync_start;
                if is_earlier && self.forgets_deletions && matches!(write, OwnWrite::Delete) {
                    continue;
                }
                if is_earlier && matches!(write, OwnWrite::Miss) {
                    // The process still believes the other facts about the pod.
                    cached = OwnWrite::RemoveFinalizer.fold(cached);
                    left = OwnWrite::RemoveFinalizer.fold(left);
                    continue;
                }
                if is_earlier {
                    // An earlier sync knows the response to its write, which is a state of etcd.
                    cached = entry.after.clone();
                    left = cached.clone();
                    continue;
                }
                if write.precedes_the_count() {
                    cached = write.fold(cached);
                }
                left = write.fold(left);
            }
        }
        self.cache.set(uid, cached.filter(|pod| pod.controlled));
        put(&mut self.post, &mut self.post_ownerless, uid, left);
    }
}

mod deletions;
mod extent;
#[cfg(test)]
mod tests;
