//! The memory that objects take, and how much of it unread watches and lists alone hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde_json::Value;

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

/// The objects of initial events and of lists that no client has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    objects: BTreeMap<usize, Shared>,
    /// The weight of all of them.
    bytes: usize,
}

#[derive(Debug)]
struct Shared {
    object: Weak<Value>,
    holders: usize,
    bytes: usize,
}

fn place(object: &Arc<Value>) -> usize {
    Arc::as_ptr(object) as usize
}

impl Unread {
    /// Adds an object that one more client has not taken.
    pub(crate) fn add(&mut self, object: &Arc<Value>, weight: impl FnOnce() -> usize) {
        let shared = self.objects.entry(place(object)).or_insert_with(|| {
            let bytes = weight();
            self.bytes += bytes;
            Shared { object: Arc::downgrade(object), holders: 0, bytes }
        });
        shared.holders += 1;
    }

    pub(crate) fn remove(&mut self, object: &Arc<Value>) {
        let Some(shared) = self.objects.get_mut(&place(object)) else { return };
        shared.holders -= 1;
        if shared.holders == 0 {
            self.bytes -= shared.bytes;
            self.objects.remove(&place(object));
        }
    }

    /// Returns whether clients alone hold more than this. A current version, or one of the history, costs nothing more.
    pub(crate) fn holds_more_than(&self, bound: usize) -> bool {
        let alone = self.objects.values().filter(|it| it.object.strong_count() <= it.holders);
        self.bytes > bound && alone.map(|it| it.bytes).sum::<usize>() > bound
    }
}
