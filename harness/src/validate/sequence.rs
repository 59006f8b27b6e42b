//! Brings events into the order in which etcd took them (judging.md 2).
//!
//! `resourceVersion` orders the writes that carry one of their own. Removals and refusals carry none, or an
//! old one; they stand by their time: behind everything that was answered before them. Audit logs are written
//! in the order of the answers, so both need to look ahead a little: the reorder window.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use jobcheck_traces::{Form, Interval};

use super::event::{Body, Event};

/// How far apart, in trace time, two lines may be that stand in the wrong order.
pub const WINDOW_MICROS: i64 = 5_000_000;
/// How many events are looked ahead at most.
pub const WINDOW_EVENTS: usize = 20_000;
/// The same for forms without times.
const WATCH_EVENTS: usize = 256;

/// Puts events in order, holding back those that an unread line may precede.
#[derive(Debug, Default)]
pub struct Sequencer {
    by_time: BinaryHeap<Keyed>,
    by_version: BinaryHeap<Keyed>,
    latest: i64,
    highest: u64,
    counter: u64,
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
    /// Reversed: a binary heap pops its greatest element, and the smallest key is wanted.
    fn cmp(&self, other: &Keyed) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl Sequencer {
    /// Takes an event; calls `emit` with every event whose turn has come.
    pub fn push(&mut self, mut event: Event, emit: &mut impl FnMut(Event)) {
        self.counter += 1;
        let done = event.when.map_or(self.latest, |when| when.done);
        self.latest = self.latest.max(done);
        // A mark among timed events stands where it was read, not before those that are held back.
        if event.form != Form::Watch && matches!(event.body, Body::Gap(_) | Body::Restart) {
            event.when = event.when.or(Some(Interval { received: done, done }));
        }
        if event.form == Form::Watch || event.when.is_none() {
            self.arrange(event);
            self.release(emit, WATCH_EVENTS, i64::MIN);
            return;
        }
        // A collection goes piece by piece; its first piece goes when the request has come in.
        let piecemeal = matches!(event.body, Body::PodCollection(_) | Body::JobCollection(_));
        let at = if piecemeal { event.when.map_or(done, |when| when.received) } else { done };
        self.by_time.push(Keyed { key: (at, self.counter, 0), event });
        let ripe = self.latest - WINDOW_MICROS;
        while self
            .by_time
            .peek()
            .is_some_and(|first| first.key.0 <= ripe || self.by_time.len() > WINDOW_EVENTS)
        {
            if let Some(keyed) = self.by_time.pop() {
                self.arrange(keyed.event);
            }
        }
        self.release(emit, WINDOW_EVENTS, ripe - WINDOW_MICROS);
    }

    /// Emits all that is held back.
    pub fn flush(&mut self, emit: &mut impl FnMut(Event)) {
        while let Some(keyed) = self.by_time.pop() {
            self.arrange(keyed.event);
        }
        while let Some(keyed) = self.by_version.pop() {
            emit(keyed.event);
        }
    }

    /// Events arrive here by the time of their answer: one without a version of its own stands behind all
    /// that was answered before it.
    fn arrange(&mut self, event: Event) {
        self.counter += 1;
        let key = match event.version {
            Some(version) => (i64::try_from(version).unwrap_or(i64::MAX), 0, self.counter),
            None => (i64::try_from(self.highest).unwrap_or(i64::MAX), 1, self.counter),
        };
        self.highest = self.highest.max(event.version.unwrap_or(0));
        self.by_version.push(Keyed { key, event });
    }

    fn release(&mut self, emit: &mut impl FnMut(Event), capacity: usize, ripe: i64) {
        while self.by_version.peek().is_some_and(|first| {
            first.event.when.is_some_and(|when| when.done <= ripe) || self.by_version.len() > capacity
        }) {
            if let Some(keyed) = self.by_version.pop() {
                emit(keyed.event);
            }
        }
    }
}
