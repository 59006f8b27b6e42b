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

use serde_json::{Map, Value, json};

use crate::error::ApiError;

const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";
const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";

/// The merge strategy of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// As a whole.
    Replace,
    /// Item by item, with this member as the key.
    ByKey(&'static str),
    /// As a set of plain values.
    Set,
}

/// The strategy of the list in this field (`k8s.io/api` types).
fn strategy(field: &str, items: &[Value]) -> Strategy {
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaimStatuses"
        | "secrets" => Strategy::ByKey("name"),
        // This is the list of a pod. The claims in a container's resources are a list that is replaced as a
        // whole.
        "resourceClaims" => Strategy::ByKey("name"),
        "volumeMounts" => Strategy::ByKey("mountPath"),
        "volumeDevices" => Strategy::ByKey("devicePath"),
        "ports" if items.iter().any(|item| item.get("containerPort").is_some()) => {
            Strategy::ByKey("containerPort")
        }
        "hostAliases" | "podIPs" | "hostIPs" => Strategy::ByKey("ip"),
        "topologySpreadConstraints" => Strategy::ByKey("topologyKey"),
        "conditions" | "addresses" => Strategy::ByKey("type"),
        "ownerReferences" => Strategy::ByKey("uid"),
        "finalizers" | "podCIDRs" => Strategy::Set,
        _ => Strategy::Replace,
    }
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

fn directive(patch: &Map<String, Value>) -> Result<Option<&str>, ApiError> {
    match patch.get(DIRECTIVE) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(malformed("$patch is not a text")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(object: Value, patch: &Value) -> Value {
        let mut object = object;
        merge(&mut object, patch).unwrap();
        object
    }

    #[test]
    fn finalizers_are_a_set() {
        let pod = json!({"metadata": {"finalizers": ["a", "b"]}});
        let removed =
            merged(pod.clone(), &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}));
        assert_eq!(removed["metadata"]["finalizers"], json!(["b"]));
        let added = merged(pod.clone(), &json!({"metadata": {"finalizers": ["c", "a"]}}));
        assert_eq!(added["metadata"]["finalizers"], json!(["c", "a", "b"]));
        let both = json!({"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["b"],
            "$setElementOrder/finalizers": ["c", "a"]}});
        assert_eq!(merged(pod, &both)["metadata"]["finalizers"], json!(["c", "a"]));
    }

    #[test]
    fn keyed_lists_are_merged_item_by_item() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}});
        let patch = json!({"spec": {"containers": [
            {"name": "a", "image": null, "env": [{"name": "Y", "value": "2"}, {"name": "X", "$patch": "delete"}]},
            {"name": "c"}], "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}});
        let expected =
            json!([{"name": "c"}, {"name": "a", "env": [{"name": "Y", "value": "2"}]}, {"name": "b"}]);
        assert_eq!(merged(pod, &patch)["spec"]["containers"], expected);
    }

    #[test]
    fn owners_are_merged_by_uid_and_deleted_by_directive() {
        let pod = json!({"metadata": {"ownerReferences": [{"uid": "1", "controller": true}, {"uid": "2"}]}});
        let release = json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "1"}]}});
        assert_eq!(merged(pod.clone(), &release)["metadata"]["ownerReferences"], json!([{"uid": "2"}]));
        let adopt = json!({"metadata": {"ownerReferences": [{"uid": "3", "controller": true}]}});
        assert_eq!(merged(pod, &adopt)["metadata"]["ownerReferences"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn directives_replace_retain_and_delete() {
        let object = json!({"a": {"x": 1, "y": 2}, "volumes": [{"name": "v", "emptyDir": {}}], "t": [1, 2]});
        assert_eq!(
            merged(object.clone(), &json!({"a": {"$patch": "replace", "z": 3}}))["a"],
            json!({"z": 3})
        );
        assert_eq!(merged(object.clone(), &json!({"a": {"$patch": "delete"}})).get("a"), None);
        let retain = json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]});
        let volumes = merged(object.clone(), &retain)["volumes"].clone();
        assert_eq!(volumes, json!([{"name": "v", "hostPath": {"path": "/"}}]));
        let whole = json!({"volumes": [{"$patch": "replace"}, {"name": "w"}], "t": [3]});
        let after = merged(object, &whole);
        assert_eq!((&after["volumes"], &after["t"]), (&json!([{"name": "w"}]), &json!([3])));
    }

    #[test]
    fn a_malformed_patch_is_refused() {
        let object = || json!({"spec": {"containers": [{"name": "a"}]}});
        for patch in [
            json!([]),
            json!({"spec": {"$patch": 1}}),
            json!({"spec": {"$patch": "other"}}),
            json!({"spec": {"containers": [{"image": "x"}]}}),
            json!({"spec": {"containers": ["a"]}}),
            json!({"spec": {"$retainKeys": 1}}),
            json!({"spec": {"$setElementOrder/containers": 1}}),
        ] {
            assert!(merge(&mut object(), &patch).is_err(), "{patch}");
        }
    }
}
