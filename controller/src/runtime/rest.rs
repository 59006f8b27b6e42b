//! Requests whose bodies the pure half of this crate has made, and what is read of their answers.

use http::{Method, Request, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::DynamicObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reflector::Version;
use super::store::ObjectKey;
use crate::answer::{Answer, Failure, Shown};
use crate::job::requests::{self as jobs, Object, Verb};
use crate::values::{ResourceVersion, Uid};

/// What is read of the answer to a write: an object, or a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Written {
    /// `metadata` of the object; empty in a `Status`.
    #[serde(default)]
    pub metadata: WrittenMeta,
}

/// What is read of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WrittenMeta {
    /// `name`, which the API server chose where the request had `generateName`.
    pub name: String,
    /// `uid`.
    pub uid: String,
    /// `resourceVersion`. A removal answers with the version of before.
    pub resource_version: String,
    /// `deletionTimestamp`.
    pub deletion_timestamp: Option<Time>,
}

impl Written {
    /// What a call of a plan learns from it.
    #[must_use]
    pub fn shown(&self) -> Shown {
        let WrittenMeta { name, uid, resource_version, deletion_timestamp } = &self.metadata;
        Shown {
            name: name.as_str().into(),
            uid: Uid::new(uid),
            resource_version: ResourceVersion::new(resource_version),
            deleting: deletion_timestamp.is_some(),
        }
    }
}

/// A version as a number; 0, which every cache has reached, where it is none.
#[must_use]
pub fn version(version: &ResourceVersion) -> Version {
    version.as_str().parse().unwrap_or(0)
}

/// Sends a request about an object of this namespace.
///
/// # Errors
/// What the API server says, or that it said nothing.
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

/// Path of the pods of a namespace.
#[must_use]
pub fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Path of a pod.
#[must_use]
pub fn pod(namespace: &str, name: &str) -> String {
    format!("{}/{name}", pods(namespace))
}

/// Path of a Job.
#[must_use]
pub fn job(key: &ObjectKey) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs/{}", key.namespace, key.name)
}

/// POST: creates an object.
///
/// # Errors
/// What the API server says, or that it said nothing.
pub async fn create(client: &Client, path: &str, body: &Value) -> Result<Written, Failure> {
    send(client, Method::POST, path, "application/json", body).await
}

/// PATCH with a strategic merge patch.
///
/// # Errors
/// What the API server says, or that it said nothing.
pub async fn patch(client: &Client, path: &str, body: &Value) -> Result<Written, Failure> {
    send(client, Method::PATCH, path, "application/strategic-merge-patch+json", body).await
}

/// DELETE with these options.
///
/// # Errors
/// What the API server says, or that it said nothing.
pub async fn delete(client: &Client, path: &str, options: &Value) -> Result<Written, Failure> {
    send(client, Method::DELETE, path, "application/json", options).await
}

/// GET of a Job, not from a cache; `None` if there is none.
///
/// # Errors
/// What the API server says, or that it said nothing.
pub async fn get_job(client: &Client, key: &ObjectKey) -> Result<Option<DynamicObject>, Failure> {
    match get(client, &job(key)).await {
        Ok(job) => Ok(Some(job)),
        Err(Failure::NotFound(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, Failure> {
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| Failure::NotSent(error.to_string()))?;
    client.request(request).await.map_err(|error| Failure::from_kube(&error))
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> Result<Written, Failure> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, kind)
        .header(header::ACCEPT, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(|error| Failure::NotSent(error.to_string()))?;
    client.request(request).await.map_err(|error| Failure::from_kube(&error))
}
