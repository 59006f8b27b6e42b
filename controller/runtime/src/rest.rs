//! Sends the requests of [`jobcheck_controller::job::requests`] and [`jobcheck_controller::ttl::observe`], and parses their responses.

use http::{Method, Request, header};
use jobcheck_access::Readable;
use jobcheck_controller::answer::{Answer, Failure, Shown};
use jobcheck_controller::job::requests::{self as jobs, Object, Verb};
use jobcheck_controller::values::{ResourceVersion, Uid};
use kube::Client;
use kube::api::DynamicObject;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::reflector::Version;
use super::store::ObjectKey;
use crate::failure::of_kube;

/// The parsed part of a response: an object, or a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct WriteResponse {
    /// `metadata` of the object; empty for a `Status`.
    #[serde(default)]
    pub metadata: ResponseMeta,
}

/// The parsed part of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResponseMeta {
    /// `name`. The API server chooses it if the request has `generateName`.
    pub name: String,
    /// `uid`.
    pub uid: String,
    /// `resourceVersion`. The response to a deletion that removes the object has its last version.
    pub resource_version: String,
    /// `deletionTimestamp`. Its value has no effect, so that it need not be a time that this process can represent.
    pub deletion_timestamp: Option<IgnoredAny>,
}

impl WriteResponse {
    /// Returns the fields that matter for the call of a plan.
    #[must_use]
    pub fn shown(&self) -> Shown {
        let ResponseMeta { name, uid, resource_version, deletion_timestamp } = &self.metadata;
        Shown {
            name: name.as_str().into(),
            uid: Uid::new(uid),
            resource_version: ResourceVersion::new(resource_version),
            deleting: deletion_timestamp.is_some(),
        }
    }
}

/// Converts a version to a number; 0, which every cache shows, if it is not one.
#[must_use]
pub fn version(version: &ResourceVersion) -> Version {
    version.as_str().parse().unwrap_or(0)
}

/// Sends a request about an object in this namespace.
///
/// # Errors
///
/// The request failed.
pub async fn ask(client: &Client, namespace: &str, request: &jobs::Request) -> Answer {
    let path = match &request.object {
        Object::Job(name) => job(&ObjectKey::new(namespace, name)),
        Object::JobStatus(name) => format!("{}/status", job(&ObjectKey::new(namespace, name))),
        Object::Pod(name) => pod(namespace, name),
        Object::Pods => pods(namespace),
    };
    let written = match request.verb {
        Verb::Get => get(client, &path).await,
        Verb::Create => create(client, &path, &request.body).await,
        Verb::Patch => patch(client, &path, &request.body).await,
        Verb::Delete => delete(client, &path, &request.body).await,
    };
    written.map(|written| written.shown())
}

/// Returns the path of the pods of a namespace.
#[must_use]
pub fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Returns the path of a pod.
#[must_use]
pub fn pod(namespace: &str, name: &str) -> String {
    format!("{}/{name}", pods(namespace))
}

/// Returns the path of a Job.
#[must_use]
pub fn job(key: &ObjectKey) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs/{}", key.namespace, key.name)
}

/// Creates an object with a POST.
///
/// # Errors
///
/// The request failed.
pub async fn create(client: &Client, path: &str, body: &Value) -> Result<WriteResponse, Failure> {
    send(client, Method::POST, path, "application/json", body).await
}

/// Changes an object with a strategic merge patch.
///
/// # Errors
///
/// The request failed.
pub async fn patch(client: &Client, path: &str, body: &Value) -> Result<WriteResponse, Failure> {
    send(client, Method::PATCH, path, "application/strategic-merge-patch+json", body).await
}

/// Deletes an object with these `DeleteOptions`.
///
/// # Errors
///
/// The request failed.
pub async fn delete(client: &Client, path: &str, options: &Value) -> Result<WriteResponse, Failure> {
    send(client, Method::DELETE, path, "application/json", options).await
}

/// Reads a Job from the API server; none if it does not exist.
///
/// # Errors
///
/// The request failed.
pub async fn get_job(client: &Client, key: &ObjectKey) -> Result<Option<DynamicObject>, Failure> {
    match get::<Readable<DynamicObject>>(client, &job(key)).await {
        Ok(job) => job.read().map(Some).map_err(|unreadable| Failure::Ambiguous(unreadable.why)),
        Err(Failure::NotFound(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, Failure> {
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| Failure::NotSent(error.to_string()))?;
    client.request(request).await.map_err(|error| of_kube(&error))
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> Result<WriteResponse, Failure> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, kind)
        .header(header::ACCEPT, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(|error| Failure::NotSent(error.to_string()))?;
    client.request(request).await.map_err(|error| of_kube(&error))
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;
    use serde_json::json;

    use super::*;
    use crate::testing::{self, server};

    /// The API server stores a time that only Go can represent.
    #[tokio::test(start_paused = true)]
    async fn a_response_with_a_late_deletion_time_is_read() {
        let metadata = json!({"metadata": {"deletionTimestamp": "9999-12-31T23:59:59Z"}});
        let stored = testing::job("a", 5, &metadata);
        let (client, _) = server(move |_, _| (200, stored.clone()));
        let key = ObjectKey::new("ns", "a");
        assert_eq!(get_job(&client, &key).await.unwrap().unwrap().name_any(), "a");
        assert!(ask(&client, "ns", &jobs::read_job(&key.name)).await.unwrap().deleting);
        let (client, _) =
            server(|_, _| (200, testing::job("a", 5, &json!({"metadata": {"deletionTimestamp": null}}))));
        assert!(!ask(&client, "ns", &jobs::read_job(&key.name)).await.unwrap().deleting);
    }
}
