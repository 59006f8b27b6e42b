//! The arguments of all commands that judge traces of others: which Jobs, by which rules, and within which limits.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_judge::replay::{Assumption, FailsWhen, Judging, rules};
use jobcheck_judge::report::Since;
use jobcheck_judge::validate::{Profile, Role, Wanted};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::{parse_duration, parse_micros};

use crate::parse::{DEFAULT_BUDGET, processors, requirement, size, threads};

/// Arguments of `jobcheck replay` and `jobcheck view`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// Report this Job only: NAMESPACE/NAME, or NAME in any namespace. Can be repeated.
    #[arg(long, value_name = "JOB", value_parser = job)]
    pub job: Vec<String>,
    /// Report the Jobs of this namespace only. Can be repeated.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
    /// Report what happened from this time on: RFC 3339, or a duration before the end of the trace, such as 10m.
    ///
    /// The part before is read all the same, and decides what is right later.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Assume that the Job controller restarted at this time (RFC 3339), and lost its memory. Can be repeated.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub restarted: Vec<i64>,
    /// Judge by this requirement only, such as FT-02. Can be repeated.
    #[arg(long, value_name = "REQUIREMENT", value_parser = requirement)]
    pub requirement: Vec<Req>,
    /// Apply the rules of this version of Kubernetes, 1.34 to 1.38.
    ///
    /// By default the version in the header of a native trace, else 1.36.
    #[arg(long, value_name = "VERSION", value_parser = rules)]
    pub kubernetes: Option<RuleSet>,
    /// Exit with 0 if every violation is a known deviation of the built-in controller.
    #[arg(long)]
    pub allow_known: bool,
    /// Treat warnings, such as broken advice (SHOULD), as violations.
    #[arg(long)]
    pub strict: bool,
    /// Number of threads; by default one for each processor. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Assume these settings of the controller, separated by commas.
    ///
    /// Keys: pod-failure-backoff=10s, pod-failure-backoff-max=10m, max-uncounted-pods=500, and feature gates:
    /// JobManagedBy=false for the controller, apiserver/JobManagedBy=false for the API server. With audit-policy=complete,
    /// an audit log has every request that changes a Job or a pod.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = Assumption::parse)]
    pub assume: Vec<Assumption>,
    /// Give a role to a user whose name does not show it: job-controller=USER. Can be repeated.
    #[arg(long, value_name = "ROLE=USER", value_parser = actor)]
    pub actor: Vec<(Role, String)>,
    /// Say what the managers of Jobs without spec.managedBy do, such as those of Karmada.
    ///
    /// By default they are the built-in controller's. With executor, the managers of Jobs with spec.managedBy create pods.
    #[arg(long, value_name = "PROFILE", value_enum)]
    pub profile: Option<ManagerProfile>,
    /// With --profile aggregate: the members whose failure fails the Job.
    #[arg(long, value_name = "RULE", value_enum, requires = "profile", default_value_t = FailureRule::Any)]
    pub fails_when: FailureRule,
    /// Grant this difference between the clocks of two clusters, such as 30s. By default 5s.
    #[arg(long, value_name = "DURATION", value_parser = skew)]
    pub skew: Option<i64>,
    /// Use this much memory at most, such as 512MB or 4GB. Reading stops before it is full, so that the report fits, too.
    /// A page then has fewer steps. The rest is not judged, and the exit code is 3.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Stop reading after this time, such as 10m. The rest is not judged, and the exit code is 3.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = DEFAULT_BUDGET)]
    pub budget: Duration,
}

impl JudgeArgs {
    /// The settings of the judge, which ends its reading once `stop` is true.
    pub fn judging(&self, stop: Arc<AtomicBool>) -> Judging {
        Judging {
            kubernetes: self.kubernetes,
            assume: self.assume.clone(),
            actors: self.actor.clone(),
            only: self.requirement.clone(),
            wanted: Wanted { jobs: self.job.clone(), namespaces: self.namespace.clone() },
            since: self.since,
            restarted: self.restarted.clone(),
            profile: self.profile.map(ManagerProfile::profile),
            fails_when: self.fails_when.rule(),
            skew: self.skew,
            strict: self.strict,
            allow_known: self.allow_known,
            threads: NonZero::new(self.threads.unwrap_or_else(processors)),
            stop,
            ..Judging::default()
        }
    }
}

/// The value of `--profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ManagerProfile {
    /// They copy the status of one Job elsewhere.
    Mirror,
    /// They make one status of several Jobs elsewhere.
    Aggregate,
    /// They create pods.
    Executor,
}

impl ManagerProfile {
    /// The profile of the judge.
    pub fn profile(self) -> Profile {
        match self {
            ManagerProfile::Mirror => Profile::Mirror,
            ManagerProfile::Aggregate => Profile::Aggregate,
            ManagerProfile::Executor => Profile::Executor,
        }
    }
}

/// The value of `--fails-when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailureRule {
    /// One member that has failed.
    Any,
    /// All members.
    All,
}

impl FailureRule {
    /// The rule of the judge.
    pub fn rule(self) -> FailsWhen {
        match self {
            FailureRule::Any => FailsWhen::Any,
            FailureRule::All => FailsWhen::All,
        }
    }

    /// The name on the command line.
    #[cfg(feature = "cluster")]
    pub fn name(self) -> &'static str {
        match self {
            FailureRule::Any => "any",
            FailureRule::All => "all",
        }
    }
}

/// Parses the value of `--job`.
fn job(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 2 || parts.iter().any(|part| part.is_empty()) {
        return Err("expected NAMESPACE/NAME or NAME".to_owned());
    }
    Ok(text.to_owned())
}

fn instant(text: &str) -> Result<i64, String> {
    parse_micros(text).ok_or_else(|| "expected a time such as 2026-11-21T10:11:12Z".to_owned())
}

fn since(text: &str) -> Result<Since, String> {
    let duration = || i64::try_from(parse_duration(text).ok()?.as_micros()).ok();
    let time = parse_micros(text).map(Since::At);
    time.or_else(|| duration().map(Since::BeforeEnd))
        .ok_or_else(|| "expected a time such as 2026-11-21T10:11:12Z, or a duration such as 10m".to_owned())
}

fn skew(text: &str) -> Result<i64, String> {
    let seconds = parse_duration(text).ok().and_then(|duration| i64::try_from(duration.as_secs()).ok());
    seconds.ok_or_else(|| "expected a duration such as 30s".to_owned())
}

/// Parses the value of `--actor`.
pub fn actor(text: &str) -> Result<(Role, String), String> {
    let roles = || Role::NAMES.map(|(name, _)| name).join(", ");
    let (role, user) =
        text.split_once('=').ok_or_else(|| format!("expected ROLE=USER; roles: {}", roles()))?;
    let role = Role::named(role).ok_or_else(|| format!("expected one of the roles {}", roles()))?;
    if user.is_empty() {
        return Err("expected a user name after =".to_owned());
    }
    Ok((role, user.to_owned()))
}
