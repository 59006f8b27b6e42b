//! Replaces what may be secret in recorded objects: values of environment variables, arguments, commands, annotations.
//!
//! Equal texts stay equal and different ones stay different, because the judge compares a pod with the template of its
//! Job. Each text becomes a digest with a random key, so that nobody can find it by trying likely ones.

use std::hash::{BuildHasher, RandomState};

use serde_json::{Map, Value};

/// Annotations with this prefix stay: the judge reads them, and Kubernetes itself writes them.
const KEPT: &str = "batch.kubernetes.io/";

/// Replaces secrets in objects, requests and patches. One redactor serves one trace.
#[derive(Clone, Debug)]
pub struct Redactor(RandomState);

impl Redactor {
    /// A redactor with this key.
    #[must_use]
    pub fn new(key: RandomState) -> Redactor {
        Redactor(key)
    }

    /// A line of a native trace, an audit log or a watch stream, without its line break.
    ///
    /// # Errors
    ///
    /// The line is not JSON.
    pub fn line(&self, line: &str) -> serde_json::Result<String> {
        Ok(self.document(serde_json::from_str(line)?).to_string())
    }

    /// A document of such a file, or of an export of a log system.
    #[must_use]
    pub fn document(&self, mut document: Value) -> Value {
        self.value(&mut document);
        document
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                // An audit event has annotations of its own, which the API server writes.
                let own = members.contains_key("auditID").then(|| members.remove("annotations")).flatten();
                let done = self.operation(members);
                let others =
                    members.iter_mut().filter(|(key, _)| done.is_none_or(|done| key.as_str() != done));
                others.for_each(|(key, member)| self.member(key, member));
                members.extend(own.map(|own| ("annotations".to_owned(), own)));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            // Log systems export events as texts, and so does `kubectl apply` in an annotation.
            Value::String(text) if text.trim_start().starts_with('{') => {
                if let Ok(redacted) = self.line(text) {
                    *text = redacted;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&self, key: &str, member: &mut Value) {
        match (key, &mut *member) {
            ("annotations", Value::Object(all)) => {
                let others = all.iter_mut().filter(|(key, _)| !key.starts_with(KEPT));
                others.for_each(|(_, text)| self.texts(text));
            }
            ("args" | "command", Value::Array(_)) => self.texts(member),
            ("env" | "httpHeaders", Value::Array(pairs)) => {
                for pair in pairs {
                    pair.get_mut("value").into_iter().for_each(|text| self.texts(text));
                    self.value(pair);
                }
            }
            // The last lines of the log of a container.
            ("terminated" | "waiting", Value::Object(state)) => {
                state.get_mut("message").into_iter().for_each(|text| self.texts(text));
            }
            _ => self.value(member),
        }
    }

    /// An operation of a JSON patch names the member in its path. Returns the key that is done.
    fn operation(&self, operation: &mut Map<String, Value>) -> Option<&'static str> {
        operation.get("op")?;
        let path = operation.get("path")?.as_str()?;
        let keys: Vec<String> = path.split('/').map(|it| it.replace("~1", "/").replace("~0", "~")).collect();
        let value = operation.get_mut("value")?;
        let is_in = |name: &str| keys.iter().rposition(|key| key == name).map(|at| &keys[at + 1..]);
        let is_secret = match () {
            () if is_in("args").or(is_in("command")).is_some() => true,
            () if is_in("env").is_some_and(|rest| rest.last().is_some_and(|key| key == "value")) => true,
            () => {
                is_in("annotations").is_some_and(|rest| rest.first().is_some_and(|it| !it.starts_with(KEPT)))
            }
        };
        match keys.last() {
            _ if is_secret => self.texts(value),
            Some(index) if index == "-" || index.parse::<u32>().is_ok() => {
                // An element of a list, such as env.
                let list = keys.iter().rev().nth(1).map_or("", String::as_str);
                let mut one = Value::Array(vec![value.take()]);
                self.member(list, &mut one);
                *value = one[0].take();
            }
            Some(key) => self.member(key, value),
            None => {}
        }
        Some("value")
    }

    /// Replaces every text in a value. An empty one stays.
    fn texts(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => *text = format!("redacted-{:016x}", self.0.hash_one(text.as_str())),
            Value::Array(items) => items.iter_mut().for_each(|item| self.texts(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.texts(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The number of texts in a value that begin like a JSON document, and are none. A log system may have split a document,
/// whose secrets no redactor finds.
#[must_use]
pub fn split_documents(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(split_documents).sum(),
        Value::Array(items) => items.iter().map(split_documents).sum(),
        Value::String(text) => {
            let is_document = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            usize::from(text.trim_start().starts_with("{\"") && !is_document())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(line: &Value) -> Value {
        let redactor = Redactor::new(RandomState::new());
        serde_json::from_str(&redactor.line(&line.to_string()).unwrap()).unwrap()
    }

    fn container() -> Value {
        json!({
            "name": "main", "image": "registry/image:1", "command": ["sh", "-c"], "args": ["--token=SECRET"],
            "env": [{"name": "TOKEN", "value": "SECRET"}, {"name": "EMPTY", "value": ""},
                    {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            "livenessProbe": {"exec": {"command": ["check", "SECRET"]}},
            "readinessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "SECRET"}]}}
        })
    }

    #[test]
    fn events_in_lists_and_in_texts_are_redacted_too() {
        let event = json!({"auditID": "1", "annotations": {"a": "kept"}, "responseObject":
            {"metadata": {"annotations": {"a": "SECRET"}}, "spec": {"containers": [container()]}}});
        let text = json!({"message": event.to_string(), "other": "{no document"}).to_string();
        for whole in [json!({"items": [event]}), json!({"events": [{"message": event.to_string()}, text]})] {
            let redacted = redacted(&whole).to_string();
            assert!(!redacted.contains("SECRET") && redacted.contains("kept"), "{redacted}");
        }
        let half = &event.to_string()[..40];
        assert_eq!(split_documents(&json!([{"log": half}, "{}", "{no", event.to_string()])), 1);
    }

    #[test]
    fn no_secret_of_an_object_stays_and_equal_texts_stay_equal() {
        let annotations = json!({
            "kubectl.kubernetes.io/last-applied-configuration": "{\"env\": \"SECRET\"}",
            "batch.kubernetes.io/job-completion-index": "3"
        });
        let pod = json!({
            "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}, "annotations": annotations},
            "spec": {"containers": [container()], "initContainers": [container()]},
            "status": {"containerStatuses": [{"state": {"terminated": {"exitCode": 3, "message": "SECRET"}}}]}
        });
        let template =
            json!({"metadata": {"annotations": {"a": "SECRET"}}, "spec": {"containers": [container()]}});
        let line = json!({"request": {"request": pod, "response": {"spec": {"template": template}}}});
        let shown = redacted(&line);
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        let (pod, template) =
            (&shown["request"]["request"], &shown["request"]["response"]["spec"]["template"]);
        assert_eq!(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"], "3");
        assert_eq!((&pod["metadata"]["labels"]["a"], &pod["metadata"]["name"]), (&json!("b"), &json!("p")));
        assert_eq!(pod["spec"]["containers"], template["spec"]["containers"]);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(
            (&container["image"], &container["env"][1]["value"]),
            (&json!("registry/image:1"), &json!(""))
        );
        assert_eq!(container["env"][2]["valueFrom"]["secretKeyRef"]["key"], "k");
        assert_ne!(container["command"][0], container["command"][1]);
        assert_eq!(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    }

    #[test]
    fn no_secret_of_a_patch_stays() {
        let patch = json!([
            {"op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "SECRET"},
            {"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "A", "value": "SECRET"}},
            {"op": "add", "path": "/spec/template/spec/containers/-", "value": container()},
            {"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": ["SECRET"]},
            {"op": "replace", "path": "/spec/template/spec/containers/0/command/1", "value": "SECRET"},
            {"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "SECRET"},
            {"op": "add", "path": "/metadata/annotations", "value": {"a": "SECRET"}},
            {"op": "add", "path": "/metadata/annotations/batch.kubernetes.io~1job-completion-index", "value": "1"},
            {"op": "replace", "path": "/status/active", "value": 3}
        ]);
        let shown = redacted(&json!({"request": {"request": patch}}));
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        let operations = &shown["request"]["request"];
        assert_eq!((&operations[7]["value"], &operations[8]["value"]), (&json!("1"), &json!(3)));
        assert_eq!(operations[1]["value"]["name"], "A");
        assert_eq!(operations[5]["path"], "/metadata/annotations/example.com~1a");
    }

    #[test]
    fn the_annotations_of_an_audit_event_stay() {
        let event = json!({
            "auditID": "x", "annotations": {"authorization.k8s.io/decision": "allow"},
            "requestObject": {"metadata": {"annotations": {"a": "SECRET"}}}
        });
        let shown = redacted(&event);
        assert_eq!(shown["annotations"], event["annotations"]);
        assert!(!shown.to_string().contains("SECRET"));
    }

    #[test]
    fn another_key_gives_other_texts() {
        let line = json!({"metadata": {"annotations": {"a": "b"}}});
        assert_ne!(redacted(&line), redacted(&line));
    }
}
