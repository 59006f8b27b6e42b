//! Watches through the proxy: held events, delivery, and ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use http_body::Frame;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

use crate::forward::ConnectionCut;
use crate::handling::Refusal;
use crate::request::RequestInfo;

/// The annotation of the bookmark that follows the initial events of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A watched resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// Jobs.
    Jobs,
    /// Pods.
    Pods,
}

impl Watched {
    /// The watched resource of a request. `None` if its watches are never held.
    pub(crate) fn of(asked: &RequestInfo) -> Option<Watched> {
        match (&*asked.group, &*asked.resource) {
            ("batch", "jobs") => Some(Watched::Jobs),
            ("", "pods") => Some(Watched::Pods),
            _ => None,
        }
    }
}

/// The selection of held events that are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Every event, in order.
    Each,
    /// The last state of each object, as if the client had been disconnected and had listed again. An object that
    /// was created and removed meanwhile is omitted.
    Latest,
}

/// The end of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It ends as by its own timeout. The client continues at its last version.
    End,
    /// The connection breaks.
    Break,
    /// 410: held events are never delivered, and the client must list again.
    Expire,
}

/// The open watches, and the instructions for them.
#[derive(Debug)]
pub(crate) struct Watches {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    held: BTreeSet<Watched>,
    open: BTreeMap<u64, Open>,
    opened: u64,
}

#[derive(Debug)]
struct Open {
    watched: Watched,
    /// The number of events that were not delivered yet.
    undelivered: usize,
    cut: Option<Cut>,
    coalesces: bool,
}

impl Watches {
    pub(crate) fn new() -> Arc<Watches> {
        Arc::new(Watches { state: Mutex::default(), changed: watch::channel(()).0 })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold(&self, watched: Watched) {
        self.lock().held.insert(watched);
    }

    pub(crate) fn release(&self, watched: Watched, delivery: Delivery) {
        let mut state = self.lock();
        if state.held.remove(&watched) && delivery == Delivery::Latest {
            state
                .open
                .values_mut()
                .filter(|open| open.watched == watched)
                .for_each(|open| open.coalesces = true);
        }
        drop(state);
        self.changed.send_replace(());
    }

    pub(crate) fn cut(&self, watched: Watched, cut: Cut) {
        let mut state = self.lock();
        state.open.values_mut().filter(|open| open.watched == watched).for_each(|open| open.cut = Some(cut));
        drop(state);
        self.changed.send_replace(());
    }

    pub(crate) fn undelivered(&self, watched: Watched) -> usize {
        self.lock().open.values().filter(|open| open.watched == watched).map(|open| open.undelivered).sum()
    }

    pub(crate) fn open(&self, watched: Watched) -> usize {
        self.lock().open.values().filter(|open| open.watched == watched && open.cut.is_none()).count()
    }

    /// Returns the events of a watch as they are delivered.
    pub(crate) fn follow(
        self: &Arc<Watches>,
        watched: Watched,
        begins_with_initial_events: bool,
        upstream: Body,
    ) -> impl Stream<Item = Result<Frame<Bytes>, ConnectionCut>> + Send + use<> {
        let number = {
            let mut state = self.lock();
            state.opened += 1;
            let number = state.opened;
            state.open.insert(number, Open { watched, undelivered: 0, cut: None, coalesces: false });
            number
        };
        let watching = Watching {
            watches: Arc::clone(self),
            number,
            changed: self.changed.subscribe(),
            upstream,
            part: BytesMut::new(),
            queue: VecDeque::new(),
            is_initial: begins_with_initial_events,
            has_ended: false,
        };
        stream::unfold(Some(watching), |watching| async {
            let mut watching = watching?;
            match watching.next().await {
                Some(Ok(events)) => Some((Ok(Frame::data(events)), Some(watching))),
                Some(Err(Ending::Broken)) => Some((Err(ConnectionCut), None)),
                Some(Err(Ending::Last(event))) => Some((Ok(Frame::data(event)), None)),
                None => None,
            }
        })
    }
}

/// The end of a watch with an error or a last event.
enum Ending {
    Broken,
    Last(Bytes),
}

/// One watch. Events of the API server are read at once, and wait in the queue for delivery.
struct Watching {
    watches: Arc<Watches>,
    number: u64,
    changed: watch::Receiver<()>,
    upstream: Body,
    /// The first part of an incomplete event.
    part: BytesMut,
    /// The undelivered events, each with its line break.
    queue: VecDeque<Bytes>,
    is_initial: bool,
    has_ended: bool,
}

/// The current instructions for a watch.
struct Instructions {
    is_held: bool,
    cut: Option<Cut>,
    coalesces: bool,
}

impl Watching {
    async fn next(&mut self) -> Option<Result<Bytes, Ending>> {
        loop {
            self.changed.mark_unchanged();
            let instructions = self.instructions();
            match instructions.cut {
                Some(Cut::End) => return None,
                Some(Cut::Break) => return Some(Err(Ending::Broken)),
                Some(Cut::Expire) => return Some(Err(Ending::Last(expired()))),
                None => {}
            }
            if instructions.coalesces {
                latest(&mut self.queue);
            }
            if let Some(events) = self.deliverable(instructions.is_held) {
                self.note_undelivered(&mut self.watches.lock());
                return Some(Ok(events));
            }
            if self.has_ended && self.queue.is_empty() {
                return None;
            }
            tokio::select! {
                // The sender lives as long as this value.
                _ = self.changed.changed() => {}
                frame = self.upstream.frame(), if !self.has_ended => match frame {
                    Some(Ok(frame)) => self.take(frame),
                    Some(Err(_)) | None => self.has_ended = true,
                },
            }
        }
    }

    /// Returns the current instructions, and records the number of undelivered events.
    fn instructions(&self) -> Instructions {
        let mut state = self.watches.lock();
        self.note_undelivered(&mut state);
        let State { held, open, .. } = &mut *state;
        let Some(open) = open.get_mut(&self.number) else {
            return Instructions { is_held: false, cut: Some(Cut::End), coalesces: false };
        };
        let coalesces = std::mem::take(&mut open.coalesces);
        Instructions { is_held: held.contains(&open.watched), cut: open.cut, coalesces }
    }

    fn note_undelivered(&self, state: &mut State) {
        if let Some(open) = state.open.get_mut(&self.number) {
            open.undelivered = self.queue.len();
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        let Ok(data) = frame.into_data() else { return };
        self.part.extend_from_slice(&data);
        while let Some(end) = self.part.iter().position(|byte| *byte == b'\n') {
            self.queue.push_back(self.part.split_to(end + 1).freeze());
        }
    }

    /// The next events that may be delivered. Initial events are returned one at a time.
    fn deliverable(&mut self, is_held: bool) -> Option<Bytes> {
        if self.is_initial {
            let event = self.queue.pop_front()?;
            self.is_initial = !ends_initial_events(&event);
            return Some(event);
        }
        if is_held || self.queue.is_empty() {
            return None;
        }
        Some(self.queue.drain(..).flatten().collect())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watches.lock().open.remove(&self.number);
    }
}

fn ends_initial_events(event: &[u8]) -> bool {
    let event = parsed(event);
    event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"][INITIAL_EVENTS_END] == "true"
}

/// The event as JSON. `null` if the text is not JSON.
fn parsed(event: &[u8]) -> Value {
    serde_json::from_slice(event).unwrap_or_default()
}

fn expired() -> Bytes {
    let status = Refusal::Expired.status();
    Bytes::from(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"))
}

/// Keeps the last event of each object. A new object stays new, and is omitted if it was removed again.
fn latest(queue: &mut VecDeque<Bytes>) {
    let mut of_objects: Vec<(String, Value)> = Vec::new();
    for line in queue.drain(..) {
        let mut event = parsed(&line);
        // All bookmarks have the same empty UID, so that only the last one is kept.
        let uid = event["object"]["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let before = of_objects.iter().position(|(other, _)| *other == uid);
        let was_new = before.is_some_and(|place| of_objects.remove(place).1["type"] == "ADDED");
        match event["type"].as_str() {
            Some("DELETED") if was_new => continue,
            Some("MODIFIED") if was_new => event["type"] = "ADDED".into(),
            _ => {}
        }
        of_objects.push((uid, event));
    }
    queue.extend(of_objects.into_iter().map(|(_, event)| Bytes::from(format!("{event}\n"))));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, uid: &str, version: u64) -> Bytes {
        let metadata = json!({"uid": uid, "resourceVersion": version.to_string()});
        Bytes::from(format!("{}\n", json!({"type": kind, "object": {"metadata": metadata}})))
    }

    #[test]
    fn the_last_state_of_each_object_is_kept() {
        let all = [
            event("MODIFIED", "a", 1),
            event("ADDED", "b", 2),
            event("ADDED", "c", 3),
            event("MODIFIED", "b", 4),
            event("DELETED", "c", 5),
            event("MODIFIED", "a", 6),
            event("DELETED", "d", 7),
            event("ADDED", "e", 8),
        ];
        let mut queue = VecDeque::from(all);
        latest(&mut queue);
        let left = [
            event("ADDED", "b", 4),
            event("MODIFIED", "a", 6),
            event("DELETED", "d", 7),
            event("ADDED", "e", 8),
        ];
        assert_eq!(queue, left);
    }

    #[test]
    fn a_bookmark_marks_the_end_of_initial_events() {
        let annotations = json!({INITIAL_EVENTS_END: "true"});
        let end = json!({"type": "BOOKMARK", "object": {"metadata": {"annotations": annotations}}});
        assert!(ends_initial_events(end.to_string().as_bytes()));
        assert!(!ends_initial_events(br#"{"type":"BOOKMARK","object":{"metadata":{}}}"#));
        assert!(!ends_initial_events(b"no event"));
    }
}
