//! The two forms of events: `v1`, which is stored, and `events.k8s.io/v1`.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::resource::Resource;

/// The members with different names: the name in `v1`, and the name in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Converts a stored object to the form of a resource.
#[must_use]
pub fn present(resource: Resource, object: &Arc<Value>) -> Arc<Value> {
    if resource != Resource::NewEvents {
        return Arc::clone(object);
    }
    let mut shown = Value::clone(object);
    if let Some(members) = shown.as_object_mut() {
        rename(members, RENAMED.iter().copied());
        members.insert("apiVersion".to_owned(), resource.api_version().into());
    }
    Arc::new(shown)
}

/// Converts an object to the form in which it is stored.
#[must_use]
pub fn stored(resource: Resource, mut object: Value) -> Value {
    if resource == Resource::NewEvents
        && let Some(members) = object.as_object_mut()
    {
        rename(members, RENAMED.iter().map(|(old, new)| (*new, *old)));
        members.insert("apiVersion".to_owned(), "v1".into());
    }
    object
}

fn rename(members: &mut Map<String, Value>, names: impl Iterator<Item = (&'static str, &'static str)>) {
    for (from, to) in names {
        if let Some(value) = members.remove(from) {
            members.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_are_one_object() {
        let new = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": {"name": "a"},
            "reportingController": "c", "deprecatedCount": 2, "action": "A"});
        let old = stored(Resource::NewEvents, new.clone());
        assert_eq!(old["message"], "n");
        assert_eq!((&old["involvedObject"]["name"], &old["count"]), (&json!("a"), &json!(2)));
        let old = Arc::new(old);
        assert_eq!(*present(Resource::NewEvents, &old), new);
        assert!(Arc::ptr_eq(&present(Resource::Events, &old), &old));
    }
}
