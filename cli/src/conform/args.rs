//! Arguments of `jobcheck conform`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_conform::{HOOKS, Hook, Profile};
use jobcheck_report::Run;
use jobcheck_traces::parse_duration;

use crate::controller::manager;
use crate::parse::similar;
use crate::replay::FailureRule;

/// Arguments of `jobcheck conform`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ConformArgs {
    /// Run these only: scenarios, such as mirror/success, or requirements, such as MR-21. The report is partial.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// The promise of the controller.
    #[arg(long, value_enum, value_name = "PROFILE")]
    pub profile: ProfileName,
    /// The value of spec.managedBy that the controller manages. A mirror may have none.
    #[arg(long, value_name = "DOMAIN/PATH", value_parser = manager)]
    pub managed_by: Option<String>,
    /// A cluster: a context of the kubeconfig, or a cluster of `jobcheck cluster up`. For a mirror: manager=NAME and
    /// worker=NAME, each worker with its own flag. For an aggregate: manager=NAME, and member=NAME twice.
    #[arg(long = "cluster", value_name = "[ROLE=]NAME", value_parser = named_cluster)]
    pub clusters: Vec<NamedCluster>,
    /// The kubeconfig file of the contexts.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// For a mirror, an aggregate, or field: the audit log of a cluster, in the order of --cluster. A cluster of `jobcheck cluster up` has one.
    ///
    /// Without an audit log, a trace shows neither who wrote nor what was refused, and less can be judged.
    #[arg(long = "audit-log", value_name = "FILE")]
    pub audit_logs: Vec<PathBuf>,
    /// For a mirror or an aggregate: a YAML file with the objects that each namespace needs, and with labels and annotations
    /// of every Job.
    #[arg(long, value_name = "FILE")]
    pub setup: Option<PathBuf>,
    /// For a mirror or an aggregate: a command for what the suite cannot do. The steps are restart-manager, disconnect, and reconnect.
    ///
    /// The command is run without a shell. JOBCHECK_NAMESPACE has the namespace of the run.
    #[arg(long = "hook", value_name = "STEP=COMMAND", value_parser = hook)]
    pub hooks: Vec<(String, Hook)>,
    /// For field: a YAML file with a custom resource that has the field spec.managedBy, such as the smallest valid one.
    #[arg(long, value_name = "FILE")]
    pub resource: Option<PathBuf>,
    /// For an aggregate: the members whose failure fails the Job.
    #[arg(long, value_enum, value_name = "RULE")]
    pub fails_when: Option<FailureRule>,
    /// The seconds by which the clocks of two clusters may differ; 5 by default.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=3600))]
    pub skew: Option<i64>,
    /// List the scenarios, and end.
    #[arg(long)]
    pub list: bool,
    /// Reach the clusters, check the permissions, say what would be run, and end.
    #[arg(long)]
    pub dry_run: bool,
    /// Stop at the first run that fails.
    #[arg(long)]
    pub fail_fast: bool,
    /// For a mirror, an aggregate, or field: run each scenario this many times. One whose runs differ is flaky.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(Run::MOST_REPEATS)))]
    pub repeat: u32,
    /// For a mirror or an aggregate: inject faults between the manager and the API server of its cluster.
    ///
    /// The suite starts a proxy on 127.0.0.1, writes manager.kubeconfig to the folder of --out, and waits until the manager
    /// connects with it. Writes to Jobs then fail or lose their response, and watches of Jobs are held, end, or expire.
    #[arg(long)]
    pub faults: bool,
    /// With --faults: decides which writes fail; each repetition adds 1 to it. For an executor: the steps that happen as soon as possible, as a bit mask.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Wait at most this long for a step, such as 2m0s. By default a minute; for an executor, as long as the scenario
    /// needs.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub patience: Option<Duration>,
    /// Number of runs of scenarios at a time, each in its own namespace.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub parallel: u64,
    /// Keep the namespaces of runs that do not pass.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub keep: Option<Keep>,
    /// Count recommendations as requirements.
    #[arg(long)]
    pub strict: bool,
    /// The folder for the results and the traces. A report on the same controller and profile is replaced.
    #[arg(long, value_name = "DIR", default_value = "conformance")]
    pub out: PathBuf,
}

/// The promise of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// It copies the status of one Job elsewhere.
    Mirror,
    /// It sums up the statuses of several Jobs elsewhere.
    Aggregate,
    /// It creates the pods of the Jobs.
    Executor,
    /// It deletes finished Jobs.
    Ttl,
    /// No controller: the API server and the built-in controller treat spec.managedBy as they should.
    Field,
}

impl ProfileName {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ProfileName::Mirror => "mirror",
            ProfileName::Aggregate => "aggregate",
            ProfileName::Executor => "executor",
            ProfileName::Ttl => "ttl",
            ProfileName::Field => "field",
        }
    }

    /// The profile of `jobcheck_conform`. `None`: the library of scenarios is run.
    pub fn suite(self) -> Option<Profile> {
        match self {
            ProfileName::Mirror => Some(Profile::Mirror),
            ProfileName::Aggregate => Some(Profile::Aggregate),
            ProfileName::Field => Some(Profile::Field),
            ProfileName::Executor | ProfileName::Ttl => None,
        }
    }
}

/// When a namespace is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    /// If the scenario does not pass.
    OnFailure,
}

/// The role of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The cluster of the Jobs.
    Manager,
    /// A worker or a member.
    Other,
}

/// A value of `--cluster`.
#[derive(Clone, Debug)]
pub struct NamedCluster {
    /// The role.
    pub role: Role,
    /// The name of a local cluster, or a context.
    pub name: String,
}

fn named_cluster(text: &str) -> Result<NamedCluster, String> {
    let (role, name) = match text.split_once('=') {
        Some(("manager", name)) => (Role::Manager, name),
        Some(("worker" | "member", name)) => (Role::Other, name),
        Some((role, _)) => {
            return Err(format!("there is no role {role:?}: write manager=NAME, worker=NAME or member=NAME"));
        }
        None => (Role::Manager, text),
    };
    match name {
        "" => Err("the name of the cluster is missing".to_owned()),
        name => Ok(NamedCluster { role, name: name.to_owned() }),
    }
}

fn hook(text: &str) -> Result<(String, Hook), String> {
    let (step, command) = text.split_once('=').ok_or("expected STEP=COMMAND")?;
    if !HOOKS.contains(&step) {
        let hint = similar(step, HOOKS.into_iter());
        return Err(format!("there is no step {step:?}{hint}: write one of {}", HOOKS.join(", ")));
    }
    let command = shlex::split(command).filter(|words| !words.is_empty());
    let command = command.ok_or("the command is empty, or a quote is not closed")?;
    Ok((step.to_owned(), Hook { command }))
}

impl ConformArgs {
    /// The numbers of the runs of each scenario. A single run has none.
    pub fn repetitions(&self) -> Vec<Option<u32>> {
        match self.repeat {
            1 => vec![None],
            many => (1..=many).map(Some).collect(),
        }
    }

    /// The reason why the arguments exclude each other.
    pub fn objection(&self) -> Option<String> {
        let (name, suite) = (self.profile.name(), self.profile.suite());
        let number = |role| self.clusters.iter().filter(|it| it.role == role).count();
        let (managers, others) = (number(Role::Manager), number(Role::Other));
        let is_between = matches!(suite, Some(Profile::Mirror | Profile::Aggregate));
        match () {
            () if self.list => None,
            () if suite == Some(Profile::Mirror) && (managers != 1 || others == 0) => Some(
                "a mirror needs --cluster manager=NAME, and --cluster worker=NAME for each worker".to_owned(),
            ),
            () if suite == Some(Profile::Aggregate) && (managers != 1 || others != 2) => {
                Some("an aggregate needs --cluster manager=NAME, and --cluster member=NAME twice".to_owned())
            }
            () if !is_between && (managers != 1 || others > 0) => {
                Some(format!("the profile {name} needs one --cluster NAME"))
            }
            () if suite.is_none() && self.managed_by.is_none() => {
                Some(format!("the profile {name} needs --managed-by"))
            }
            () if suite == Some(Profile::Field) && self.managed_by.is_some() => {
                Some("--managed-by is for a controller, and the profile field has none".to_owned())
            }
            () if !is_between && (self.setup.is_some() || !self.hooks.is_empty() || self.skew.is_some()) => {
                Some("--setup, --hook and --skew are for the profiles mirror and aggregate".to_owned())
            }
            () if !is_between && self.faults => {
                let instead = match suite {
                    Some(_) => "the profile field has no controller",
                    None => "jobcheck fuzz injects faults into controllers of its own",
                };
                Some(format!("--faults is for the profiles mirror and aggregate; {instead}"))
            }
            () if suite.is_none() && !self.audit_logs.is_empty() => {
                Some("--audit-log is for the profiles mirror, aggregate and field".to_owned())
            }
            () if suite.is_none() && self.repeat > 1 => {
                Some("--repeat is for the profiles mirror, aggregate and field".to_owned())
            }
            () if suite != Some(Profile::Field) && self.resource.is_some() => {
                Some("--resource is for the profile field".to_owned())
            }
            () if suite != Some(Profile::Aggregate) && self.fails_when.is_some() => {
                Some("--fails-when is for the profile aggregate".to_owned())
            }
            () if self.audit_logs.len() > self.clusters.len() => {
                Some("there are more --audit-log than --cluster".to_owned())
            }
            () => None,
        }
    }
}

const AFTER_HELP: &str = "\
docs/guide/conform.md leads from a running controller to a report.

Examples:
  jobcheck conform --profile mirror --list
  jobcheck conform --profile mirror --managed-by example.com/mirror \\
    --cluster manager=hub --cluster worker=one --cluster worker=two \\
    --hook restart-manager='kubectl --context hub rollout restart deploy/mirror'
  jobcheck conform --profile mirror ... MR-21 mirror/suspend-resume
  jobcheck conform --profile mirror ... --faults --seed 7 --out with-faults
  jobcheck conform --profile mirror ... --repeat 20 mirror/ttl
  jobcheck conform --profile executor --managed-by example.com/runner \\
    --cluster kind-kind

The folder of --out has the traces of each scenario, which jobcheck replay
judges again. They are written before anything is removed. Ctrl-C ends the run,
and the scenarios so far are reported.

Exit codes:
  0  every scenario of core passes, and none of extended fails; or every
     scenario passes that was chosen
  1  a requirement is broken
  2  wrong usage, or an unreadable file
  3  a scenario of core is skipped or inconclusive, or nothing was run
  4  no cluster, no permission, or the suite could not do its part
  5  internal error: please report it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_have_a_role() {
        let of = |text| named_cluster(text).map(|it| (it.role, it.name));
        assert_eq!(of("worker=one"), Ok((Role::Other, "one".to_owned())));
        assert_eq!(of("kind"), Ok((Role::Manager, "kind".to_owned())));
        assert_eq!(of("member=one"), Ok((Role::Other, "one".to_owned())));
        assert!(of("hub=one").unwrap_err().contains("manager=NAME"));
        assert!(of("worker=").unwrap_err().contains("is missing"));
    }

    #[test]
    fn hooks_are_steps_of_scenarios_with_a_command() {
        let (step, hook_of) = hook("disconnect=sh -c 'a b'").unwrap();
        assert_eq!((&*step, hook_of.command), ("disconnect", vec!["sh".into(), "-c".into(), "a b".into()]));
        assert!(hook("disconect=x").unwrap_err().contains("disconnect"));
        assert!(hook("reconnect=").unwrap_err().contains("empty"));
    }
}
