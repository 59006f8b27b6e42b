//! Properties of the projection that hold for objects of every kind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixtures::{JOB, METADATA, POD, POD_REQUEST, raw, value, with};
use super::{ProjectError, Projector};

/// Calls every projection on one object.
fn project_in_every_way(object: &Value) -> [Result<(), ProjectError>; 4] {
    let raw = raw(object);
    let mut projector = Projector::new();
    [
        projector.job(&raw).map(drop),
        projector.pod(&raw, None).map(drop),
        projector.created(&raw, Some(&raw)).map(drop),
        projector.metadata(&raw).map(drop),
    ]
}

#[test]
fn a_field_of_a_wrong_type_is_named() {
    let long = json!(1u64 << 40);
    let table = [
        (JOB, "/spec/parallelism", json!("2"), "spec.parallelism"),
        (JOB, "/spec/backoffLimit", long, "spec.backoffLimit"),
        (JOB, "/spec/podFailurePolicy/rules/0/action", json!(1), "spec.podFailurePolicy.rules[0].action"),
        (JOB, "/spec/selector/matchLabels", json!({"a": 1}), "spec.selector.matchLabels.a"),
        (JOB, "/spec/template", json!("x"), "spec.template"),
        (JOB, "/spec/template/metadata", json!({"labels": {"a": []}}), "spec.template.metadata.labels.a"),
        (JOB, "/spec/template/spec/containers/0/name", json!(1), "spec.template.spec.containers[0].name"),
        (JOB, "/spec", json!([1]), "spec"),
        (JOB, "/status/active", json!(1.5), "status.active"),
        (JOB, "/status/startTime", json!("yesterday"), "status.startTime"),
        (
            JOB,
            "/status/uncountedTerminatedPods/failed/1",
            json!({}),
            "status.uncountedTerminatedPods.failed[1]",
        ),
        (JOB, "/metadata/resourceVersion", json!("0x1"), "metadata.resourceVersion"),
        (JOB, "/metadata/uid", json!(7), "metadata.uid"),
        (POD, "/metadata/creationTimestamp", json!(0), "metadata.creationTimestamp"),
        (
            POD,
            "/metadata/ownerReferences/0/controller",
            json!("true"),
            "metadata.ownerReferences[0].controller",
        ),
        (
            POD,
            "/status/containerStatuses/0/restartCount",
            json!("1"),
            "status.containerStatuses[0].restartCount",
        ),
        (
            POD,
            "/status/conditions/0/lastTransitionTime",
            json!("2026"),
            "status.conditions[0].lastTransitionTime",
        ),
    ];
    for (fixture, pointer, wrong, path) in table {
        let object = raw(&with(fixture, &[(pointer, wrong)]));
        let mut projector = Projector::new();
        let error = match fixture {
            JOB => projector.job(&object).map(drop),
            _ => projector.pod(&object, None).map(drop),
        };
        assert_eq!(error.expect_err(pointer).path, path, "{pointer}");
    }
}

#[test]
fn every_field_may_be_null() {
    for fixture in [JOB, POD, POD_REQUEST, METADATA] {
        for pointer in member_pointers(&value(fixture)) {
            let object = with(fixture, &[(&pointer, Value::Null)]);
            for result in project_in_every_way(&object) {
                assert!(result.is_ok(), "{pointer}: {result:?}");
            }
        }
    }
}

/// The JSON pointers of all members of all objects within a value.
fn member_pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(key, child)| (key.replace('/', "~1"), child)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(i, child)| (i.to_string(), child)).collect(),
        _ => Vec::new(),
    };
    let mut pointers = Vec::new();
    for (key, child) in children {
        if value.is_object() {
            pointers.push(format!("/{key}"));
        }
        pointers.extend(member_pointers(child).iter().map(|inner| format!("/{key}{inner}")));
    }
    pointers
}

fn arbitrary_key() -> impl Strategy<Value = String> {
    let known = [
        "metadata",
        "spec",
        "status",
        "template",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "containers",
        "initContainers",
        "name",
        "resources",
        "affinity",
        "nodeAffinity",
        "conditions",
        "type",
        "containerStatuses",
        "state",
        "terminated",
        "rules",
        "selector",
        "matchExpressions",
        "env",
        "kind",
    ];
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,4}"]
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("9999-12-31T23:59:59.5-23:59")),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(arbitrary_key(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_json_never_panics(object in arbitrary_json()) {
        for result in project_in_every_way(&object) {
            if let Err(error) = result {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn an_object_with_one_arbitrary_field_never_panics(
        fixture in prop::sample::select(vec![JOB, POD, POD_REQUEST, METADATA]),
        place in any::<prop::sample::Index>(),
        new in arbitrary_json(),
    ) {
        let pointers = member_pointers(&value(fixture));
        let pointer: &String = place.get(&pointers);
        let _ = project_in_every_way(&with(fixture, &[(pointer, new)]));
    }
}
