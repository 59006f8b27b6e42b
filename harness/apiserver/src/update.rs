//! The verbs update and patch.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::create::match_namespace;
use crate::error::{ApiError, FieldError};
use crate::events_api::present;
use crate::object::{finalizers, is_deleting, meta, metadata, put, version};
use crate::patch;
use crate::request::{PatchKind, Reply, Request};
use crate::rules;
use crate::schema;
use crate::server::Server;

impl Server {
    pub(crate) fn put(
        &mut self,
        now: Timestamp,
        request: &Request,
        body: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        let object = schema::read(resource, body, request.field_validation, warnings)?;
        check_name(request, meta(&object, "name"))?;
        let Some(old) = self.store.get(resource, &request.key()).map(Arc::clone) else {
            if resource.facts().create_on_update && request.subresource.is_none() {
                return self.create_by_update(now, request, object, warnings);
            }
            return Err(ApiError::not_found(resource, request.name()));
        };
        let sent = meta(&object, "uid");
        if !sent.is_empty() && sent != meta(&old, "uid") {
            let why = precondition(request, "UID", sent, meta(&old, "uid"));
            return Err(ApiError::conflict(resource, request.name(), &why));
        }
        self.replace(request, &old, object)
    }

    /// A PUT or an apply of an object that does not exist.
    fn create_by_update(
        &mut self,
        now: Timestamp,
        request: &Request,
        mut object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        self.check_namespace(request, request.name())?;
        if !meta(&object, "uid").is_empty() {
            let why = precondition(request, "UID", meta(&object, "uid"), "");
            return Err(ApiError::conflict(request.resource, request.name(), &why));
        }
        if version(&object) != 0 {
            return Err(ApiError::not_found(request.resource, request.name()));
        }
        metadata(&mut object).insert("name".to_owned(), json!(request.name()));
        let created = Request { name: None, ..request.clone() };
        self.create_object(now, &created, object, warnings)
    }

    pub(crate) fn patch(
        &mut self,
        now: Timestamp,
        request: &Request,
        kind: PatchKind,
        body: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        let Some(old) = self.store.get(resource, &request.key()).map(Arc::clone) else {
            if kind == PatchKind::Apply && request.subresource.is_none() {
                let object = schema::read(resource, body, request.field_validation, warnings)?;
                return self.create_by_update(now, request, object, warnings);
            }
            return Err(ApiError::not_found(resource, request.name()));
        };
        let shown = present(resource, &old);
        let patched = patch::apply(kind, resource, &shown, body)?;
        let object =
            schema::typed(resource, &patched, request.field_validation, warnings).map_err(|why| {
                let error = FieldError::invalid("patch", json!(body.to_string()), why);
                ApiError::invalid("", "", "", &[error])
            })?;
        check_name(request, meta(&object, "name"))?;
        self.replace(request, &old, object)
    }

    /// Stores a new version of an object unless a rule refuses it (`rest.BeforeUpdate`, `Store.Update`).
    pub(crate) fn replace(
        &mut self,
        request: &Request,
        old: &Arc<Value>,
        mut new: Value,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        let facts = resource.facts();
        match (version(&new), facts.unconditional_update) {
            (0, true) => {}
            (0, false) => {
                let error = FieldError::invalid(
                    "metadata.resourceVersion",
                    json!(0),
                    "must be specified for an update",
                );
                return Err(ApiError::invalid(facts.plural, facts.group, request.name(), &[error]));
            }
            (sent, _) if sent != version(old) => return Err(ApiError::modified(resource, request.name())),
            (_, _) => {}
        }
        match_namespace(request, &mut new)?;
        let mut projector = self.projector();
        let mut context = rules::Context { rules: self.config.rules, projector: &mut projector };
        rules::default_object(&mut context, resource, &mut new)?;
        keep_system_fields(old, &mut new);
        rules::prepare_update(&mut context, resource, request.subresource, old, &mut new)?;
        let errors = rules::validate_update(&mut context, resource, request.subresource, old, &new)?;
        if !errors.is_empty() {
            let group = resource.stored().facts().group;
            return Err(ApiError::invalid(facts.kind, group, request.name(), &errors));
        }
        drop(projector);
        self.store_version(request, old, new)
    }

    fn store_version(
        &mut self,
        request: &Request,
        old: &Arc<Value>,
        mut new: Value,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        let key = request.key();
        let reply = |object: &Arc<Value>| Ok(Reply::Object { code: 200, object: present(resource, object) });
        if emptied_finalizers(old, &new) {
            // The last finalizer was removed, and with it the object.
            if !request.dry_run {
                self.store.remove(resource, &key);
            }
            return reply(&Arc::new(new));
        }
        put(metadata(&mut new), "resourceVersion", old["metadata"].get("resourceVersion").cloned());
        if new == **old {
            // A write that changes nothing creates no version.
            return reply(old);
        }
        if request.dry_run {
            return reply(&Arc::new(new));
        }
        self.check_space(resource, &key, &new)?;
        let stored = self.store.write(resource, &key, new);
        reply(&stored)
    }
}

/// Refuses a body whose name is not the name in the path.
fn check_name(request: &Request, name: &str) -> Result<(), ApiError> {
    let asked = request.name();
    if name == asked {
        return Ok(());
    }
    Err(ApiError::bad_request(if name.is_empty() {
        format!("the name of the object ({asked} based on URL) was undeterminable: name must be provided")
    } else {
        format!("the name of the object ({name}) does not match the name on the URL ({asked})")
    }))
}

/// Restores the fields that the server owns. An invented `generation` or deletion is refused later, or ignored, as
/// upstream does.
fn keep_system_fields(old: &Value, new: &mut Value) {
    let had = |key: &str| old["metadata"].get(key).cloned();
    let kept = metadata(new);
    put(kept, "generation", had("generation"));
    put(kept, "creationTimestamp", had("creationTimestamp"));
    if !kept.contains_key("uid") {
        put(kept, "uid", had("uid"));
    }
    if is_deleting(old) {
        put(kept, "deletionTimestamp", had("deletionTimestamp"));
    }
    if !kept.contains_key("deletionGracePeriodSeconds") {
        put(kept, "deletionGracePeriodSeconds", had("deletionGracePeriodSeconds"));
    }
}

/// Returns true if an update removes the last finalizer of an object that is being deleted without a grace period
/// (`ShouldDeleteDuringUpdate`).
fn emptied_finalizers(old: &Value, new: &Value) -> bool {
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let spec_finalizers = new["kind"] == "Namespace" && new["spec"].get("finalizers").is_some();
    finalizers(new).is_empty() && is_deleting(old) && grace == 0 && !spec_finalizers
}

/// The message for a failed precondition of a write, in the words of etcd's client.
pub(crate) fn precondition(request: &Request, what: &str, asked: &str, found: &str) -> String {
    format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}",
        request.resource.facts().plural,
        request.key()
    )
}
