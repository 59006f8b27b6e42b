//! Requests, as an API server understands them.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::Value;

/// What is done, as an audit log names it.
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
    /// As an audit log has it.
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

/// A request for a resource.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The `Audit-ID` under which the API server will know it.
    pub id: String,
    /// What is done.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The subresource, such as `status`.
    pub subresource: Option<String>,
    /// The namespace, if one is named.
    pub namespace: Option<String>,
    /// The object, if one is named.
    pub name: Option<String>,
    /// The User-Agent.
    pub agent: String,
    body: Bytes,
}

impl Asked {
    /// What a request asks for; none if that is no resource.
    pub(crate) fn of(id: String, parts: &Parts, body: Bytes) -> Option<Asked> {
        let path = Path::of(parts.uri.path())?;
        let query = parts.uri.query().unwrap_or_default();
        Some(Asked {
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

    /// The body, where it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// `pods`, or `jobs/status`.
    #[must_use]
    pub fn kind(&self) -> String {
        self.subresource
            .as_ref()
            .map_or_else(|| self.resource.clone(), |it| format!("{}/{it}", self.resource))
    }
}

/// The parts of a path of the API.
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
            // The subresources of a namespace itself.
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

/// Whether a flag of a query is set.
pub(crate) fn is_set(query: &str, name: &str) -> bool {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.any(|(key, value)| key == name && matches!(&*value, "1" | "true"))
}

/// A header; empty where there is none.
pub(crate) fn text(headers: &HeaderMap, name: http::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str) -> Option<Asked> {
        let request = http::Request::builder().method(method).uri(uri).body(()).unwrap();
        Asked::of("id".to_owned(), &request.into_parts().0, Bytes::from_static(b"{\"a\": 1}"))
    }

    #[test]
    fn requests_are_told_apart_as_an_api_server_does() {
        let told = |method: &str, uri: &str| {
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
        assert_eq!(told("POST", "/api/v1/namespaces/n/pods"), of(Verb::Create, "", "pods", "n", ""));
        let status = "/apis/batch/v1/namespaces/n/jobs/j/status";
        assert_eq!(told("PUT", status), of(Verb::Update, "batch", "jobs/status", "n", "j"));
        assert_eq!(told("GET", "/api/v1/pods?watch=true"), of(Verb::Watch, "", "pods", "", ""));
        assert_eq!(told("GET", "/api/v1/pods?limit=5"), of(Verb::List, "", "pods", "", ""));
        assert_eq!(told("GET", "/api/v1/namespaces/n"), of(Verb::Get, "", "namespaces", "", "n"));
        let finalize = "/api/v1/namespaces/n/finalize";
        assert_eq!(told("PUT", finalize), of(Verb::Update, "", "namespaces/finalize", "", "n"));
        assert_eq!(
            told("DELETE", "/api/v1/namespaces/n/pods"),
            of(Verb::DeleteCollection, "", "pods", "n", "")
        );
        assert_eq!(told("GET", "/version"), None);
        assert_eq!(told("GET", "/apis/batch/v1"), None);
        assert_eq!(told("OPTIONS", "/api/v1/pods"), None);
    }

    #[test]
    fn a_body_in_json_can_be_read() {
        assert_eq!(asked("POST", "/api/v1/nodes").unwrap().json().unwrap()["a"], 1);
    }
}
