//! The subresources `binding` and `eviction` of a pod.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::{ApiError, FieldError};
use crate::object::{child, is_deleting, meta, text};
use crate::request::{DeleteOptions, Reply, Request, Verb};
use crate::resource::Resource;
use crate::server::Server;
use crate::update::precondition;

impl Server {
    /// `POST …/binding`: binds a pod to a node.
    pub(crate) fn bind(&mut self, request: &Request, body: &Value) -> Result<Reply, ApiError> {
        check_name(request, body, "Binding")?;
        let node = text(body, &["target", "name"]);
        if node.is_empty() {
            let error = FieldError::required("target.name", "");
            return Err(ApiError::invalid("Binding", "", request.name(), &[error]));
        }
        let old = self.store.get(request.resource, &request.key()).map(Arc::clone);
        let old = old.ok_or_else(|| ApiError::not_found(request.resource, request.name()))?;
        let conflict = |why: String| {
            let mut error = ApiError::conflict(request.resource, request.name(), &why);
            error.message = error.message.replacen("on pods ", "on pods/binding ", 1);
            if let Some(details) = &mut error.details {
                details["kind"] = json!("pods/binding");
            }
            Err(error)
        };
        let uid = meta(body, "uid");
        if !uid.is_empty() && uid != meta(&old, "uid") {
            return conflict(precondition(request, "UID", uid, meta(&old, "uid")));
        }
        let name = request.name();
        if is_deleting(&old) {
            return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        let bound = text(&old, &["spec", "nodeName"]);
        if !bound.is_empty() {
            return conflict(format!("pod {name} is already assigned to node \"{bound}\""));
        }
        if old["spec"].get("schedulingGates").is_some() {
            return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
        }
        let mut new = Value::clone(&old);
        child(&mut new, "spec").insert("nodeName".to_owned(), json!(node));
        for part in ["annotations", "labels"] {
            if let Some(added) = body["metadata"][part].as_object() {
                let metadata = crate::object::metadata(&mut new);
                let members = crate::object::members(metadata.entry(part).or_insert(Value::Null));
                members.extend(added.clone());
            }
        }
        put_condition(&mut new, &json!({"type": "PodScheduled", "status": "True"}));
        if !request.dry_run {
            self.check_space(request.resource, &request.key(), &new)?;
            self.store.write(request.resource, &request.key(), new);
        }
        Ok(Reply::Object { code: 201, object: Arc::new(success()) })
    }

    /// `POST …/eviction`: a DELETE that also sets the condition `DisruptionTarget`. There are no disruption
    /// budgets.
    pub(crate) fn evict(
        &mut self,
        now: Timestamp,
        request: &Request,
        body: &Value,
    ) -> Result<Reply, ApiError> {
        check_name(request, body, "Eviction")?;
        let options = body.get("deleteOptions").filter(|options| !options.is_null());
        let options: DeleteOptions = match options {
            None => DeleteOptions::default(),
            Some(options) => serde_json::from_value(options.clone())
                .map_err(|error| ApiError::bad_request(format!("deleteOptions: {error}")))?,
        };
        let old = self.store.get(request.resource, &request.key()).map(Arc::clone);
        let old = old.ok_or_else(|| ApiError::not_found(request.resource, request.name()))?;
        let dry_run = request.dry_run || options.dry_run.iter().any(|it| it == "All");
        let ended = matches!(text(&old, &["status", "phase"]), "Succeeded" | "Failed");
        let asked = options.preconditions.as_ref();
        let meets = |asked: Option<&String>, key: &str| asked.is_none_or(|asked| asked == meta(&old, key));
        let met = meets(asked.and_then(|it| it.uid.as_ref()), "uid")
            && meets(asked.and_then(|it| it.resource_version.as_ref()), "resourceVersion");
        if met && !ended && !dry_run {
            let mut new = Value::clone(&old);
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastTransitionTime": crate::object::time(now),
            });
            put_condition(&mut new, &condition);
            self.store.write(Resource::Pods, &request.key(), new);
        }
        let mut options = options;
        if let Some(preconditions) = options.preconditions.as_mut().filter(|_| met) {
            // The condition has created a new version.
            preconditions.resource_version = None;
        }
        let deletion =
            Request { verb: Verb::Delete(options.clone()), subresource: None, dry_run, ..request.clone() };
        self.delete(now, &deletion, &options)?;
        Ok(Reply::Object { code: 201, object: Arc::new(success()) })
    }
}

fn check_name(request: &Request, body: &Value, kind: &str) -> Result<(), ApiError> {
    let sent = body["kind"].as_str().unwrap_or(kind);
    if sent != kind || !body.is_object() {
        return Err(ApiError::bad_request(format!("{sent} cannot be handled as a {kind}")));
    }
    if meta(body, "name") == request.name() {
        return Ok(());
    }
    Err(ApiError::bad_request(format!("name in URL does not match name in {kind} object")))
}

/// Sets a condition: replaces the one of the same type, or appends it.
pub(crate) fn put_condition(pod: &mut Value, condition: &Value) {
    let conditions = child(pod, "status").entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = conditions.as_array_mut() else { return };
    match list.iter_mut().find(|it| it["type"] == condition["type"]) {
        Some(found) => *found = condition.clone(),
        None => list.push(condition.clone()),
    }
}

fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}
