//! The state of a cluster, stored in `cluster.json` in its folder.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files;
use crate::process::{Process, boot};

const FILE: &str = "cluster.json";

/// The state of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The kind of cluster.
    pub kind: Kind,
    /// The version of Kubernetes that it runs or emulates.
    pub kubernetes: String,
    /// The programs of others that it runs, each with its component, its version, and its path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The URL of its API server, once it is known.
    pub server: Option<String>,
    /// The time of its start.
    pub created: Timestamp,
    /// The process that owns the cluster and stops it at its own end. `None` after the cluster was detached.
    pub owner: Option<Process>,
    /// If true, the cluster was ready at least once.
    pub ready: bool,
    /// The processes of the cluster.
    pub components: Vec<Component>,
    boot: String,
}

/// A kind of cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The embedded API server over HTTP.
    Embedded,
    /// The embedded API server over TLS, which demands a token.
    EmbeddedWithToken,
    /// etcd and kube-apiserver.
    ControlPlane,
    /// etcd, kube-apiserver, and the built-in garbage collectors and namespace controller.
    Collectors,
    /// etcd, kube-apiserver, and the built-in controllers, including those of Jobs.
    BuiltIn,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Embedded => "embedded",
            Kind::EmbeddedWithToken => "embedded with a token",
            Kind::ControlPlane => "control plane",
            Kind::Collectors => "control plane with the built-in collectors",
            Kind::BuiltIn => "control plane with the built-in controllers",
        })
    }
}

/// A process of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The name of the program, such as `etcd`.
    pub name: String,
    /// The process.
    pub process: Process,
    /// The endpoint of its health check, once it is known.
    pub health: Option<Endpoint>,
}

/// The endpoint of a health check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The URL of the server, such as `https://127.0.0.1:41234`.
    pub server: String,
    /// The path of the check.
    pub path: String,
    /// The file in the cluster's folder with the certificates to trust.
    pub authority: Option<String>,
}

impl State {
    /// Returns the state of a new cluster that this process owns.
    pub(crate) fn new(kind: Kind, kubernetes: &str) -> Result<State, Error> {
        Ok(State {
            kind,
            kubernetes: kubernetes.to_owned(),
            own: Vec::new(),
            server: None,
            created: Timestamp::now(),
            owner: Some(Process::this()?),
            ready: false,
            components: Vec::new(),
            boot: boot(),
        })
    }

    /// Reads the state in a cluster's folder. `None` if there is none, or if another version of this program has
    /// written it.
    #[must_use]
    pub fn read(folder: &Path) -> Option<State> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        files::write(&folder.join(FILE), &text)
    }

    /// The processes of the cluster. Empty if the machine was restarted since.
    pub(crate) fn processes(&self) -> impl Iterator<Item = Process> {
        let same = self.boot == boot();
        self.components.iter().map(|it| it.process).filter(move |_| same)
    }

    /// Returns true if the process of a component runs.
    pub(crate) fn runs(&self, component: &Component) -> bool {
        self.processes().any(|it| it == component.process) && component.process.lives()
    }

    /// The time since its start.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::try_from(Timestamp::now().duration_since(self.created)).unwrap_or_default()
    }

    /// The owner, if that process is alive.
    #[must_use]
    pub fn living_owner(&self) -> Option<Process> {
        self.owner.filter(|owner| self.boot == boot() && owner.lives())
    }
}
