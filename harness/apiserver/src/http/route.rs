//! Conversion of a path, a method, and a query to a request.

use std::collections::BTreeMap;

use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::media::{check_body, patch_kind};
use crate::error::{ApiError, FieldError};
use crate::list::version_match;
use crate::request::{
    DeleteOptions, FieldValidation, ListOptions, PatchKind, Request, Subresource, Verb, WatchOptions,
};
use crate::resource::Resource;

/// The target of a path: a resource, a collection, or an object.
#[derive(Debug)]
pub(super) struct Target {
    resource: Resource,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
}

impl Target {
    /// Returns true for a namespace that admission protects from deletion (`NamespaceLifecycle`). Only requests
    /// over HTTP are checked: the simulator deletes such namespaces.
    fn is_immortal(&self) -> bool {
        let names = ["default", "kube-system", "kube-public"];
        self.resource == Resource::Namespaces
            && self.name.as_deref().is_some_and(|name| names.contains(&name))
    }
}

/// The parameters of a query. The first value of a name counts.
#[derive(Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn parse(query: &str) -> Query {
        let mut found = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            found.entry(key.into_owned()).or_insert_with(|| value.into_owned());
        }
        Query(found)
    }

    pub(super) fn get(&self, key: &str) -> &str {
        self.0.get(key).map(String::as_str).unwrap_or_default()
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1") || self.0.get(key).is_some_and(String::is_empty)
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, ApiError> {
        let text = self.get(key);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| ApiError::bad_request(format!("{key}: invalid value \"{text}\"")))
    }

    fn version(&self) -> Result<Option<u64>, ApiError> {
        let text = self.get("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            ApiError::bad_request(format!(
                "resourceVersion: Invalid value: \"{text}\": it is not a decimal number"
            ))
        })
    }
}

/// The decoded segments of a path. `None` if one is not valid UTF-8.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_str(part).decode_utf8().ok().map(|text| text.into_owned())).collect()
}

/// The target of a path. `None` if the path names no resource.
pub(super) fn target(segments: &[String]) -> Option<Target> {
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, rest) = match &parts[..] {
        ["api", "v1", rest @ ..] => ("", rest),
        ["apis", group, "v1", rest @ ..] => (*group, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        // `namespaces/x/status` and `namespaces/x/finalize` are subresources. All other paths below
        // `namespaces/x` are inside the namespace.
        ["namespaces", _, "status" | "finalize"] | ["namespaces", _] | ["namespaces"] => (None, rest),
        ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some((*name).to_owned()), None),
        [plural, name, subresource] => (plural, Some((*name).to_owned()), Some((*subresource).to_owned())),
        _ => return None,
    };
    let resource = Resource::find(group, plural)?;
    // The path of an object contains a namespace exactly if its resource has namespaces.
    let fits =
        if resource.facts().namespaced { namespace.is_some() || name.is_none() } else { namespace.is_none() };
    fits.then_some(Target { resource, namespace, name, subresource })
}

/// The request for a target, from the method, the query, and the body.
pub(super) fn request(
    target: Target,
    method: &Method,
    query: &Query,
    content_type: &str,
    body: &[u8],
) -> Result<Request, ApiError> {
    let subresource = match target.subresource.as_deref() {
        None => None,
        Some(name) => Some(Subresource::parse(name).ok_or_else(ApiError::no_such_path)?),
    };
    // If a DELETE has a body, the options in its query are ignored.
    let has_options = method == Method::DELETE && !body.is_empty();
    let mut dry_run = if has_options { false } else { dry_run(query)? };
    let on_object = target.name.is_some();
    let verb = match method.as_str() {
        "GET" if query.flag("watch") => Verb::Watch(watch_options(query)?),
        "GET" if on_object => Verb::Get { resource_version: query.version()? },
        "GET" => Verb::List(list_options(query)?),
        "POST" if !on_object || subresource.is_some() => {
            check_body(content_type)?;
            Verb::Create(json(body)?)
        }
        "PUT" if on_object => {
            check_body(content_type)?;
            Verb::Update(json(body)?)
        }
        "PATCH" if on_object => {
            let kind = patch_kind(content_type)?;
            if kind == PatchKind::Apply && query.get("fieldManager").is_empty() {
                let error = FieldError::required("fieldManager", "is required for apply patch");
                return Err(ApiError::invalid("PatchOptions", "meta.k8s.io", "", &[error]));
            }
            Verb::Patch { kind, body: json(body)? }
        }
        "DELETE" => {
            let options = delete_options(query, content_type, body)?;
            dry_run |= is_dry(options.dry_run.iter().map(String::as_str))?;
            match (&target.name, &target.namespace) {
                (Some(name), _) if target.is_immortal() => {
                    let why = "this namespace may not be deleted";
                    return Err(ApiError::forbidden(target.resource, name, why));
                }
                (Some(_), _) => Verb::Delete(options),
                (None, None) if target.resource.facts().namespaced => {
                    return Err(ApiError::method_not_allowed());
                }
                (None, _) => Verb::DeleteCollection(list_options(query)?, options),
            }
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    Ok(Request {
        user: String::new(),
        user_agent: String::new(),
        audit_id: None,
        resource: target.resource,
        namespace: target.namespace,
        name: target.name,
        subresource,
        verb,
        dry_run,
        field_validation: field_validation(query)?,
    })
}

fn json(body: &[u8]) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
    })
}

fn dry_run(query: &Query) -> Result<bool, ApiError> {
    is_dry(query.0.get("dryRun").map(String::as_str).into_iter())
}

fn is_dry<'a>(mut values: impl Iterator<Item = &'a str>) -> Result<bool, ApiError> {
    values.try_fold(false, |_, value| match value {
        "All" => Ok(true),
        other => {
            let error = FieldError::unsupported("dryRun", other.into(), &["All"]);
            Err(ApiError::invalid("Options", "meta.k8s.io", "", &[error]))
        }
    })
}

fn field_validation(query: &Query) -> Result<FieldValidation, ApiError> {
    match query.get("fieldValidation") {
        "" | "Warn" => Ok(FieldValidation::Warn),
        "Ignore" => Ok(FieldValidation::Ignore),
        "Strict" => Ok(FieldValidation::Strict),
        other => {
            let error =
                FieldError::unsupported("fieldValidation", other.into(), &["Ignore", "Strict", "Warn"]);
            Err(ApiError::invalid("Options", "meta.k8s.io", "", &[error]))
        }
    }
}

fn list_options(query: &Query) -> Result<ListOptions, ApiError> {
    Ok(ListOptions {
        labels: query.get("labelSelector").to_owned(),
        fields: query.get("fieldSelector").to_owned(),
        limit: query.number::<i64>("limit")?.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(0),
        resume: query.get("continue").to_owned(),
        resource_version: query.version()?,
        version_match: version_match(query.get("resourceVersionMatch"))?,
    })
}

fn watch_options(query: &Query) -> Result<WatchOptions, ApiError> {
    let initial = query.get("sendInitialEvents");
    let timeout = query.number::<i64>("timeoutSeconds")?.filter(|seconds| *seconds > 0);
    Ok(WatchOptions {
        labels: query.get("labelSelector").to_owned(),
        fields: query.get("fieldSelector").to_owned(),
        resource_version: query.version()?,
        version_match: version_match(query.get("resourceVersionMatch"))?,
        bookmarks: query.flag("allowWatchBookmarks"),
        initial_events: (!initial.is_empty()).then_some(matches!(initial, "true" | "1")),
        timeout_seconds: timeout.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
    })
}

/// The options of a DELETE, from its body or, without one, from its query.
fn delete_options(query: &Query, content_type: &str, body: &[u8]) -> Result<DeleteOptions, ApiError> {
    if !body.is_empty() {
        check_body(content_type)?;
        let value = json(body)?;
        if value.is_null() {
            return Ok(DeleteOptions::default());
        }
        if !value.is_object() {
            return Err(ApiError::bad_request("couldn't get version/kind: DeleteOptions is not an object"));
        }
        if value["kind"].as_str().is_some_and(|kind| kind != "DeleteOptions") {
            let message =
                format!("decoded object cannot be converted to DeleteOptions: it is a {}", value["kind"]);
            return Err(ApiError::bad_request(message));
        }
        return serde_json::from_value(value)
            .map_err(|error| ApiError::bad_request(format!("DeleteOptions: {error}")));
    }
    let policy = query.get("propagationPolicy");
    let orphan = query.get("orphanDependents");
    Ok(DeleteOptions {
        grace_period_seconds: query.number("gracePeriodSeconds")?,
        propagation_policy: (!policy.is_empty()).then(|| policy.to_owned()),
        orphan_dependents: (!orphan.is_empty()).then_some(orphan == "true"),
        ..DeleteOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: &Method, uri: &str, body: &str) -> Result<Request, ApiError> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let target = target(&segments(path).unwrap()).ok_or_else(ApiError::no_such_path)?;
        request(target, method, &Query::parse(query), "application/json", body.as_bytes())
    }

    #[test]
    fn paths_name_resources_objects_and_subresources() {
        let job = routed(&Method::PUT, "/apis/batch/v1/namespaces/n/jobs/a/status", "{}").unwrap();
        assert_eq!(
            (job.resource, job.key().as_str(), job.subresource),
            (Resource::Jobs, "n/a", Some(Subresource::Status))
        );
        let all = routed(&Method::GET, "/api/v1/pods?labelSelector=a%3Db&limit=5", "").unwrap();
        assert!(
            all.namespace.is_none()
                && matches!(&all.verb, Verb::List(it) if it.labels == "a=b" && it.limit == 5)
        );
        let namespace = routed(&Method::GET, "/api/v1/namespaces/n", "").unwrap();
        assert_eq!((namespace.resource, namespace.key().as_str()), (Resource::Namespaces, "n"));
        let finalize = routed(&Method::PUT, "/api/v1/namespaces/n/finalize", "{}").unwrap();
        assert_eq!(finalize.subresource, Some(Subresource::Finalize));
        let watch =
            routed(&Method::GET, "/api/v1/pods?watch=1&resourceVersion=7&sendInitialEvents=false", "")
                .unwrap();
        assert!(
            matches!(watch.verb, Verb::Watch(it) if it.resource_version == Some(7) && it.initial_events == Some(false))
        );
        let delete = routed(&Method::DELETE, "/api/v1/namespaces/n/pods/a?gracePeriodSeconds=0", "").unwrap();
        assert!(matches!(delete.verb, Verb::Delete(it) if it.grace_period_seconds == Some(0)));
    }

    #[test]
    fn the_options_of_a_delete_are_in_its_body_if_it_has_one() {
        for (body, dry) in [("", true), ("null", false), ("{}", false), ("{\"dryRun\":[\"All\"]}", true)] {
            let uri = "/api/v1/namespaces/n/pods/a?dryRun=All";
            assert_eq!(routed(&Method::DELETE, uri, body).unwrap().dry_run, dry, "{body}");
        }
    }

    #[test]
    fn an_invalid_request_is_refused() {
        for (method, uri, body, code) in [
            (Method::GET, "/api/v1/pods/a", "", 404),
            (Method::GET, "/api/v1/namespaces/n/nodes/a", "", 404),
            (Method::GET, "/api/v1/secrets", "", 404),
            (Method::POST, "/api/v1/namespaces/n/pods/a", "{}", 405),
            (Method::PUT, "/api/v1/namespaces/n/pods", "{}", 405),
            (Method::GET, "/api/v1/namespaces/n/pods/a/scale", "", 404),
            (Method::POST, "/api/v1/namespaces/n/pods", "{", 400),
            (Method::GET, "/api/v1/pods?limit=x", "", 400),
            (Method::GET, "/api/v1/pods?resourceVersion=-1", "", 400),
            (Method::POST, "/api/v1/namespaces/n/pods?dryRun=Some", "{}", 422),
            (Method::POST, "/api/v1/namespaces/n/pods?dryRun=", "{}", 422),
            (Method::DELETE, "/api/v1/namespaces/n/pods/a?dryRun=", "", 422),
            (Method::DELETE, "/api/v1/namespaces/n/pods/a", "{\"dryRun\":[\"Some\"]}", 422),
            (Method::DELETE, "/api/v1/namespaces/n/pods/a", "[]", 400),
            (Method::DELETE, "/api/v1/pods", "", 405),
            (Method::DELETE, "/api/v1/namespaces/default", "", 403),
            (Method::DELETE, "/api/v1/namespaces/n/pods/a", "{\"kind\":\"Pod\"}", 400),
            (Method::DELETE, "/api/v1/namespaces/n/pods/a", "{\"gracePeriodSeconds\":\"1\"}", 400),
        ] {
            assert_eq!(routed(&method, uri, body).unwrap_err().code, code, "{method} {uri}");
        }
    }
}
