//! The bodies of responses that a client takes piece by piece: watches, long lists, and large objects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use jiff::Timestamp;
use serde_json::Value;

use super::held::{LARGE, Rest};
use super::media::Form;
use super::service::{BoxError, ResponseBody, full};
use super::shared::SharedServer;
use super::show::Show;
use crate::request::List;
use crate::watch::{Most, WatchEvent, WatchId, Weighed};
use crate::weight::weight;

/// The most events in one chunk of a watch.
const CHUNK: Most = Most { events: 256, bytes: LARGE };

/// A watch or a list that is closed when its reader is dropped.
struct Opened {
    server: SharedServer,
    id: WatchId,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.server.peek(|server, _| server.watches().close(self.id));
    }
}

/// A body of these bytes.
pub(super) fn of_bytes(server: &SharedServer, bytes: Bytes) -> ResponseBody {
    if bytes.len() < LARGE {
        return full(bytes);
    }
    let mut rest = server.held().rest();
    rest.put([bytes]);
    in_parts(std::iter::from_fn(move || rest.part()))
}

/// A body of these parts. Each is made when the connection has room for it.
fn in_parts(parts: impl Iterator<Item = Result<Bytes, BoxError>> + Send + 'static) -> ResponseBody {
    StreamBody::new(stream::iter(parts.map(|part| part.map(Frame::data)))).boxed_unsync()
}

/// A list. Its text is made piece by piece, so that a client that does not read costs little.
pub(super) fn of_list(server: &SharedServer, now: Timestamp, list: List, show: Show) -> ResponseBody {
    let weights: Vec<usize> = list.items.iter().map(|item| weight(item)).collect();
    if weights.iter().sum::<usize>() < LARGE {
        return of_bytes(server, server.held().keep(show.list(now, &list)));
    }
    let (head, tail) = show.around(now, &List { items: Vec::new(), ..list });
    let items: VecDeque<Weighed> = list.items.into_iter().zip(weights).collect();
    let left = items.len();
    let id = server.peek(|server, now| server.open_list(now, items));
    let mut rest = server.held().rest();
    rest.put([Bytes::from(head)]);
    let opened = Opened { server: server.clone(), id };
    in_parts(Listing { opened, show, now, left, first: true, tail, rest })
}

/// A list that a client takes.
struct Listing {
    opened: Opened,
    show: Show,
    now: Timestamp,
    /// The items whose text was not made yet.
    left: usize,
    first: bool,
    /// The text behind the items.
    tail: Vec<u8>,
    rest: Rest,
}

impl Iterator for Listing {
    type Item = Result<Bytes, BoxError>;

    fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        if self.rest.is_empty() && self.left > 0 {
            let Opened { server, id } = &self.opened;
            let items = server.peek(|server, now| server.watches().take_items(now, *id, LARGE));
            if items.is_empty() {
                self.left = 0;
                return Some(Err(BoxError::from("the list was not read for a long time")));
            }
            self.left -= items.len();
            let text = self.text(&items);
            self.rest.put(text);
        }
        self.rest.part().map(|part| part.inspect_err(|_| self.left = 0))
    }
}

impl Listing {
    /// The text of the next items. Large ones stay apart, so that responses share them.
    fn text(&mut self, items: &[Arc<Value>]) -> Vec<Bytes> {
        let (mut all, mut text) = (Vec::new(), Vec::new());
        for item in items {
            if !std::mem::take(&mut self.first) {
                text.push(b',');
            }
            let shown = self.show.item(self.opened.server.events(), self.now, item);
            if shown.len() < LARGE {
                text.extend_from_slice(&shown);
            } else {
                all.extend([Bytes::from(std::mem::take(&mut text)), shown]);
            }
        }
        if self.left == 0 {
            text.append(&mut self.tail);
        }
        all.push(self.opened.server.held().keep(text));
        all
    }
}

/// The events of a watch, one line each, until it ends or the client disconnects.
pub(super) fn of_watch(server: &SharedServer, id: WatchId, show: Show) -> ResponseBody {
    let rest = server.held().rest();
    let opened = Opened { server: server.clone(), id };
    let watching = Watching { opened, show, first: true, rest, closed: false };
    let changed = server.subscribe();
    let chunks = stream::unfold(Some((watching, changed)), |state| async move {
        let (mut watching, mut changed) = state?;
        loop {
            if let Some(part) = watching.rest.part() {
                let next = (part.is_ok() && !watching.is_done()).then_some((watching, changed));
                return Some((part.map(Frame::data), next));
            }
            changed.mark_unchanged();
            let Opened { server, id } = &watching.opened;
            let (taken, now, wake) = server.peek(|server, now| {
                let taken = server.take_some_events(now, *id, CHUNK);
                (taken, now, server.watches().next_wake(*id))
            });
            if !taken.events.is_empty() {
                let chunk = watching.chunk(now, &taken.events);
                watching.rest.put([chunk]);
                watching.closed = taken.closed;
                continue;
            }
            let until = wake.filter(|_| !taken.closed)?;
            let rest = Duration::try_from(until.duration_since(now)).unwrap_or_default();
            // A timer has a resolution of one millisecond, and must not fire early.
            let rest = rest.saturating_add(Duration::from_millis(1));
            tokio::select! {
                biased;
                heard = changed.changed() => heard.ok()?,
                () = tokio::time::sleep(rest) => {}
            }
        }
    });
    StreamBody::new(chunks).boxed_unsync()
}

/// A watch that a client follows.
struct Watching {
    opened: Opened,
    show: Show,
    first: bool,
    /// The part of the last events that the client has not taken.
    rest: Rest,
    /// True if no events follow.
    closed: bool,
}

impl Watching {
    fn is_done(&self) -> bool {
        self.closed && self.rest.is_empty()
    }

    fn chunk(&mut self, now: Timestamp, events: &[WatchEvent]) -> Bytes {
        if let ([event], Form::Object) = (events, self.show.form) {
            return self.opened.server.events().line(event);
        }
        let mut chunk = Vec::new();
        for event in events {
            chunk.extend(self.show.event(now, event, self.first));
            chunk.push(b'\n');
            self.first = false;
        }
        self.opened.server.held().keep(chunk)
    }
}
