//! Arguments of `jobcheck replay`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use jobcheck_judge::replay::{Grouping, Judging};
use jobcheck_judge::report::{List, ReplayReport};
use jobcheck_judge::validate::{Wanted, is_named};
use jobcheck_traces::Input;

use super::clusters::{ClusterFile, cluster_file};
use super::judge_args::JudgeArgs;
use crate::format::Format;
use crate::memory::Output;

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
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// List these Jobs, and count the others. Then memory grows with the findings, and not with the log.
    ///
    /// With --since, --job, --namespace, or --cluster, it grows with all Jobs that these choose.
    #[arg(long, value_name = "JOBS", value_enum, default_value_t = Listed::All)]
    pub list: Listed,
    /// Write a page about the traces to this file, too, as view does.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Form of the report. Schema: docs/reference/schemas/report.schema.json.
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Format::Text)]
    pub output: Format,
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

    /// The Jobs whose lives are shown.
    fn lives(&self) -> Wanted {
        match self.explain() {
            Explain::Nothing => Wanted::default(),
            Explain::Job(job) => Wanted { jobs: vec![job], namespaces: Vec::new() },
            Explain::Violations | Explain::Everything => {
                Wanted { jobs: self.judge.job.clone(), namespaces: Vec::new() }
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
            explained: self.lives(),
            keeps_story: self.explain.is_some() || self.output != Format::Text || self.html.is_some(),
            list: self.list.list(),
            ..self.judge.judging(stop)
        }
    }
}
