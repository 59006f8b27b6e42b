//! Arguments of `jobcheck run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::ValueEnum;
use jobcheck_cluster::Version;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_traces::parse_duration;

use super::target::{Target, target};
use crate::args::usual;
use crate::check::size;
use crate::real::{PaceArgs, WayArgs};

/// Arguments of `jobcheck run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// Scenarios: files, directories that are searched for *.yaml and *.yml, or - for standard input.
    #[arg(value_name = "SCENARIO", default_value = "tests/scenarios")]
    pub scenarios: Vec<PathBuf>,
    /// What runs them: model explores every interleaving with the reference algorithm; sim runs the decisions of the
    /// shipped controllers on the embedded API server, under virtual time; live runs the shipped controllers on a real
    /// API server; builtin has kube-controller-manager there, and external a controller that you have started. Give
    /// several, and they are compared.
    #[arg(long = "target", value_name = "TARGET", default_value = "model", value_delimiter = ',', value_parser = target)]
    pub targets: Vec<Target>,
    /// On sim: run each scenario so many times, each with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub runs: u64,
    /// On sim: the first seed. Seed 0 goes step by step; with others chance decides whose turn it is. On live, builtin
    /// and external: the steps that happen as soon as they are possible, a bit for each (1 is the first step, 2 the
    /// second, 3 both); the others happen once everybody is at rest.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Run with a known defect of `jobcheck mutants`, such as B18: on model in the reference algorithm, on sim in the plan
    /// of the shipped controllers.
    #[arg(long, value_name = "ID", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// On model: give up a scenario after looking at this many states.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub max_states: usize,
    /// On model: give up after this time, such as 90s or 10m; scenarios that are left then are not finished.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// On model: give up a scenario once this much memory is in use, such as 512MB or 4GB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Write native traces that `jobcheck replay` judges to this directory: on model and sim the counterexample of each
    /// scenario that is broken, on live, builtin and external the recording of each.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Version of Kubernetes, 1.36 or 1.35: on sim that of the embedded API server, on live and builtin that of the control
    /// plane that is started. Its rules are judged by. Clusters that are there have the version that they have.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Option<Version>,
    /// The way to a cluster.
    #[command(flatten)]
    pub way: WayArgs,
    /// How runs go there.
    #[command(flatten)]
    pub pace: PaceArgs,
}

impl RunArgs {
    /// Those of scenarios on sim, each run so many times.
    pub fn on_sim(scenarios: PathBuf, runs: u64) -> RunArgs {
        RunArgs { scenarios: vec![scenarios], targets: vec![Target::Sim], runs, ..usual() }
    }

    /// What does not go together.
    pub fn objection(&self) -> Option<String> {
        let real: Vec<&Target> = self.targets.iter().filter(|target| target.is_real()).collect();
        let twice = (1..self.targets.len()).find(|it| self.targets[..*it].contains(&self.targets[*it]));
        let (way, is_there) = (&self.way, self.way.is_given());
        let on_model = self.targets.contains(&Target::Model);
        if (self.budget.is_some() || self.max_memory.is_some()) && !on_model {
            Some("--budget and --max-memory are for the target model, the only one that searches".to_owned())
        } else if let Some(twice) = twice {
            Some(format!("the target {} is given twice", self.targets[twice].name()))
        } else if let (Some(mutant), Some(target)) = (self.mutant, real.first()) {
            let name = target.name();
            Some(format!("--mutant {} is for model and sim: {name} runs what it finds", mutant.id))
        } else if self.targets.contains(&Target::External) && way.managed_by.is_none() {
            let why = "the value of spec.managedBy by which the controller knows its Jobs";
            Some(format!("the target external needs --managed-by: {why}"))
        } else if self.targets.contains(&Target::External) && !is_there {
            let why = "the cluster on which the controller runs";
            Some(format!("the target external needs --cluster, --kubeconfig or --context: {why}"))
        } else if self.kubernetes.is_some() && is_there {
            let flags = "--cluster, --kubeconfig and --context";
            Some(format!("--kubernetes is for clusters that the run starts; {flags} name one that is there"))
        } else if let (Some(version), true) = (self.kubernetes, on_model) {
            let why = "it is of 1.36";
            Some(format!(
                "--kubernetes {version} is for sim, live and builtin, and not for the target model: {why}"
            ))
        } else if real.is_empty() && (is_there || way.managed_by.is_some()) {
            let flags = "--cluster, --kubeconfig, --context and --managed-by";
            Some(format!("{flags} are for the targets live, builtin and external: give --target"))
        } else {
            None
        }
    }
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// docs/reference/schemas/run.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
    /// JUnit XML.
    Junit,
}

const AFTER_HELP: &str = "\
docs/reference/scenario-format.md tells how scenarios are written,
docs/guide/live.md what live, builtin and external do.

Examples:
  jobcheck run
  jobcheck run --target sim --runs 100
  jobcheck run --target sim,live,builtin tests/scenarios/suspend-resume.yaml
  jobcheck run --target live,builtin --kubernetes 1.35
  jobcheck run --target external --managed-by example.com/runner --context kind-kind

Exit codes:
  0  every scenario holds: no requirement is broken, and every expectation is met
  1  a requirement is broken, or an expectation is not met; the shortest way there is told
  2  a scenario cannot be read, or the target cannot express it (the message names file and line), or wrong usage
  3  not finished: a limit was reached, a trace cannot be judged, something did not come in time, or a scenario cannot
     be run on a target
  4  no cluster, no permission, Go is missing, a controller ended, interrupted, or the output cannot be written
  5  internal error: please report it";

fn mutant(id: &str) -> Result<&'static Mutant, String> {
    Mutant::named(id).ok_or_else(|| format!("there is no defect {id:?}: `jobcheck mutants` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(targets: &[Target], change: impl FnOnce(&mut RunArgs)) -> String {
        let mut args = RunArgs { targets: targets.to_vec(), ..usual() };
        change(&mut args);
        args.objection().unwrap_or_default()
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        assert_eq!(objection(&[Target::Model, Target::Live], |_| {}), "");
        assert!(objection(&[Target::Sim, Target::Sim], |_| {}).contains("given twice"));
        assert!(objection(&[Target::External], |_| {}).contains("needs --managed-by"));
        let budget = |args: &mut RunArgs| args.budget = Some(Duration::from_secs(1));
        assert_eq!(objection(&[Target::Sim, Target::Model], budget), "");
        assert!(objection(&[Target::Sim], budget).contains("for the target model"));
        let value = |args: &mut RunArgs| args.way.managed_by = Some("example.com/x".to_owned());
        assert!(objection(&[Target::External], value).contains("needs --cluster, "));
        assert!(objection(&[Target::Sim], value).contains("give --target"));
        let version = |args: &mut RunArgs| args.kubernetes = Some(Version::V1_35);
        assert_eq!(objection(&[Target::Sim, Target::Live, Target::BuiltIn], version), "");
        assert!(objection(&[Target::Live, Target::Model], version).contains("not for the target model"));
        let there = |args: &mut RunArgs| {
            args.kubernetes = Some(Version::V1_36);
            args.way.context = Some("kind".to_owned());
        };
        assert!(objection(&[Target::Live], there).contains("that the run starts"));
        let mutant = |args: &mut RunArgs| args.mutant = Mutant::named("B18");
        assert!(objection(&[Target::BuiltIn], mutant).contains("builtin runs what it finds"));
    }
}
