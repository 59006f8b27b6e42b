//! The cluster on which scenarios run, and the objects of the harness there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jobcheck_access::with_causes;
use jobcheck_cluster::Home;
use jobcheck_judge::replay::rules;
use jobcheck_record::{Access, AccessError, permission, version};
use jobcheck_spec::apiserver::RuleSet;
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::disruption::{Disruption, Disruptions};
use crate::error::Error;
use crate::node::Node;
use crate::orphan_cleanup::{self, OwnerRecord};

/// The label of all objects that one process creates on a cluster.
pub(crate) const LABEL: &str = "jobcheck.dev/run";
/// The time in which a namespace must be removed.
const GOES: Duration = Duration::from_secs(60);
/// The time in which a namespace gets the service account that pods need.
const ACCOUNT: Duration = Duration::from_secs(10);
/// The interval of checks.
const LOOK: Duration = Duration::from_millis(100);
/// The required permissions.
const NEEDED: [permission::Need; 8] = [
    ("", "namespaces", &["create", "delete", "list"]),
    ("", "nodes", &["create", "delete"]),
    ("", "nodes/status", &["patch"]),
    ("batch", "jobs", &["create", "delete", "list", "patch", "watch"]),
    ("batch", "jobs/status", &["patch"]),
    ("", "pods", &["create", "delete", "get", "list", "patch", "watch"]),
    ("", "pods/status", &["patch", "update"]),
    ("", "pods/binding", &["create"]),
];

/// A cluster on which scenarios run. [`TestCluster::close`] removes everything that the runs have created.
pub struct TestCluster {
    client: Client,
    runtime: Handle,
    access: Access,
    audit_log: Option<PathBuf>,
    /// The version of its API server, and the rules of that version, if they are known.
    version: (String, Option<RuleSet>),
    is_own: bool,
    folder: PathBuf,
    id: String,
    _node: Node,
    namespaces: Mutex<Vec<String>>,
    disruptions: Arc<Disruptions>,
}

impl TestCluster {
    /// Connects to the cluster, removes what killed runs have left there, and creates the Node of the pods. If
    /// `is_own` is true, the caller removes the whole cluster after the runs, so that nothing on it must be
    /// cleaned up.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached, or the account lacks permissions.
    pub async fn open(
        access: Access,
        audit_log: Option<PathBuf>,
        is_own: bool,
    ) -> Result<TestCluster, Error> {
        let home = Home::find()?;
        orphan_cleanup::clear(&home.runs()).await?;
        let client = access.client().await.map_err(AccessError::NoCluster)?;
        let version = version(&client, |_| {}).await.map_err(AccessError::NoCluster)?;
        let version = (version.clone(), rules(&version).ok());
        if !is_own {
            check_permissions(&client).await?;
        }
        let id = id();
        let folder = home.runs().join(&id);
        OwnerRecord::of(&id, &access)?.write(&folder)?;
        let node = Node::make(&client, &id).await?;
        let (runtime, namespaces, disruptions) = (Handle::current(), Mutex::default(), Arc::default());
        Ok(TestCluster {
            client,
            runtime,
            access,
            audit_log,
            version,
            is_own,
            folder,
            id,
            _node: node,
            namespaces,
            disruptions,
        })
    }

    /// The minor version of the API server, if its rules are unknown. The rules of 1.36 are used then.
    #[must_use]
    pub fn of_unknown_version(&self) -> Option<&str> {
        self.version.1.is_none().then_some(&self.version.0)
    }

    /// The rules of the API server. For an unknown version, these are those of the default version.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.version.1.unwrap_or_default()
    }

    /// Returns true if the cluster was started for the runs.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    pub(crate) fn audit_log(&self) -> Option<&Path> {
        self.audit_log.as_deref()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins a disruption of the cluster, which lasts until the value is dropped. Recordings show it.
    pub fn disrupt(&self, description: &str) -> Disruption<'_> {
        self.disruptions.begin(description)
    }

    pub(crate) fn disruptions(&self) -> &Arc<Disruptions> {
        &self.disruptions
    }

    /// Repeats a failed operation as long as a disruption may be the cause. Blocks the thread.
    pub(crate) fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        loop {
            match attempt() {
                Err(error) if self.disruptions.may_explain(&error) => std::thread::sleep(LOOK),
                done => return done,
            }
        }
    }

    /// The same for asynchronous operations.
    async fn through<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        loop {
            match attempt().await {
                Err(error) if self.disruptions.may_explain(&error) => sleep(LOOK).await,
                done => return done,
            }
        }
    }

    /// The name of the Node to which pods are bound.
    pub(crate) fn node(&self) -> &str {
        self.id.as_str()
    }

    /// Creates a namespace for a run. Returns its name.
    pub(crate) async fn make_namespace(&self, scenario: &str) -> Result<String, Error> {
        let name = {
            let mut all = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            let name = format!("{}-{}", self.id, all.len() + 1);
            all.push(name.clone());
            name
        };
        let metadata = json!({
            "name": name, "labels": {LABEL: self.id}, "annotations": {"jobcheck.dev/scenario": scenario},
        });
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        self.through(|| send(&self.client, "POST", "/api/v1/namespaces", &namespace)).await?;
        // Local clusters, which have an audit log, have no service accounts.
        if self.audit_log.is_none() {
            self.service_account(&name).await;
        }
        Ok(name)
    }

    /// Waits for the default service account of a namespace. Some clusters have none, so that a missing one is no
    /// error.
    async fn service_account(&self, namespace: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        let end = Instant::now() + ACCOUNT;
        while get(&self.client, &path).await.is_err() && Instant::now() < end {
            sleep(LOOK).await;
        }
    }

    /// Removes a namespace, and the finalizers that could delay its removal.
    pub(crate) async fn remove_namespace(&self, namespace: &str) -> Result<(), Error> {
        self.through(|| empty(&self.client, namespace)).await
    }

    /// Removes the objects of the runs, and waits until they are gone.
    ///
    /// # Errors
    ///
    /// An object remains, or the API server does not respond.
    pub async fn close(&self) -> Result<(), Error> {
        // The caller removes its own cluster as a whole, also if it does not respond any longer.
        if !self.is_own {
            let node = format!("/api/v1/nodes/{}", self.id);
            send(&self.client, "DELETE", &node, &json!({})).await?;
            gone(&self.client, &self.id).await?;
        }
        orphan_cleanup::forget(&self.folder)
    }
}

/// Deletes a namespace, and removes the finalizers of its pods and Jobs, whose controllers may have ended.
pub(crate) async fn empty(client: &Client, namespace: &str) -> Result<(), Error> {
    send(client, "DELETE", &format!("/api/v1/namespaces/{namespace}"), &json!({})).await?;
    let end = Instant::now() + GOES;
    loop {
        let mut left = 0;
        // Jobs are removed first. A recording of watches would otherwise show finalizer removals from pods
        // that a Job has not counted.
        for path in ["/apis/batch/v1", "/api/v1"].into_iter().zip(["jobs", "pods"]) {
            let path = format!("{}/namespaces/{namespace}/{}", path.0, path.1);
            let list = get(client, &path).await?;
            for object in list["items"].as_array().into_iter().flatten() {
                left += 1;
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                remove_object(client, &format!("{path}/{name}")).await?;
            }
        }
        if left == 0 || Instant::now() >= end {
            return Ok(());
        }
        sleep(LOOK).await;
    }
}

/// Removes an object at once, with all its finalizers.
async fn remove_object(client: &Client, path: &str) -> Result<(), Error> {
    let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    send(client, "DELETE", path, &now).await?;
    send(client, "PATCH", path, &json!({"metadata": {"finalizers": null}})).await.map(drop)
}

/// Waits until no namespace with this label exists.
pub(crate) async fn gone(client: &Client, id: &str) -> Result<(), Error> {
    let end = Instant::now() + GOES;
    loop {
        let left = labelled(client, id).await?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(Error::Remains(left));
        }
        sleep(LOOK).await;
    }
}

/// The names of the namespaces with this label.
pub(crate) async fn labelled(client: &Client, id: &str) -> Result<Vec<String>, Error> {
    let list = get(client, &format!("/api/v1/namespaces?labelSelector={LABEL}%3D{id}")).await?;
    let all = list["items"].as_array().into_iter().flatten();
    Ok(all.filter_map(|it| it["metadata"]["name"].as_str()).map(str::to_owned).collect())
}

async fn check_permissions(client: &Client) -> Result<(), Error> {
    let lacking = permission::lacking(client, &NEEDED, None).await.map_err(AccessError::Server)?;
    if lacking.is_empty() { Ok(()) } else { Err(Error::Permission(lacking)) }
}

/// Returns a unique name for this process.
fn id() -> String {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("jobcheck-{:x}-{:x}", std::process::id(), nanos & 0xffff_ffff)
}

async fn get(client: &Client, path: &str) -> Result<Value, Error> {
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(|error| Error::Internal(error.to_string()))?;
    client.request(request).await.map_err(|error| AccessError::Server(with_causes(&error)).into())
}

/// Sends a request of the harness itself. 404 and 409 are no errors: only this process uses the names, so the object
/// was removed, is being deleted, or exists already.
pub(crate) async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, Error> {
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, media)
        .header(http::header::USER_AGENT, concat!("jobcheck-run/", env!("CARGO_PKG_VERSION")))
        .body(body.to_string().into_bytes());
    let request = request.map_err(|error| Error::Internal(error.to_string()))?;
    match client.request(request).await {
        Err(kube::Error::Api(status)) if status.code == 409 || (status.code == 404 && method != "POST") => {
            Ok(Value::Null)
        }
        answer => answer.map_err(|error| AccessError::Server(with_causes(&error)).into()),
    }
}
