//! Watches. Each is a cursor into the history of its resource.
//!
//! A watch stores no events except the initial ones. A reader takes the events of the history that follow the cursor.
//! A reader that is too slow finds the history compacted, and gets `410 Expired`. Old versions that only initial events
//! hold are bounded: the watches that were not read for the longest time are ended. So clients cannot use up memory. The
//! same bound holds for long lists, which clients take piece by piece.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::events_api::present;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::{Change, ChangeKind, Store};
use crate::weight::{Unread, weight};

/// The interval between the bookmarks of a watch that allows them.
const BOOKMARK_SECONDS: i64 = 60;
/// The time between the last bookmark of a watch and its end.
const LAST_BOOKMARK_SECONDS: i64 = 2;
/// The lifetime of a watch without a timeout. Upstream draws it between 30 and 60 minutes.
const DEFAULT_TIMEOUT_SECONDS: u32 = 2_700;

/// The id of a watch of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u64);

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, or `ERROR`.
    pub kind: &'static str,
    /// The object, or the Status of an error.
    pub object: Arc<Value>,
}

impl WatchEvent {
    /// The event as JSON.
    #[cfg(feature = "http")]
    pub(crate) fn json(&self) -> Vec<u8> {
        #[derive(serde::Serialize)]
        struct Shown<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            object: &'a Value,
        }
        let shown = Shown { kind: self.kind, object: &self.object };
        serde_json::to_vec(&shown).expect("JSON values have text keys")
    }
}

/// The events that a watch may deliver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// All events.
    #[default]
    Open,
    /// Events up to this revision.
    UpTo(u64),
}

/// The properties of a watch, for callers that hold it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchInfo {
    /// The id.
    pub id: WatchId,
    /// The watched resource.
    pub resource: Resource,
    /// The watched namespace. `None`: all.
    pub namespace: Option<String>,
    /// The user that watches.
    pub user: String,
    /// The program that watches (`User-Agent`).
    pub user_agent: String,
    /// The revision up to which all events were delivered.
    pub cursor: u64,
    /// The events that it may deliver.
    pub gate: Gate,
    /// If true, only the net change of each object is delivered.
    pub coalesces: bool,
}

/// The initial state of a watch.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) info: WatchInfo,
    pub(crate) prefix: String,
    pub(crate) selector: Selector,
    pub(crate) initial: VecDeque<WatchEvent>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout_seconds: Option<u32>,
}

#[derive(Debug)]
struct Watch {
    start: Start,
    next_bookmark: Timestamp,
    deadline: Timestamp,
    /// The time at which events were last taken.
    read: Timestamp,
    closed: bool,
}

/// The most that a reader takes at once.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// The maximum number of events.
    pub events: usize,
    /// The weight in bytes after which no event follows.
    pub bytes: usize,
}

impl Most {
    fn is_used_up(self) -> bool {
        self.events == 0 || self.bytes == 0
    }

    fn without(self, event: &WatchEvent) -> Most {
        let bytes = if self.bytes == usize::MAX { 0 } else { weight(&event.object) };
        Most { events: self.events - 1, bytes: self.bytes.saturating_sub(bytes) }
    }
}

/// An object, and its weight.
pub(crate) type Weighed = (Arc<Value>, usize);

/// A list of which a client has not taken everything.
#[derive(Debug)]
struct Listing {
    items: VecDeque<Weighed>,
    /// The time at which items were last taken.
    read: Timestamp,
}

/// The open watches of a server.
#[derive(Debug, Default)]
pub struct Watches {
    open: BTreeMap<WatchId, Watch>,
    /// The lists, whose ids are no ids of watches.
    lists: BTreeMap<WatchId, Listing>,
    last: u64,
    unread: Unread,
}

/// The events that a reader takes at once.
#[derive(Debug, Default)]
pub struct Taken {
    /// The events, in order.
    pub events: Vec<WatchEvent>,
    /// If true, the watch has ended with these events.
    pub closed: bool,
}

impl Watches {
    /// Returns the id of the next watch.
    pub(crate) fn name(&mut self) -> WatchId {
        self.last += 1;
        WatchId(self.last)
    }

    /// Opens a watch. Initial events that nobody has read may hold `bound` bytes of old versions. With more, the watches
    /// and lists that were not read for the longest time end.
    pub(crate) fn open(&mut self, now: Timestamp, start: Start, bound: usize) {
        let seconds = start.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
        let id = start.info.id;
        let watch = Watch {
            next_bookmark: after(now, BOOKMARK_SECONDS),
            deadline: after(now, i64::from(seconds)),
            read: now,
            closed: false,
            start,
        };
        for event in &watch.start.initial {
            self.unread.add(&event.object, || weight(&event.object));
        }
        self.open.insert(id, watch);
        self.end_unread(bound);
    }

    /// Opens a list whose items are taken with [`Watches::take_items`].
    #[cfg(feature = "http")]
    pub(crate) fn open_list(&mut self, now: Timestamp, items: VecDeque<Weighed>, bound: usize) -> WatchId {
        let id = self.name();
        items.iter().for_each(|(object, weight)| self.unread.add(object, || *weight));
        self.lists.insert(id, Listing { items, read: now });
        self.end_unread(bound);
        id
    }

    /// Takes the next items of a list, until they weigh this much. An empty result: the list has ended.
    #[cfg(feature = "http")]
    pub(crate) fn take_items(&mut self, now: Timestamp, id: WatchId, bytes: usize) -> Vec<Arc<Value>> {
        let Some(list) = self.lists.get_mut(&id) else { return Vec::new() };
        list.read = now;
        let (mut taken, mut sum) = (Vec::new(), 0);
        while sum < bytes
            && let Some((object, weight)) = list.items.pop_front()
        {
            self.unread.remove(&object);
            sum += weight;
            taken.push(object);
        }
        taken
    }

    /// Ends the watches and lists that were not read for the longest time, while unread ones hold more than this.
    fn end_unread(&mut self, bound: usize) {
        while self.unread.holds_more_than(bound) {
            let watches = self.open.iter().filter(|(_, watch)| !watch.start.initial.is_empty());
            let lists = self.lists.iter().filter(|(_, list)| !list.items.is_empty());
            let all = watches.map(|(id, it)| (it.read, *id)).chain(lists.map(|(id, it)| (it.read, *id)));
            let Some((_, id)) = all.min() else { break };
            self.close(id);
        }
    }

    /// The open watches, oldest first.
    pub fn infos(&self) -> impl Iterator<Item = &WatchInfo> {
        self.open.values().map(|watch| &watch.start.info)
    }

    /// Sets the events that a watch may deliver. Returns false if there is no such watch.
    pub fn set_gate(&mut self, id: WatchId, gate: Gate) -> bool {
        self.open.get_mut(&id).map(|watch| watch.start.info.gate = gate).is_some()
    }

    /// Selects whether a watch delivers only the net change of each object. That is what a client sees that lists
    /// again after an absence. Returns false if there is no such watch.
    pub fn set_coalescing(&mut self, id: WatchId, coalesces: bool) -> bool {
        self.open.get_mut(&id).map(|watch| watch.start.info.coalesces = coalesces).is_some()
    }

    /// Closes a watch, as a broken connection does.
    pub fn close(&mut self, id: WatchId) {
        let closed = self.open.remove(&id);
        closed.iter().flat_map(|it| &it.start.initial).for_each(|event| self.unread.remove(&event.object));
        let list = self.lists.remove(&id);
        list.iter().flat_map(|it| &it.items).for_each(|(object, _)| self.unread.remove(object));
    }

    /// The next time at which a watch has an event even if nothing changes: a bookmark, or its end. `None` if it
    /// has ended.
    #[must_use]
    pub fn next_wake(&self, id: WatchId) -> Option<Timestamp> {
        let watch = self.open.get(&id)?;
        Some(if watch.start.bookmarks { watch.next_bookmark.min(watch.deadline) } else { watch.deadline })
    }

    /// Takes at most `most` events, and a bookmark if one is due.
    pub fn take(&mut self, store: &Store, now: Timestamp, id: WatchId, most: Most) -> Taken {
        let Some(watch) = self.open.get_mut(&id) else { return Taken { events: Vec::new(), closed: true } };
        watch.read = now;
        let (mut events, room) = watch.initial(most);
        events.iter().for_each(|event| self.unread.remove(&event.object));
        if !room.is_used_up() {
            watch.follow(store, room, &mut events);
        }
        if !watch.closed {
            watch.bookmark(store, now, &mut events);
        }
        let closed = watch.closed || now >= watch.deadline;
        if closed {
            self.close(id);
        }
        Taken { events, closed }
    }
}

impl Watch {
    /// Takes initial events. Returns also how much room is left.
    fn initial(&mut self, most: Most) -> (Vec<WatchEvent>, Most) {
        let (mut events, mut room) = (Vec::new(), most);
        while !room.is_used_up()
            && self.start.info.gate != Gate::UpTo(0)
            && let Some(event) = self.start.initial.pop_front()
        {
            room = room.without(&event);
            events.push(event);
        }
        (events, room)
    }

    /// Delivers the events of the history that follow the cursor.
    fn follow(&mut self, store: &Store, most: Most, events: &mut Vec<WatchEvent>) {
        let info = &mut self.start.info;
        if !self.start.initial.is_empty() {
            return;
        }
        let bound = match info.gate {
            Gate::Open => u64::MAX,
            Gate::UpTo(revision) => revision,
        };
        let changes = match store.changes_after(info.resource, info.cursor) {
            Ok(changes) => changes.take_while(|change| change.revision <= bound),
            Err(compacted) => {
                let error = too_old(info.cursor, compacted.oldest);
                events.push(WatchEvent { kind: "ERROR", object: Arc::new(error.status()) });
                self.closed = true;
                return;
            }
        };
        let mine = changes.filter(|change| change.key.starts_with(&self.start.prefix));
        if info.coalesces {
            let mut last = info.cursor;
            let mut net: BTreeMap<&str, (Option<&Arc<Value>>, &Change)> = BTreeMap::new();
            for change in mine {
                last = change.revision;
                net.entry(&change.key)
                    .and_modify(|(_, newest)| *newest = change)
                    .or_insert((change.previous.as_ref(), change));
            }
            let mut net: Vec<_> = net.into_values().collect();
            net.sort_by_key(|(_, newest)| newest.revision);
            events.extend(net.into_iter().filter_map(|(before, newest)| {
                let after = (newest.kind != ChangeKind::Deleted).then_some(&newest.object);
                event(&self.start.selector, info.resource, before, after, &newest.object)
            }));
            info.cursor = last;
            return;
        }
        let mut room = most;
        for change in mine {
            let after = (change.kind != ChangeKind::Deleted).then_some(&change.object);
            let (selector, before) = (&self.start.selector, change.previous.as_ref());
            info.cursor = change.revision;
            if let Some(event) = event(selector, info.resource, before, after, &change.object) {
                room = room.without(&event);
                events.push(event);
                if room.is_used_up() {
                    return;
                }
            }
        }
    }

    fn bookmark(&mut self, store: &Store, now: Timestamp, events: &mut Vec<WatchEvent>) {
        let due = now >= self.next_bookmark;
        if !self.start.bookmarks || !due || !self.start.initial.is_empty() {
            return;
        }
        let info = &mut self.start.info;
        let revision = match info.gate {
            Gate::Open => store.revision(),
            Gate::UpTo(revision) => store.revision().min(revision).max(info.cursor),
        };
        let everything_seen = store.changes_after(info.resource, info.cursor).is_ok_and(|mut changes| {
            !changes.any(|change| change.revision <= revision && change.key.starts_with(&self.start.prefix))
        });
        let revision = if everything_seen { revision } else { info.cursor };
        info.cursor = revision;
        events.push(bookmark(info.resource, revision, false));
        let last = after(self.deadline, -LAST_BOOKMARK_SECONDS);
        let next = after(now, BOOKMARK_SECONDS);
        self.next_bookmark = if now < last { next.min(last) } else { next };
    }
}

/// Returns a bookmark at a revision. `initial_end` marks the end of the initial events.
pub(crate) fn bookmark(resource: Resource, revision: u64, initial_end: bool) -> WatchEvent {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object =
        json!({"kind": resource.facts().kind, "apiVersion": resource.api_version(), "metadata": metadata});
    WatchEvent { kind: "BOOKMARK", object: Arc::new(object) }
}

pub(crate) fn too_old(asked: u64, oldest: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
}

/// The event that a change causes for a selector. An object that becomes selected is added. An object that is no
/// longer selected is deleted: the event has its last selected state, with the revision of the change.
fn event(
    selector: &Selector,
    resource: Resource,
    before: Option<&Arc<Value>>,
    after: Option<&Arc<Value>>,
    newest: &Arc<Value>,
) -> Option<WatchEvent> {
    let was = before.filter(|object| selector.matches(object));
    let is = after.filter(|object| selector.matches(object));
    let (kind, object) = match (was, is) {
        (None, None) => return None,
        (None, Some(object)) => ("ADDED", Arc::clone(object)),
        (Some(_), Some(object)) => ("MODIFIED", Arc::clone(object)),
        (Some(old), None) => {
            let mut last = Value::clone(old);
            last["metadata"]["resourceVersion"] = newest["metadata"]["resourceVersion"].clone();
            ("DELETED", Arc::new(last))
        }
    };
    Some(WatchEvent { kind, object: present(resource, &object) })
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}
