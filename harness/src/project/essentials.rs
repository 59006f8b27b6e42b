//! What a pod must take from its template unchanged, as far as it is compared (PC-14): the fields below, where
//! the template sets them.
//!
//! | path | JSON path below `spec` |
//! | --- | --- |
//! | `restartPolicy` and the other [`FIELDS`] | the same |
//! | `nodeSelector/KEY` | the same: each on its own |
//! | `tolerations`, `schedulingGates` | each item on its own, whatever its place |
//! | `containers/NAME/image` and the other [`OF_CONTAINER`] | the same of the container with this name |
//! | `containers/NAME/resources/requests/RESOURCE`, and `limits` | the same |

use jobcheck_model::job::Text;
use serde_json::Value;

use super::cache::Texts;
use super::digest;

const FIELDS: [&str; 6] = [
    "restartPolicy",
    "serviceAccountName",
    "priorityClassName",
    "schedulerName",
    "runtimeClassName",
    "affinity",
];
const LISTS: [&str; 2] = ["tolerations", "schedulingGates"];
const OF_CONTAINER: [&str; 4] = ["image", "command", "args", "workingDir"];
const OF_RESOURCES: [&str; 2] = ["requests", "limits"];

/// Paths with the digests of their values, in the order of the tables.
pub(super) fn of_pod_spec(texts: &mut Texts, spec: Option<&Value>) -> Vec<(Text, u64)> {
    let mut found = Found { texts, pairs: Vec::new() };
    let Some(spec) = spec else { return found.pairs };
    found.fields("", spec, &FIELDS);
    found.members("nodeSelector/", spec.get("nodeSelector"));
    for list in LISTS {
        items(spec, list).for_each(|item| found.add(list, item));
    }
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            found.fields(&format!("{list}/{name}/"), container, &OF_CONTAINER);
            for kind in OF_RESOURCES {
                let amounts = container.get("resources").and_then(|it| it.get(kind));
                found.members(&format!("{list}/{name}/resources/{kind}/"), amounts);
            }
        }
    }
    found.pairs
}

fn items<'a>(object: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.get(list).and_then(Value::as_array).into_iter().flatten()
}

struct Found<'a> {
    texts: &'a mut Texts,
    pairs: Vec<(Text, u64)>,
}

impl Found<'_> {
    fn add(&mut self, path: &str, value: &Value) {
        if is_set(value) {
            self.pairs.push((self.texts.share(path), digest::of_values([Some(value)])));
        }
    }

    fn fields(&mut self, prefix: &str, object: &Value, fields: &[&str]) {
        for field in fields {
            if let Some(value) = object.get(field) {
                self.add(&format!("{prefix}{field}"), value);
            }
        }
    }

    fn members(&mut self, prefix: &str, object: Option<&Value>) {
        for (key, value) in object.and_then(Value::as_object).into_iter().flatten() {
            self.add(&format!("{prefix}{key}"), value);
        }
    }
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(spec: &Value) -> Vec<(Text, u64)> {
        of_pod_spec(&mut Texts::default(), Some(spec))
    }

    #[test]
    fn what_the_template_sets_is_found_again_in_the_pod() {
        let template = json!({"restartPolicy": "Never", "serviceAccountName": "", "containers": [
            {"name": "main", "image": "i", "command": ["a", "b"], "args": []}
        ]});
        let mut pod = template.clone();
        pod["containers"][0]["env"] = json!([{"name": "X", "value": "1"}]);
        let wanted = of(&template);
        let paths: Vec<&str> = wanted.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, ["restartPolicy", "containers/main/image", "containers/main/command"]);
        assert_eq!(of(&pod), wanted);
        pod["containers"][0]["command"] = json!(["b", "a"]);
        assert_ne!(of(&pod), wanted);
    }

    /// SU-12: what may change while a Job is suspended.
    #[test]
    fn directives_are_compared_one_by_one() {
        let template = json!({
            "nodeSelector": {"zone": "a", "disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "schedulingGates": [{"name": "example.com/wait"}],
            "affinity": {"nodeAffinity": {}},
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {}}}]
        });
        let wanted = of(&template);
        let paths: Vec<&str> = wanted.iter().map(|(path, _)| &**path).collect();
        let expected =
            ["affinity", "nodeSelector/disk", "nodeSelector/zone", "tolerations", "schedulingGates"];
        assert_eq!(paths[..5], expected);
        assert_eq!(paths[5..], ["containers/main/resources/requests/cpu"]);
        let mut pod = template.clone();
        let added =
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300});
        pod["tolerations"].as_array_mut().unwrap().insert(0, added);
        let has_all = |pod: &Value| wanted.iter().all(|pair| of(pod).contains(pair));
        assert!(has_all(&pod));
        for (path, other) in [
            ("/nodeSelector/zone", json!("b")),
            ("/tolerations/1/key", json!("tpu")),
            ("/schedulingGates", json!([])),
            ("/affinity", json!(null)),
            ("/containers/0/resources/requests/cpu", json!("2")),
        ] {
            let mut pod = pod.clone();
            *pod.pointer_mut(path).unwrap() = other;
            assert!(!has_all(&pod), "{path}");
        }
    }
}
