//! Arguments of whatever runs scenarios on real API servers.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jobcheck_cluster::Name;
use jobcheck_controller::runtime::go_duration::parse_forward;

use crate::controller::manager;

/// The way to a cluster.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "On live, builtin and external")]
pub struct WayArgs {
    /// A cluster of `jobcheck cluster up`. Without a cluster, live and builtin start a control plane of their own.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["kubeconfig", "context"])]
    pub cluster: Option<Name>,
    /// Kubeconfig file of a cluster.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; else its current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// On live and external: spec.managedBy of every Job that names no manager. On live the shipped controllers are
    /// started with it; if it is not given, they are in the place of the built-in ones on a control plane of their own,
    /// and take jobcheck.dev/live on other clusters, as they do beside external.
    #[arg(long, value_name = "DOMAIN/PATH", value_parser = manager)]
    pub managed_by: Option<String>,
}

impl WayArgs {
    /// Whether a cluster is named; else one is started.
    pub fn is_given(&self) -> bool {
        self.cluster.is_some() || self.kubeconfig.is_some() || self.context.is_some()
    }
}

/// How runs on a cluster go.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "On live, builtin and external")]
pub struct PaceArgs {
    /// Scenarios that run at a time, each in a namespace of its own.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub parallel: u64,
    /// Longest time to wait for a step or an expectation, after which the run is inconclusive. Default: as long as the
    /// scenario needs, three to four minutes.
    #[arg(long, value_name = "DURATION", value_parser = parse_forward)]
    pub patience: Option<Duration>,
    /// Documented deviations of the built-in controllers (KNOWN) do not make the exit code 1.
    #[arg(long)]
    pub allow_known: bool,
}
