//! Arguments of `jobcheck cluster`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jobcheck_cluster::{Name, Own, Version};
use jobcheck_traces::parse_duration;

use crate::format::Format;
use crate::real_cluster::own;

/// Arguments of `jobcheck cluster`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ClusterArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// The commands for clusters.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Start a cluster, and wait until it is ready.
    Up(UpArgs),
    /// Stop a cluster, and remove its files.
    Down(DownArgs),
    /// Print the shell command that sets KUBECONFIG.
    Env(EnvArgs),
    /// Pause a component: it keeps its memory and its connections, and does nothing.
    Pause(WorkArgs),
    /// Resume a paused component.
    Resume(WorkArgs),
    /// Show the clusters and the health of their components.
    Status(StatusArgs),
    /// Serve the embedded API server of a cluster. `up` starts this command.
    #[command(hide = true)]
    Serve(ServeArgs),
}

/// Arguments of `jobcheck cluster up`.
#[derive(Debug, Args)]
#[command(after_help = UP_HELP)]
pub struct UpArgs {
    /// Name of the cluster. Clusters with different names are independent.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: Name,
    /// Start the embedded API server instead of a real control plane: at once, in memory, plain HTTP.
    #[arg(long)]
    pub embedded: bool,
    /// With --embedded: demand a token, over TLS. The kubeconfig has both.
    #[arg(long, requires = "embedded")]
    pub token: bool,
    /// Version of Kubernetes: 1.36, 1.35, or 1.37.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub kubernetes: Version,
    /// Start kube-controller-manager, too.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "embedded")]
    pub with: Option<With>,
    /// Start this kube-apiserver in the place of the released one, such as a build of a change.
    #[arg(long, value_name = "PATH", value_parser = own, conflicts_with = "embedded")]
    pub kube_apiserver: Option<Own>,
    /// Start this kube-controller-manager in the place of the released one.
    #[arg(long, value_name = "PATH", value_parser = own, requires = "with")]
    pub kube_controller_manager: Option<Own>,
    /// Port of the API server on 127.0.0.1; by default a free one.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Maximum time until the cluster is ready, without the build of the programs.
    #[arg(long, value_name = "DURATION", default_value = "2m0s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Stay in the foreground, and stop the cluster at Ctrl-C, SIGTERM or SIGHUP.
    #[arg(long)]
    pub foreground: bool,
}

/// The controllers that run beside etcd and kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum With {
    /// Garbage collection and namespaces only, for other Job controllers.
    Collectors,
    /// Also the Job and TTL-after-finished controllers.
    #[value(alias = "builtin")]
    BuiltIn,
}

/// Arguments of `jobcheck cluster down`.
#[derive(Debug, Args)]
#[command(after_help = DOWN_HELP)]
pub struct DownArgs {
    /// Name of the cluster.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: Name,
    /// Stop all clusters.
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
}

/// Arguments of `jobcheck cluster env`.
#[derive(Debug, Args)]
#[command(after_help = ENV_HELP)]
pub struct EnvArgs {
    /// Name of the cluster.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: Name,
    /// The shell that evaluates the output.
    #[arg(long, value_enum, value_name = "SHELL", default_value_t = Shell::Sh)]
    pub shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// A POSIX shell, such as bash or zsh.
    #[value(aliases = ["bash", "zsh"])]
    Sh,
    /// fish.
    Fish,
    /// PowerShell.
    Powershell,
}

/// Arguments of `jobcheck cluster pause` and `resume`.
#[derive(Debug, Args)]
#[command(after_help = WORK_HELP)]
pub struct WorkArgs {
    /// The component, as `jobcheck cluster status` lists it, such as kube-controller-manager.
    #[arg(value_name = "COMPONENT")]
    pub component: String,
    /// Name of the cluster.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: Name,
}

/// Arguments of `jobcheck cluster status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub struct StatusArgs {
    /// Show this cluster only.
    #[arg(long, value_name = "NAME")]
    pub name: Option<Name>,
    /// Form of the output. Schema: docs/reference/schemas/cluster.schema.json.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

/// Arguments of `jobcheck cluster serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Folder of the cluster.
    #[arg(long, value_name = "DIR")]
    pub folder: PathBuf,
    /// Port; 0 for a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Version of Kubernetes that the server imitates.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub kubernetes: Version,
    /// Demand a token, over TLS.
    #[arg(long)]
    pub token: bool,
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck cluster up --embedded
  eval \"$(jobcheck cluster env)\"
  kubectl get jobs -A
  jobcheck cluster down

  jobcheck cluster up --name real --with built-in
  jobcheck cluster status
  jobcheck cluster down --all

The files of a cluster are in $JOBCHECK_HOME/clusters. JOBCHECK_HOME is
$XDG_STATE_HOME/jobcheck by default, that is ~/.local/state/jobcheck. The API
server listens on 127.0.0.1 only.

Exit codes:
  0  done; status: all clusters are ready
  2  wrong usage, or a cluster of this name runs with other settings
  4  a cluster does not exist, is not ready, or cannot be started
  5  internal error: please report it";

const UP_HELP: &str = "\
Without --embedded, the cluster is etcd and kube-apiserver 1.36.3, 1.35.4, or 1.37.2.
They are built once from their published Go modules, which needs Go 1.26 or
newer and takes minutes. There is no kubelet and no scheduler: set the status of
a pod to make it run.

A ready cluster of this name with the same settings is not changed. A cluster
that has lost a process, or whose starter was killed, is removed first.

Examples:
  jobcheck cluster up --embedded
  jobcheck cluster up --with built-in --name builtin --port 16443
  jobcheck cluster up --with built-in --name old --kubernetes 1.35
  jobcheck cluster up --embedded --foreground
  jobcheck cluster up --with built-in --kube-controller-manager ./mine

Exit codes:
  0  the cluster is ready; with --foreground, it was stopped by a signal
  2  wrong usage, an unknown version, a program that prints no version, or a
     cluster of this name runs with other settings
  4  the cluster does not become ready, a component ended, or Go is missing;
     nothing is left running
  5  internal error: please report it";

const DOWN_HELP: &str = "\
Examples:
  jobcheck cluster down
  jobcheck cluster down --all

Exit codes:
  0  the cluster is stopped and its files are removed, or it did not exist
  2  wrong usage
  4  a process does not end, or a file cannot be removed
  5  internal error: please report it";

const WORK_HELP: &str = "\
Examples:
  jobcheck cluster pause kube-controller-manager --name real
  jobcheck cluster resume kube-controller-manager --name real

A paused component gets no request answered, and keeps its caches, as if its
machine were suspended. Pausing twice changes nothing, and `down` works.

Exit codes:
  0  done
  2  wrong usage, or the cluster has no such component
  4  the cluster does not exist, or the component does not run
  5  internal error: please report it";

const ENV_HELP: &str = "\
Examples:
  eval \"$(jobcheck cluster env)\"
  jobcheck cluster env --shell fish | source

Exit codes:
  0  the cluster is ready
  2  wrong usage
  4  the cluster does not exist, or is not ready
  5  internal error: please report it";

const STATUS_HELP: &str = "\
  ready      all components answer
  starting   a process is starting the cluster
  not ready  a component is gone, or does not answer
  gone       no process of the cluster runs, or its owner was killed; the next
             up or down removes it

Examples:
  jobcheck cluster status
  jobcheck cluster status --name builtin -o json

Exit codes:
  0  all clusters are ready, or there is none
  2  wrong usage
  4  a cluster is not ready, or the named one does not exist
  5  internal error: please report it";
