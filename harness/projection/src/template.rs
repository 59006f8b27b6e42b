//! `spec.template` of a Job, divided into the parts with update rules of their own (SU-12, SU-13).
//!
//! | field of `Template` | JSON path below `spec.template` |
//! | --- | --- |
//! | `digest` | the whole template |
//! | `metadata_digest` | `metadata` without labels and annotations |
//! | `labels_digest` | `metadata.labels`, `metadata.annotations` |
//! | `fixed_digest` | `spec` without the parts of the next two digests |
//! | `directives_digest` | `spec.`: `nodeSelector`, `affinity.nodeAffinity`, `tolerations`, `schedulingGates` |
//! | `resources_digest` | `name` and `resources` of `spec.initContainers` and `spec.containers`, in order |
//! | `labels`, `annotations` | `metadata.` the same, sorted |
//! | `finalizers` | `metadata.finalizers`, in order |
//! | `restart_policy` | `spec.restartPolicy`; an absent or undefined value is `Unset` |
//! | `has_ttl` | `ttlSecondsAfterFinished` or `spec.ttlSecondsAfterFinished` is present |
//! | `essentials` | see [`super::essentials`] |
//! | `container_names` | `name` of `spec.containers`, then of `spec.initContainers` |

use jobcheck_spec::job::{RestartPolicy, Template, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::cache::Texts;
use super::error::{ProjectError, read, read_value};
use super::wire::{Pairs, Str};
use super::{digest, essentials, metadata};

/// The path of the template in its object.
const ROOT: &str = "spec.template";

/// The fields with a type; the others are only compared.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTemplate<'a> {
    ttl_seconds_after_finished: Option<IgnoredAny>,
    #[serde(borrow)]
    metadata: Option<WireTemplateMetadata<'a>>,
    #[serde(borrow)]
    spec: Option<WirePodSpec<'a>>,
}

#[derive(Deserialize)]
struct WireTemplateMetadata<'a> {
    #[serde(borrow)]
    labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    annotations: Option<Pairs<'a>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Str<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePodSpec<'a> {
    ttl_seconds_after_finished: Option<IgnoredAny>,
    #[serde(borrow)]
    restart_policy: Option<Str<'a>>,
    #[serde(borrow)]
    containers: Option<Vec<WireContainer<'a>>>,
    #[serde(borrow)]
    init_containers: Option<Vec<WireContainer<'a>>>,
}

#[derive(Deserialize)]
struct WireContainer<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
}

/// Projects a template.
pub(super) fn project(texts: &mut Texts, text: &str) -> Result<Template, ProjectError> {
    let wire: WireTemplate = read(text, ROOT)?;
    let mut whole = read_value(text, ROOT)?;
    let digest = digest::of_values([Some(&whole)]);
    let essentials = essentials::of_pod_spec(texts, whole.get("spec"));
    let mut metadata = take_object(&mut whole, "metadata");
    let mut spec = take_object(&mut whole, "spec");
    metadata.retain(|key, _| key != "labels" && key != "annotations");
    let directives = take_directives(&mut spec);
    let resources = ["initContainers", "containers"].map(|list| take_resources(&mut spec, list));
    let pairs = wire.metadata.as_ref();
    let labels = pairs.and_then(|metadata| metadata.labels.as_ref());
    let annotations = pairs.and_then(|metadata| metadata.annotations.as_ref());
    Ok(Template {
        digest,
        metadata_digest: digest::of_values([Some(&Value::Object(metadata))]),
        labels_digest: digest::of_pairs(labels, annotations),
        fixed_digest: digest::of_values([Some(&Value::Object(spec))]),
        directives_digest: digest::of_values(directives.iter().map(Option::as_ref)),
        resources_digest: digest::of_values(resources.iter().map(Some)),
        labels: metadata::pairs(texts, labels),
        annotations: metadata::pairs(texts, annotations),
        finalizers: pairs.map(|metadata| finalizers(texts, metadata)).unwrap_or_default(),
        restart_policy: restart_policy(wire.spec.as_ref().and_then(|spec| spec.restart_policy.as_ref())),
        container_names: wire.spec.as_ref().map(|spec| container_names(texts, spec)).unwrap_or_default(),
        essentials,
        has_ttl: wire.ttl_seconds_after_finished.is_some()
            || wire.spec.as_ref().is_some_and(|spec| spec.ttl_seconds_after_finished.is_some()),
    })
}

/// The restart policy of a template.
fn restart_policy(text: Option<&Str<'_>>) -> RestartPolicy {
    match text.map_or("", AsRef::as_ref) {
        "Never" => RestartPolicy::Never,
        "OnFailure" => RestartPolicy::OnFailure,
        "Always" => RestartPolicy::Always,
        _ => RestartPolicy::Unset,
    }
}

fn finalizers(texts: &mut Texts, metadata: &WireTemplateMetadata<'_>) -> Vec<Text> {
    metadata.finalizers.iter().flatten().map(|name| texts.share(name.as_ref())).collect()
}

fn container_names(texts: &mut Texts, spec: &WirePodSpec<'_>) -> Vec<Text> {
    let containers = spec.containers.iter().chain(&spec.init_containers).flatten();
    containers.map(|container| texts.share_or_empty(container.name.as_ref())).collect()
}

fn take_object(whole: &mut Value, key: &str) -> Map<String, Value> {
    match whole.get_mut(key).map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Removes the scheduling directives and returns them. The API server treats an affinity that is empty
/// without its node affinity, and an empty node selector, as absent.
fn take_directives(spec: &mut Map<String, Value>) -> [Option<Value>; 4] {
    let affinity = spec.get_mut("affinity").and_then(Value::as_object_mut);
    let node_affinity = affinity.and_then(|affinity| affinity.remove("nodeAffinity"));
    if spec.get("affinity").is_some_and(is_empty_object) {
        spec.remove("affinity");
    }
    let selector = spec.remove("nodeSelector").filter(|selector| !is_empty_object(selector));
    [selector, node_affinity, take_list(spec, "tolerations"), take_list(spec, "schedulingGates")]
}

fn is_empty_object(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// Removes a list; `None` if it is empty.
fn take_list(spec: &mut Map<String, Value>, key: &str) -> Option<Value> {
    spec.remove(key).filter(|list| list.as_array().is_none_or(|items| !items.is_empty()))
}

/// Removes the resources of the containers in a list, and returns them with the names of the containers.
fn take_resources(spec: &mut Map<String, Value>, list: &str) -> Value {
    let mut resources = Vec::new();
    for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
        resources.push(container.get("name").cloned().unwrap_or_default());
        let own = container.as_object_mut().and_then(|container| container.remove("resources"));
        resources.push(own.unwrap_or_default());
    }
    Value::Array(resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Value {
        json!({
            "metadata": {"labels": {"b": "2", "a": "1"}, "annotations": {"c": "3"}, "finalizers": ["example.com/f"]},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "main", "image": "i", "resources": {"limits": {"cpu": "1"}}},
                    {"name": "side", "image": "i"},
                ],
                "initContainers": [{"name": "init", "image": "i", "resources": {}}],
                "nodeSelector": {"disk": "ssd"},
                "affinity": {"nodeAffinity": {"x": 1}, "podAffinity": {"y": 1}},
                "tolerations": [{"key": "k"}],
                "schedulingGates": [{"name": "g"}],
            },
        })
    }

    fn template(value: &Value) -> Template {
        project(&mut Texts::default(), &value.to_string()).unwrap()
    }

    /// The digests of metadata, labels, fixed part, directives, and resources.
    fn digests(t: &Template) -> [u64; 5] {
        [t.metadata_digest, t.labels_digest, t.fixed_digest, t.directives_digest, t.resources_digest]
    }

    #[test]
    fn the_fields_with_a_meaning_are_read() {
        let template = template(&sample());
        assert_eq!(template.labels, [("a".into(), "1".into()), ("b".into(), "2".into())]);
        assert_eq!(template.annotations, [("c".into(), "3".into())]);
        assert_eq!(template.restart_policy, RestartPolicy::Never);
        assert_eq!(template.finalizers, ["example.com/f".into()]);
        assert_eq!(
            template.container_names.iter().map(|n| &**n).collect::<Vec<_>>(),
            ["main", "side", "init"]
        );
    }

    #[test]
    fn a_ttl_in_the_template_is_seen() {
        assert!(!template(&sample()).has_ttl);
        assert!(template(&json!({"ttlSecondsAfterFinished": 3})).has_ttl);
        assert!(template(&json!({"spec": {"ttlSecondsAfterFinished": 3}})).has_ttl);
        assert!(!template(&json!({"spec": {"ttlSecondsAfterFinished": null}})).has_ttl);
    }

    #[test]
    fn an_edit_changes_the_digest_of_its_part_only() {
        let table = [
            ("/metadata/finalizers/0", json!("example.com/g"), [true, false, false, false, false]),
            ("/metadata/labels/a", json!("2"), [false, true, false, false, false]),
            ("/metadata/annotations/c", json!("2"), [false, true, false, false, false]),
            ("/spec/restartPolicy", json!("OnFailure"), [false, false, true, false, false]),
            ("/spec/containers/0/image", json!("j"), [false, false, true, false, false]),
            ("/spec/affinity/podAffinity", json!({"y": 2}), [false, false, true, false, false]),
            ("/spec/affinity/nodeAffinity", json!({"x": 2}), [false, false, false, true, false]),
            ("/spec/nodeSelector/disk", json!("hdd"), [false, false, false, true, false]),
            ("/spec/tolerations", json!([]), [false, false, false, true, false]),
            ("/spec/schedulingGates", json!(null), [false, false, false, true, false]),
            (
                "/spec/containers/0/resources",
                json!({"limits": {"cpu": "2"}}),
                [false, false, false, false, true],
            ),
            ("/spec/initContainers/0/resources", json!({"limits": {}}), [false, false, false, false, true]),
            ("/spec/containers/1/name", json!("other"), [false, false, true, false, true]),
        ];
        let original = template(&sample());
        for (pointer, new, expected) in table {
            let mut edited = sample();
            *edited.pointer_mut(pointer).unwrap() = new;
            let edited = template(&edited);
            assert_ne!(edited.digest, original.digest, "{pointer}");
            let (before, after) = (digests(&original), digests(&edited));
            let changed: Vec<bool> =
                before.iter().zip(after).map(|(before, after)| *before != after).collect();
            assert_eq!(changed, expected, "{pointer}");
        }
    }

    #[test]
    fn an_affinity_with_nothing_but_a_node_affinity_counts_as_none() {
        let (mut without, mut with) = (sample(), sample());
        without["spec"]["affinity"] = json!(null);
        with["spec"]["affinity"] = json!({"nodeAffinity": {"x": 1}});
        let (without, with) = (template(&without), template(&with));
        assert_eq!(without.fixed_digest, with.fixed_digest);
        assert_ne!(without.directives_digest, with.directives_digest);
    }

    #[test]
    fn an_undefined_restart_policy_is_unset() {
        for (text, policy) in [
            (json!("Always"), RestartPolicy::Always),
            (json!(""), RestartPolicy::Unset),
            (json!("Sometimes"), RestartPolicy::Unset),
            (json!(null), RestartPolicy::Unset),
        ] {
            assert_eq!(template(&json!({"spec": {"restartPolicy": text}})).restart_policy, policy);
        }
    }
}
