//! `meta.k8s.io/v1` tables and metadata, the forms that `kubectl get` and metadata clients request.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::table_cells::{cells, columns};
use crate::request::List;
use crate::resource::Resource;

/// A list as a table.
pub(super) fn of_list(now: Timestamp, list: &List, include: &str) -> Value {
    let items: Vec<&Value> = list.items.iter().map(|item| &**item).collect();
    let mut table = of_objects(now, list.resource, &items, include);
    table["metadata"] = list_metadata(list);
    table
}

/// Objects as a table.
pub(super) fn of_objects(now: Timestamp, resource: Resource, objects: &[&Value], include: &str) -> Value {
    let rows: Vec<Value> = objects.iter().map(|object| row(now, resource, object, include)).collect();
    let version = match objects {
        [one] => one["metadata"]["resourceVersion"].clone(),
        _ => Value::Null,
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": version},
        "columnDefinitions": columns(resource), "rows": rows,
    })
}

/// The row of an object.
pub(super) fn row(now: Timestamp, resource: Resource, object: &Value, include: &str) -> Value {
    let shown = match include {
        "None" => Value::Null,
        "Object" => Value::clone(object),
        _ => metadata_of(object),
    };
    json!({"cells": cells(now, resource, object), "object": shown})
}

/// The object of a watch event as a table. Only the first one has column definitions.
pub(super) fn of_event(
    now: Timestamp,
    resource: Resource,
    object: &Value,
    include: &str,
    first: bool,
) -> Value {
    let mut table = of_objects(now, resource, &[object], include);
    if !first {
        table["columnDefinitions"] = Value::Null;
    }
    table
}

/// The `PartialObjectMetadata` of an object.
pub(super) fn metadata_of(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// The `PartialObjectMetadataList` of a list.
pub(super) fn metadata_list(list: &List) -> Value {
    let items: Vec<Value> = list.items.iter().map(|item| metadata_of(item)).collect();
    json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata(list), "items": items,
    })
}

fn list_metadata(list: &List) -> Value {
    let mut metadata = json!({"resourceVersion": list.revision.to_string()});
    if !list.resume.is_empty() {
        metadata["continue"] = json!(list.resume);
    }
    if let Some(remaining) = list.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    metadata
}
