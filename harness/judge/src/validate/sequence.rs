//! Puts events into the order in which etcd accepted them (`docs/reference/judging.md`, *Order*).
//!
//! | event | place |
//! | --- | --- |
//! | has a `resourceVersion` of its own ([`super::claims`]) | by this version |
//! | is a removal with an old version or none | behind everything that was answered before it was received |
//! | is an eviction, or the deletion of a collection | the same, and behind states of the pod without a deletion; the clocks of two API servers may differ |
//! | has an old version or none otherwise, such as refusals | behind everything that was answered before it |
//!
//! Audit logs are written in the order of the responses, so both need to look ahead: the reorder window. Watch events beside
//! requests wait for those that were answered earlier, as far as the window reaches. Only events of
//! one namespace are ordered, each namespace in a lane of its own. Logs of several times or clusters can therefore be
//! concatenated.

mod lost;
mod places;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use jobcheck_spec::job::Text;
use jobcheck_traces::Form;
use rustc_hash::FxHashMap;

use super::claims::Claims;
use super::clocks::CLOCKS_DIFFER;
use super::delivery::Delivery;
use super::event::{Arrival, Body, Event, Gap};

/// Maximum distance between two lines in the wrong order, in microseconds of trace time.
pub const WINDOW_MICROS: i64 = 5_000_000;
/// Maximum number of events in the window, in all namespaces together.
pub const WINDOW_EVENTS: usize = 16_384;
/// Number of events of one namespace that are held back however far apart they are, and the window for watch events, which have
/// no times. The order of the lines of a small log therefore changes nothing. A Job controller sends 500 creations at once.
const HELD_EVENTS: usize = 2_048;
/// The reason for the gap between two lists of a watch.
pub(super) const INTERRUPTED: &str = "the watch was interrupted, and the changes in between are not shown";

/// Orders events, and holds back those that an unread line may precede.
#[derive(Debug)]
pub struct Sequencer {
    lanes: FxHashMap<Text, Lane>,
    /// The namespaces that may have events, by the number of their last one.
    waiting: BTreeMap<u64, Text>,
    /// The namespaces whose events were all emitted, in the same way.
    emptied: BTreeMap<u64, Text>,
    /// The places up to which namespaces without a lane were emitted.
    former: FxHashMap<Text, Passed>,
    /// Number of events of one namespace that are held back however far apart they are.
    holds: usize,
    held: usize,
    counter: u64,
}

impl Default for Sequencer {
    fn default() -> Sequencer {
        Sequencer {
            lanes: FxHashMap::default(),
            waiting: BTreeMap::new(),
            emptied: BTreeMap::new(),
            former: FxHashMap::default(),
            holds: HELD_EVENTS,
            held: 0,
            counter: 0,
        }
    }
}

impl Sequencer {
    /// Takes an event, and calls `emit` for each event whose place is certain.
    pub fn push(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        if matches!(event.body, Body::Gap(_) | Body::Restart(_) | Body::Relist(_)) {
            // A mark concerns everything before it.
            self.flush(emit);
            emit(event);
            return;
        }
        if let Some((after, until)) = event.arrival.interrupted {
            self.place(interruption(&event, after, until), emit);
        }
        self.place(event, emit);
    }

    fn place(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        self.counter += 1;
        let namespace = event.namespace.clone();
        let lane = self.lanes.entry(namespace.clone()).or_insert_with(|| Lane {
            passed: self.former.remove(&namespace).unwrap_or_default(),
            ..Lane::default()
        });
        let before = std::mem::replace(&mut lane.touched, self.counter);
        if self.waiting.remove(&before).is_none() {
            self.emptied.remove(&before);
        }
        self.waiting.insert(self.counter, namespace);
        self.held += 1;
        let held = &mut self.held;
        lane.push(event, self.holds, &mut |event| {
            *held -= 1;
            emit(event);
        });
        while self.held > WINDOW_EVENTS && self.shrink(emit) {}
        self.forget_idle();
    }

    /// Emits all events. Later ones have later places.
    pub fn flush(&mut self, emit: &mut impl FnMut(Event)) {
        while self.flush_idlest(emit) {}
    }

    /// Emits the events of the namespace that has been silent for longest, or the first event if there is one namespace.
    /// Events that precede them are late from now on. Returns `false` if there is none.
    fn shrink(&mut self, emit: &mut impl FnMut(Event)) -> bool {
        let Some((touched, namespace)) = self.waiting.first_key_value() else { return false };
        let Some(lane) = self.lanes.get_mut(namespace) else { return self.flush_idlest(emit) };
        if *touched != self.counter {
            lane.passed.up_to(lane.latest);
            return self.flush_idlest(emit);
        }
        let event = lane.first();
        self.held -= usize::from(event.is_some());
        event.into_iter().for_each(&mut *emit);
        true
    }

    /// Emits the events of the namespace that has been silent for longest. Returns `false` if there is none.
    fn flush_idlest(&mut self, emit: &mut impl FnMut(Event)) -> bool {
        let Some((touched, namespace)) = self.waiting.pop_first() else { return false };
        if let Some(lane) = self.lanes.get_mut(&namespace) {
            lane.flush(&mut |event| {
                self.held -= 1;
                emit(event);
            });
        }
        self.emptied.insert(touched, namespace);
        true
    }

    /// Drops the namespaces that have been silent for half a window, and have no events.
    fn forget_idle(&mut self) {
        let idle = self.counter.saturating_sub(WINDOW_EVENTS as u64 / 2);
        while let Some(first) = self.emptied.first_entry().filter(|first| *first.key() < idle) {
            let namespace = first.remove();
            let lane = self.lanes.remove(&namespace);
            if let Some(lane) = lane.filter(|_| self.former.len() < WINDOW_EVENTS) {
                self.former.insert(namespace, lane.passed);
            }
        }
    }
}

/// The gap in a watch that shows an object again. It begins behind the last event before the interruption.
fn interruption(again: &Event, after: u64, until: u64) -> Event {
    let gap = Gap { reason: INTERRUPTED.to_owned(), gone: Vec::new(), until: Some(until) };
    Event {
        order: 0,
        arrival: Arrival::default(),
        delivery: Delivery::default(),
        place: again.place,
        form: again.form,
        when: None,
        actor: None,
        verb: None,
        is_status: false,
        code: again.code,
        version: Some(after),
        answered: None,
        namespace: again.namespace.clone(),
        name: again.name.clone(),
        body: Body::Gap(gap),
    }
}

/// The events of one namespace.
#[derive(Debug, Default)]
struct Lane {
    /// The number of its last event.
    touched: u64,
    by_time: BinaryHeap<Keyed>,
    /// The versions of the events in `by_time`, each with the number of its event.
    versions: BTreeSet<(u64, u64)>,
    by_version: BinaryHeap<Keyed>,
    latest: i64,
    highest: u64,
    passed: Passed,
    counter: u64,
    claims: Claims,
}

/// The place up to which the events of a namespace were ordered.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    /// The time of the last event that was ordered.
    time: i64,
    /// The highest version that was emitted.
    version: u64,
}

impl Passed {
    fn up_to(&mut self, time: i64) {
        self.time = self.time.max(time);
    }

    fn emits(&mut self, event: &Event) {
        self.version = self.version.max(event.version.unwrap_or(0));
    }
}

#[derive(Debug)]
struct Keyed {
    key: (i64, u64, u64),
    event: Event,
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Keyed) -> bool {
        self.key == other.key
    }
}

impl Eq for Keyed {}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Keyed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Keyed {
    /// Reversed, because a binary heap returns its greatest element and the smallest key comes first.
    fn cmp(&self, other: &Keyed) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl Lane {
    fn push(&mut self, mut event: Event, holds: usize, emit: &mut impl FnMut(Event)) {
        self.counter += 1;
        let Passed { time, version } = self.passed;
        let is_open = |own: u64| own >= version;
        event.arrival.late =
            event.when.is_some_and(|when| when.done < time) && !event.version.is_some_and(is_open);
        let done = event.when.map_or(self.latest, |when| when.done);
        self.latest = self.latest.max(done);
        if event.form == Form::Watch || event.when.is_none() {
            self.arrange(event);
            self.emit_ready(emit, HELD_EVENTS, i64::MIN);
            return;
        }
        self.claims.add(&event);
        // A collection is deleted piece by piece, beginning when the request is received. Its API server may have a clock of its own.
        let piecemeal = matches!(event.body, Body::PodCollection(_) | Body::JobCollection(_));
        let begin = event.when.map_or(done, |when| when.received.saturating_sub(CLOCKS_DIFFER));
        let at = if piecemeal { begin } else { done };
        self.versions.extend(event.version.map(|version| (version, self.counter)));
        self.by_time.push(Keyed { key: (at, self.counter, 0), event });
        let ripe = self.latest - WINDOW_MICROS;
        let is_ripe = |heap: &BinaryHeap<Keyed>| {
            let is_old = heap.peek().is_some_and(|first| first.key.0 <= ripe);
            is_old && heap.len() > holds || heap.len() > WINDOW_EVENTS
        };
        while is_ripe(&self.by_time) {
            self.arrange_first();
        }
        // Events that are held back by their number may precede the first one, too.
        let arranged = self.by_time.peek().map_or(ripe, |first| first.key.0.min(ripe));
        self.emit_ready(emit, WINDOW_EVENTS, arranged - WINDOW_MICROS);
    }

    fn arrange_first(&mut self) {
        if let Some(keyed) = self.by_time.pop() {
            self.passed.up_to(keyed.key.0);
            if let Some(version) = keyed.event.version {
                self.versions.remove(&(version, keyed.key.1));
            }
            self.arrange(keyed.event);
        }
    }

    /// Removes the event that seems to be the first.
    fn first(&mut self) -> Option<Event> {
        while self.by_version.is_empty() && !self.by_time.is_empty() || self.by_time.len() > WINDOW_EVENTS / 2
        {
            self.arrange_first();
        }
        while self.waits_for_a_request() {
            self.arrange_first();
        }
        let first = self.by_version.pop()?.event;
        self.passed.emits(&first);
        Some(first)
    }

    /// Returns `true` if the first event by version is one of a watch, and a request may precede it. Watch events have no times.
    /// They are therefore in `by_version` long before the requests that were answered earlier.
    fn waits_for_a_request(&self) -> bool {
        let Some(shown) = self.by_version.peek().filter(|it| it.event.when.is_none()) else { return false };
        let version = shown.event.version.unwrap_or(u64::MAX);
        self.versions.first().is_some_and(|(own, _)| *own <= version)
            || self.by_time.peek().is_some_and(|it| it.event.version.is_none())
    }

    fn flush(&mut self, emit: &mut impl FnMut(Event)) {
        self.versions.clear();
        while let Some(keyed) = self.by_time.pop() {
            self.arrange(keyed.event);
        }
        while let Some(keyed) = self.by_version.pop() {
            self.passed.emits(&keyed.event);
            emit(keyed.event);
        }
    }

    /// Takes an event in the order of the responses. An event without a version of its own is placed behind everything
    /// that was answered before it.
    fn arrange(&mut self, mut event: Event) {
        self.counter += 1;
        let stored = self.find_stored(&mut event);
        self.claims.settle(&mut event);
        let key = match event.version {
            // A request precedes the watch event with the same version, even if the watch was faster than the response.
            Some(version) => {
                let shown = u64::from(event.actor.is_none());
                (i64::try_from(version).unwrap_or(i64::MAX), shown, self.counter)
            }
            // The event is placed behind the version that its response repeats.
            None => {
                event.arrival.has_near_successor = self.may_have_lost(&event);
                let shown = event.answered.max(event.listed()).unwrap_or(0);
                let before = self.highest.max(shown).max(self.may_have_won(&event));
                let before = before.max(self.may_have_been_seen(&event)).max(self.had_been_shown(&event));
                let before = self.superseded(&event).map_or(before, |next| before.min(next - 1));
                let before = self.may_have_gone(&event).unwrap_or(before);
                let before = stored.map_or(before, |version| before.min(version.saturating_sub(1)));
                let before = self.may_have_evicted(&event).unwrap_or(before);
                (i64::try_from(before).unwrap_or(i64::MAX), 2, self.counter)
            }
        };
        // A watch event has no time, and may be far ahead of a log beside it.
        if event.when.is_some() {
            // A response shows that its version had been stored. That of a removal has no place of its own.
            self.highest = self.highest.max(event.version.max(event.answered).unwrap_or(0));
        }
        self.by_version.push(Keyed { key, event });
    }

    /// The events that are not ordered yet.
    fn held(&self) -> impl Iterator<Item = &Event> {
        self.by_time.iter().chain(&self.by_version).map(|keyed| &keyed.event)
    }

    /// The same, with the versions that they seem to have produced. A repeated request has the old version of its object.
    fn versions_of(&self, wanted: impl Fn(&&Event) -> bool) -> impl Iterator<Item = u64> {
        let unsettled = self.by_time.iter().map(|keyed| (&keyed.event, self.claims.own(&keyed.event)));
        let settled = self.by_version.iter().map(|keyed| (&keyed.event, keyed.event.version));
        unsettled.chain(settled).filter(move |(event, _)| wanted(event)).filter_map(|(_, version)| version)
    }

    /// Emits the requests that were answered up to a time, and the first events beyond a number. A request that is not arranged
    /// yet, and has an earlier version, comes first.
    fn emit_ready(&mut self, emit: &mut impl FnMut(Event), capacity: usize, ripe: i64) {
        let has_earlier =
            |lane: &Lane, own: u64| lane.versions.first().is_some_and(|(first, _)| *first < own);
        let is_ready = |lane: &Lane, first: &Event| match first.when {
            Some(when) if when.done <= ripe => true,
            Some(_) => {
                lane.by_version.len() > capacity && !first.version.is_some_and(|it| has_earlier(lane, it))
            }
            None => lane.by_version.len() > HELD_EVENTS && !lane.waits_for_a_request(),
        };
        while self.by_version.peek().is_some_and(|first| is_ready(self, &first.event)) {
            if let Some(keyed) = self.by_version.pop() {
                self.passed.emits(&keyed.event);
                emit(keyed.event);
            }
        }
    }
}

#[cfg(test)]
mod tests;
