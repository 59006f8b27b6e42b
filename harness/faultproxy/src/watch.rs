//! Watches through the proxy: which stand still, what they deliver once they go on, and how they end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use http_body::Frame;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

use crate::forward::Dropped;
use crate::handling::Refusal;
use crate::request::Asked;

/// The annotation of the bookmark behind the initial events of a watch that begins with them.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// Jobs.
    Jobs,
    /// Pods.
    Pods,
}

impl Watched {
    /// What a request for a watch is about, if it can be held.
    pub(crate) fn of(asked: &Asked) -> Option<Watched> {
        match (&*asked.group, &*asked.resource) {
            ("batch", "jobs") => Some(Watched::Jobs),
            ("", "pods") => Some(Watched::Pods),
            _ => None,
        }
    }
}

/// What of the events that were held is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Each, in its order.
    Each,
    /// Of each object the last state, as if the client had been away and read all again; of one that came and went,
    /// nothing.
    Latest,
}

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// As by its own time limit; the client goes on from where it was.
    End,
    /// The connection breaks.
    Break,
    /// 410: what is held is never delivered, and the client has to read all again.
    Expire,
}

/// The watches that are open, and what is to become of them.
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
    /// Events that were not delivered yet.
    kept: usize,
    cut: Option<Cut>,
    skips: bool,
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
            state.open.values_mut().filter(|open| open.watched == watched).for_each(|open| open.skips = true);
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

    pub(crate) fn kept(&self, watched: Watched) -> usize {
        self.lock().open.values().filter(|open| open.watched == watched).map(|open| open.kept).sum()
    }

    pub(crate) fn open(&self, watched: Watched) -> usize {
        self.lock().open.values().filter(|open| open.watched == watched && open.cut.is_none()).count()
    }

    /// The events of a watch, as they are delivered.
    pub(crate) fn follow(
        self: &Arc<Watches>,
        watched: Watched,
        begins_with_initial_events: bool,
        upstream: Body,
    ) -> impl Stream<Item = Result<Frame<Bytes>, Dropped>> + Send + use<> {
        let number = {
            let mut state = self.lock();
            state.opened += 1;
            let number = state.opened;
            state.open.insert(number, Open { watched, kept: 0, cut: None, skips: false });
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
                Some(Err(Ending::Broken)) => Some((Err(Dropped), None)),
                Some(Err(Ending::Last(event))) => Some((Ok(Frame::data(event)), None)),
                None => None,
            }
        })
    }
}

/// How a watch ends, where it does not just end.
enum Ending {
    Broken,
    Last(Bytes),
}

/// One watch: what the API server sends is taken at once, and waits in the queue for its delivery.
struct Watching {
    watches: Arc<Watches>,
    number: u64,
    changed: watch::Receiver<()>,
    upstream: Body,
    /// The beginning of an event.
    part: BytesMut,
    /// Events, each with its line break.
    queue: VecDeque<Bytes>,
    is_initial: bool,
    has_ended: bool,
}

/// What a watch is to do now.
struct Orders {
    is_held: bool,
    cut: Option<Cut>,
    skips: bool,
}

impl Watching {
    async fn next(&mut self) -> Option<Result<Bytes, Ending>> {
        loop {
            self.changed.mark_unchanged();
            let orders = self.orders();
            match orders.cut {
                Some(Cut::End) => return None,
                Some(Cut::Break) => return Some(Err(Ending::Broken)),
                Some(Cut::Expire) => return Some(Err(Ending::Last(expired()))),
                None => {}
            }
            if orders.skips {
                latest(&mut self.queue);
            }
            if let Some(events) = self.deliverable(orders.is_held) {
                self.note_kept(&mut self.watches.lock());
                return Some(Ok(events));
            }
            if self.has_ended && self.queue.is_empty() {
                return None;
            }
            tokio::select! {
                // The sender lives as long as this.
                _ = self.changed.changed() => {}
                frame = self.upstream.frame(), if !self.has_ended => match frame {
                    Some(Ok(frame)) => self.take(frame),
                    Some(Err(_)) | None => self.has_ended = true,
                },
            }
        }
    }

    /// What is to be done; notes how many events are kept.
    fn orders(&self) -> Orders {
        let mut state = self.watches.lock();
        self.note_kept(&mut state);
        let State { held, open, .. } = &mut *state;
        let Some(open) = open.get_mut(&self.number) else {
            return Orders { is_held: false, cut: Some(Cut::End), skips: false };
        };
        let skips = std::mem::take(&mut open.skips);
        Orders { is_held: held.contains(&open.watched), cut: open.cut, skips }
    }

    fn note_kept(&self, state: &mut State) {
        if let Some(open) = state.open.get_mut(&self.number) {
            open.kept = self.queue.len();
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        let Ok(data) = frame.into_data() else { return };
        self.part.extend_from_slice(&data);
        while let Some(end) = self.part.iter().position(|byte| *byte == b'\n') {
            self.queue.push_back(self.part.split_to(end + 1).freeze());
        }
    }

    /// The next events that may be delivered, one at a time as long as they are initial ones.
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

/// What is no event has no type.
fn parsed(event: &[u8]) -> Value {
    serde_json::from_slice(event).unwrap_or_default()
}

fn expired() -> Bytes {
    let status = Refusal::Expired.status();
    Bytes::from(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"))
}

/// Leaves of each object the last event. One that was new stays new, and is left out if it is gone again.
fn latest(queue: &mut VecDeque<Bytes>) {
    let mut of_objects: Vec<(String, Value)> = Vec::new();
    for line in queue.drain(..) {
        let mut event = parsed(&line);
        // Of bookmarks only the last counts, too.
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
    fn of_what_was_missed_the_last_state_of_each_object_is_left() {
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
    fn a_bookmark_says_where_initial_events_end() {
        let annotations = json!({INITIAL_EVENTS_END: "true"});
        let end = json!({"type": "BOOKMARK", "object": {"metadata": {"annotations": annotations}}});
        assert!(ends_initial_events(end.to_string().as_bytes()));
        assert!(!ends_initial_events(br#"{"type":"BOOKMARK","object":{"metadata":{}}}"#));
        assert!(!ends_initial_events(b"no event"));
    }
}
