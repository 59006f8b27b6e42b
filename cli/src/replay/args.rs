//! Arguments of `jobcheck replay`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jobcheck_judge::replay::{Assumption, FailsWhen, Grouping, Judging, rules};
use jobcheck_judge::report::{List, ReplayReport, Since};
use jobcheck_judge::validate::{Profile, Role, Wanted, is_named};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::{Input, parse_duration, parse_micros};

use super::clusters::{ClusterFile, cluster_file};
use crate::format::Format;
use crate::memory::Output;
use crate::parse::{DEFAULT_BUDGET, processors, requirement, size, threads};

/// Arguments of `jobcheck replay`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReplayArgs {
    /// Audit logs, watch streams or native traces, plain, gzip or zstd; - is standard input.
    ///
    /// Audit logs are read as CloudWatch Logs, Cloud Logging, Azure Monitor, container runtimes, Docker, Splunk,
    /// Elasticsearch, Loki, Fluent Bit and the journal export them. docs/reference/trace-format.md has the list.
    ///
    /// Files that show the same Jobs are merged in any order: a rotated log, or one watch for each resource. A named
    /// pipe is read once something writes to it.
    #[arg(required_unless_present = "cluster", value_name = "FILE")]
    pub files: Vec<OsString>,
    /// Judge a manager that writes status alone beside the workers that have the copies of its Jobs (MR-20 to MR-27).
    ///
    /// The role of each file is manager or worker. With --profile aggregate, workers are members (MR-30 to MR-33). Audit logs and native traces have the times that this needs. Files of
    /// workers that show no common Job are different workers.
    #[arg(long, value_name = "ROLE=FILE", value_parser = cluster_file, conflicts_with_all = ["files", "group"])]
    pub cluster: Vec<ClusterFile>,
    /// Choose the files that are parts of one trace.
    #[arg(long, value_enum, default_value_t = Group::Auto, value_name = "HOW")]
    pub group: Group,
    /// Explain violations: the events and the state before them, and the views that were tried.
    ///
    /// Each explanation ends after 60 lines; --explain=all removes the limit. --explain=NS/NAME, or
    /// --explain with --job, shows the life of the Job: which pod was counted where, and by which write.
    #[arg(long, value_name = "all|JOB", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub explain: Option<String>,
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
    /// Apply the rules of this version of Kubernetes, 1.34 to 1.37.
    ///
    /// By default the version in the header of a native trace, else 1.36.
    #[arg(long, value_name = "VERSION", value_parser = rules)]
    pub kubernetes: Option<RuleSet>,
    /// Exit with 0 if every violation is a known deviation of the built-in controller.
    #[arg(long)]
    pub allow_known: bool,
    /// List these Jobs, and count the others. Then memory grows with the findings, and not with the log.
    ///
    /// With --since, --job, --namespace, or --cluster, it grows with all Jobs that these choose.
    #[arg(long, value_name = "JOBS", value_enum, default_value_t = Listed::All)]
    pub list: Listed,
    /// Treat warnings, such as broken advice (SHOULD), as violations.
    #[arg(long)]
    pub strict: bool,
    /// Number of threads; by default one for each processor. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Assume these settings of the controller, separated by commas.
    ///
    /// Keys: pod-failure-backoff=10s, pod-failure-backoff-max=10m, max-uncounted-pods=500, and feature gates:
    /// JobManagedBy=false for the controller, apiserver/JobManagedBy=false for the API server.
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
    /// Use this much memory at most, such as 512MB or 4GB. Reading stops before it is full, so that the report fits, too. The
    /// rest is not judged, and the exit code is 3.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Stop reading after this time, such as 10m. The rest is not judged, and the exit code is 3.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = DEFAULT_BUDGET)]
    pub budget: Duration,
    /// Write a page about the traces to this file, too, as view does.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Form of the report. Schema: docs/reference/schemas/report.schema.json.
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub output: Format,
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

/// The value of `--list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// All Jobs.
    All,
    /// Jobs that do not conform, or have warnings.
    Findings,
    /// Jobs that violate.
    Violations,
}

impl Listed {
    fn list(self) -> List {
        match self {
            Listed::All => List::All,
            Listed::Findings => List::Findings,
            Listed::Violations => List::Violations,
        }
    }
}

/// The value of `--explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explain {
    /// Nothing.
    Nothing,
    /// The first violation of each Job, up to a number of lines.
    Violations,
    /// All violations.
    Everything,
    /// The life of a Job beside the first violation of each Job.
    Job(String),
}

impl Explain {
    /// Returns `true` if violations are explained.
    pub fn is_asked(&self) -> bool {
        *self != Explain::Nothing
    }

    /// Returns `true` if explanations have no limit.
    pub fn is_unbounded(&self) -> bool {
        *self == Explain::Everything
    }

    /// Returns `true` if the Job, `NAMESPACE/NAME`, is explained by its name.
    pub fn names(&self, job: &str) -> bool {
        let Explain::Job(wanted) = self else { return false };
        job.split_once('/').is_some_and(|(namespace, name)| is_named(wanted, namespace, name))
    }
}

/// Which files are parts of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Files that show the same Jobs; copies are judged separately.
    Auto,
    /// All files.
    One,
    /// None: each file is a trace of its own.
    Each,
}

impl From<Group> for Grouping {
    fn from(group: Group) -> Grouping {
        match group {
            Group::Auto => Grouping::Auto,
            Group::One => Grouping::One,
            Group::Each => Grouping::Each,
        }
    }
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck replay audit.log                judges every Job in an audit log
  jobcheck replay audit.log audit-*.gz     a rotated log is one trace
  jobcheck replay jobs.jsonl pods.jsonl    two watches of a cluster are one trace
  jobcheck replay traces/*.jsonl           files that share no Job are separate
  zcat log.gz | jobcheck replay --explain -
                                           explains the violations
  jobcheck replay --requirement FT-02 audit.log
                                           judges by one requirement
  jobcheck replay --job shop/train --explain audit.log
                                           shows the life of one Job
  jobcheck replay -n shop --since 30m audit.log
                                           the last half hour of a namespace
  jobcheck replay --list violations audit-*.gz
                                           lists the wrong Jobs of a long log
  jobcheck replay -o junit audit.log > junit.xml
  jobcheck replay --cluster manager=audit.log --cluster worker=worker.log
                                           the copies of dispatched Jobs, too
  jobcheck replay --profile aggregate --cluster manager=m.log --cluster member=a.log
                                           a status that sums up members

How to record:
  kubectl get jobs -A -w --output-watch-events -o json > jobs.jsonl
  kubectl get pods -A -w --output-watch-events -o json > pods.jsonl
An audit log shows more: the senders, and refused requests. Record Jobs and Pods
at level RequestResponse (kube-apiserver --audit-log-path).

The report names how the manager of each Job is judged:
  executor  has created or adopted a pod of the Job, or is the built-in
            controller
  mirror    any other manager: it writes the status only, and the rules about
            pods do not bind it

Exit codes:
  0  everything that was judged conforms
  1  a requirement is violated
  2  wrong usage, or an unreadable input; the message names file and line, and
     the readable part is still judged
  3  inconclusive: nothing to judge, a gap, a level of recording that shows too
     little, a premise that was never met, a filter that fits no Job, or the
     limit of --max-memory or --budget
  4  the output cannot be written
  5  internal error: please report it
Several traces have the first exit code that occurs in 5, 4, 2, 1, 3, 0.";

impl ReplayArgs {
    /// The thing that is made of the judged traces.
    pub fn makes(&self) -> Output {
        match (&self.html, self.output) {
            (Some(_), _) => Output::Page,
            (None, Format::Text) => Output::Text,
            (None, Format::Json | Format::Yaml | Format::Junit) => Output::Document,
        }
    }

    /// The inputs, in the order of the arguments.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |file: &OsString| match file.to_str() {
            Some("-") => Input::Stdin,
            _ => Input::Path(PathBuf::from(file)),
        };
        self.files.iter().map(input).collect()
    }

    /// The inputs that are named pipes.
    pub fn pipes(&self) -> impl Iterator<Item = String> + '_ {
        #[cfg(unix)]
        let is_pipe = |file: &&OsString| {
            use std::os::unix::fs::FileTypeExt;
            std::fs::metadata(file).is_ok_and(|data| data.file_type().is_fifo())
        };
        #[cfg(not(unix))]
        let is_pipe = |_: &&OsString| false;
        self.files.iter().filter(is_pipe).map(|file| file.to_string_lossy().into_owned())
    }

    /// The value of `--explain`.
    pub fn explain(&self) -> Explain {
        match self.explain.as_deref() {
            None => Explain::Nothing,
            Some("all") => Explain::Everything,
            Some("") => Explain::Violations,
            Some(job) => Explain::Job(job.to_owned()),
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted { jobs: self.job.clone(), namespaces: self.namespace.clone() }
    }

    /// The Jobs whose lives are shown.
    fn lives(&self) -> Wanted {
        match self.explain() {
            Explain::Nothing => Wanted::default(),
            Explain::Job(job) => Wanted { jobs: vec![job], namespaces: Vec::new() },
            Explain::Violations | Explain::Everything => {
                Wanted { jobs: self.job.clone(), namespaces: Vec::new() }
            }
        }
    }

    /// The Job of `--explain` if it is not in the report.
    pub fn unexplained(&self, report: &ReplayReport) -> Option<&str> {
        let explain = self.explain();
        let is_there = report.jobs.iter().any(|job| explain.names(&job.job));
        self.explain.as_deref().filter(|_| matches!(explain, Explain::Job(_)) && !is_there)
    }

    /// The settings of the judge, which ends its reading once `stop` is true.
    pub fn judging(&self, stop: Arc<AtomicBool>) -> Judging {
        Judging {
            kubernetes: self.kubernetes,
            assume: self.assume.clone(),
            actors: self.actor.clone(),
            only: self.requirement.clone(),
            wanted: self.wanted(),
            explained: self.lives(),
            since: self.since,
            restarted: self.restarted.clone(),
            profile: self.profile.map(ManagerProfile::profile),
            fails_when: self.fails_when.rule(),
            skew: self.skew,
            keeps_story: self.explain.is_some() || self.output != Format::Text || self.html.is_some(),
            strict: self.strict,
            allow_known: self.allow_known,
            list: self.list.list(),
            threads: NonZero::new(self.threads.unwrap_or_else(processors)),
            finished_at_hand: None,
            stop,
        }
    }
}

/// Parses the value of `--job`.
pub fn job(text: &str) -> Result<String, String> {
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
