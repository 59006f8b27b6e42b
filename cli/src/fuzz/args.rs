//! Arguments of `jobcheck fuzz`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_cluster::Version;
use jobcheck_traces::parse_duration;

use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_sim::fuzz::Menu;

use crate::check::{mutant, processors, threads};
use crate::real::PaceArgs;
use crate::run::Target;

/// How long it searches, where neither time nor number is given.
const USUAL: Duration = Duration::from_secs(60);

/// Between two restarts controllers wait before they try again, and rest is waited for.
const LEAST_CALM: Duration = Duration::from_secs(15);

/// Arguments of `jobcheck fuzz`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct FuzzArgs {
    /// What runs them: sim the decisions of the shipped controllers on the embedded API server, under virtual time; live
    /// the shipped controllers on a real control plane of the runs' own, builtin kube-controller-manager there.
    #[arg(long, value_name = "TARGET", default_value = "sim", value_parser = target, conflicts_with_all = ["generated"])]
    pub target: Target,
    /// What happens to the controllers: all, or none of crashes, requests that fail or are answered to nobody, and watches
    /// that stand still or expire.
    #[arg(long, value_enum, default_value_t = Faults::All, conflicts_with_all = ["generated"])]
    pub faults: Faults,
    /// Replay paths of the model's scopes instead, step by step; of all scopes, if none is named.
    #[arg(long, value_name = "SCOPE", num_args = 0.., conflicts_with = "runs")]
    pub generated: Option<Vec<String>>,
    /// With --generated: take at most so many steps in each scope, whatever the time.
    #[arg(long, value_name = "N", requires = "generated", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub steps: Option<u64>,
    /// End after this time, such as 90s or 10m; without --runs, after a minute if not given.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// End after so many runs.
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// The first seed; a new one if none is given. It is printed. Each run has the next one.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// On sim: threads; as many as there are processors if not given. What a seed gives does not depend on them.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Write the scenario of each that is wrong, on sim the shortest, and its trace, to this directory; and what cannot be
    /// judged. On builtin, the first of each documented deviation, too.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Look for a known defect of `jobcheck mutants`, such as B18, in the plan of the controllers.
    #[arg(long, value_name = "ID", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// Version of Kubernetes, 1.36 or 1.35: on sim that of the embedded API server, on live and builtin that of the control
    /// plane. Its rules are judged by.
    #[arg(long, value_name = "VERSION", conflicts_with = "generated")]
    pub kubernetes: Option<Version>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// How runs go on live and builtin.
    #[command(flatten)]
    pub pace: PaceArgs,
    /// Restart this meanwhile, in turn where there are several: apiserver, etcd. What is stored stays.
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',', help_heading = ON_REAL)]
    pub disturb: Vec<Part>,
    /// Time from one restart to the next, from 15s on: controllers are given time to go on.
    #[arg(long, value_name = "DURATION", default_value = "40s", value_parser = parse_duration, help_heading = ON_REAL)]
    pub disturb_every: Duration,
}

const ON_REAL: &str = "On live, builtin and external";

fn target(name: &str) -> Result<Target, String> {
    let found = [Target::Sim, Target::Live, Target::BuiltIn].into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| format!("fuzz has no target {name:?}: write one of sim, live, builtin"))
}

/// What happens to the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Faults {
    /// Everything.
    All,
    /// Nothing.
    None,
}

/// A part of a control plane that may be restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// kube-apiserver.
    #[value(name = "apiserver")]
    ApiServer,
    /// etcd.
    Etcd,
}

impl Part {
    /// The program.
    pub fn program(self) -> &'static str {
        match self {
            Part::ApiServer => "kube-apiserver",
            Part::Etcd => "etcd",
        }
    }
}

impl FuzzArgs {
    /// How long it searches.
    pub fn budget(&self) -> Duration {
        let unbounded = if self.runs.is_some() || self.steps.is_some() { Duration::MAX } else { USUAL };
        self.budget.unwrap_or(unbounded)
    }

    /// What does not go together.
    pub fn objection(&self) -> Option<String> {
        match (self.target.is_real(), self.mutant) {
            (true, Some(mutant)) => {
                let name = self.target.name();
                Some(format!("--mutant {} is for sim: {name} runs what it finds", mutant.id))
            }
            (true, None) if self.threads.is_some() => {
                Some("--threads is for sim: --parallel says how many scenarios run at a time".to_owned())
            }
            (true, None) if !self.disturb.is_empty() && self.disturb_every < LEAST_CALM => Some(format!(
                "--disturb-every {:?}: nobody would ever be at rest; give 15s or more",
                self.disturb_every
            )),
            (false, _) if !self.disturb.is_empty() => {
                Some("--disturb is for live and builtin: on sim there is nothing to restart".to_owned())
            }
            _ => None,
        }
    }

    /// What scenarios are made of.
    pub fn menu(&self) -> Menu {
        Menu { faults: self.faults == Faults::All, real_time: self.target.is_real() }
    }

    /// Known defects that the controllers have.
    pub fn mutations(&self) -> Mutations {
        Mutations::of(self.mutant.map_or(&[], |mutant| mutant.mutations))
    }

    /// Version of Kubernetes.
    pub fn version(&self) -> Version {
        self.kubernetes.unwrap_or_default()
    }

    /// How many threads search.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people. It is no interface: json is.
    Text,
    /// docs/reference/schemas/fuzz.schema.json; with --generated docs/reference/schemas/generated.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
Each run has a random Job and random steps: pods that run, end, and are evicted, edits, crashes, requests that fail or
whose answer is lost, watches that lag. The shipped controllers run it on the embedded API server under virtual time, and
the trace is judged. What is wrong is shortened, and told as a scenario for `jobcheck run --target sim`.

On live and builtin a real clock is waited for: the scenarios let less time pass, and end with the deletion of the Job and
no finalizer left. Many run side by side. Each is recorded and judged, none is shortened; one that is wrong is repeated, and
how often it is so again is told. A documented deviation of the built-in is KNOWN. `jobcheck run --target live --seed N`
runs a scenario again, N being what the report says.

With --generated nothing is random but the order: paths of the graphs that `jobcheck check --subject controller` explores
are replayed on the embedded API server, each request made by the shipped code. After each step its answer, what the
server holds, and what the controllers want next must be what the path says. Kinds of steps that no path took are listed.

Exit codes:
  0  every trace conforms; with --generated every step came to what its path says
  1  something is wrong
  2  wrong usage, or a defect that these controllers cannot have
  3  nothing was run, or a run could not be judged, or not be made; with --generated a scope was not begun
  4  a file cannot be written; no control plane, Go is missing, or interrupted
  5  internal error: please report it, with the seed";
