//! Arguments of `jobcheck view`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use jobcheck_judge::replay::Judging;
use jobcheck_traces::Input;
use jobcheck_view::STEPS;

use crate::replay::{ClusterFile, Group, JudgeArgs, cluster_file};

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
    /// Show at most this number of steps; the page says what it leaves out.
    #[arg(long, value_name = "N", default_value_t = STEPS)]
    pub steps: usize,
    /// Choose the files that are parts of one trace.
    #[arg(long, value_enum, default_value_t = Group::Auto, value_name = "HOW")]
    pub group: Group,
    #[command(flatten)]
    pub judge: JudgeArgs,
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
        Judging { keeps_story: true, ..self.judge.judging(stop) }
    }
}
