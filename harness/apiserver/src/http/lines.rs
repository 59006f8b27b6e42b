//! Large objects and events as bytes that all responses share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use serde_json::Value;

use super::held::{Counted, Held, LARGE};
use crate::request::Item;
use crate::watch::WatchEvent;

/// The kind of the text of an object, which no event has.
const OBJECT: &str = "object";
/// The kind of the text of an item of a list.
const ITEM: &str = "item";

/// The lines of large events and objects that a client has not taken yet.
#[derive(Debug)]
pub(super) struct EventLines {
    held: Held,
    lines: Mutex<BTreeMap<(usize, &'static str), Line>>,
}

#[derive(Debug)]
struct Line {
    object: Weak<Value>,
    bytes: Weak<Counted>,
}

impl EventLines {
    /// No lines yet. They count as held.
    pub(super) fn new(held: Held) -> EventLines {
        EventLines { held, lines: Mutex::default() }
    }

    /// The line of an event.
    pub(super) fn line(&self, event: &WatchEvent) -> Bytes {
        self.shared(&event.object, event.kind, || {
            let mut line = event.json();
            line.push(b'\n');
            line
        })
    }

    /// An object as JSON.
    pub(super) fn object(&self, object: &Arc<Value>) -> Bytes {
        self.shared(object, OBJECT, || super::service::bytes(object))
    }

    /// An object as an item of a list.
    pub(super) fn item(&self, object: &Arc<Value>) -> Bytes {
        self.shared(object, ITEM, || super::service::bytes(&Item(object)))
    }

    /// A text. While another client has not taken it, both have the same bytes.
    fn shared(&self, object: &Arc<Value>, kind: &'static str, text: impl FnOnce() -> Vec<u8>) -> Bytes {
        let key = (Arc::as_ptr(object) as usize, kind);
        if let Some(bytes) = self.find(&key, object) {
            return bytes.share();
        }
        let text = text();
        if text.len() < LARGE {
            return text.into();
        }
        let bytes = self.held.count(text);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| line.bytes.strong_count() > 0);
        lines.insert(key, Line { object: Arc::downgrade(object), bytes: Arc::downgrade(&bytes) });
        bytes.share()
    }

    fn find(&self, key: &(usize, &'static str), object: &Arc<Value>) -> Option<Arc<Counted>> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.get(key)?;
        let is_same = line.object.upgrade().is_some_and(|it| Arc::ptr_eq(&it, object));
        line.bytes.upgrade().filter(|_| is_same)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_lines_are_shared_while_one_is_held() {
        let lines = EventLines::new(Held::at_most(usize::MAX));
        let event = |size| WatchEvent { kind: "ADDED", object: Arc::new(json!({"a": "x".repeat(size)})) };
        let (large, small) = (event(100_000), event(10));
        let (one, other) = (lines.line(&large), lines.line(&large));
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(one, Bytes::from(large.json().into_iter().chain(*b"\n").collect::<Vec<u8>>()));
        let changed = WatchEvent { kind: "MODIFIED", ..large.clone() };
        assert_ne!(lines.line(&changed), one);
        assert_ne!(lines.object(&large.object), one);
        assert_ne!(lines.line(&small).as_ptr(), lines.line(&small).as_ptr());
        drop((one, other));
        lines.line(&event(100_000));
        assert!(lines.lines.lock().unwrap().len() <= 1);
        assert_eq!(lines.held.bytes(), 0);
    }
}
