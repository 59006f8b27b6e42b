//! A cluster: its client, its audit log, and the permissions of the account.

use std::path::PathBuf;

use http::header::{CONTENT_TYPE, USER_AGENT};
use jobcheck_access::with_causes;
use jobcheck_record::{Access, permission, version};
use kube::Client;
use serde_json::Value;

use crate::error::Error;

/// The permissions that are needed on the cluster of the manager.
const ON_MANAGER: [permission::Need; 4] = [
    ("", "namespaces", &["create", "delete", "get"]),
    ("batch", "jobs", &["create", "delete", "list", "patch", "watch"]),
    ("batch", "jobs/status", &["patch"]),
    ("", "pods", &["delete", "list", "patch", "watch"]),
];
/// The permissions that are needed on a worker.
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
}

impl Played {
    fn agent(self) -> String {
        let role = match self {
            Played::Suite => "suite",
            Played::User => "user",
            Played::Somebody => "somebody",
            Played::Kubelet => "kubelet",
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
    pub(crate) client: Client,
    pub(crate) audit_log: Option<PathBuf>,
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
        Ok(Cluster { name: name.to_owned(), kubernetes, client, audit_log })
    }

    /// Checks the permissions of the account, before anything is created.
    ///
    /// # Errors
    ///
    /// A permission is missing, or the cluster does not respond.
    pub async fn check_permissions(&self, is_worker: bool) -> Result<(), Error> {
        let needed: &[permission::Need] = if is_worker { &ON_WORKER } else { &ON_MANAGER };
        let cluster = || self.name.clone();
        let lacking = permission::lacking(&self.client, needed, None).await;
        match lacking.map_err(|why| Error::Cluster { cluster: cluster(), why })? {
            lacking if lacking.is_empty() => Ok(()),
            lacking => Err(Error::Permission { cluster: cluster(), lacking }),
        }
    }

    /// Sends a request. `None`: the object does not exist, exists already, or was changed meanwhile.
    pub(crate) async fn send(
        &self,
        played: Played,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Option<Value>, Error> {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let failed = |why| Error::Cluster { cluster: self.name.clone(), why };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, media)
            .header(USER_AGENT, played.agent())
            .body(body)
            .map_err(|error| failed(error.to_string()))?;
        match self.client.request::<Value>(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
            Err(error) => Err(failed(with_causes(&error))),
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

fn below(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("/{name}") }
}
