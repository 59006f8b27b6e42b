//! What is known of a cluster, in `cluster.json` of its folder.

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

/// A cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// What it is.
    pub kind: Kind,
    /// The version of Kubernetes that it is, or is like.
    pub kubernetes: String,
    /// Where its API server is, once that is known.
    pub server: Option<String>,
    /// When it was started.
    pub created: Timestamp,
    /// The process that stops it when it ends itself; none once it is in the background.
    pub owner: Option<Process>,
    /// Whether it was ready, once.
    pub ready: bool,
    /// Its processes.
    pub components: Vec<Component>,
    boot: String,
}

/// What a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The embedded API server over HTTP.
    Embedded,
    /// etcd and kube-apiserver.
    ControlPlane,
    /// etcd, kube-apiserver, and the built-in controllers that collect what nobody needs any more.
    Collectors,
    /// etcd, kube-apiserver, and the built-in controllers, those of Jobs included.
    BuiltIn,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Embedded => "embedded",
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
    /// The program: `etcd`.
    pub name: String,
    /// The process.
    pub process: Process,
    /// What says whether it is well, once that is known.
    pub health: Option<Endpoint>,
}

/// Where a component says whether it is well.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Its server, such as `https://127.0.0.1:41234`.
    pub server: String,
    /// The path to ask for.
    pub path: String,
    /// The file in the cluster's folder with the certificates to trust.
    pub authority: Option<String>,
}

impl State {
    /// A cluster that this process begins to start.
    pub(crate) fn new(kind: Kind, kubernetes: &str) -> Result<State, Error> {
        Ok(State {
            kind,
            kubernetes: kubernetes.to_owned(),
            server: None,
            created: Timestamp::now(),
            owner: Some(Process::this()?),
            ready: false,
            components: Vec::new(),
            boot: boot(),
        })
    }

    /// Reads the state in a cluster's folder; `None` if there is none, or none that this version can read.
    #[must_use]
    pub fn read(folder: &Path) -> Option<State> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        files::write(&folder.join(FILE), &text)
    }

    /// The processes, as far as the machine has not been started again since.
    pub(crate) fn processes(&self) -> impl Iterator<Item = Process> {
        let same = self.boot == boot();
        self.components.iter().map(|it| it.process).filter(move |_| same)
    }

    /// Whether a component's process runs.
    pub(crate) fn runs(&self, component: &Component) -> bool {
        self.processes().any(|it| it == component.process) && component.process.lives()
    }

    /// How long ago it was started.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::try_from(Timestamp::now().duration_since(self.created)).unwrap_or_default()
    }

    /// Who holds it, if that process lives.
    #[must_use]
    pub fn living_owner(&self) -> Option<Process> {
        self.owner.filter(|owner| self.boot == boot() && owner.lives())
    }
}
