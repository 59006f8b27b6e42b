//! Large events as bytes that all watches share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use serde_json::Value;

use crate::watch::WatchEvent;

/// The size of a line in bytes from which on it is shared.
const LARGE: usize = 64 * 1024;

/// The lines of large events that a client has not taken yet.
#[derive(Debug, Default)]
pub(super) struct EventLines(Mutex<BTreeMap<(usize, &'static str), Line>>);

#[derive(Debug)]
struct Line {
    object: Weak<Value>,
    bytes: Weak<Vec<u8>>,
}

/// The owner of the bytes of a line.
struct Owner(Arc<Vec<u8>>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl EventLines {
    /// The line of an event. While another client has not taken it, both have the same bytes.
    pub(super) fn line(&self, event: &WatchEvent) -> Bytes {
        let key = (Arc::as_ptr(&event.object) as usize, event.kind);
        if let Some(bytes) = self.find(&key, event) {
            return Bytes::from_owner(Owner(bytes));
        }
        let mut line = event.json();
        line.push(b'\n');
        if line.len() < LARGE {
            return line.into();
        }
        let bytes = Arc::new(line);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| line.bytes.strong_count() > 0);
        lines.insert(key, Line { object: Arc::downgrade(&event.object), bytes: Arc::downgrade(&bytes) });
        Bytes::from_owner(Owner(bytes))
    }

    fn find(&self, key: &(usize, &'static str), event: &WatchEvent) -> Option<Arc<Vec<u8>>> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.get(key)?;
        let is_same = line.object.upgrade().is_some_and(|object| Arc::ptr_eq(&object, &event.object));
        line.bytes.upgrade().filter(|_| is_same)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_lines_are_shared_while_one_is_held() {
        let lines = EventLines::default();
        let event = |size| WatchEvent { kind: "ADDED", object: Arc::new(json!({"a": "x".repeat(size)})) };
        let (large, small) = (event(100_000), event(10));
        let (one, other) = (lines.line(&large), lines.line(&large));
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(one, Bytes::from(large.json().into_iter().chain(*b"\n").collect::<Vec<u8>>()));
        let changed = WatchEvent { kind: "MODIFIED", ..large.clone() };
        assert_ne!(lines.line(&changed), one);
        assert_ne!(lines.line(&small).as_ptr(), lines.line(&small).as_ptr());
        drop((one, other));
        lines.line(&event(100_000));
        assert!(lines.0.lock().unwrap().len() <= 1);
    }
}
