//! The values that a pod must copy from its template (PC-14): each value that the template sets, by its path.
//!
//! | path | JSON path below `spec` |
//! | --- | --- |
//! | `restartPolicy`, `nodeSelector/KEY`, `securityContext/runAsUser` | a value in objects |
//! | `containers/NAME/image`, `volumes/NAME/emptyDir/medium` | a value in the item with this `name`, at any place of the list |
//! | `tolerations`, `containers/NAME/command` | an item without a `name`, at any place of the list; a list of strings as a whole |

use jobcheck_spec::job::Text;
use serde_json::{Map, Value};

use super::cache::Texts;
use super::digest;
use super::error::read_value;

/// Fields that Go omits if they are `false` or 0. A template with such a value sets nothing.
const ZERO_IS_ABSENT: [&str; 9] = [
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "initialDelaySeconds",
    "readOnly",
    "stdin",
    "stdinOnce",
    "tty",
];

/// The old name of `serviceAccountName`. The API server fills it in.
const ALIAS: &str = "serviceAccount";
/// A field that the API server sets to `true` in a pod, but not in a template.
const TRUE_BY_DEFAULT: &str = "enableServiceLinks";
/// The port of a node that leads to a port of a container.
const HOST_PORT: &str = "hostPort";

/// A path, and the digest of its value.
pub(super) type Essential = (Text, u64);

/// The values that a pod's `spec` sets, sorted by path.
///
/// The API server gives a pod some defaults that it does not give a template. They are `enableServiceLinks: true`, and
/// the port of the container as the port of a shared host. Such a value counts as absent.
pub(super) fn of_pod_spec(texts: &mut Texts, spec: Option<&Value>) -> Vec<Essential> {
    let Some(spec) = spec.and_then(Value::as_object) else { return Vec::new() };
    let shares_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let mut found = Found { texts, shares_host, pairs: Vec::new() };
    found.members("", spec);
    found.pairs.sort_unstable();
    // A template keeps them as long as its Job lives.
    found.pairs.shrink_to_fit();
    found.pairs
}

/// The same for a text of a `spec`.
pub(super) fn of_text(texts: &mut Texts, spec: &str) -> Vec<Essential> {
    of_pod_spec(texts, read_value(spec, "spec").ok().as_ref())
}

struct Found<'a> {
    texts: &'a mut Texts,
    shares_host: bool,
    pairs: Vec<Essential>,
}

impl Found<'_> {
    fn members(&mut self, prefix: &str, object: &Map<String, Value>) {
        for (key, value) in object {
            if !is_default(key, value) && !self.is_port_of_host(key, object) {
                self.value(&format!("{prefix}{key}"), value);
            }
        }
    }

    fn is_port_of_host(&self, key: &str, object: &Map<String, Value>) -> bool {
        self.shares_host && key == HOST_PORT && object.get(HOST_PORT) == object.get("containerPort")
    }

    fn value(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            // An empty object equals an absent one, except for the source of a volume.
            Value::Object(members) if members.is_empty() && !path.starts_with("volumes/") => {}
            Value::Object(members) if !members.is_empty() => self.members(&format!("{path}/"), members),
            Value::Array(items) => self.items(path, items),
            Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => self.add(path, value),
        }
    }

    fn items(&mut self, path: &str, items: &[Value]) {
        match items.iter().all(Value::is_object) {
            true => items.iter().for_each(|item| self.item(path, item)),
            false => self.add(path, &Value::from(items)),
        }
    }

    fn item(&mut self, path: &str, item: &Value) {
        match (item.get("name").and_then(Value::as_str), item.as_object()) {
            (Some(name), Some(members)) => self.members(&format!("{path}/{name}/"), members),
            (None, Some(members)) if self.is_port_of_host(HOST_PORT, members) => {
                let mut members = members.clone();
                members.remove(HOST_PORT);
                self.add(path, &Value::Object(members));
            }
            _ => self.add(path, item),
        }
    }

    fn add(&mut self, path: &str, value: &Value) {
        self.pairs.push((self.texts.share(path), digest::of_values([Some(value)])));
    }
}

/// Returns whether a field with this value counts as absent.
fn is_default(key: &str, value: &Value) -> bool {
    let is_zero = *value == Value::Bool(false) || value.as_i64() == Some(0);
    (is_zero && ZERO_IS_ABSENT.contains(&key))
        || key == ALIAS
        || (key == TRUE_BY_DEFAULT && *value == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(spec: &Value) -> Vec<Essential> {
        of_pod_spec(&mut Texts::default(), Some(spec))
    }

    #[test]
    fn values_of_the_template_are_found_in_the_pod() {
        let template = json!({"restartPolicy": "Never", "serviceAccountName": "", "containers": [
            {"name": "main", "image": "i", "command": ["a", "b"], "args": []}
        ]});
        let wanted = of(&template);
        let paths: Vec<&str> = wanted.iter().map(|(path, _)| &**path).collect();
        let expected =
            ["containers/main/command", "containers/main/image", "containers/main/name", "restartPolicy"];
        assert_eq!(paths, expected);
        let mut pod = template.clone();
        pod["containers"][0]["env"] = json!([{"name": "X", "value": "1"}]);
        assert!(has_all(&pod, &wanted));
        pod["containers"][0]["command"] = json!(["b", "a"]);
        assert!(!has_all(&pod, &wanted));
    }

    fn has_all(pod: &Value, wanted: &[Essential]) -> bool {
        let asked = of(pod);
        wanted.iter().all(|pair| asked.contains(pair))
    }

    #[test]
    fn every_other_value_of_a_template_is_compared() {
        let template = json!({
            "activeDeadlineSeconds": 60, "terminationGracePeriodSeconds": 0, "hostNetwork": false,
            "serviceAccount": "runner", "securityContext": {},
            "imagePullSecrets": [{"name": "key"}],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [{
                "name": "main",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}],
                "envFrom": [{"configMapRef": {"name": "c"}}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "data", "mountPath": "/more"}],
                "securityContext": {"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}},
                "livenessProbe": {"httpGet": {"path": "/live", "port": 80}, "initialDelaySeconds": 0}
            }]
        });
        let wanted = of(&template);
        let mut pod = template.clone();
        for absent in ["hostNetwork", "serviceAccount", "securityContext"] {
            pod.as_object_mut().unwrap().remove(absent);
        }
        assert!(has_all(&pod, &wanted));
        for path in [
            "/activeDeadlineSeconds",
            "/terminationGracePeriodSeconds",
            "/imagePullSecrets",
            "/volumes/0/emptyDir",
            "/containers/0/env/0",
            "/containers/0/env/1",
            "/containers/0/envFrom",
            "/containers/0/volumeMounts/0",
            "/containers/0/volumeMounts/1",
            "/containers/0/securityContext/runAsNonRoot",
            "/containers/0/securityContext/capabilities/drop",
            "/containers/0/livenessProbe/httpGet/port",
        ] {
            let mut pod = pod.clone();
            *pod.pointer_mut(path).unwrap() = json!({});
            assert!(path.ends_with("emptyDir") || !has_all(&pod, &wanted), "{path}");
            *pod.pointer_mut(path).unwrap() = json!(null);
            assert!(!has_all(&pod, &wanted), "{path}");
        }
    }

    #[test]
    fn defaults_of_a_pod_are_no_additions() {
        let port = |host: Option<u16>| match host {
            Some(host) => json!([{"containerPort": 80, "hostPort": host, "protocol": "TCP"}]),
            None => json!([{"containerPort": 80, "protocol": "TCP"}]),
        };
        let of_port = |shares_host: bool, host: Option<u16>| {
            of(&json!({"hostNetwork": shares_host, "enableServiceLinks": true,
                "containers": [{"name": "main", "ports": port(host)}]}))
        };
        assert_eq!(of_port(true, Some(80)), of_port(true, None));
        assert_ne!(of_port(true, Some(81)), of_port(true, None));
        assert_ne!(of_port(false, Some(80)), of_port(false, None));
        assert_eq!(of(&json!({"enableServiceLinks": true})), []);
        assert_ne!(of(&json!({"enableServiceLinks": false})), []);
    }

    /// SU-12: these fields may change while a Job is suspended.
    #[test]
    fn directives_are_compared_one_by_one() {
        let template = json!({
            "nodeSelector": {"zone": "a", "disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "schedulingGates": [{"name": "example.com/wait"}],
            "affinity": {"nodeAffinity": {"x": 1}},
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {}}}]
        });
        let wanted = of(&template);
        let mut pod = template.clone();
        let added =
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300});
        pod["tolerations"].as_array_mut().unwrap().insert(0, added);
        assert!(has_all(&pod, &wanted));
        for (path, other) in [
            ("/nodeSelector/zone", json!("b")),
            ("/tolerations/1/key", json!("tpu")),
            ("/schedulingGates", json!([])),
            ("/affinity", json!(null)),
            ("/containers/0/resources/requests/cpu", json!("2")),
        ] {
            let mut pod = pod.clone();
            *pod.pointer_mut(path).unwrap() = other;
            assert!(!has_all(&pod, &wanted), "{path}");
        }
    }
}
