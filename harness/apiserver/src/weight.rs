//! The memory that objects take, and how much of it unread watches alone hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde_json::Value;

use crate::watch::WatchEvent;

/// The memory of a value without its parts, in bytes.
const VALUE: usize = 32;
/// The memory of a member of an object without its parts.
const MEMBER: usize = 64;

/// About the memory that a value takes, in bytes.
#[must_use]
pub(crate) fn weight(value: &Value) -> usize {
    VALUE
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(members) => {
                members.iter().map(|(key, value)| MEMBER + key.len() + weight(value)).sum()
            }
        }
}

/// The objects of initial events that no watch has delivered yet.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    objects: BTreeMap<usize, Shared>,
    /// The weight of all of them.
    bytes: usize,
}

#[derive(Debug)]
struct Shared {
    object: Weak<Value>,
    events: usize,
    bytes: usize,
}

fn place(event: &WatchEvent) -> usize {
    Arc::as_ptr(&event.object) as usize
}

impl Unread {
    pub(crate) fn add(&mut self, event: &WatchEvent) {
        let shared = self.objects.entry(place(event)).or_insert_with(|| {
            let bytes = weight(&event.object);
            self.bytes += bytes;
            Shared { object: Arc::downgrade(&event.object), events: 0, bytes }
        });
        shared.events += 1;
    }

    pub(crate) fn remove(&mut self, event: &WatchEvent) {
        let Some(shared) = self.objects.get_mut(&place(event)) else { return };
        shared.events -= 1;
        if shared.events == 0 {
            self.bytes -= shared.bytes;
            self.objects.remove(&place(event));
        }
    }

    /// Returns whether watches alone hold more than this. A current version, or one of the history, costs nothing more.
    pub(crate) fn holds_more_than(&self, bound: usize) -> bool {
        let alone = self.objects.values().filter(|it| it.object.strong_count() <= it.events);
        self.bytes > bound && alone.map(|it| it.bytes).sum::<usize>() > bound
    }
}
