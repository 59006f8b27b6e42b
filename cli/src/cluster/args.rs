//! Arguments of `jobcheck cluster`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jobcheck_cluster::{Name, Version};
use jobcheck_traces::parse_duration;

/// Arguments of `jobcheck cluster`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ClusterArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// What can be done with clusters.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Start a cluster, and wait until it is ready.
    Up(UpArgs),
    /// Stop a cluster, and remove all that is of it.
    Down(DownArgs),
    /// Print what sets KUBECONFIG in a shell.
    Env(EnvArgs),
    /// Show which clusters there are, and how they are.
    Status(StatusArgs),
    /// Be the embedded API server of a cluster, which `up` starts.
    #[command(hide = true)]
    Serve(ServeArgs),
}

/// Arguments of `jobcheck cluster up`.
#[derive(Debug, Args)]
#[command(after_help = UP_HELP)]
pub struct UpArgs {
    /// Name of the cluster; clusters of different names do not disturb each other.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: Name,
    /// The embedded API server instead of a real control plane: there at once, in memory, plain HTTP.
    #[arg(long)]
    pub embedded: bool,
    /// Version of Kubernetes that it is, or is like: 1.36 or 1.35.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub kubernetes: Version,
    /// What runs beside etcd and kube-apiserver.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "embedded")]
    pub with: Option<With>,
    /// Port of the API server on 127.0.0.1; any that is free if not given.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// How long it may take to be ready, the build of the programs apart.
    #[arg(long, value_name = "DURATION", default_value = "2m0s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Stay, and stop the cluster at Ctrl-C or SIGTERM.
    #[arg(long)]
    pub foreground: bool,
}

/// What runs beside etcd and kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum With {
    /// kube-controller-manager for garbage and namespaces, beside other Job controllers.
    Collectors,
    /// kube-controller-manager, for Jobs and TTL too.
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
    /// All clusters.
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
}

/// Arguments of `jobcheck cluster status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub struct StatusArgs {
    /// This cluster alone.
    #[arg(long, value_name = "NAME")]
    pub name: Option<Name>,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Arguments of `jobcheck cluster serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The cluster's folder.
    #[arg(long, value_name = "DIR")]
    pub folder: PathBuf,
    /// The port; 0 for any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// The version that it is like.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub kubernetes: Version,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people. It is no interface: json is.
    Text,
    /// For programs (docs/reference/schemas/cluster.schema.json).
    Json,
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

A cluster is a folder in $JOBCHECK_HOME/clusters; JOBCHECK_HOME is jobcheck in $XDG_STATE_HOME, that is
~/.local/state/jobcheck, if it is not set. It listens on 127.0.0.1 alone.";

const UP_HELP: &str = "\
Without --embedded it is etcd and kube-apiserver 1.36.3, or 1.35.4, each built from its published modules
once; that needs Go 1.26 or newer, and takes minutes. There is no kubelet and no scheduler: whoever wants
pods to run says so in their status.

A cluster of this name that is ready and like it is left as it is. What is left of one that has lost a process
is cleared first, as is every cluster whose starter was killed.

Examples:
  jobcheck cluster up --embedded
  jobcheck cluster up --with built-in --name builtin --port 16443
  jobcheck cluster up --with built-in --name old --kubernetes 1.35
  jobcheck cluster up --embedded --foreground

Exit codes:
  0  it is ready; with --foreground, it was stopped by a signal
  2  wrong usage, an unknown version, or a cluster of this name runs with other settings
  4  it does not become ready, a component ended, or Go is missing: nothing is left running
  5  internal error: please report it";

const DOWN_HELP: &str = "\
Exit codes:
  0  it is stopped and its folder removed, or there was none
  2  wrong usage
  4  a process does not end, or a file cannot be removed
  5  internal error: please report it";

const ENV_HELP: &str = "\
Examples:
  eval \"$(jobcheck cluster env)\"

Exit codes:
  0  the cluster is ready
  2  wrong usage
  4  there is no such cluster, or it is not ready
  5  internal error: please report it";

const STATUS_HELP: &str = "\
  ready      all components answer
  starting   a process begins to start it
  not ready  a component is gone, or does not answer
  gone       none of its processes runs, or the one that would have stopped it was killed:
             the next up or down clears it

Exit codes:
  0  all are ready, or there is none
  2  wrong usage
  4  one is not ready, or there is none with the name asked for
  5  internal error: please report it";
