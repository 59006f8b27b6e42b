//! The verb create.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::events_api::present;
use crate::object::{key, members, meta, metadata, time};
use crate::request::{Reply, Request};
use crate::rules;
use crate::schema;
use crate::server::Server;

/// The number of attempts to generate a name that is not taken.
const NAME_ATTEMPTS: usize = 8;

impl Server {
    pub(crate) fn create(
        &mut self,
        now: Timestamp,
        request: &Request,
        body: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        if request.name.is_some() {
            return Err(ApiError::method_not_allowed());
        }
        let object = schema::read(request.resource, body, request.field_validation, warnings)?;
        self.check_namespace(request, meta(&object, "name"))?;
        self.create_object(now, request, object, warnings)
    }

    /// Creates an object whose body was read already.
    pub(crate) fn create_object(
        &mut self,
        now: Timestamp,
        request: &Request,
        mut object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let resource = request.resource;
        match_namespace(request, &mut object)?;
        if !meta(&object, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(ApiError { code: 500, reason: "", ..ApiError::bad_request(message) });
        }
        let base = meta(&object, "generateName").to_owned();
        let generates = meta(&object, "name").is_empty() && !base.is_empty();
        for attempt in 0..NAME_ATTEMPTS {
            if generates {
                let name = self.identities.name(&base);
                metadata(&mut object).insert("name".to_owned(), json!(name));
            }
            let prepared = self.prepared_for_create(now, request, object.clone(), warnings)?;
            let key = key(request.namespace.as_deref(), meta(&prepared, "name"));
            if self.store.get(resource, &key).is_some() {
                if generates && attempt + 1 < NAME_ATTEMPTS {
                    continue;
                }
                let name = meta(&prepared, "name");
                let mut error = ApiError::already_exists(resource, name);
                if generates {
                    error
                        .message
                        .push_str(", the server was not able to generate a unique name for the object");
                }
                return Err(error);
            }
            let stored = if request.dry_run {
                Arc::new(prepared)
            } else {
                self.check_space(resource, &key, &prepared)?;
                self.store.write(resource, &key, prepared)
            };
            return Ok(Reply::Object { code: 201, object: present(resource, &stored) });
        }
        Err(ApiError::internal("no name was generated"))
    }

    /// Returns the object with the fields that the server sets. Fails if a rule refuses the object.
    fn prepared_for_create(
        &mut self,
        now: Timestamp,
        request: &Request,
        mut object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let resource = request.resource;
        let facts = resource.facts();
        let uid = self.identities.uid();
        let system = metadata(&mut object);
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            system.remove(key);
        }
        system.insert("creationTimestamp".to_owned(), time(now));
        system.insert("uid".to_owned(), json!(uid));
        let mut projector = self.projector();
        let mut context = rules::Context { rules: self.config.rules, projector: &mut projector };
        rules::default_new(&mut context, resource, &mut object)?;
        rules::admit_create(resource, &mut object);
        rules::prepare_create(&mut context, resource, &mut object)?;
        let errors = rules::validate_create(&mut context, resource, &object)?;
        if !errors.is_empty() {
            let group = resource.stored().facts().group;
            return Err(ApiError::invalid(facts.kind, group, meta(&object, "name"), &errors));
        }
        rules::warn_of_create(resource, &object, warnings);
        // The order of members has no meaning, but a fixed order makes recordings easy to compare.
        members(&mut object).sort_keys();
        Ok(object)
    }
}

/// Sets the namespace of the object, and refuses another one than that of the request.
pub(crate) fn match_namespace(request: &Request, object: &mut Value) -> Result<(), ApiError> {
    let expected = request.namespace.as_deref().filter(|_| request.resource.facts().namespaced);
    let found = meta(object, "namespace").to_owned();
    match expected {
        Some(expected) if !found.is_empty() && found != expected => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        Some(expected) => {
            metadata(object).insert("namespace".to_owned(), json!(expected));
            Ok(())
        }
        None => {
            metadata(object).remove("namespace");
            Ok(())
        }
    }
}
