//! What a pod must take from its template unchanged, as far as it is compared (PC-14): the fields below, where
//! the template sets them.
//!
//! | path | JSON path below `spec` |
//! | --- | --- |
//! | `restartPolicy` and the other [`FIELDS`] | the same |
//! | `containers/NAME/image` and the other [`OF_CONTAINER`] | the same of the container with this name |

use jobcheck_model::job::Text;
use serde_json::Value;

use super::cache::Texts;
use super::digest;

const FIELDS: [&str; 5] =
    ["restartPolicy", "serviceAccountName", "priorityClassName", "schedulerName", "runtimeClassName"];
const OF_CONTAINER: [&str; 4] = ["image", "command", "args", "workingDir"];

/// Paths with the digests of their values, in the order of the tables.
pub(super) fn of_pod_spec(texts: &mut Texts, spec: Option<&Value>) -> Vec<(Text, u64)> {
    let mut found = Vec::new();
    let Some(spec) = spec else { return found };
    for field in FIELDS {
        if let Some(value) = spec.get(field).filter(|value| is_set(value)) {
            found.push((texts.share(field), digest::of_values([Some(value)])));
        }
    }
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).and_then(Value::as_array).into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            for field in OF_CONTAINER {
                if let Some(value) = container.get(field).filter(|value| is_set(value)) {
                    let path = texts.share(&format!("{list}/{name}/{field}"));
                    found.push((path, digest::of_values([Some(value)])));
                }
            }
        }
    }
    found
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

    #[test]
    fn what_the_template_sets_is_found_again_in_the_pod() {
        let mut texts = Texts::default();
        let template = json!({"restartPolicy": "Never", "serviceAccountName": "", "containers": [
            {"name": "main", "image": "i", "command": ["a", "b"], "args": []}
        ]});
        let mut pod = template.clone();
        pod["containers"][0]["env"] = json!([{"name": "X", "value": "1"}]);
        let of = |texts: &mut Texts, spec: &Value| of_pod_spec(texts, Some(spec));
        let wanted = of(&mut texts, &template);
        let paths: Vec<&str> = wanted.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, ["restartPolicy", "containers/main/image", "containers/main/command"]);
        assert_eq!(of(&mut texts, &pod), wanted);
        pod["containers"][0]["command"] = json!(["b", "a"]);
        assert_ne!(of(&mut texts, &pod), wanted);
    }
}
