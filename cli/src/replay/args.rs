//! Arguments of `jobcheck replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jobcheck_judge::replay::{Assumption, Grouping, Judging, rules};
use jobcheck_judge::validate::Role;
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::Input;

use crate::check::requirement;

/// Arguments of `jobcheck replay`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReplayArgs {
    /// Audit logs, watch streams or native traces, plain or gzip; - is standard input, and a
    /// named pipe is read once something writes to it.
    /// Files that show the same Jobs are merged, whatever their order: a rotated log, or
    /// one watch for each resource.
    #[arg(required = true, value_name = "FILE", verbatim_doc_comment)]
    pub files: Vec<OsString>,
    /// Which files are parts of one trace.
    #[arg(long, value_enum, default_value_t = Group::Auto, value_name = "HOW")]
    pub group: Group,
    /// Tell the story of each violation: the lines, the world before, the views that were tried.
    #[arg(long)]
    pub explain: bool,
    /// Judge by this requirement alone, such as FT-02; can be repeated.
    #[arg(long, value_name = "ID", value_parser = requirement)]
    pub requirement: Vec<Req>,
    /// Kubernetes version whose rules apply, 1.34 to 1.37; else what the header of a native trace
    /// says, else 1.36.
    #[arg(long, verbatim_doc_comment, value_name = "VERSION", value_parser = rules)]
    pub kubernetes: Option<RuleSet>,
    /// Exit with 0 where every violation is a documented deviation of the built-in controller.
    #[arg(long)]
    pub allow_known: bool,
    /// Take broken advice (SHOULD) and other warnings for violations.
    #[arg(long)]
    pub strict: bool,
    /// Constants that the controller was started with: pod-failure-backoff=10s,
    /// pod-failure-backoff-max=10m, max-uncounted-pods=500; several with commas.
    /// Feature gates, too: JobManagedBy=false; apiserver/JobManagedBy=false for the API server's.
    #[arg(long, verbatim_doc_comment, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = Assumption::parse)]
    pub assume: Vec<Assumption>,
    /// Who plays a role, where names do not tell: job-controller=USER; can be repeated.
    #[arg(long, value_name = "ROLE=USER", value_parser = actor)]
    pub actor: Vec<(Role, String)>,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Which files are parts of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Those that show the same Jobs; copies are judged apart.
    Auto,
    /// All.
    One,
    /// None: each is a trace of its own.
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

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; may change.
    Text,
    /// docs/reference/schemas/report.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
    /// JUnit XML: one suite for each trace, one case for each Job.
    Junit,
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck replay audit.log                      verdict on every Job in an audit log
  jobcheck replay audit.log audit-*.log.gz       a rotated log is one trace
  jobcheck replay jobs.jsonl pods.jsonl          two watches of one cluster are one trace
  jobcheck replay traces/*.jsonl                 files that share no Job are judged one by one
  zcat log.gz | jobcheck replay --explain -      the story of each violation
  jobcheck replay --requirement FT-02 audit.log  one requirement; 3 if nothing in the log touches it
  jobcheck replay -o junit audit.log > junit.xml

How to record:
  kubectl get jobs -A -w --output-watch-events -o json > jobs.jsonl    (the same for pods)
  kube-apiserver --audit-log-path, with Jobs and Pods at level RequestResponse, shows more: who wrote,
  and what was refused.

Of each Job the report says how its manager is judged:
  executor  it has created or adopted a pod of the Job, or is the built-in controller at work
  mirror    any other: it writes the status alone, and the rules about pods do not bind it

Exit codes:
  0  all that was judged conforms
  1  a requirement is violated
  2  wrong usage, or an unreadable input: file, line and why; what was readable is judged all the same
  3  inconclusive: nothing to judge, a gap, a level that shows too little, a premise never met
  4  something is missing in the environment: the output cannot be written
  5  internal error: please report it
With several traces, the first that occurs of 5, 4, 2, 1, 3, 0.";

impl ReplayArgs {
    /// The inputs.
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

    /// What is asked of the replay.
    pub fn judging(&self) -> Judging {
        Judging {
            kubernetes: self.kubernetes,
            assume: self.assume.clone(),
            actors: self.actor.clone(),
            only: self.requirement.clone(),
            keeps_story: self.explain || self.output != Format::Text,
            strict: self.strict,
            allow_known: self.allow_known,
        }
    }
}

fn actor(text: &str) -> Result<(Role, String), String> {
    let roles = || Role::NAMES.map(|(name, _)| name).join(", ");
    let (role, user) =
        text.split_once('=').ok_or_else(|| format!("expected ROLE=USER; roles: {}", roles()))?;
    let role = Role::named(role).ok_or_else(|| format!("expected one of the roles {}", roles()))?;
    if user.is_empty() {
        return Err("expected a user name after =".to_owned());
    }
    Ok((role, user.to_owned()))
}
