//! Arguments of `jobcheck view`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use jobcheck_judge::replay::{Assumption, Judging, rules};
use jobcheck_judge::validate::{Role, Wanted};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::{Input, parse_duration};

use super::STEPS;
use crate::parse::{DEFAULT_BUDGET, processors, requirement, size};
use crate::replay::{ClusterFile, FailureRule, Group, ManagerProfile, actor, cluster_file, job};

/// Arguments of `jobcheck view`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ViewArgs {
    /// Audit logs, watch streams or native traces, as for replay; - is standard input.
    #[arg(required_unless_present = "cluster", value_name = "TRACE")]
    pub files: Vec<OsString>,
    /// Show the traces of a manager and of its workers side by side.
    ///
    /// The role of each file is manager or worker, as for replay.
    #[arg(long, value_name = "ROLE=FILE", value_parser = cluster_file, conflicts_with_all = ["files", "group"])]
    pub cluster: Vec<ClusterFile>,
    /// Write the page to this file, which only you can read. By default, it is printed.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Open the page in the browser.
    #[arg(long)]
    pub open: bool,
    /// Show this Job only: NAMESPACE/NAME, or NAME in any namespace. Can be repeated.
    #[arg(long, value_name = "JOB", value_parser = job)]
    pub job: Vec<String>,
    /// Show the Jobs of this namespace only. Can be repeated.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
    /// Show at most this number of steps; the page says what it leaves out.
    #[arg(long, value_name = "N", default_value_t = STEPS)]
    pub steps: usize,
    /// Choose the files that are parts of one trace.
    #[arg(long, value_enum, default_value_t = Group::Auto, value_name = "HOW")]
    pub group: Group,
    /// Judge by this requirement only, such as FT-02. Can be repeated.
    #[arg(long, value_name = "REQUIREMENT", value_parser = requirement)]
    pub requirement: Vec<Req>,
    /// Apply the rules of this version of Kubernetes, 1.34 to 1.37.
    #[arg(long, value_name = "VERSION", value_parser = rules)]
    pub kubernetes: Option<RuleSet>,
    /// Assume these settings of the controller, separated by commas, as for replay.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = Assumption::parse)]
    pub assume: Vec<Assumption>,
    /// Give a role to a user whose name does not show it: job-controller=USER. Can be repeated.
    #[arg(long, value_name = "ROLE=USER", value_parser = actor)]
    pub actor: Vec<(Role, String)>,
    /// Say what the managers of Jobs without spec.managedBy do, as for replay.
    #[arg(long, value_name = "PROFILE", value_enum)]
    pub profile: Option<ManagerProfile>,
    /// With --profile aggregate: the members whose failure fails the Job, as for replay.
    #[arg(long, value_name = "RULE", value_enum, requires = "profile", default_value_t = FailureRule::Any)]
    pub fails_when: FailureRule,
    /// Treat warnings, such as broken advice (SHOULD), as violations.
    #[arg(long)]
    pub strict: bool,
    /// Use this much memory at most, as for replay. The page then has fewer steps, too.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Stop reading after this time, as for replay.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = DEFAULT_BUDGET)]
    pub budget: Duration,
}

const AFTER_HELP: &str = "\
The page is one file. It asks no server for anything, and opens from a disk or
as an artefact of a CI system. It begins at the first violation; n and p go to
the next and the previous one, j and k to the next and the previous step, and
? shows the other keys. Without JavaScript it is a table of the findings.

Two traces can be compared: the page aligns a Job of one with a Job of the
other, and shows the first difference.

The page contains names, labels, annotations and messages of the trace, but no
templates of pods. It can be sent to others as the trace can.

Examples:
  jobcheck view audit.log -o audit.html    writes a page
  jobcheck view audit.log --open           opens it in the browser
  jobcheck view --job shop/train audit.log > train.html
                                           one Job
  jobcheck view --group each mine.jsonl builtin.jsonl -o both.html
                                           two runs to compare
  jobcheck view --cluster manager=m.log --cluster worker=w.log -o both.html
                                           a Job and its copy

Exit codes:
  0  the page is written, and everything that was judged conforms
  1  the page is written, and shows a violation
  2  wrong usage, or an unreadable input; the page shows the readable part
  3  the page is written; the verdict is inconclusive
  4  the page cannot be written or opened
  5  internal error: please report it";

impl ViewArgs {
    /// The inputs, in the order of the arguments.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |file: &OsString| match file.to_str() {
            Some("-") => Input::Stdin,
            _ => Input::Path(PathBuf::from(file)),
        };
        self.files.iter().map(input).collect()
    }

    /// The settings of the judge, which ends its reading once `stop` is true.
    pub fn judging(&self, stop: Arc<AtomicBool>) -> Judging {
        Judging {
            kubernetes: self.kubernetes,
            assume: self.assume.clone(),
            actors: self.actor.clone(),
            only: self.requirement.clone(),
            wanted: Wanted { jobs: self.job.clone(), namespaces: self.namespace.clone() },
            profile: self.profile.map(ManagerProfile::profile),
            fails_when: self.fails_when.rule(),
            keeps_story: true,
            strict: self.strict,
            threads: NonZero::new(processors()),
            stop,
            ..Judging::default()
        }
    }
}
