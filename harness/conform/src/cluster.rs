//! A cluster: its client, its audit log, and the permissions of the account.

use std::path::PathBuf;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, USER_AGENT};
use jobcheck_access::with_causes;
use jobcheck_record::{Access, permission, version};
use kube::Client;
use serde_json::Value;

use crate::error::Error;
use crate::faults::Faults;
use crate::scenario::Profile;

/// The permissions that are needed on the cluster of the manager.
const ON_MANAGER: [permission::Need; 4] = [
    ("", "namespaces", &["create", "delete", "get"]),
    ("batch", "jobs", &["create", "delete", "list", "patch", "watch"]),
    ("batch", "jobs/status", &["patch"]),
    ("", "pods", &["delete", "list", "patch", "watch"]),
];
/// The permissions that are needed to play the Job controller of a member.
const ON_MEMBER: [permission::Need; 3] = [
    ("", "namespaces", &["create", "delete", "get"]),
    ("batch", "jobs", &["create", "delete", "list", "patch", "watch"]),
    ("batch", "jobs/status", &["patch"]),
];
/// The permissions that are needed to play the kubelets of a worker.
const ON_WORKER: [permission::Need; 4] = [
    ("", "namespaces", &["create", "delete", "get"]),
    ("batch", "jobs", &["create", "delete", "list", "patch", "watch"]),
    ("", "pods", &["delete", "list", "patch", "watch"]),
    ("", "pods/status", &["patch"]),
];

/// The sender of a request, for the audit log. The account is that of the kubeconfig.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Played {
    /// The suite itself: namespaces, and the removal of everything.
    Suite,
    /// The owner of the Job.
    User,
    /// Somebody who knows nothing of the manager.
    Somebody,
    /// The kubelet of the pods.
    Kubelet,
    /// The Job controller of a member, or somebody who writes statuses as one.
    Controller,
}

/// A request that the API server has refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub code: u16,
    pub message: String,
}

impl Refusal {
    /// The object is invalid.
    pub(crate) fn is_invalid(&self) -> bool {
        matches!(self.code, 400 | 422)
    }
}

impl Played {
    fn agent(self) -> String {
        let role = match self {
            Played::Suite => "suite",
            Played::User => "user",
            Played::Somebody => "somebody",
            Played::Kubelet => "kubelet",
            Played::Controller => "controller",
        };
        format!("jobcheck-conform/{}/{role}", env!("CARGO_PKG_VERSION"))
    }
}

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The name in reports and files, such as `manager` or `worker-1`.
    pub name: String,
    /// The minor version of its API server.
    pub kubernetes: String,
    pub(crate) access: Access,
    pub(crate) client: Client,
    pub(crate) audit_log: Option<PathBuf>,
    /// The faults between the manager and this API server.
    pub(crate) faults: Option<Arc<Faults>>,
}

impl Cluster {
    /// Connects to a cluster.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached.
    pub async fn connect(name: &str, access: &Access, audit_log: Option<PathBuf>) -> Result<Cluster, Error> {
        let failed = |why| Error::Cluster { cluster: name.to_owned(), why };
        let client = access.client().await.map_err(failed)?;
        let kubernetes = version(&client, |_| {}).await.map_err(failed)?;
        let (name, access) = (name.to_owned(), access.clone());
        Ok(Cluster { name, kubernetes, access, client, audit_log, faults: None })
    }

    /// Lets faults occur between the manager and this API server.
    #[must_use]
    pub fn with_faults(&self, faults: Arc<Faults>) -> Cluster {
        Cluster { faults: Some(faults), ..self.clone() }
    }

    /// Checks the permissions of the account, before anything is created. The manager has the cluster alone, or is the first
    /// one of several.
    ///
    /// # Errors
    ///
    /// A permission is missing, or the cluster does not respond.
    pub async fn check_permissions(&self, profile: Profile, is_first: bool) -> Result<(), Error> {
        let needed: &[permission::Need] = match (profile, is_first) {
            (_, true) => &ON_MANAGER,
            (Profile::Aggregate, false) => &ON_MEMBER,
            (Profile::Mirror | Profile::Field, false) => &ON_WORKER,
        };
        let lacking = permission::lacking(&self.client, needed, None).await;
        match lacking.map_err(|why| self.failed(why))? {
            lacking if lacking.is_empty() => Ok(()),
            lacking => Err(Error::Permission { cluster: self.name.clone(), lacking }),
        }
    }

    /// An error of this cluster.
    pub(crate) fn failed(&self, why: impl Into<String>) -> Error {
        Error::Cluster { cluster: self.name.clone(), why: why.into() }
    }

    /// Sends a request. `None`: the object does not exist, exists already, or was changed meanwhile.
    pub(crate) async fn send(
        &self,
        played: Played,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Option<Value>, Error> {
        match self.ask(played, method, path, body).await? {
            Ok(answer) => Ok(Some(answer)),
            Err(Refusal { code: 404 | 409, .. }) => Ok(None),
            Err(Refusal { message, .. }) => Err(self.failed(message)),
        }
    }

    /// Sends a request that may be refused.
    pub(crate) async fn ask(
        &self,
        played: Played,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Result<Value, Refusal>, Error> {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, media)
            .header(USER_AGENT, played.agent())
            .body(body)
            .map_err(|error| self.failed(error.to_string()))?;
        match self.client.request::<Value>(request).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(kube::Error::Api(status)) => {
                let message = format!("{} ({})", status.message, status.code);
                Ok(Err(Refusal { code: status.code, message }))
            }
            Err(error) => Err(self.failed(with_causes(&error))),
        }
    }
}

/// The path of a Job, or of all Jobs.
pub(crate) fn jobs(namespace: &str, name: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs{}", below(name))
}

/// The path of a pod, or of all pods.
pub(crate) fn pods(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods{}", below(name))
}

/// The path at which an object is created. Its plural is that of a regular noun, unless the object says otherwise in the
/// annotation `jobcheck.dev/plural`.
pub(crate) fn path_of(object: &Value, namespace: &str) -> Result<String, String> {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let (Some(version), Some(kind)) = (version, kind) else {
        return Err("an object has no apiVersion or kind".to_owned());
    };
    let plural = match object["metadata"]["annotations"]["jobcheck.dev/plural"].as_str() {
        Some(plural) => plural.to_owned(),
        None => format!("{}s", kind.to_lowercase()),
    };
    let root = if version.contains('/') { "apis" } else { "api" };
    Ok(format!("/{root}/{version}/namespaces/{namespace}/{plural}"))
}

fn below(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("/{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_created_at_the_path_of_their_kind() {
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue"});
        let path = path_of(&queue, "a").unwrap();
        assert_eq!(path, "/apis/kueue.x-k8s.io/v1beta1/namespaces/a/localqueues");
        let named = json!({
            "apiVersion": "v1", "kind": "Policy", "metadata": {"annotations": {"jobcheck.dev/plural": "policies"}},
        });
        assert_eq!(path_of(&named, "a").unwrap(), "/api/v1/namespaces/a/policies");
        assert!(path_of(&json!({"kind": "X"}), "a").is_err());
    }
}
