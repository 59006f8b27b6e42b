//! Strategic merge patches with a search for each item: the reference of a property.

use serde_json::{Map, Value, json};

use super::super::lists::Strategy;
use super::super::{DELETE_FROM, DIRECTIVE, ORDER, RETAIN, directive, malformed};
use crate::error::ApiError;

fn strategy(field: &str, items: &[Value]) -> Strategy {
    Strategy::of_list(field, items.iter())
}

/// Applies a patch to an object.
pub(super) fn merge(object: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let patch = patch.as_object().ok_or_else(|| malformed("the patch is not an object"))?;
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let members = object.as_object_mut().expect("it was made an object");
    merge_object(members, patch)
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
        object.retain(|key, _| kept.iter().any(|it| it == key));
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
        let field = key.strip_prefix(ORDER).filter(|field| !patch.contains_key(*field));
        if let Some(Value::Array(items)) = field.and_then(|field| object.get_mut(field)) {
            let (field, before) = (field.unwrap_or_default(), items.clone());
            put_in_order(field, items, &before, order)?;
        }
    }
    Ok(())
}

fn delete_from(object: &mut Map<String, Value>, field: &str, values: &Value) -> Result<(), ApiError> {
    let values = values.as_array().ok_or_else(|| malformed("$deleteFromPrimitiveList is not a list"))?;
    if let Some(Value::Array(items)) = object.get_mut(field) {
        items.retain(|item| !values.contains(item));
    }
    Ok(())
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
            let mut items = match found {
                Some(Value::Array(items)) => std::mem::take(items),
                _ => Vec::new(),
            };
            let before = items.clone();
            merge_list(key, &mut items, patch)?;
            // A patch without `$setElementOrder` requests the order of its items.
            let own =
                || Value::Array(patch.iter().filter(|item| item.get(DIRECTIVE).is_none()).cloned().collect());
            put_in_order(key, &mut items, &before, &order.cloned().unwrap_or_else(own))?;
            object.insert(key.to_owned(), Value::Array(items));
        }
        (Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {
            object.insert(key.to_owned(), value.clone());
        }
    }
    Ok(())
}

fn merge_list(field: &str, items: &mut Vec<Value>, patch: &[Value]) -> Result<(), ApiError> {
    let sample: Vec<Value> = patch.iter().chain(items.iter()).cloned().collect();
    match strategy(field, &sample) {
        Strategy::Replace => *items = patch.to_vec(),
        Strategy::Set => {
            for value in patch {
                if !items.contains(value) {
                    items.push(value.clone());
                }
            }
        }
        Strategy::ByKey(key) => {
            if patch.iter().any(|item| item[DIRECTIVE] == "replace") {
                *items = patch.iter().filter(|item| item.get(DIRECTIVE).is_none()).cloned().collect();
                return Ok(());
            }
            for item in patch {
                merge_item(field, key, items, item)?;
            }
        }
    }
    Ok(())
}

fn merge_item(field: &str, key: &str, items: &mut Vec<Value>, item: &Value) -> Result<(), ApiError> {
    let patch = item.as_object().ok_or_else(|| malformed(&format!("an item of {field} is not an object")))?;
    let value = patch.get(key).ok_or_else(|| {
        let message =
            format!("map: {} does not contain declared merge key: {key}", Value::Object(patch.clone()));
        ApiError { code: 500, reason: "", ..ApiError::bad_request(message) }
    })?;
    if directive(patch)? == Some("delete") {
        items.retain(|it| it.get(key) != Some(value));
        return Ok(());
    }
    if let Some(Value::Object(found)) = items.iter_mut().find(|it| it.get(key) == Some(value)) {
        return merge_object(found, patch);
    }
    let mut made = json!({});
    merge(&mut made, item)?;
    items.push(made);
    Ok(())
}

/// Sorts the named items into the requested order, and inserts the others between them. Another item is before a
/// named one only if it was so in the former list (`normalizeElementOrder`). So new items come first.
fn put_in_order(
    field: &str,
    items: &mut Vec<Value>,
    before: &[Value],
    order: &Value,
) -> Result<(), ApiError> {
    let order = order.as_array().ok_or_else(|| malformed("$setElementOrder is not a list"))?;
    let sample: Vec<Value> = items.iter().chain(order).cloned().collect();
    let key = match strategy(field, &sample) {
        Strategy::ByKey(key) => Some(key),
        Strategy::Set => None,
        Strategy::Replace => return Ok(()),
    };
    let name = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let rank = |item: &Value| order.iter().position(|it| name(it) == name(item));
    let former = |item: &Value| before.iter().position(|it| name(it) == name(item));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        items.drain(..).partition(|item| rank(item).is_some());
    named.sort_by_key(|item| rank(item));
    others.sort_by_key(|item| former(item));
    let mut others = others.into_iter().peekable();
    for item in named {
        while let Some(other) = others.peek() {
            let goes_first = former(other).zip(former(&item)).is_some_and(|(other, item)| other < item);
            match others.next_if(|_| goes_first) {
                Some(other) => items.push(other),
                None => break,
            }
        }
        items.push(item);
    }
    items.extend(others);
    Ok(())
}
