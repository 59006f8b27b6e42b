//! The defaults of a pod's specification, also in the template of a Job (`pkg/apis/core/v1/defaults.go`).

use serde_json::{Map, Value, json};

use crate::object::members;

fn set(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    object.entry(key).or_insert_with(|| value.into());
}

/// Sets the defaults.
pub(super) fn pod_spec(spec: &mut Map<String, Value>) {
    set(spec, "restartPolicy", "Always");
    set(spec, "dnsPolicy", "ClusterFirst");
    set(spec, "terminationGracePeriodSeconds", 30);
    set(spec, "securityContext", json!({}));
    set(spec, "schedulerName", "default-scheduler");
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        // The deprecated name of the field has the same value.
        spec.insert("serviceAccount".to_owned(), name);
    } else if let Some(name) = spec.get("serviceAccount").cloned() {
        spec.insert("serviceAccountName".to_owned(), name);
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for item in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            container(members(item));
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        default_volume(members(volume));
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", policy);
    set(container, "terminationMessagePath", "/dev/termination-log");
    set(container, "terminationMessagePolicy", "File");
    set(container, "resources", json!({}));
    limits_are_requests(container);
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        set(members(port), "protocol", "TCP");
    }
    for env in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(reference) = env.pointer_mut("/valueFrom/fieldRef").and_then(Value::as_object_mut) {
            set(reference, "apiVersion", "v1");
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            for (key, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                set(probe, key, value);
            }
            if let Some(get) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
                set(get, "path", "/");
                set(get, "scheme", "HTTP");
            }
        }
    }
}

/// Sets a missing request to the limit of the same resource.
fn limits_are_requests(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = members(resources.entry("requests").or_insert_with(|| json!({})));
    for (name, quantity) in limits {
        requests.entry(name).or_insert(quantity);
    }
}

/// Returns true if an image has neither tag nor digest, or the tag `latest`.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn default_volume(volume: &mut Map<String, Value>) {
    if volume.len() <= 1 {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            set(source, "defaultMode", 420);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        set(path, "type", "");
    }
}

/// Applies the admission plugins `Priority` and `DefaultTolerationSeconds` to a new pod: priority, and tolerations of
/// Nodes that are not ready. `ServiceAccount` is not run. Only pods get `enableServiceLinks` here, Jobs do not.
pub(super) fn admit(spec: &mut Map<String, Value>) {
    set(spec, "enableServiceLinks", true);
    set(spec, "priority", 0);
    set(spec, "preemptionPolicy", "PreemptLowerPriority");
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(list) = tolerations.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = list.iter().any(|it| {
            let matches = it.get("key").is_none_or(|found| found == key);
            let effect = it.get("effect").is_none_or(|effect| effect == "NoExecute");
            matches && effect
        });
        if !tolerated {
            list.push(
                json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_pod_gets_upstreams_defaults() {
        let mut spec = json!({
            "containers": [{"name": "a", "image": "x/y", "ports": [{"containerPort": 1}],
                "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
            "volumes": [{"name": "v"}],
        });
        pod_spec(members(&mut spec));
        let container = &spec["containers"][0];
        assert_eq!(
            (&container["imagePullPolicy"], &container["ports"][0]["protocol"]),
            (&json!("Always"), &json!("TCP"))
        );
        assert_eq!(container["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
        assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
        assert_eq!(
            (&spec["restartPolicy"], &spec["terminationGracePeriodSeconds"]),
            (&json!("Always"), &json!(30))
        );
        assert_eq!(spec["volumes"][0]["emptyDir"], json!({}));
        assert_eq!(spec.get("tolerations"), None);
        admit(members(&mut spec));
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
        let again = spec.clone();
        admit(members(&mut spec));
        assert_eq!(spec, again);
    }

    #[test]
    fn images_of_a_tag_are_pulled_once() {
        for (image, latest) in
            [("a", true), ("a:latest", true), ("a:1", false), ("h:5000/a", true), ("a@sha256:0", false)]
        {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
