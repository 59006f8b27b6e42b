//! The incremental states of a [`History`] against a slow replay from the start.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::pods::Pods;
use proptest::prelude::*;

use super::super::own_write::OwnWrite;
use super::{History, Position};

/// Pods in a state, by UID.
type State = BTreeMap<Uid, Pod>;

fn state(pods: &Pods) -> State {
    pods.iter().map(|pod| (pod.uid, pod.clone())).collect()
}

/// An entry with the arguments of [`History::push`] or [`History::push_perhaps`].
#[derive(Clone, Debug)]
struct Pushed {
    uid: Uid,
    after: Option<Pod>,
    own: Option<OwnWrite>,
    perhaps: Option<OwnWrite>,
    early: Position,
}

/// A slow second implementation of [`History`]: it keeps all entries, and computes every state from them.
#[derive(Debug, Default)]
struct Replay {
    entries: Vec<Pushed>,
    start: Position,
    sync_start: Position,
    forgets_deletions: bool,
}

impl Replay {
    fn end(&self) -> Position {
        self.entries.len() as Position
    }

    fn uids(&self) -> impl Iterator<Item = Uid> {
        let uids: std::collections::BTreeSet<Uid> = self.entries.iter().map(|entry| entry.uid).collect();
        uids.into_iter()
    }

    /// The pod after the first `position` entries.
    fn stored(&self, uid: Uid, position: Position) -> Option<Pod> {
        let before = &self.entries[..position as usize];
        before.iter().rev().find(|entry| entry.uid == uid).and_then(|entry| entry.after.clone())
    }

    /// Returns the pod in the cache, and the pod after the writes of the sync. The cache has read `base`, and the own
    /// writes from position `from` on are folded in.
    fn folded(&self, uid: Uid, base: Option<Pod>, from: Position) -> (Option<Pod>, Option<Pod>) {
        let from = from.max(self.start);
        let own =
            (from..self.end()).map(|at| (at, &self.entries[at as usize])).filter(|(_, it)| it.uid == uid);
        own.fold((base.clone(), base), |(cached, post), (at, entry)| {
            match (&entry.own, at < self.sync_start) {
                (None, _) => (cached, post),
                (Some(OwnWrite::Delete), true) if self.forgets_deletions => (cached, post),
                (Some(OwnWrite::Miss), true) => {
                    (OwnWrite::RemoveFinalizer.fold(cached), OwnWrite::RemoveFinalizer.fold(post))
                }
                (Some(_), true) => (entry.after.clone(), entry.after.clone()),
                (Some(write), false) if write.precedes_the_count() => (write.fold(cached), write.fold(post)),
                (Some(write), false) => (cached, write.fold(post)),
            }
        })
    }

    /// Returns three sets of pods at a position, with the later entries `pulled` included:
    ///
    /// - the pods in the cache that have a controller
    /// - the pods that have a controller after the writes of the sync
    /// - the pods without a controller after the writes of the sync
    fn states(&self, position: Position, pulled: &[Position]) -> (State, State, State) {
        let (mut cache, mut post, mut ownerless) = (State::new(), State::new(), State::new());
        for uid in self.uids() {
            let mut both = self.folded(uid, self.stored(uid, position), position);
            for at in pulled.iter().filter(|at| self.entries[**at as usize].uid == uid) {
                let entry = &self.entries[*at as usize];
                both = match &entry.perhaps {
                    None => self.folded(uid, entry.after.clone(), at + 1),
                    Some(write) if write.precedes_the_count() => {
                        (write.fold(both.0.filter(|pod| pod.controlled)), write.fold(both.1))
                    }
                    Some(write) => (both.0, write.fold(both.1)),
                };
            }
            cache.extend(both.0.filter(|pod| pod.controlled).map(|pod| (uid, pod)));
            if let Some(pod) = both.1 {
                if pod.controlled { &mut post } else { &mut ownerless }.insert(uid, pod);
            }
        }
        (cache, post, ownerless)
    }

    /// The later entries that a view at this position may contain.
    fn floating(&self, position: Position) -> Vec<Position> {
        (position..self.end())
            .filter(|at| {
                let entry = &self.entries[*at as usize];
                entry.early <= position && (entry.early < *at || entry.perhaps.is_some())
            })
            .collect()
    }

    fn disown(&mut self, is_meant: impl Fn(&Pushed, Position) -> bool) {
        for at in self.start..self.end() {
            if is_meant(&self.entries[at as usize], at) {
                self.entries[at as usize].own = None;
            }
        }
    }
}

/// One operation. A `u8` for a position is a fraction of the range of valid positions, from 0 to 255.
#[derive(Clone, Debug)]
enum Step {
    Push { pod: Change, own: Option<OwnWrite>, early: u8 },
    PushPerhaps { pod: Change, write: OwnWrite, early: u8 },
    EndSync,
    SetSyncStart(u8),
    Seek(u8),
    Pull(u32),
    ForgetBefore(u8),
    ForgetDeletions(bool),
    ForgetMisses,
    UnhearRemoval(u8),
    Unhear(u8),
    Acknowledge(u8, OwnWrite),
    Settle,
}

#[derive(Clone, Debug)]
struct Change {
    uid: Uid,
    after: Option<Pod>,
}

fn pods() -> impl Strategy<Value = Pod> {
    let phases = prop::sample::select(vec![Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed]);
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.8));
    (0..4_u128, phases, flags).prop_map(|(uid, phase, (finalizer, deleting, controlled))| Pod {
        phase,
        finalizer,
        deleting,
        controlled,
        ..Pod::new(Uid(uid))
    })
}

fn changes() -> impl Strategy<Value = Change> {
    (pods(), prop::bool::weighted(0.8))
        .prop_map(|(pod, exists)| Change { uid: pod.uid, after: exists.then_some(pod) })
}

fn writes() -> impl Strategy<Value = OwnWrite> {
    prop_oneof![
        pods().prop_map(|pod| OwnWrite::Create(Box::new(pod))),
        pods().prop_map(|pod| OwnWrite::Adopt(Box::new(Pod { controlled: true, ..pod }))),
        Just(OwnWrite::RemoveFinalizer),
        Just(OwnWrite::Delete),
        Just(OwnWrite::Release),
        Just(OwnWrite::Miss),
    ]
}

/// The write, about this pod.
fn about(write: OwnWrite, uid: Uid) -> OwnWrite {
    match write {
        OwnWrite::Create(pod) => OwnWrite::Create(Box::new(Pod { uid, ..*pod })),
        OwnWrite::Adopt(pod) => OwnWrite::Adopt(Box::new(Pod { uid, ..*pod })),
        other => other,
    }
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (changes(), prop::option::of(writes()), any::<u8>())
            .prop_map(|(pod, own, early)| Step::Push { own: own.map(|own| about(own, pod.uid)), pod, early }),
        3 => (changes(), writes(), any::<u8>())
            .prop_map(|(pod, write, early)| Step::PushPerhaps { write: about(write, pod.uid), pod, early }),
        2 => Just(Step::EndSync),
        1 => any::<u8>().prop_map(Step::SetSyncStart),
        6 => any::<u8>().prop_map(Step::Seek),
        4 => any::<u32>().prop_map(Step::Pull),
        1 => any::<u8>().prop_map(Step::ForgetBefore),
        1 => any::<bool>().prop_map(Step::ForgetDeletions),
        1 => Just(Step::ForgetMisses),
        1 => (0..4_u8).prop_map(Step::UnhearRemoval),
        1 => any::<u8>().prop_map(Step::Unhear),
        1 => (0..4_u8, writes())
            .prop_map(|(uid, write)| Step::Acknowledge(uid, about(write, Uid(uid.into())))),
        1 => Just(Step::Settle),
    ]
}

/// A position between two others.
fn between(fraction: u8, from: Position, to: Position) -> Position {
    from + (to - from) * Position::from(fraction) / 255
}

fn apply(step: Step, history: &mut History, replay: &mut Replay) -> Vec<Position> {
    let (start, end) = (replay.start, replay.end());
    match step {
        Step::Push { pod: Change { uid, after }, own, early } => {
            let early = between(early, start, end);
            history.push(uid, after.clone(), own.clone(), early);
            replay.entries.push(Pushed { uid, after, own, perhaps: None, early });
        }
        Step::PushPerhaps { pod: Change { uid, after }, write, early } => {
            let early = between(early, start, end);
            history.push_perhaps(uid, after.clone(), write.clone(), early);
            replay.entries.push(Pushed { uid, after, own: None, perhaps: Some(write), early });
        }
        Step::EndSync => {
            history.end_sync();
            replay.sync_start = end;
        }
        Step::SetSyncStart(fraction) => {
            replay.sync_start = between(fraction, start, end);
            history.set_sync_start(replay.sync_start);
        }
        Step::Seek(fraction) => history.seek(between(fraction, start, end)),
        Step::Pull(mask) => {
            let floating = history.floating();
            let chosen = floating.iter().enumerate().filter(|(bit, _)| mask >> (bit % 32) & 1 == 1);
            let pulled: Vec<Position> = chosen.map(|(_, position)| *position).collect();
            history.pull(&pulled);
            return pulled;
        }
        Step::ForgetBefore(fraction) => {
            replay.start = between(fraction, start, end);
            replay.sync_start = replay.sync_start.max(replay.start);
            history.forget_before(replay.start);
        }
        Step::ForgetDeletions(forgets) => {
            history.forget_deletions(forgets);
            replay.forgets_deletions = forgets;
        }
        Step::ForgetMisses => {
            history.forget_misses();
            replay.disown(|entry, _| matches!(entry.own, Some(OwnWrite::Miss)));
        }
        Step::UnhearRemoval(uid) => {
            let uid = Uid(uid.into());
            history.unhear_release(uid);
            replay
                .disown(|entry, _| entry.uid == uid && matches!(entry.own, Some(OwnWrite::RemoveFinalizer)));
        }
        Step::Unhear(fraction) => {
            let at = between(fraction, start, end);
            if let Some(uid) = replay.entries.get(at as usize).map(|entry| entry.uid) {
                history.unhear(uid, at);
                replay.disown(|_, position| position == at);
            }
        }
        Step::Acknowledge(uid, write) => {
            let uid = Uid(uid.into());
            history.acknowledge(uid, write.clone());
            let kept = &mut replay.entries[start as usize..];
            if let Some(last) = kept.iter_mut().rev().find(|entry| entry.uid == uid) {
                last.own.get_or_insert(write);
            }
        }
        Step::Settle => {
            history.settle();
            (replay.start, replay.sync_start) = (end, end);
        }
    }
    Vec::new()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_state_is_that_of_a_replay_from_the_start(steps in prop::collection::vec(steps(), 1..40)) {
        let (mut history, mut replay) = (History::default(), Replay::default());
        for step in steps {
            let pulled = apply(step.clone(), &mut history, &mut replay);
            let at = history.position();
            prop_assert_eq!((history.start(), history.end()), (replay.start, replay.end()));
            prop_assert_eq!(history.floating(), replay.floating(at), "after {:?}", step);
            let (cache, post, ownerless) = replay.states(at, &pulled);
            prop_assert_eq!(state(history.cache()), cache, "cache at {} with {:?} after {:?}", at, pulled, step);
            prop_assert_eq!(state(history.post()), post, "post at {} with {:?} after {:?}", at, pulled, step);
            prop_assert_eq!(state(history.post_ownerless()), ownerless, "at {} with {:?} after {:?}", at, pulled, step);
            // A search always ends without pulled entries.
            history.pull(&[]);
            prop_assert_eq!(state(history.cache()), replay.states(at, &[]).0, "after {:?} and an empty pull", step);
        }
    }

    #[test]
    fn every_position_can_be_reached_from_every_other(
        steps in prop::collection::vec(steps(), 1..30),
        positions in prop::collection::vec(any::<u8>(), 1..10),
    ) {
        let (mut history, mut replay) = (History::default(), Replay::default());
        for step in steps {
            apply(step, &mut history, &mut replay);
            history.pull(&[]);
        }
        for fraction in positions {
            let position = between(fraction, replay.start, replay.end());
            history.seek(position);
            prop_assert_eq!(history.position(), position);
            let (cache, post, ownerless) = replay.states(position, &[]);
            prop_assert_eq!(
                (state(history.cache()), state(history.post()), state(history.post_ownerless())),
                (cache, post, ownerless)
            );
        }
    }
}

fn pod(uid: u128) -> Pod {
    Pod { finalizer: true, ..Pod::new(Uid(uid)) }
}

#[test]
fn a_cache_lags_behind_but_contains_the_writes_of_its_process() {
    let mut history = History::default();
    let created = pod(1);
    history.push(created.uid, Some(created.clone()), Some(OwnWrite::Create(Box::new(created.clone()))), 0);
    history.end_sync();
    let failed = Pod { phase: Phase::Failed, ..created.clone() };
    history.push(failed.uid, Some(failed.clone()), None, 1);
    history.seek(0);
    // The creation is known by its response, the failure is not visible yet.
    assert_eq!(state(history.cache()), [(created.uid, created)].into());
    history.seek(history.end());
    assert_eq!(state(history.cache()), [(failed.uid, failed)].into());
}

#[test]
fn a_creation_of_the_current_sync_is_visible_only_after_its_writes() {
    let mut history = History::default();
    let created = pod(1);
    history.push(created.uid, Some(created.clone()), Some(OwnWrite::Create(Box::new(created.clone()))), 0);
    history.seek(0);
    assert!(history.cache().is_empty());
    assert_eq!(state(history.post()), [(created.uid, created)].into());
    assert!(history.shows_earlier_gains(0));
    history.end_sync();
    assert!(!history.shows_earlier_gains(0) && history.shows_earlier_gains(1));
}

#[test]
fn deletions_of_earlier_syncs_may_be_invisible_once_their_finalizer_is_removed() {
    let mut history = History::default();
    let held = pod(1);
    let removed = Pod { finalizer: false, ..held.clone() };
    let deleted = Pod { deleting: true, ..removed.clone() };
    history.push(held.uid, Some(held), None, 0);
    history.push(removed.uid, Some(removed), Some(OwnWrite::RemoveFinalizer), 1);
    history.push(deleted.uid, Some(deleted), Some(OwnWrite::Delete), 2);
    assert_eq!(history.finalizers_removed_in_sync(), [Uid(1)]);
    assert!(!history.lacks_earlier_deletions(0));
    history.end_sync();
    assert!(history.finalizers_removed_in_sync().is_empty());
    assert!(history.lacks_earlier_deletions(0) && !history.lacks_earlier_deletions(3));
}

#[test]
fn a_reorderable_entry_is_floating_at_positions_before_it() {
    let mut history = History::default();
    history.push(Uid(1), Some(pod(1)), None, 0);
    history.push(Uid(2), Some(pod(2)), None, 1);
    history.push(Uid(2), None, None, 1);
    history.seek(0);
    assert!(history.floating().is_empty());
    history.seek(1);
    assert_eq!(history.floating(), [2]);
    history.seek(2);
    assert_eq!(history.floating(), [2]);
    history.pull(&[2]);
    assert_eq!(history.cache().len(), 1);
    history.pull(&[]);
    assert_eq!(history.cache().len(), 2);
}
