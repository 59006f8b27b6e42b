//! Arguments of the commands that run scenarios on real API servers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use jobcheck_cluster::{Name, Own, Programs};
use jobcheck_traces::parse_duration;

use crate::controller::manager;

/// The heading of these flags in help.
pub const HEADING: &str = "On live, builtin and external";

/// The cluster on which scenarios run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub struct ConnectionArgs {
    /// Use this cluster of `jobcheck cluster up`. Without a cluster, live and builtin start one of their own.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["kubeconfig", "context"])]
    pub cluster: Option<Name>,
    /// Use the cluster of this kubeconfig file.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig; by default its current context.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Set spec.managedBy of every Job that names no manager (live and external).
    ///
    /// On live, the shipped controllers are started with this value. By default, they replace the built-in
    /// controllers on a cluster of their own, and take the value jobcheck.dev/live on any other cluster.
    #[arg(long, value_name = "DOMAIN/PATH", value_parser = manager)]
    pub managed_by: Option<String>,
}

impl ConnectionArgs {
    /// Returns whether a cluster is named. If not, one is started.
    pub fn is_given(&self) -> bool {
        self.cluster.is_some() || self.kubeconfig.is_some() || self.context.is_some()
    }
}

/// Programs of the user in the control plane that is started for runs.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub struct OwnArgs {
    /// Start this kube-apiserver in the place of the released one, such as a build of a change.
    #[arg(long, value_name = "PATH", value_parser = own)]
    pub kube_apiserver: Option<Own>,
    /// Start this kube-controller-manager in the place of the released one: its Job controller is judged.
    #[arg(long, value_name = "PATH", value_parser = own)]
    pub kube_controller_manager: Option<Own>,
}

impl OwnArgs {
    /// The programs of a control plane, of which these replace some.
    pub fn beside(&self, built: PathBuf) -> Programs {
        let (api_server, controller_manager) =
            (self.kube_apiserver.clone(), self.kube_controller_manager.clone());
        Programs { built, api_server, controller_manager }
    }

    /// Returns whether a program is named.
    pub fn is_given(&self) -> bool {
        self.kube_apiserver.is_some() || self.kube_controller_manager.is_some()
    }
}

/// Parses the path of a program of the user: it exists, can be executed, and prints its version.
pub fn own(path: &str) -> Result<Own, String> {
    Own::at(Path::new(path))
}

/// The limits of runs on a cluster.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub struct LimitArgs {
    /// Number of scenarios that run at a time, each in its own namespace.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub parallel: u64,
    /// Wait at most this long for a step or an expectation, before the run is inconclusive. By default, wait as long as
    /// the scenario needs: three to four minutes.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub patience: Option<Duration>,
    /// Do not exit with 1 for known deviations of the built-in controllers (KNOWN).
    #[arg(long)]
    pub allow_known: bool,
}
