//! The attributes of requests, as API servers derive them.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::Value;

/// A verb of the API, as in audit logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// An object is read.
    Get,
    /// A collection is read.
    List,
    /// A collection, or an object, is watched.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of an object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
}

impl Verb {
    /// The name in audit logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// The attributes of a request for a resource.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// The `Audit-ID` that the proxy adds, by which the request is found in the audit log.
    pub id: String,
    /// The verb.
    pub verb: Verb,
    /// The API group. Empty for the core group.
    pub group: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The subresource, such as `status`.
    pub subresource: Option<String>,
    /// The namespace, if the path has one.
    pub namespace: Option<String>,
    /// The name of the object, if the path has one.
    pub name: Option<String>,
    /// The `User-Agent`.
    pub agent: String,
    body: Bytes,
}

impl RequestInfo {
    /// The attributes of a request. `None` if its path names no resource.
    pub(crate) fn of(id: String, parts: &Parts, body: Bytes) -> Option<RequestInfo> {
        let path = Path::of(parts.uri.path())?;
        let query = parts.uri.query().unwrap_or_default();
        Some(RequestInfo {
            id,
            verb: verb(&parts.method, query, path.name.is_some())?,
            group: path.group,
            resource: path.resource,
            subresource: path.subresource,
            namespace: path.namespace,
            name: path.name,
            agent: text(&parts.headers, http::header::USER_AGENT).to_owned(),
            body,
        })
    }

    /// The body. `None` if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The resource with its subresource: `pods`, or `jobs/status`.
    #[must_use]
    pub fn kind(&self) -> String {
        self.subresource
            .as_ref()
            .map_or_else(|| self.resource.clone(), |it| format!("{}/{it}", self.resource))
    }
}

/// The parts of a path.
#[derive(Debug, PartialEq, Eq)]
struct Path {
    group: String,
    resource: String,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Path {
    fn of(path: &str) -> Option<Path> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // These are subresources of the namespace itself.
            ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let mut rest = rest.iter().map(|part| (*part).to_owned());
        Some(Path {
            group: group.to_owned(),
            resource: rest.next()?,
            name: rest.next(),
            subresource: rest.next(),
            namespace: namespace.map(str::to_owned),
        })
    }
}

fn verb(method: &Method, query: &str, is_named: bool) -> Option<Verb> {
    Some(match *method {
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if is_named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        Method::GET if is_set(query, "watch") => Verb::Watch,
        Method::GET if is_named => Verb::Get,
        Method::GET => Verb::List,
        _ => return None,
    })
}

/// Returns true if a flag of a query is set.
pub(crate) fn is_set(query: &str, name: &str) -> bool {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.any(|(key, value)| key == name && matches!(&*value, "1" | "true"))
}

/// The text of a header. Empty if there is none.
pub(crate) fn text(headers: &HeaderMap, name: http::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str) -> Option<RequestInfo> {
        let request = http::Request::builder().method(method).uri(uri).body(()).unwrap();
        RequestInfo::of("id".to_owned(), &request.into_parts().0, Bytes::from_static(b"{\"a\": 1}"))
    }

    #[test]
    fn requests_have_the_attributes_that_an_api_server_derives() {
        let attributes = |method: &str, uri: &str| {
            asked(method, uri).map(|it| {
                let (namespace, name) = (it.namespace.clone(), it.name.clone());
                (
                    it.verb,
                    it.group.clone(),
                    it.kind(),
                    namespace.unwrap_or_default(),
                    name.unwrap_or_default(),
                )
            })
        };
        let of = |verb, group: &str, kind: &str, namespace: &str, name: &str| {
            Some((verb, group.to_owned(), kind.to_owned(), namespace.to_owned(), name.to_owned()))
        };
        assert_eq!(attributes("POST", "/api/v1/namespaces/n/pods"), of(Verb::Create, "", "pods", "n", ""));
        let status = "/apis/batch/v1/namespaces/n/jobs/j/status";
        assert_eq!(attributes("PUT", status), of(Verb::Update, "batch", "jobs/status", "n", "j"));
        assert_eq!(attributes("GET", "/api/v1/pods?watch=true"), of(Verb::Watch, "", "pods", "", ""));
        assert_eq!(attributes("GET", "/api/v1/pods?limit=5"), of(Verb::List, "", "pods", "", ""));
        assert_eq!(attributes("GET", "/api/v1/namespaces/n"), of(Verb::Get, "", "namespaces", "", "n"));
        let finalize = "/api/v1/namespaces/n/finalize";
        assert_eq!(attributes("PUT", finalize), of(Verb::Update, "", "namespaces/finalize", "", "n"));
        assert_eq!(
            attributes("DELETE", "/api/v1/namespaces/n/pods"),
            of(Verb::DeleteCollection, "", "pods", "n", "")
        );
        assert_eq!(attributes("GET", "/version"), None);
        assert_eq!(attributes("GET", "/apis/batch/v1"), None);
        assert_eq!(attributes("OPTIONS", "/api/v1/pods"), None);
    }

    #[test]
    fn a_body_in_json_can_be_read() {
        assert_eq!(asked("POST", "/api/v1/nodes").unwrap().json().unwrap()["a"], 1);
    }
}
