//! A cluster on which scenarios are run: the way to it, and what the harness has there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jobcheck_cluster::{Home, told};
use jobcheck_judge::replay::rules;
use jobcheck_record::{Access, permission, version};
use jobcheck_spec::apiserver::RuleSet;
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::error::Error;
use crate::leftovers::{self, Record};
use crate::node::Node;
use crate::trouble::{Trouble, Troubles};

/// The label of all that the runs of a process have on a cluster.
pub(crate) const LABEL: &str = "jobcheck.dev/run";
/// How long a namespace may take to go.
const GOES: Duration = Duration::from_secs(60);
/// How long a namespace may take to get the service account that pods need there.
const ACCOUNT: Duration = Duration::from_secs(10);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// What may have to be done.
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

/// A cluster, as long as scenarios are run there. What the runs have made there goes with [`Site::close`].
pub struct Site {
    client: Client,
    runtime: Handle,
    access: Access,
    audit_log: Option<PathBuf>,
    /// The version of its API server, and its rules if they are known.
    version: (String, Option<RuleSet>),
    is_own: bool,
    folder: PathBuf,
    id: String,
    _node: Node,
    namespaces: Mutex<Vec<String>>,
    troubles: Arc<Troubles>,
}

impl Site {
    /// Looks at the cluster, clears what killed runs have left there, and makes the Node of the pods. One that `is_own`
    /// goes when the runs are over, and nothing needs to be waited for.
    ///
    /// # Errors
    ///
    /// There is no cluster, or not everything may be done there.
    pub async fn open(access: Access, audit_log: Option<PathBuf>, is_own: bool) -> Result<Site, Error> {
        let home = Home::find()?;
        leftovers::clear(&home.runs()).await?;
        let client = access.client().await.map_err(Error::NoCluster)?;
        let version = version(&client).await.map_err(Error::NoCluster)?;
        let version = (version.clone(), rules(&version).ok());
        if !is_own {
            check_permissions(&client).await?;
        }
        let id = id();
        let folder = home.runs().join(&id);
        Record::of(&id, &access)?.write(&folder)?;
        let node = Node::make(&client, &id).await?;
        let (runtime, namespaces, troubles) = (Handle::current(), Mutex::default(), Arc::default());
        Ok(Site {
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
            troubles,
        })
    }

    /// The minor version of the API server, if its rules are not known: those of 1.36 take their place.
    #[must_use]
    pub fn of_unknown_version(&self) -> Option<&str> {
        self.version.1.is_none().then_some(&self.version.0)
    }

    /// What the API server accepts.
    pub(crate) fn rules(&self) -> RuleSet {
        self.version.1.unwrap_or_default()
    }

    /// Whether it was started for the runs.
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

    /// Something happens to the cluster from now on, until the value is dropped; the recordings tell of it.
    pub fn trouble(&self, what: &str) -> Trouble<'_> {
        self.troubles.begin(what)
    }

    pub(crate) fn troubles(&self) -> &Arc<Troubles> {
        &self.troubles
    }

    /// Tries something until it goes well, as long as a trouble may explain why it does not. For a thread that may wait.
    pub(crate) fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        loop {
            match attempt() {
                Err(error) if self.troubles.may_explain(&error) => std::thread::sleep(LOOK),
                done => return done,
            }
        }
    }

    /// The same where nobody may wait.
    async fn through<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        loop {
            match attempt().await {
                Err(error) if self.troubles.may_explain(&error) => sleep(LOOK).await,
                done => return done,
            }
        }
    }

    /// The Node that pods are bound to.
    pub(crate) fn node(&self) -> &str {
        self.id.as_str()
    }

    /// Makes a namespace for a run.
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
        // Local clusters, which have an audit log, give pods no account.
        if self.audit_log.is_none() {
            self.service_account(&name).await;
        }
        Ok(name)
    }

    /// Waits for the account that pods of a namespace have, unless none is given to them on this cluster.
    async fn service_account(&self, namespace: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        let end = Instant::now() + ACCOUNT;
        while get(&self.client, &path).await.is_err() && Instant::now() < end {
            sleep(LOOK).await;
        }
    }

    /// Removes a namespace, and what could hold it up.
    pub(crate) async fn remove_namespace(&self, namespace: &str) -> Result<(), Error> {
        self.through(|| empty(&self.client, namespace)).await
    }

    /// Removes what is left of the runs, and waits until it is gone.
    ///
    /// # Errors
    ///
    /// Something stays, or the API server does not answer.
    pub async fn close(&self) -> Result<(), Error> {
        // A cluster of its own goes with all that is there, whether it still answers or not.
        if !self.is_own {
            let node = format!("/api/v1/nodes/{}", self.id);
            send(&self.client, "DELETE", &node, &json!({})).await?;
            gone(&self.client, &self.id).await?;
        }
        leftovers::forget(&self.folder)
    }
}

/// Deletes a namespace, and takes the finalizers of its pods and Jobs away, whose controllers may be gone.
pub(crate) async fn empty(client: &Client, namespace: &str) -> Result<(), Error> {
    send(client, "DELETE", &format!("/api/v1/namespaces/{namespace}"), &json!({})).await?;
    let end = Instant::now() + GOES;
    loop {
        let mut left = 0;
        // Jobs first: whoever records watches meanwhile sees nobody let a pod go whose Job still has to count it.
        for path in ["/apis/batch/v1", "/api/v1"].into_iter().zip(["jobs", "pods"]) {
            let path = format!("{}/namespaces/{namespace}/{}", path.0, path.1);
            let list = get(client, &path).await?;
            for object in list["items"].as_array().into_iter().flatten() {
                left += 1;
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                release(client, &format!("{path}/{name}")).await?;
            }
        }
        if left == 0 || Instant::now() >= end {
            return Ok(());
        }
        sleep(LOOK).await;
    }
}

/// Removes an object at once, whoever holds it.
async fn release(client: &Client, path: &str) -> Result<(), Error> {
    let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    send(client, "DELETE", path, &now).await?;
    send(client, "PATCH", path, &json!({"metadata": {"finalizers": null}})).await.map(drop)
}

/// Waits until no namespace with this label is there.
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

/// Names of the namespaces with this label.
pub(crate) async fn labelled(client: &Client, id: &str) -> Result<Vec<String>, Error> {
    let list = get(client, &format!("/api/v1/namespaces?labelSelector={LABEL}%3D{id}")).await?;
    let all = list["items"].as_array().into_iter().flatten();
    Ok(all.filter_map(|it| it["metadata"]["name"].as_str()).map(str::to_owned).collect())
}

async fn check_permissions(client: &Client) -> Result<(), Error> {
    let lacking = permission::lacking(client, &NEEDED, None).await.map_err(Error::Server)?;
    if lacking.is_empty() { Ok(()) } else { Err(Error::Permission(lacking)) }
}

/// A name that no other process has.
fn id() -> String {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("jobcheck-{:x}-{:x}", std::process::id(), nanos & 0xffff_ffff)
}

async fn get(client: &Client, path: &str) -> Result<Value, Error> {
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(|error| Error::Internal(error.to_string()))?;
    client.request(request).await.map_err(|error| Error::Server(told(&error)))
}

/// Sends a request of the harness itself. That there is no such object any more, or that it is being deleted, is fine, and
/// so is that it is there already: names are those of this process alone.
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
        answer => answer.map_err(|error| Error::Server(told(&error))),
    }
}
