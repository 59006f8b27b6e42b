//! The paths that name no resource: discovery, health, version, and access reviews.

use bytes::Bytes;
use http::{Method, Response as HttpResponse};
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use super::service::{ResponseBody, full, json_response};
use crate::error::ApiError;
use crate::request::Subresource;
use crate::resource::{Resource, api_version};

/// The groups in the order of discovery. Those of reviews have no resources that can be listed.
const GROUPS: [&str; 5] =
    ["authentication.k8s.io", "authorization.k8s.io", "batch", "coordination.k8s.io", "events.k8s.io"];

/// The response for a path that names no resource, from an API server with these rules.
pub(super) fn answer(
    method: &Method,
    path: &[String],
    accept: &str,
    body: &Bytes,
    user: &str,
    rules: RuleSet,
) -> Result<HttpResponse<ResponseBody>, ApiError> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    if *method == Method::POST {
        return review(&parts, body, user)
            .map(|value| json_response(201, full(value.to_string().into_bytes())));
    }
    if *method != Method::GET {
        return Err(ApiError::method_not_allowed());
    }
    let value = match &parts[..] {
        ["healthz" | "livez" | "readyz", ..] => {
            let mut response = json_response(200, full(b"ok".to_vec()));
            let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(http::header::CONTENT_TYPE, plain);
            return Ok(response);
        }
        ["version"] => version(rules),
        ["api"] if !accept.contains("as=APIGroupDiscoveryList") || accepts_plain_first(accept) => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        }),
        ["apis"] if !accept.contains("as=APIGroupDiscoveryList") || accepts_plain_first(accept) => {
            let groups: Vec<Value> = GROUPS.iter().map(|group| api_group(group)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["api"] => return Ok(aggregated(&[""])),
        ["apis"] => return Ok(aggregated(&GROUPS)),
        ["apis", group] if GROUPS.contains(group) => {
            let mut group = api_group(group);
            group["kind"] = json!("APIGroup");
            group["apiVersion"] = json!("v1");
            group
        }
        ["api", "v1"] => resource_list(""),
        ["apis", group, "v1"] if GROUPS.contains(group) => resource_list(group),
        ["openapi", "v3"] => openapi_index(),
        ["openapi", "v3", "api", "v1"] => openapi("", rules),
        ["openapi", "v3", "apis", group, "v1"] if GROUPS.contains(group) => openapi(group, rules),
        _ => return Err(ApiError::no_such_path()),
    };
    Ok(json_response(200, full(value.to_string().into_bytes())))
}

/// Returns true if a client prefers the older form of discovery.
fn accepts_plain_first(accept: &str) -> bool {
    let first = accept.split(',').find(|entry| entry.trim_start().starts_with("application/json"));
    first.is_some_and(|entry| !entry.contains("as="))
}

fn version(rules: RuleSet) -> Value {
    let (minor, release) = (rules.minor.to_string(), format!("v{}", rules.release()));
    json!({
        "major": "1", "minor": minor, "emulationMajor": "1", "emulationMinor": minor, "gitVersion": release,
        "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": "jobcheck",
    })
}

fn api_group(group: &str) -> Value {
    let version = json!({"groupVersion": api_version(group), "version": "v1"});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

fn resources_of(group: &str) -> impl Iterator<Item = Resource> {
    Resource::ALL.into_iter().filter(move |resource| resource.facts().group == group)
}

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

fn verbs(resource: Resource) -> Vec<&'static str> {
    let all = resource != Resource::Namespaces;
    VERBS.into_iter().filter(|verb| all || *verb != "deletecollection").collect()
}

/// Kind and verbs of a subresource.
fn subresource(resource: Resource, name: &str) -> (Value, Vec<&'static str>) {
    match Subresource::parse(name) {
        Some(Subresource::Binding) => (json!({"kind": "Binding"}), vec!["create"]),
        Some(Subresource::Eviction) => {
            (json!({"kind": "Eviction", "group": "policy", "version": "v1"}), vec!["create"])
        }
        Some(Subresource::Finalize) => (json!({"kind": resource.facts().kind}), vec!["update"]),
        Some(Subresource::Status) | None => {
            (json!({"kind": resource.facts().kind}), vec!["get", "patch", "update"])
        }
    }
}

fn resource_list(group: &str) -> Value {
    let mut resources = Vec::new();
    for resource in resources_of(group) {
        let facts = resource.facts();
        let mut entry = json!({
            "name": facts.plural, "singularName": facts.singular, "namespaced": facts.namespaced, "kind": facts.kind,
            "verbs": verbs(resource),
        });
        if !facts.short.is_empty() {
            entry["shortNames"] = json!(facts.short);
        }
        if matches!(resource, Resource::Jobs | Resource::Pods) {
            entry["categories"] = json!(["all"]);
        }
        resources.push(entry);
        for name in facts.subresources {
            let (mut entry, verbs) = subresource(resource, name);
            entry["name"] = json!(format!("{}/{name}", facts.plural));
            entry["singularName"] = json!("");
            entry["namespaced"] = json!(facts.namespaced);
            entry["verbs"] = json!(verbs);
            resources.push(entry);
        }
    }
    let reviews: &[(&str, &str)] = match group {
        "authorization.k8s.io" => &[("selfsubjectaccessreviews", "SelfSubjectAccessReview")],
        "authentication.k8s.io" => &[("selfsubjectreviews", "SelfSubjectReview")],
        _ => &[],
    };
    resources.extend(reviews.iter().map(|(name, kind)| {
        let singular = kind.to_lowercase();
        json!({"name": name, "singularName": singular, "namespaced": false, "kind": kind, "verbs": ["create"]})
    }));
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group), "resources": resources,
    })
}

/// Aggregated discovery (`apidiscovery.k8s.io/v2`).
fn aggregated(groups: &[&str]) -> HttpResponse<ResponseBody> {
    let items: Vec<Value> = groups
        .iter()
        .map(|group| {
            let listed = resource_list(group);
            let entries = listed["resources"].as_array().cloned().unwrap_or_default();
            let (whole, parts): (Vec<Value>, Vec<Value>) =
                entries.into_iter().partition(|it| it["name"].as_str().is_some_and(|name| !name.contains('/')));
            let resources: Vec<Value> = whole.iter().map(|it| aggregated_resource(group, it, &parts)).collect();
            json!({"metadata": {"name": group}, "versions": [{"version": "v1", "freshness": "Current", "resources": resources}]})
        })
        .collect();
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let mut response = json_response(200, full(list.to_string().into_bytes()));
    let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

fn aggregated_resource(group: &str, entry: &Value, parts: &[Value]) -> Value {
    let kind = |entry: &Value| {
        let member = |key: &str, default: &str| entry[key].as_str().unwrap_or(default).to_owned();
        json!({"group": member("group", group), "version": "v1", "kind": member("kind", "")})
    };
    let scope = if entry["namespaced"] == true { "Namespaced" } else { "Cluster" };
    let plural = entry["name"].as_str().unwrap_or_default();
    let own = parts.iter().filter_map(|part| {
        let name = part["name"].as_str()?.strip_prefix(plural)?.strip_prefix('/')?;
        Some(json!({"subresource": name, "responseKind": kind(part), "verbs": part["verbs"]}))
    });
    let own: Vec<Value> = own.collect();
    let mut shown = json!({
        "resource": plural, "responseKind": kind(entry), "scope": scope, "singularResource": entry["singularName"],
        "verbs": entry["verbs"],
    });
    for key in ["shortNames", "categories"] {
        if let Some(value) = entry.get(key) {
            shown[key] = value.clone();
        }
    }
    if !own.is_empty() {
        shown["subresources"] = json!(own);
    }
    shown
}

fn openapi_index() -> Value {
    let mut paths = json!({"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}});
    for group in GROUPS {
        let path = format!("apis/{group}/v1");
        paths[&path] = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
    }
    json!({"paths": paths})
}

/// The part of the OpenAPI document that kubectl reads before it leaves validation to the server: PATCH supports
/// `fieldValidation` and `dryRun`. There are no schemas.
fn openapi(group: &str, rules: RuleSet) -> Value {
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force"]
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    let mut paths = json!({});
    for resource in resources_of(group) {
        let facts = resource.facts();
        let root = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") };
        let scope = if facts.namespaced { "/namespaces/{namespace}" } else { "" };
        let path = format!("{root}{scope}/{}/{{name}}", facts.plural);
        let kind = json!({"group": group, "version": "v1", "kind": facts.kind});
        paths[&path] = json!({"patch": {
            "parameters": parameters, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind,
            "responses": {"200": {"description": "OK"}},
        }});
    }
    let version = format!("v{}", rules.release());
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": version}, "paths": paths, "components": {}})
}

/// The response to a review. Every authenticated user may do everything. A `SelfSubjectReview` returns the name of
/// the user.
fn review(parts: &[&str], body: &Bytes, user: &str) -> Result<Value, ApiError> {
    let sent: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the body of the review is not JSON: {error}")))?;
    match parts {
        ["apis", group @ "authorization.k8s.io", "v1", "selfsubjectaccessreviews"] => Ok(json!({
            "kind": "SelfSubjectAccessReview", "apiVersion": api_version(group), "metadata": {}, "spec": sent["spec"],
            "status": {"allowed": true},
        })),
        ["apis", group @ "authentication.k8s.io", "v1", "selfsubjectreviews"] => Ok(json!({
            "kind": "SelfSubjectReview", "apiVersion": api_version(group), "metadata": {},
            "status": {"userInfo": {"username": user, "groups": ["system:authenticated"]}},
        })),
        _ => Err(ApiError::no_such_path()),
    }
}
