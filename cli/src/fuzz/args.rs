//! Arguments of `jobcheck fuzz`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_sim::fuzz::Menu;
use jobcheck_spec::apiserver::Version;
use jobcheck_traces::parse_duration;

use crate::format::Format;
use crate::parse::{defect, processors, size, threads};
#[cfg(feature = "cluster")]
use crate::real_cluster::{HEADING, LimitArgs, OwnArgs};
use crate::run::Target;
use crate::save::Folder;
use crate::shard::{Shard, shard};

/// The time of a search without `--budget` and `--runs`.
const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

/// The shortest time between two restarts: controllers wait before they retry, and scenarios wait for quiescence.
#[cfg(feature = "cluster")]
const SHORTEST_INTERVAL: Duration = Duration::from_secs(15);

/// Arguments of `jobcheck fuzz`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct FuzzArgs {
    /// Run the scenarios on this target: sim, live or builtin.
    ///
    /// sim: the shipped controllers on the embedded API server, under virtual time. live: the shipped controllers on
    /// a real control plane that is started for the runs. builtin: kube-controller-manager there.
    #[arg(long, value_name = "TARGET", default_value = "sim", value_parser = target, conflicts_with_all = ["generated"])]
    pub target: Target,
    /// Inject faults into the controllers: crashes, failed requests, lost responses, lagging watches.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Faults::All, conflicts_with_all = ["generated"])]
    pub faults: Faults,
    /// Replay paths through the scopes of the model, step by step. Without a name, all scopes.
    #[arg(long, value_name = "SCOPE", num_args = 0.., conflicts_with = "runs")]
    pub generated: Option<Vec<String>>,
    /// With --generated: take at most this many steps in each scope.
    #[arg(long, value_name = "N", requires = "generated", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub steps: Option<u64>,
    /// End after this time, such as 90s or 10m; without --runs, 1m by default.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// End after this many runs.
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// Seed of the first run; by default a new one. It is printed. Each run has the next seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run one part of the search only: I/N, counted from 0, such as 0/4. Each part runs every N-th seed.
    ///
    /// N alone takes the index from JOB_COMPLETION_INDEX, as the pods of an Indexed Job have it. --runs is the number of
    /// runs of all parts together. With --generated, each part has other scopes.
    #[arg(long, value_name = "I/N", value_parser = shard, requires = "seed")]
    pub shard: Option<Shard>,
    /// On sim: number of threads; by default one for each processor. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Stop once this much memory is used, such as 512MB or 4GB. The exit code is 3, unless a run has failed.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Write the scenario and the trace of each failure to this directory.
    ///
    /// On sim, the scenario is the shortened one. Runs without a verdict are written, too, and on builtin the first
    /// run that shows each known deviation.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// With --save: write the page of `jobcheck view` beside each trace.
    #[arg(long, requires = "save")]
    pub html: bool,
    /// With --save: replace what may be secret in the traces, as record --redact does.
    #[arg(long, requires = "save")]
    pub redact: bool,
    /// Give the shipped controllers this known defect, such as B18, and look for it.
    #[arg(long, value_name = "DEFECT", value_parser = defect)]
    pub mutant: Option<&'static Mutant>,
    /// Use this version of Kubernetes, 1.36, 1.35, or 1.37, and judge by its rules; by default 1.36.
    #[arg(long, value_name = "VERSION", conflicts_with = "generated")]
    pub kubernetes: Option<Version>,
    /// Form of the report. Schemas: fuzz and generated.schema.json in docs/reference/schemas.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
    /// The limits of runs on live and builtin.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Programs of the user.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub own: OwnArgs,
    /// Restart these components during the runs, in turn: apiserver, etcd. Their data is kept.
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "COMPONENT", value_enum, value_delimiter = ',', help_heading = HEADING)]
    pub disturb: Vec<Component>,
    /// Time from one restart to the next, at least 15s.
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DURATION", default_value = "40s", value_parser = parse_duration, help_heading = HEADING)]
    pub disturb_every: Duration,
}

fn target(name: &str) -> Result<Target, String> {
    let known = Target::available().filter(|it| !matches!(it, Target::Model | Target::External));
    let names: Vec<&str> = known.clone().map(Target::name).collect();
    known
        .into_iter()
        .find(|it| it.name() == name)
        .ok_or_else(|| format!("fuzz has no target {name:?}: write one of {}", names.join(", ")))
}

/// The faults that are injected into the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Faults {
    /// All kinds.
    All,
    /// None.
    None,
}

/// A component of a control plane that can be restarted.
#[cfg(feature = "cluster")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Component {
    /// kube-apiserver.
    #[value(name = "apiserver")]
    ApiServer,
    /// etcd.
    Etcd,
}

#[cfg(feature = "cluster")]
impl Component {
    /// The name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Component::ApiServer => "kube-apiserver",
            Component::Etcd => "etcd",
        }
    }
}

impl FuzzArgs {
    /// The directory of saved traces.
    pub fn folder(&self) -> Option<Folder<'_>> {
        let folder = |directory| Folder { directory, redacts: self.redact, pages: self.html };
        self.save.as_deref().map(folder)
    }

    /// The time of the search.
    pub fn budget(&self) -> Duration {
        let is_bounded = self.runs.is_some() || self.steps.is_some();
        self.budget.unwrap_or(if is_bounded { Duration::MAX } else { DEFAULT_BUDGET })
    }

    /// The reason why the arguments exclude each other.
    #[cfg(feature = "cluster")]
    pub fn objection(&self) -> Option<String> {
        match (self.target.is_real(), self.mutant) {
            (true, Some(mutant)) => {
                let name = self.target.name();
                Some(format!(
                    "--mutant {} works on sim only: {name} runs the controllers as they are",
                    mutant.id
                ))
            }
            (true, None) if self.threads.is_some() => Some(
                "--threads works on sim only; use --parallel for the number of concurrent runs".to_owned(),
            ),
            (true, None) if !self.disturb.is_empty() && self.disturb_every < SHORTEST_INTERVAL => {
                Some(format!(
                    "--disturb-every {:?} is too short: no run would become quiescent; give 15s or more",
                    self.disturb_every
                ))
            }
            (false, _) if self.own.is_given() => Some(
                "--kube-apiserver and --kube-controller-manager work on live and builtin only: sim has no such program"
                    .to_owned(),
            ),
            (false, _) if !self.disturb.is_empty() => {
                Some("--disturb works on live and builtin only: sim has nothing to restart".to_owned())
            }
            _ => None,
        }
    }

    /// The reason why the arguments exclude each other.
    #[cfg(not(feature = "cluster"))]
    pub fn objection(&self) -> Option<String> {
        None
    }

    /// The number of a run in the whole search.
    pub fn position(&self, number: u64) -> u64 {
        self.shard.map_or(number, |shard| shard.position(number))
    }

    /// The steps and faults of which scenarios are made.
    pub fn menu(&self) -> Menu {
        Menu { faults: self.faults == Faults::All, real_time: self.target.is_real() }
    }

    /// The known defects of the controllers.
    pub fn mutations(&self) -> Mutations {
        Mutations::of(self.mutant.map_or(&[], |mutant| mutant.mutations))
    }

    /// The version of Kubernetes.
    pub fn version(&self) -> Version {
        self.kubernetes.unwrap_or_default()
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }
}

const AFTER_HELP: &str = "\
Each run has a random Job and random steps: pods that run, end and are evicted,
edits, and faults of the controllers. The trace is judged. On sim, a failing
scenario is shortened to the steps that are needed, and printed for
`jobcheck run --target sim`.

On live and builtin, a real clock runs: less time passes in the scenarios, and
they end with the deletion of the Job. Many run side by side. A failing run is
repeated, and the number of repetitions that fail is printed, but it is not
shortened. Known deviations of the built-in controllers are KNOWN.
`jobcheck run --target live --seed N` repeats a run with the N of the report.

With --generated, only the order is random. The paths are those that `jobcheck
check --subject controller` explores. The shipped code makes each request on the
embedded API server. After each step, the response, the stored objects, and the
next requests of the controllers must be those of the path.

Examples:
  jobcheck fuzz                              searches for a minute on sim
  jobcheck fuzz --seed 7 --runs 1            repeats a run
  jobcheck fuzz --target builtin --budget 10m --save found
  jobcheck fuzz --generated stale-caches/non-indexed --seed 1

Ctrl-C ends the search, and the report of the runs so far is printed.

Exit codes:
  0  every trace conforms; with --generated, every step was as in its path
  1  a trace violates a requirement, or a step was not as in its path
  2  wrong usage, or a defect that these controllers cannot have
  3  nothing was run, a run has no verdict, a scope was not begun, or the search
     was interrupted
  4  a file cannot be written; on live and builtin: no control plane, Go is
     missing, or interrupted
  5  internal error: please report it, with the seed";
