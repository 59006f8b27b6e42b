//! Replaces what may be secret in recorded objects: values of environment variables, arguments, commands, annotations.
//!
//! Equal texts stay equal and different ones stay different, because the judge compares a pod with the template of its
//! Job. Each text becomes a digest with a random key, so that nobody can find it by trying likely ones.
//!
//! Messages of refusals keep only sentences of a known form ([`refusal`]).
//!
//! A text is secret because of the members that lead to it ([`Place`]). They enclose it, or are the path of a JSON patch.
//! An audit event keeps only the members that a trace needs.

use std::hash::{BuildHasher, RandomState};
use std::io;

use serde_json::{Map, Value, json};

use crate::audit::lease::LEASES;
use crate::form::AUDIT_VERSION;
use crate::record::Resource;

mod message;
mod refusal;
mod strict;

/// Annotations with this prefix stay: the judge reads them, and Kubernetes itself writes them.
const KEPT: &str = "batch.kubernetes.io/";

/// Members of an audit event that stay.
const OF_EVENTS: [&str; 18] = [
    "annotations",
    "apiVersion",
    "auditID",
    "impersonatedUser",
    "kind",
    "level",
    "objectRef",
    "requestObject",
    "requestReceivedTimestamp",
    "requestURI",
    "responseObject",
    "responseStatus",
    "sourceIPs",
    "stage",
    "stageTimestamp",
    "user",
    "userAgent",
    "verb",
];

/// Subresources whose bodies are objects that a trace needs. Those of others may be anything, such as a token.
const SUBRESOURCES: [&str; 6] = ["", "status", "binding", "eviction", "ephemeralcontainers", "resize"];

/// The sources of volumes without credentials. A secret is named in them, and not shown.
const OF_VOLUMES: [&str; 7] =
    ["configMap", "downwardAPI", "emptyDir", "hostPath", "persistentVolumeClaim", "projected", "secret"];

/// Parameters in the URI of a request that stay. Others may be a command for `exec`.
const OF_URIS: [&str; 8] = [
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "gracePeriodSeconds",
    "propagationPolicy",
    "resourceVersion",
    "timeout",
];

/// The meaning that the members on the way to a value give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing: a text stays, a member may say more.
    Plain,
    /// No text below is secret: labels may have the names of other members.
    Public,
    /// `annotations`: each but those of [`KEPT`] is secret.
    Annotations,
    /// A list of pairs of `name` and `value`, or one of the pairs.
    Pairs,
    /// The state of a container, with the last lines of its log in `message`.
    State,
    /// A list of volumes, or one of them. The settings of a driver may be a credential.
    Volumes,
    /// A list of conditions, or one of them. The judge compares their messages, which name pods and exit codes.
    Conditions,
    /// `message` of a condition.
    Told,
    /// `message` elsewhere, such as that of a refusal, which may quote what was refused.
    Message,
    /// `reason` of a refusal. It is a word, unless a webhook gives it.
    Reason,
    /// Each text below is secret.
    Secret,
}

impl Place {
    /// The place of a member, or of an element of a list.
    fn of(self, key: &str) -> Place {
        // A directive of a strategic merge patch names the list that it is about.
        let key = match key.strip_prefix('$') {
            Some(directive) => match directive.split_once('/') {
                Some((_, list)) => list,
                None if self != Place::Secret => return Place::Public,
                None => key,
            },
            None => key,
        };
        match self {
            Place::Secret | Place::Public => self,
            Place::Annotations if key.starts_with(KEPT) => Place::Public,
            Place::Annotations => Place::Secret,
            Place::Pairs if is_index(key) => Place::Pairs,
            Place::Pairs if matches!(key, "name" | "valueFrom") => Place::Public,
            Place::Pairs => Place::Secret,
            Place::Volumes if is_index(key) => Place::Volumes,
            Place::Volumes if key == "name" || OF_VOLUMES.contains(&key) => Place::Plain,
            Place::Volumes => Place::Secret,
            Place::State if key == "message" => Place::Secret,
            Place::Conditions if is_index(key) => Place::Conditions,
            Place::Conditions if key == "message" => Place::Told,
            Place::Plain
            | Place::State
            | Place::Conditions
            | Place::Told
            | Place::Message
            | Place::Reason => match key {
                "annotations" => Place::Annotations,
                "conditions" => Place::Conditions,
                "volumes" => Place::Volumes,
                "reason" => Place::Reason,
                "address" | "args" | "command" | "holderIdentity" => Place::Secret,
                "env" | "httpHeaders" => Place::Pairs,
                "labels" | "matchLabels" | "nodeSelector" => Place::Public,
                "message" => Place::Message,
                "terminated" | "waiting" => Place::State,
                _ => Place::Plain,
            },
        }
    }

    /// The place that a path of a JSON patch leads to.
    fn of_path(path: &str) -> Place {
        let keys = path.split('/').map(|key| key.replace("~1", "/").replace("~0", "~"));
        keys.fold(Place::Plain, |place, key| place.of(&key))
    }
}

/// Returns whether a text is a reason as Kubernetes has them, such as `BackoffLimitExceeded`.
fn is_word(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte))
}

fn is_index(key: &str) -> bool {
    key == "-" || key.parse::<u32>().is_ok()
}

/// Replaces secrets in objects, requests and patches. One redactor serves one trace.
#[derive(Clone, Debug)]
pub struct Redactor(RandomState);

impl Redactor {
    /// A redactor with this key.
    #[must_use]
    pub fn new(key: RandomState) -> Redactor {
        Redactor(key)
    }

    /// A line of a native trace, an audit log or a watch stream, without its line break. A body that cannot be
    /// read is left out, so that nobody can keep a log from being redacted.
    ///
    /// # Errors
    ///
    /// The line is not JSON, or an object in it has a member twice: readers differ in which of them they take.
    pub fn line(&self, line: &str) -> serde_json::Result<String> {
        let mut document =
            strict::parse(line).or_else(|why| strict::without_unreadable_bodies(line).ok_or(why))?;
        self.value(&mut document, Place::Plain);
        Ok(document.to_string())
    }

    /// All lines of a trace.
    ///
    /// # Errors
    ///
    /// The trace is not UTF-8, or one of its lines cannot be redacted.
    pub fn trace(&self, trace: &[u8]) -> io::Result<Vec<u8>> {
        let text = std::str::from_utf8(trace).map_err(io::Error::other)?;
        let mut redacted = String::with_capacity(text.len());
        for line in text.lines() {
            redacted += &self.line(line)?;
            redacted.push('\n');
        }
        Ok(redacted.into_bytes())
    }

    fn value(&self, value: &mut Value, place: Place) {
        match value {
            Value::Object(members) if place == Place::Plain && is_event(members) => self.event(members),
            Value::Object(members) if place == Place::Plain && is_operation(members) => {
                self.operation(members);
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.value(member, place.of(key));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, place)),
            Value::String(text) => self.text(text, place),
            // A number where a text belongs is refused by the API server, and recorded all the same.
            Value::Number(number) if !matches!(place, Place::Plain | Place::Public | Place::Conditions) => {
                *value = json!(self.0.hash_one(number.to_string()) >> 16);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&self, text: &mut String, place: Place) {
        match place {
            _ if text.is_empty() => {}
            Place::Public => {}
            Place::Plain | Place::Conditions => _ = self.document(text),
            Place::Told => *text = message::without_values(text, |value| self.digest(value)),
            Place::Message => {
                if !self.document(text) {
                    *text = refusal::without_free_text(text, |value| self.digest(value));
                }
            }
            Place::Reason if is_word(text) => {}
            Place::Annotations
            | Place::Pairs
            | Place::Volumes
            | Place::State
            | Place::Reason
            | Place::Secret => *text = self.digest(text),
        }
    }

    /// Redacts a document in a text. Returns false if the text is none.
    fn document(&self, text: &mut String) -> bool {
        let looks_like_one = text.trim_start().starts_with(['{', '[', '"']);
        let redacted = looks_like_one.then(|| self.line(text).ok()).flatten();
        redacted.map(|redacted| *text = redacted).is_some()
    }

    fn digest(&self, text: &str) -> String {
        format!("redacted-{:016x}", self.0.hash_one(text))
    }

    /// An audit event. Its own annotations may hold the patches of webhooks.
    fn event(&self, event: &mut Map<String, Value>) {
        event.retain(|key, _| OF_EVENTS.contains(&key.as_str()));
        // The events of an `EventList` state neither.
        event.entry("apiVersion").or_insert_with(|| AUDIT_VERSION.into());
        event.entry("kind").or_insert_with(|| "Event".into());
        if let Some(Value::Object(annotations)) = event.get_mut("annotations") {
            annotations.retain(|key, _| key.starts_with("authorization.k8s.io/"));
        } else {
            event.remove("annotations");
        }
        let target = event.get("objectRef");
        let word =
            |name: &str| target.and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default();
        let kind = (word("apiGroup"), word("resource"));
        // A Lease shows when another process became the leader.
        let is_kept = (Resource::of(kind.0, kind.1).is_some() || kind == LEASES)
            && SUBRESOURCES.contains(&word("subresource"));
        event.retain(|key, _| is_kept || !matches!(key.as_str(), "requestObject" | "responseObject"));
        for (key, member) in event {
            match (key.as_str(), &mut *member) {
                ("annotations", _) => {}
                ("user" | "impersonatedUser", Value::Object(user)) => user.retain(|key, _| key == "username"),
                ("requestURI", Value::String(uri)) => *uri = of_the_api(uri),
                ("sourceIPs", addresses) => self.value(addresses, Place::Secret),
                ("requestObject" | "responseObject", body) => self.value(body, place_of_body(body)),
                _ => self.value(member, Place::Plain),
            }
        }
    }

    /// An operation of a JSON patch.
    fn operation(&self, operation: &mut Map<String, Value>) {
        let place = operation.get("path").and_then(Value::as_str).map_or(Place::Plain, Place::of_path);
        for (key, member) in operation {
            match key.as_str() {
                "op" | "path" | "from" => {}
                "value" => self.value(member, place),
                _ => self.value(member, Place::Plain),
            }
        }
    }
}

/// A body is an object, or a list of operations. Nobody knows what else is in it, such as a patch in YAML.
fn place_of_body(body: &Value) -> Place {
    let is_known = match body {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().all(|item| item.as_object().is_some_and(is_operation)),
        _ => false,
    };
    if is_known { Place::Plain } else { Place::Secret }
}

fn is_event(members: &Map<String, Value>) -> bool {
    let has = |name: &str| members.contains_key(name);
    has("auditID") || has("requestURI") || (has("stage") && has("objectRef"))
}

fn is_operation(members: &Map<String, Value>) -> bool {
    members.contains_key("op") && members.get("path").is_some_and(Value::is_string)
}

/// The URI of a request, with the parameters of [`OF_URIS`] alone, and without a path that a proxy passes on.
fn of_the_api(uri: &str) -> String {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    // The judge reads an escaped name, too.
    let is_kept = |pair: &&str| {
        let (name, _) = form_urlencoded::parse(pair.as_bytes()).next().unwrap_or_default();
        OF_URIS.contains(&&*name)
    };
    let parameters: Vec<&str> = query.split('&').filter(is_kept).collect();
    let path = path.find("/proxy/").map_or(path, |at| &path[..at + "/proxy".len()]);
    if parameters.is_empty() { path.to_owned() } else { format!("{path}?{}", parameters.join("&")) }
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
    fn documents_in_texts_are_redacted_too_however_deep() {
        let mut document =
            json!({"spec": {"containers": [container()]}, "kept": "kept", "other": "{no document"});
        for _ in 0..4 {
            let shown = redacted(&document).to_string();
            assert!(!shown.contains("SECRET") && shown.contains("kept"), "{shown}");
            document = json!({"of": [document.to_string()]});
        }
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused() {
        let redactor = Redactor::new(RandomState::new());
        assert!(redactor.line(r#"{"spec":{"args":["a"]},"spec":{"args":["b"]}}"#).is_err());
    }

    #[test]
    fn values_of_a_wrong_type_are_secret_too() {
        let shown = redacted(&json!({
            "args": "SECRET", "command": {"a": ["SECRET"]}, "annotations": ["SECRET", {"a": {"b": "SECRET"}}],
            "env": {"TOKEN": "SECRET"}, "httpHeaders": "SECRET", "terminated": "SECRET",
            "a": {"env": [["SECRET"], {"name": "N", "value": {"x": 424_242}}]}, "b": {"args": [424_242]}
        }));
        assert!(!shown.to_string().contains("SECRET") && !shown.to_string().contains("424242"), "{shown}");
        assert!(shown["b"]["args"][0].is_number());
    }

    #[test]
    fn labels_stay_whatever_their_names_are() {
        let labels = json!({"labels": {"env": "prod", "args": "a", "command": "c", "message": "m"}});
        assert_eq!(redacted(&labels), labels);
        let patch = json!([{"op": "add", "path": "/metadata/labels/env", "value": "prod"}]);
        assert_eq!(redacted(&patch), patch);
        let merge = json!({"annotations": {"$patch": "replace"}, "$setElementOrder/env": [{"name": "A"}]});
        assert_eq!(redacted(&merge), merge);
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
            {"op": "replace", "path": "/status/active", "value": 3},
            {"op": "add", "path": "/status/containerStatuses/0/state/terminated/message", "value": "SECRET"},
            {"op": "add", "path": "/spec/containers/0/livenessProbe/httpGet/httpHeaders/0/value", "value": "SECRET"},
            {"op": "add", "path": "/spec/containers/0/env/0/value/", "value": "SECRET"},
            {"op": "test", "path": "/spec", "value": {"containers": [container()]}}
        ]);
        let shown = redacted(&json!({"request": {"request": patch}}));
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        let operations = &shown["request"]["request"];
        assert_eq!((&operations[7]["value"], &operations[8]["value"]), (&json!("1"), &json!(3)));
        assert_eq!(operations[1]["value"]["name"], "A");
        assert_eq!(operations[5]["path"], "/metadata/annotations/example.com~1a");
    }

    fn event(group: &str, resource: &str) -> Value {
        json!({
            "auditID": "x", "verb": "create", "sourceIPs": ["10.0.0.1"], "extra": "SECRET",
            "annotations": {"authorization.k8s.io/decision": "allow", "patch.webhook.admission.k8s.io/round_0_index_0":
                "{\"patch\":[{\"op\":\"add\",\"path\":\"/spec/containers/0/args\",\"value\":[\"SECRET\"]}]}"},
            "user": {"username": "u", "extra": {"token": ["SECRET"]}},
            "requestURI": "/api/v1/namespaces/ns/pods/p/exec?command=SECRET&dryRun=All&stdin=true",
            "objectRef": {"apiGroup": group, "resource": resource, "name": "n"},
            "requestObject": {"metadata": {"annotations": {"a": "SECRET"}}, "data": {"k": "kept"}}
        })
    }

    #[test]
    fn of_an_audit_event_stays_what_a_trace_needs() {
        let shown = redacted(&event("", "pods"));
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        assert_eq!(shown["annotations"], json!({"authorization.k8s.io/decision": "allow"}));
        assert_eq!(shown["requestURI"], "/api/v1/namespaces/ns/pods/p/exec?dryRun=All");
        assert_eq!((&shown["user"], &shown["verb"]), (&json!({"username": "u"}), &json!("create")));
        assert_eq!((&shown["kind"], &shown["apiVersion"]), (&json!("Event"), &json!(AUDIT_VERSION)));
        assert_eq!(shown["requestObject"]["data"]["k"], "kept");
        let address = shown["sourceIPs"][0].as_str().unwrap();
        assert!(address.starts_with("redacted-"), "{address}");
    }

    #[test]
    fn of_a_lease_stays_the_time_and_not_the_holder() {
        let mut event = event(LEASES.0, LEASES.1);
        event["requestObject"] = json!({"spec": {"holderIdentity": "SECRET", "renewTime": "t"}});
        let shown = redacted(&event);
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        assert_eq!(shown["requestObject"]["spec"]["renewTime"], "t");
    }

    /// A Secret has its values in `data`, and the status of a token's request has the token.
    #[test]
    fn the_objects_of_other_resources_are_left_out() {
        for (group, resource) in [("", "secrets"), ("", "serviceaccounts"), ("apps", "pods"), ("", "jobs")] {
            let shown = redacted(&event(group, resource));
            assert!(shown.get("requestObject").is_none(), "{shown}");
        }
    }

    #[test]
    fn values_in_messages_of_the_api_server_are_redacted() {
        let text = r#"Pod "p" is invalid: spec.containers[0].args[0]: Invalid value: "SECRET": no"#;
        for shown in [
            redacted(&json!({"request": {"message": text}})),
            redacted(
                &json!({"auditID": "1", "objectRef": {"resource": "pods"}, "responseStatus": {"message": text},
                "responseObject": {"kind": "Status", "message": text, "details": {"causes": [{"message": text}]}}}),
            ),
        ] {
            assert!(
                !shown.to_string().contains("SECRET") && shown.to_string().contains("args[0]"),
                "{shown}"
            );
        }
    }

    #[test]
    fn free_text_of_refusals_is_redacted_wherever_it_is() {
        let message = "admission webhook \"w.io\" denied the request: SECRET";
        let status = json!({"kind": "Status", "message": message, "reason": "so SECRET",
            "details": {"causes": [{"reason": "FieldValueInvalid", "message": "Not found: \"SECRET\"", "field": "spec"}]}});
        let shown =
            redacted(&json!({"auditID": "1", "objectRef": {"resource": "pods"}, "responseStatus": status,
            "responseObject": status}));
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        assert_eq!(shown["responseStatus"]["message"], shown["responseObject"]["message"]);
        let kept = json!({"status": {"conditions": [{"type": "Failed", "reason": "PodFailurePolicy",
            "message": "Container main for pod n/p failed with exit code 3 matching FailJob rule at index 0"}]}});
        assert_eq!(redacted(&kept), kept);
    }

    #[test]
    fn credentials_in_volumes_are_redacted() {
        let kept = json!([{"name": "a", "emptyDir": {"medium": "Memory"}}, {"name": "b", "secret": {"secretName": "s"}},
            {"name": "c", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}]);
        assert_eq!(redacted(&json!({"volumes": kept})), json!({"volumes": kept}));
        let shown = redacted(&json!({
            "volumes": [{"name": "v", "csi": {"driver": "d", "readOnly": true, "volumeAttributes": {"token": "SECRET"}}},
                {"name": "f", "flexVolume": {"options": {"password": "SECRET"}}}, {"name": "c", "cephfs": {"secretFile": "SECRET"}}],
            "patch": [{"op": "add", "path": "/spec/volumes/0/csi/volumeAttributes/token", "value": "SECRET"},
                {"op": "add", "path": "/spec/volumes/-", "value": {"name": "v", "rbd": {"user": "SECRET"}}}]
        }));
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
        assert_eq!(
            (&shown["volumes"][0]["name"], &shown["volumes"][0]["csi"]["readOnly"]),
            (&json!("v"), &json!(true))
        );
    }

    #[test]
    fn the_bodies_of_unknown_subresources_are_left_out() {
        for (subresource, is_kept) in [
            ("", true),
            ("status", true),
            ("eviction", true),
            ("exec", false),
            ("EXEC", false),
            ("token", false),
        ] {
            let mut event = event("", "pods");
            event["objectRef"]["subresource"] = json!(subresource);
            assert_eq!(redacted(&event).get("requestObject").is_some(), is_kept, "{subresource}");
        }
    }

    #[test]
    fn bodies_of_other_forms_are_secret() {
        for body in [json!("spec: SECRET"), json!(["SECRET"]), json!([{"Path": "/a", "Value": "SECRET"}])] {
            let mut event = event("", "pods");
            event["requestObject"] = body;
            assert!(!redacted(&event).to_string().contains("SECRET"), "{event}");
        }
    }

    /// Nobody knows what a path means to the program behind a proxy.
    #[test]
    fn the_path_behind_a_proxy_is_left_out() {
        let mut event = event("", "pods");
        event["requestURI"] =
            json!("/api/v1/namespaces/ns/pods/https:p:8443/proxy/token/SECRET/proxy/x?dryRun=All");
        let shown = redacted(&event);
        assert_eq!(shown["requestURI"], "/api/v1/namespaces/ns/pods/https:p:8443/proxy?dryRun=All");
        event["requestURI"] = json!("/api/v1/namespaces/ns/pods/p?%64ryRun=All&token=SECRET");
        assert_eq!(redacted(&event)["requestURI"], "/api/v1/namespaces/ns/pods/p?%64ryRun=All");
    }

    #[test]
    fn another_key_gives_other_texts() {
        let line = json!({"metadata": {"annotations": {"a": "b"}}});
        assert_ne!(redacted(&line), redacted(&line));
    }
}
