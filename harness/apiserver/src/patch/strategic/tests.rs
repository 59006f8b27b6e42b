use proptest::prelude::*;
use serde_json::json;

use super::*;

mod simple;

fn merged(object: Value, patch: &Value) -> Value {
    let mut object = object;
    merge(&mut object, patch).unwrap();
    object
}

#[test]
fn finalizers_are_a_set() {
    let pod = json!({"metadata": {"finalizers": ["a", "b"]}});
    let removed = merged(pod.clone(), &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}));
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
    let expected = json!([{"name": "c"}, {"name": "a", "env": [{"name": "Y", "value": "2"}]}, {"name": "b"}]);
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
    assert_eq!(merged(object.clone(), &json!({"a": {"$patch": "replace", "z": 3}}))["a"], json!({"z": 3}));
    assert_eq!(merged(object.clone(), &json!({"a": {"$patch": "delete"}})).get("a"), None);
    let retain =
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]});
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

/// A member of an object or of a patch: fields of every strategy, keys of their items, and directives.
fn member() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "containers",
        "env",
        "ports",
        "finalizers",
        "ownerReferences",
        "plain",
        "name",
        "uid",
        "containerPort",
        "a",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$setElementOrder/ports",
        "$deleteFromPrimitiveList/finalizers",
    ])
    .prop_map(str::to_owned)
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (0..3_u8).prop_map(|number| json!(number)),
        prop::sample::select(vec!["x", "y", "z", "name", "delete", "replace", "merge"])
            .prop_map(|text| json!(text)),
    ]
}

/// Items of a list with keys that are often equal.
fn item() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["name", "uid", "containerPort"]);
    (key, leaf(), prop::option::of(leaf()), 0..9_u8).prop_map(|(key, value, other, directive)| {
        let mut item = json!({key: value});
        if let Some(other) = other {
            item["a"] = other;
        }
        match directive {
            0 => item["$patch"] = json!("delete"),
            1 => item["name"] = json!({"$patch": "replace", "x": {"y": null}}),
            _ => {}
        }
        item
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => leaf(), 2 => item()].prop_recursive(4, 40, 5, |inner| {
        let members = prop::collection::btree_map(member(), inner.clone(), 0..5);
        let list = prop::collection::vec(prop_oneof![1 => inner, 2 => item()], 0..6);
        prop_oneof![
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
            list.prop_map(Value::Array)
        ]
    })
}

proptest! {
    /// The result is that of linear searches, which are slow and plainly right.
    #[test]
    fn an_index_changes_no_result(object in value(), patch in value(), second in value()) {
        let (mut fast, mut slow) = (object.clone(), object);
        for patch in [patch, second] {
            let (one, other) = (merge(&mut fast, &patch), simple::merge(&mut slow, &patch));
            prop_assert_eq!(&one, &other);
            if one.is_err() {
                break;
            }
            prop_assert_eq!(&fast, &slow);
        }
    }
}

/// The processor time of this thread in seconds. Time in which others run does not count.
fn busy() -> f64 {
    let counters = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    counters.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// The seconds that five merges of a patch take.
fn seconds(patch: &Value, again: &Value) -> f64 {
    let begin = busy();
    for _ in 0..5 {
        let mut object = json!({});
        merge(&mut object, patch).unwrap();
        merge(&mut object, again).unwrap();
    }
    busy() - begin
}

/// A server does one request at a time, so one patch must not stop it.
#[test]
fn the_time_is_linear_in_the_items() {
    type Patch = fn(usize) -> Value;
    let keyed: Patch = |count| {
        let items: Vec<Value> =
            (0..count).map(|it| json!({"name": format!("c{it}"), "image": "i"})).collect();
        json!({"containers": items})
    };
    let set: Patch = |count| {
        let items: Vec<Value> = (0..count).map(|it| json!(format!("f{it}"))).collect();
        json!({"$setElementOrder/finalizers": items, "finalizers": items})
    };
    let deleted: Patch = |count| {
        let items: Vec<Value> =
            (0..count).map(|it| json!({"name": format!("c{it}"), "$patch": "delete"})).collect();
        json!({"containers": items})
    };
    let removed: Patch = |count| {
        let items: Vec<Value> = (0..count).map(|it| json!(format!("f{it}"))).collect();
        json!({"$deleteFromPrimitiveList/finalizers": items})
    };
    for (first, second) in [(keyed, keyed), (keyed, deleted), (set, set), (set, removed)] {
        let (small, large) =
            (seconds(&first(4_000), &second(4_000)), seconds(&first(32_000), &second(32_000)));
        // Eight times the items take 64 times as long in quadratic time.
        assert!(large < small * 24.0, "{small} s, with eight times the items {large} s");
    }
}
