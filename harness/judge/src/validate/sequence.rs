//! Brings events into the order in which etcd took them (judging.md 2).
//!
//! `resourceVersion` orders the writes that carry one of their own. Removals and refusals carry none, or an
//! old one; they stand by their time: behind everything that was answered before them. Audit logs are written
//! in the order of the answers, so both need to look ahead a little: the reorder window.
//!
//! Only the events of one namespace have to be in order, so each has a lane of its own: logs that were put
//! together from several times or clusters do not disturb one another.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use jobcheck_spec::job::Text;
use jobcheck_traces::{Form, Verb};
use rustc_hash::FxHashMap;

use super::event::{Body, Event};

/// How far apart, in trace time, two lines may be that stand in the wrong order.
pub const WINDOW_MICROS: i64 = 5_000_000;
/// How many events are looked ahead at most, in all namespaces together.
pub const WINDOW_EVENTS: usize = 16_384;
/// The answer to a write that somebody else was quicker than.
const CONFLICT: u16 = 409;
/// How many of one namespace, for forms without times.
const WATCH_EVENTS: usize = 256;

/// Puts events in order, holding back those that an unread line may precede.
#[derive(Debug, Default)]
pub struct Sequencer {
    lanes: FxHashMap<Text, Lane>,
    held: usize,
    counter: u64,
}

impl Sequencer {
    /// Takes an event; calls `emit` with every event whose turn has come.
    pub fn push(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        self.counter += 1;
        if matches!(event.body, Body::Gap(_) | Body::Restart | Body::Relist(_)) {
            // A mark concerns everything that was read before it.
            self.flush(emit);
            emit(event);
            return;
        }
        if !self.lanes.contains_key(&event.namespace) {
            self.lanes.insert(event.namespace.clone(), Lane::default());
        }
        let Some(lane) = self.lanes.get_mut(&event.namespace) else { return };
        lane.touched = self.counter;
        self.held += 1;
        let held = &mut self.held;
        lane.push(event, &mut |event| {
            *held -= 1;
            emit(event);
        });
        if self.held > WINDOW_EVENTS {
            self.flush_idle(emit);
        }
    }

    /// Emits all that is held back. What comes next stands behind it.
    pub fn flush(&mut self, emit: &mut impl FnMut(Event)) {
        let namespaces = self.lanes.iter().map(|(namespace, lane)| (lane.touched, namespace.clone()));
        for namespace in in_order(namespaces.collect()) {
            if let Some(lane) = self.lanes.get_mut(&namespace) {
                lane.flush(emit);
            }
        }
        self.held = 0;
    }

    /// Emits what namespaces hold of which nothing was read for long.
    fn flush_idle(&mut self, emit: &mut impl FnMut(Event)) {
        let half = WINDOW_EVENTS as u64 / 2;
        self.flush_before(self.counter.saturating_sub(half), emit);
        if self.held > WINDOW_EVENTS {
            self.flush(emit);
        }
    }

    /// Emits what namespaces hold that were not heard of since, and forgets them.
    fn flush_before(&mut self, counter: u64, emit: &mut impl FnMut(Event)) {
        let idle = self.lanes.iter().filter(|(_, lane)| lane.touched < counter);
        for namespace in in_order(idle.map(|(namespace, lane)| (lane.touched, namespace.clone())).collect()) {
            if let Some(mut lane) = self.lanes.remove(&namespace) {
                lane.flush(&mut |event| {
                    self.held -= 1;
                    emit(event);
                });
            }
        }
    }
}

/// Namespaces in the order in which they were last heard of.
fn in_order(mut namespaces: Vec<(u64, Text)>) -> impl Iterator<Item = Text> {
    namespaces.sort_unstable();
    namespaces.into_iter().map(|(_, namespace)| namespace)
}

/// The events of one namespace.
#[derive(Debug, Default)]
struct Lane {
    touched: u64,
    by_time: BinaryHeap<Keyed>,
    by_version: BinaryHeap<Keyed>,
    latest: i64,
    /// Up to which time events were put in order.
    arranged: i64,
    highest: u64,
    /// The highest version of those whose turn has come.
    emitted: u64,
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

impl Lane {
    fn push(&mut self, mut event: Event, emit: &mut impl FnMut(Event)) {
        self.counter += 1;
        event.late = event.when.is_some_and(|when| when.done < self.arranged);
        let done = event.when.map_or(self.latest, |when| when.done);
        self.latest = self.latest.max(done);
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
                self.arranged = self.arranged.max(keyed.key.0);
                self.arrange(keyed.event);
            }
        }
        self.release(emit, WINDOW_EVENTS, ripe - WINDOW_MICROS);
    }

    fn flush(&mut self, emit: &mut impl FnMut(Event)) {
        while let Some(keyed) = self.by_time.pop() {
            self.arrange(keyed.event);
        }
        while let Some(keyed) = self.by_version.pop() {
            self.emitted = self.emitted.max(keyed.event.version.unwrap_or(0));
            emit(keyed.event);
        }
    }

    /// Events arrive here by the time of their answer: one without a version of its own stands behind all
    /// that was answered before it.
    fn arrange(&mut self, event: Event) {
        self.counter += 1;
        let key = match event.version {
            // Of one version the request stands before the watch event that shows it, which may be told of before the answer
            // has come.
            Some(version) => {
                let shown = u64::from(event.actor.is_none());
                (i64::try_from(version).unwrap_or(i64::MAX), shown, self.counter)
            }
            // The version that an answer repeats stood before it.
            None => {
                let before = self.highest.max(event.answered.unwrap_or(0)).max(self.may_have_won(&event));
                let before = self.superseded(&event).map_or(before, |next| before.min(next - 1));
                let before = self.may_have_gone(&event).map_or(before, |gone| before.min(gone));
                (i64::try_from(before).unwrap_or(i64::MAX), 2, self.counter)
            }
        };
        // What a watch shows has no time, and may be far ahead of a log beside it.
        if event.when.is_some() {
            self.highest = self.highest.max(event.version.unwrap_or(0));
        }
        self.by_version.push(Keyed { key, event });
    }

    /// The events that are not in order yet.
    fn held(&self) -> impl Iterator<Item = &Event> {
        self.by_time.iter().chain(&self.by_version).map(|keyed| &keyed.event)
    }

    /// A request that changes nothing repeats a version of its object, and was handled before the next one was made, though
    /// it may be answered after that: the next version.
    fn superseded(&self, idle: &Event) -> Option<u64> {
        let version = idle.answered.filter(|_| !idle.body.is_gone())?;
        let of_it = self.held().filter(|it| it.is_of_the_object_of(idle));
        of_it.filter_map(|it| it.version).filter(|later| *later > version).min()
    }

    /// A Job goes while the request for it is handled, and its watchers may act and be answered before its user is: it
    /// stands behind what was answered before the request came in, and behind the versions that the Job had.
    fn may_have_gone(&self, removal: &Event) -> Option<u64> {
        let when = removal.when.filter(|_| matches!(removal.body, Body::Job(_)) && removal.body.is_gone())?;
        let precedes = |it: &&Event| {
            it.when.is_some_and(|other| match it.is_of_the_object_of(removal) {
                true => other.received <= when.done,
                false => other.done <= when.received,
            })
        };
        Some(self.held().filter(precedes).filter_map(|it| it.version).max().unwrap_or(0).max(self.emitted))
    }

    /// A write that is refused for a conflict lost against another one, which may be answered after it: the latest version
    /// that a request of the same time gave to the object.
    fn may_have_won(&self, lost: &Event) -> u64 {
        let Some(when) = lost.when.filter(|_| lost.code == CONFLICT && !lost.injected) else { return 0 };
        let later = self.by_time.iter().map(|keyed| &keyed.event);
        let others = later.filter(|it| it.name == lost.name && it.verb != Some(Verb::Create));
        let of_the_same_time = others.filter(|it| it.when.is_some_and(|it| it.received <= when.done));
        of_the_same_time.filter_map(|it| it.version).max().unwrap_or(0)
    }

    fn release(&mut self, emit: &mut impl FnMut(Event), capacity: usize, ripe: i64) {
        while self.by_version.peek().is_some_and(|first| {
            first.event.when.is_some_and(|when| when.done <= ripe) || self.by_version.len() > capacity
        }) {
            if let Some(keyed) = self.by_version.pop() {
                self.emitted = self.emitted.max(keyed.event.version.unwrap_or(0));
                emit(keyed.event);
            }
        }
    }
}
