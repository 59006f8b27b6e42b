//! The lists of a strategic merge patch. Items are found by hashes of their keys, so that the time is linear.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::{DIRECTIVE, directive, malformed, merge_object};
use crate::error::ApiError;

/// The merge strategy of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// As a whole.
    Replace,
    /// Item by item, with this member as the key.
    ByKey(&'static str),
    /// As a set of plain values.
    Set,
}

/// The key of the ports of a container. Other lists of ports are replaced as a whole.
const PORT: &str = "containerPort";

impl Strategy {
    /// The strategy of a list in this field that can be merged (`k8s.io/api` types).
    pub(super) fn of_field(field: &str) -> Strategy {
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
            "ports" => Strategy::ByKey(PORT),
            "hostAliases" | "podIPs" | "hostIPs" => Strategy::ByKey("ip"),
            "topologySpreadConstraints" => Strategy::ByKey("topologyKey"),
            "conditions" | "addresses" => Strategy::ByKey("type"),
            "ownerReferences" => Strategy::ByKey("uid"),
            "finalizers" | "podCIDRs" => Strategy::Set,
            _ => Strategy::Replace,
        }
    }

    /// The strategy of the list with these items.
    pub(super) fn of_list<'a>(field: &str, mut items: impl Iterator<Item = &'a Value>) -> Strategy {
        match Strategy::of_field(field) {
            Strategy::ByKey(PORT) if !items.any(|item| item.get(PORT).is_some()) => Strategy::Replace,
            strategy => strategy,
        }
    }

    /// The value that identifies an item: that of its key, or the item. An item without a key has the name `null`.
    fn name(self, item: &Value) -> &Value {
        match self {
            Strategy::ByKey(key) => &item[key],
            Strategy::Replace | Strategy::Set => item,
        }
    }
}

/// Removes values from a list of plain values.
pub(super) fn delete_from(
    object: &mut Map<String, Value>,
    field: &str,
    values: &Value,
) -> Result<(), ApiError> {
    let values = values.as_array().ok_or_else(|| malformed("$deleteFromPrimitiveList is not a list"))?;
    if let Some(Value::Array(items)) = object.get_mut(field) {
        let values: HashSet<&Value> = values.iter().collect();
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

/// Returns the items of a list with those of a patch merged into it. New items are the last.
pub(super) fn merge_list(
    field: &str,
    mut items: Vec<Value>,
    patch: &[Value],
) -> Result<Vec<Value>, ApiError> {
    match Strategy::of_list(field, patch.iter().chain(&items)) {
        Strategy::Replace => Ok(patch.to_vec()),
        Strategy::Set => {
            let mut known: HashSet<&Value> = items.iter().collect();
            let added: Vec<Value> = patch.iter().filter(|value| known.insert(value)).cloned().collect();
            items.extend(added);
            Ok(items)
        }
        Strategy::ByKey(_) if patch.iter().any(|item| item[DIRECTIVE] == "replace") => {
            Ok(patch.iter().filter(|item| item.get(DIRECTIVE).is_none()).cloned().collect())
        }
        Strategy::ByKey(key) => {
            let mut list = Keyed::new(key, items);
            for item in patch {
                let patch = item
                    .as_object()
                    .ok_or_else(|| malformed(&format!("an item of {field} is not an object")))?;
                list.merge_item(patch)?;
            }
            Ok(list.items.into_iter().flatten().collect())
        }
    }
}

/// A list whose items are found by a key.
struct Keyed {
    key: &'static str,
    /// The items. `None`: the patch has removed it.
    items: Vec<Option<Value>>,
    /// The places of the items with each value of the key. Nothing forbids duplicates.
    places: HashMap<Value, BTreeSet<usize>>,
}

impl Keyed {
    fn new(key: &'static str, items: Vec<Value>) -> Keyed {
        let mut list = Keyed { key, items: Vec::with_capacity(items.len()), places: HashMap::new() };
        items.into_iter().for_each(|item| list.push(item));
        list
    }

    fn push(&mut self, item: Value) {
        if let Some(value) = item.get(self.key) {
            self.places.entry(value.clone()).or_default().insert(self.items.len());
        }
        self.items.push(Some(item));
    }

    fn merge_item(&mut self, patch: &Map<String, Value>) -> Result<(), ApiError> {
        let value = patch.get(self.key).ok_or_else(|| {
            let message = format!(
                "map: {} does not contain declared merge key: {}",
                Value::Object(patch.clone()),
                self.key
            );
            ApiError { code: 500, reason: "", ..ApiError::bad_request(message) }
        })?;
        if directive(patch)? == Some("delete") {
            for place in self.places.remove(value).into_iter().flatten() {
                self.items[place] = None;
            }
            return Ok(());
        }
        let first = self.places.get(value).and_then(BTreeSet::first).copied();
        let Some(place) = first else {
            let mut made = Map::new();
            merge_object(&mut made, patch)?;
            self.push(Value::Object(made));
            return Ok(());
        };
        if let Some(Value::Object(found)) = &mut self.items[place] {
            merge_object(found, patch)?;
            // A patch can change the value of a key only if it is no plain value.
            let now = found.get(self.key);
            if now != Some(value) {
                let now = now.cloned();
                self.rename(place, value, now);
            }
        }
        Ok(())
    }

    fn rename(&mut self, place: usize, old: &Value, new: Option<Value>) {
        if let Some(places) = self.places.get_mut(old) {
            places.remove(&place);
        }
        if let Some(new) = new {
            self.places.entry(new).or_default().insert(place);
        }
    }
}

/// The order of the names in a list before a patch.
pub(super) struct Former(HashMap<Value, usize>);

impl Former {
    pub(super) fn of(field: &str, items: &[Value]) -> Former {
        let strategy = Strategy::of_field(field);
        let mut places = HashMap::new();
        if strategy != Strategy::Replace {
            for (place, item) in items.iter().enumerate() {
                places.entry(strategy.name(item).clone()).or_insert(place);
            }
        }
        Former(places)
    }
}

/// Sorts the named items into the requested order, and inserts the others between them. Another item is before a
/// named one only if it was so in the former list (`normalizeElementOrder`). So new items come first.
pub(super) fn put_in_order(field: &str, items: Vec<Value>, former: &Former, order: &[&Value]) -> Vec<Value> {
    let strategy = Strategy::of_list(field, items.iter().chain(order.iter().copied()));
    if strategy == Strategy::Replace {
        return items;
    }
    let mut ranks = HashMap::new();
    for (rank, item) in order.iter().enumerate() {
        ranks.entry(strategy.name(item)).or_insert(rank);
    }
    let count = items.len();
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in items {
        let name = strategy.name(&item);
        let before = former.0.get(name).copied();
        match ranks.get(name) {
            Some(rank) => named.push((*rank, before, item)),
            None => others.push((before, item)),
        }
    }
    named.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(before, _)| *before);
    let mut others = others.into_iter().peekable();
    let mut sorted = Vec::with_capacity(count);
    for (_, before, item) in named {
        let goes_first = |(other, _): &(Option<usize>, Value)| {
            other.zip(before).is_some_and(|(other, before)| other < before)
        };
        while let Some((_, other)) = others.next_if(goes_first) {
            sorted.push(other);
        }
        sorted.push(item);
    }
    sorted.extend(others.map(|(_, item)| item));
    sorted
}
