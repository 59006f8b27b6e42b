//! Strategic merge patches.
//!
//! The types of the API fix the lists that are merged, and their keys (`patchStrategy`, `patchMergeKey`). The name of
//! a field identifies its list among the kinds of this server. Only `ports`, `conditions`, and `volumeMounts` are
//! ambiguous, and their items decide the key.
//!
//! | directive | meaning |
//! | --- | --- |
//! | `$patch: replace` | the other members replace the object; in a list, the other items replace the list |
//! | `$patch: delete` | the object, or the item with its key, is removed |
//! | `$patch: merge` | the default, written explicitly |
//! | `$deleteFromPrimitiveList/X` | these values are removed from the list X |
//! | `$setElementOrder/X` | the items of the list X are put into this order |
//! | `$retainKeys` | only these members of the object stay |
//!
//! The time is linear in the size of the object and the patch: items are found by their keys ([`lists`]).

mod lists;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::error::ApiError;
use lists::{Former, delete_from, merge_list, put_in_order};

const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";
const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";

/// Applies a patch to an object.
pub(super) fn merge(object: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let patch = patch.as_object().ok_or_else(|| malformed("the patch is not an object"))?;
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let members = object.as_object_mut().expect("it was made an object");
    merge_object(members, patch)
}

fn malformed(why: &str) -> ApiError {
    ApiError::bad_request(format!("error decoding patch: {why}"))
}

fn merge_object(object: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), ApiError> {
    match directive(patch)? {
        None | Some("merge") => {}
        Some("replace") => {
            *object = patch.clone();
            object.remove(DIRECTIVE);
            object.retain(|_, value| !value.is_null());
            return Ok(());
        }
        Some("delete") => {
            object.clear();
            return Ok(());
        }
        Some(other) => {
            let message = format!("unknown patch type: {other} in map: {}", Value::Object(patch.clone()));
            return Err(ApiError { code: 500, reason: "", ..ApiError::bad_request(message) });
        }
    }
    if let Some(kept) = patch.get(RETAIN) {
        let kept = kept.as_array().ok_or_else(|| malformed("$retainKeys is not a list"))?;
        let kept: HashSet<&str> = kept.iter().filter_map(Value::as_str).collect();
        object.retain(|key, _| kept.contains(key.as_str()));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM) {
            delete_from(object, field, value)?;
        }
    }
    for (key, value) in patch {
        if key.starts_with('$') {
            continue;
        }
        merge_member(object, key, value, patch.get(&format!("{ORDER}{key}")))?;
    }
    for (key, order) in patch {
        let Some(field) = key.strip_prefix(ORDER).filter(|field| !patch.contains_key(*field)) else {
            continue;
        };
        if let Some(Value::Array(items)) = object.get_mut(field) {
            let former = Former::of(field, items);
            *items = put_in_order(field, std::mem::take(items), &former, &items_of_order(order)?);
        }
    }
    Ok(())
}

fn directive(patch: &Map<String, Value>) -> Result<Option<&str>, ApiError> {
    match patch.get(DIRECTIVE) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(malformed("$patch is not a text")),
    }
}

fn merge_member(
    object: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    order: Option<&Value>,
) -> Result<(), ApiError> {
    match (value, object.get_mut(key)) {
        (Value::Null, _) => {
            object.remove(key);
        }
        (Value::Object(patch), Some(Value::Object(found))) => {
            merge_object(found, patch)?;
            if directive(patch)? == Some("delete") {
                object.remove(key);
            }
        }
        (Value::Object(patch), _) => {
            let mut made = Map::new();
            if directive(patch)? != Some("delete") {
                merge_object(&mut made, patch)?;
                object.insert(key.to_owned(), Value::Object(made));
            }
        }
        (Value::Array(patch), found) => {
            let items = match found {
                Some(Value::Array(items)) => std::mem::take(items),
                _ => Vec::new(),
            };
            let former = Former::of(key, &items);
            let items = merge_list(key, items, patch)?;
            // A patch without `$setElementOrder` requests the order of its items.
            let own = || patch.iter().filter(|item| item.get(DIRECTIVE).is_none()).collect();
            let order = order.map_or_else(|| Ok(own()), items_of_order)?;
            object.insert(key.to_owned(), Value::Array(put_in_order(key, items, &former, &order)));
        }
        (Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {
            object.insert(key.to_owned(), value.clone());
        }
    }
    Ok(())
}

fn items_of_order(order: &Value) -> Result<Vec<&Value>, ApiError> {
    order
        .as_array()
        .map(|items| items.iter().collect())
        .ok_or_else(|| malformed("$setElementOrder is not a list"))
}
