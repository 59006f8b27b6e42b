//! Arguments of `jobcheck run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_spec::apiserver::Version;

use super::target::{Target, target};
use crate::format::Format;
use crate::global::defaults;
use crate::parse::{defect, size};
#[cfg(feature = "cluster")]
use crate::real_cluster::{ConnectionArgs, LimitArgs, OwnArgs};
use crate::save::Folder;
use crate::verify::VerifyArgs;
use jobcheck_traces::parse_duration;

/// Arguments of `jobcheck run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// Scenarios: files, directories, names in the library, or - for standard input. By default, the whole library.
    ///
    /// A directory is searched for *.yaml and *.yml. A file or directory takes precedence over a name.
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<PathBuf>,
    /// List the scenarios with their subjects, and end.
    #[arg(long, conflicts_with_all = ["output", "save"])]
    pub list: bool,
    /// Run the scenarios on these targets: model, sim, live, builtin, external. Several are compared.
    ///
    /// model: every interleaving with the reference algorithm. sim: the shipped controllers on the embedded API
    /// server, under virtual time. live: the shipped controllers on a real API server. builtin:
    /// kube-controller-manager. external: a controller that you have started.
    #[arg(long = "target", value_name = "TARGET", default_value = "model", value_delimiter = ',', value_parser = target)]
    pub targets: Vec<Target>,
    /// On sim: number of runs of each scenario, with consecutive seeds.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub runs: u64,
    /// On sim: the first seed. On clusters: the steps that happen as soon as possible, as a bit mask.
    ///
    /// On sim, seed 0 runs step by step. Any other seed chooses the order of events at random.
    ///
    /// On live, builtin and external, the seed is a bit mask: 1 for the first step, 2 for the second, 3 for both. A step
    /// whose bit is set happens as soon as it is possible. The other steps wait for quiescence.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// On model and sim: give the controllers this known defect, such as B18.
    #[arg(long, value_name = "DEFECT", value_parser = defect)]
    pub mutant: Option<&'static Mutant>,
    /// On model: stop the search of a scenario after this many states.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub max_states: usize,
    /// On model and sim: stop after this time, such as 90s or 10m. Scenarios that are left then are not finished.
    ///
    /// By default one hour.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// On model and sim: stop a scenario once this much memory is used, such as 512MB or 4GB.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Write native traces for `jobcheck replay` to this directory.
    ///
    /// On model and sim, the counterexample of each broken scenario is written. On live, builtin and external, every
    /// recording is.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// With --save: write the page of `jobcheck view` beside each trace.
    #[arg(long, requires = "save")]
    pub html: bool,
    /// With --save: replace what may be secret in the traces, as record --redact does.
    #[arg(long, requires = "save")]
    pub redact: bool,
    /// Form of the report. Schema: docs/reference/schemas/run.schema.json.
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Use this version of Kubernetes, 1.36, 1.35, or 1.37, and judge by its rules; by default 1.36.
    ///
    /// It applies to sim, and to clusters that the run starts. An existing cluster keeps its own version.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Option<Version>,
    /// The cluster.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Programs of the user in a cluster that is started.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub own: OwnArgs,
    /// The limits of runs on it.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub limits: LimitArgs,
}

impl RunArgs {
    /// The directory of saved traces.
    pub fn folder(&self) -> Option<Folder<'_>> {
        let folder = |directory| Folder { directory, redacts: self.redact, pages: self.html };
        self.save.as_deref().map(folder)
    }

    /// The arguments for the scenarios of `verify`, on sim.
    pub fn of_verify(args: &VerifyArgs) -> RunArgs {
        let scenarios = args.scenarios.iter().cloned().collect();
        let (max_memory, budget) = (args.max_memory, Some(args.budget));
        RunArgs { scenarios, targets: vec![Target::Sim], runs: args.runs, max_memory, budget, ..defaults() }
    }

    /// The reason why the arguments exclude each other.
    pub fn objection(&self) -> Option<String> {
        let repeated = (1..self.targets.len()).find(|it| self.targets[..*it].contains(&self.targets[*it]));
        let has_model = self.targets.contains(&Target::Model);
        let real = self.targets.iter().find(|target| target.is_real());
        if self.targets.iter().all(|target| target.is_real()) {
            let given = [("--max-memory", self.max_memory.is_some()), ("--budget", self.budget.is_some())];
            if let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return Some(format!("{flag} works on the targets model and sim only"));
            }
        }
        if let Some(repeated) = repeated {
            return Some(format!("the target {} is given twice", self.targets[repeated].name()));
        }
        if let (Some(mutant), Some(target)) = (self.mutant, real) {
            let (id, name) = (mutant.id, target.name());
            return Some(format!(
                "--mutant {id} works on model and sim only: {name} runs the controllers as they are"
            ));
        }
        self.connection_objection().or_else(|| {
            let version = self.kubernetes.filter(|_| has_model)?;
            Some(format!(
                "--kubernetes {version} works on sim, live and builtin only: the target model is 1.36"
            ))
        })
    }

    /// The reason why the arguments do not choose a cluster.
    #[cfg(feature = "cluster")]
    fn connection_objection(&self) -> Option<String> {
        let is_external = self.targets.contains(&Target::External);
        let has_real = self.targets.iter().any(|target| target.is_real());
        let (is_given, managed_by) = (self.connection.is_given(), &self.connection.managed_by);
        if is_external && managed_by.is_none() {
            let why = "the value of spec.managedBy of the Jobs that the controller manages";
            Some(format!("the target external needs --managed-by: {why}"))
        } else if is_external && !is_given {
            let why = "the cluster on which the controller runs";
            Some(format!("the target external needs --cluster, --kubeconfig or --context: {why}"))
        } else if self.kubernetes.is_some() && is_given {
            let flags = "--cluster, --kubeconfig and --context";
            Some(format!("--kubernetes is for clusters that the run starts; {flags} name an existing one"))
        } else if self.own.is_given() && (is_given || !has_real) {
            let flags = "--kube-apiserver and --kube-controller-manager";
            Some(format!("{flags} are for clusters that the targets live and builtin start"))
        } else if !has_real && (is_given || managed_by.is_some()) {
            let flags = "--cluster, --kubeconfig, --context and --managed-by";
            Some(format!("{flags} are for the targets live, builtin and external: give --target"))
        } else {
            None
        }
    }

    #[cfg(not(feature = "cluster"))]
    fn connection_objection(&self) -> Option<String> {
        None
    }
}

const AFTER_HELP: &str = "\
docs/reference/scenario-format.md describes the format of scenarios, and
docs/guide/live.md the targets live, builtin and external.

Examples:
  jobcheck run                                 runs the library on the model
  jobcheck run backoff-limit                   runs a scenario of the library
  jobcheck run --target sim --runs 100
  jobcheck run --target sim,live,builtin suspend-resume
  jobcheck run --target live,builtin --kubernetes 1.35
  jobcheck run --target external --managed-by example.com/runner \\
    --context kind-kind

Ctrl-C ends the run, and the report of the scenarios so far is printed.

Exit codes:
  0  every scenario holds: no requirement is broken, and every expectation is met
  1  a requirement is broken, or an expectation is not met; the shortest
     counterexample is printed
  2  wrong usage, an unreadable scenario, or one that the target cannot express;
     the message names file and line
  3  not finished: a limit or Ctrl-C, a trace without a verdict, a wait that took
     too long, or a scenario that a target cannot run
  4  no cluster, no permission, Go is missing, a controller ended, a run on a
     cluster was interrupted, or the output cannot be written
  5  internal error: please report it";

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;

    fn objection(targets: &[Target], change: impl FnOnce(&mut RunArgs)) -> String {
        let mut args = RunArgs { targets: targets.to_vec(), ..defaults() };
        change(&mut args);
        args.objection().unwrap_or_default()
    }

    #[test]
    fn arguments_that_exclude_each_other_are_rejected_with_a_reason() {
        assert_eq!(objection(&[Target::Model, Target::Live], |_| {}), "");
        assert!(objection(&[Target::Sim, Target::Sim], |_| {}).contains("given twice"));
        assert!(objection(&[Target::External], |_| {}).contains("needs --managed-by"));
        let budget = |args: &mut RunArgs| args.budget = Some(Duration::from_secs(1));
        assert_eq!(objection(&[Target::Sim, Target::Model], budget), "");
        assert_eq!(objection(&[Target::Sim], budget), "");
        assert!(objection(&[Target::Live], budget).contains("model and sim only"));
        let memory = |args: &mut RunArgs| args.max_memory = Some(1);
        assert_eq!(objection(&[Target::Sim], memory), "");
        assert!(objection(&[Target::Live], memory).contains("model and sim only"));
        let value = |args: &mut RunArgs| args.connection.managed_by = Some("example.com/x".to_owned());
        assert!(objection(&[Target::External], value).contains("needs --cluster, "));
        assert!(objection(&[Target::Sim], value).contains("give --target"));
        let version = |args: &mut RunArgs| args.kubernetes = Some(Version::V1_35);
        assert_eq!(objection(&[Target::Sim, Target::Live, Target::BuiltIn], version), "");
        assert!(objection(&[Target::Live, Target::Model], version).contains("the target model is 1.36"));
        let existing = |args: &mut RunArgs| {
            args.kubernetes = Some(Version::V1_36);
            args.connection.context = Some("kind".to_owned());
        };
        assert!(objection(&[Target::Live], existing).contains("that the run starts"));
        let mutant = |args: &mut RunArgs| args.mutant = Mutant::named("B18");
        assert!(objection(&[Target::BuiltIn], mutant).contains("builtin runs the controllers as they are"));
    }
}
