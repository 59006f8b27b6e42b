//! Arguments of `jobcheck report`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::format::Format;

/// Arguments of `jobcheck report`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReportArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ReportCommand,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Print a report.
    Show(ShowArgs),
    /// Judge the traces of a report again, offline, and say which outcome is not confirmed.
    Verify(VerifyArgs),
    /// Say what changed between two reports, for each scenario and requirement.
    Diff(DiffArgs),
    /// Merge the reports of the shards of a run.
    Merge(MergeArgs),
}

/// Arguments of `jobcheck report show`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub struct ShowArgs {
    /// The folder of a report, or a file: report.yaml or results.json.
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// Print annotations for GitHub to standard error, too: one for each scenario that did not pass.
    #[arg(long)]
    pub github: bool,
    /// Form of the report. Schema: docs/reference/schemas/conformance.schema.json.
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = ShowForm::Text)]
    pub output: ShowForm,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowForm {
    /// For people; may change between versions
    Text,
    /// For programs; its schema is stable
    Json,
    /// The same report as YAML
    Yaml,
    /// JUnit XML, for CI systems
    Junit,
    /// Markdown, such as for the step summary of a GitHub workflow
    Markdown,
}

/// Arguments of `jobcheck report verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub struct VerifyArgs {
    /// The folder of a report.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Form of the output. Schema: docs/reference/schemas/report-verification.schema.json.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

/// Arguments of `jobcheck report diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArgs {
    /// The older report: a folder or a file.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The newer report.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Form of the output. Schema: docs/reference/schemas/report-diff.schema.json.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

/// Arguments of `jobcheck report merge`.
#[derive(Debug, Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// The folders of the shards.
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Write the merged report, with the traces, to this folder. It must be empty or missing.
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck report show results          prints the report of a folder
  jobcheck report verify results        judges its traces again
  jobcheck report diff old new          lists what changed
  jobcheck report merge shard-* --into all
                                        makes one report of several shards

docs/reference/report-format.md describes the report.";

const SHOW_HELP: &str = "\
Examples:
  jobcheck report show results          lists what did not pass; -v lists all
  jobcheck report show results -o markdown --github >> $GITHUB_STEP_SUMMARY
                                        a step summary, and annotations

Exit codes:
  0  success
  1  failure: a requirement is broken
  2  wrong usage, an unreadable report, or a trace that is not the recorded one
  3  partial or inconclusive, or scenarios of the profile are missing
  4  the output cannot be written
  5  internal error: please report it";

const VERIFY_HELP: &str = "\
Examples:
  jobcheck report verify results        judges the traces of a folder again

The digests of the traces are compared first. Each scenario is judged with the
options in the report. A pass is confirmed if its traces conform, a failure if
each violation is found again at its line. What only an expectation of the
scenario shows is undecided: the judge does not know it.

The report must have the scenarios of its profile, unless some were chosen.
Each has the text and the requirements of the profile, and traces of its own.

results.json, junit.xml, and index.html must be those of report.yaml. If another
version of jobcheck wrote them, a page of another form is undecided. No other
file is compared, such as e2e.log; the output names them.

Exit codes:
  0  each outcome is confirmed
  1  an outcome or a file is not confirmed, or scenarios are missing
  2  wrong usage, or an unreadable report
  3  nothing was run, or an outcome or a file is undecided
  4  the output cannot be written
  5  internal error: please report it";

const DIFF_HELP: &str = "\
Examples:
  jobcheck report diff main this-change compares two runs

A scenario or a requirement is worse if it fails, or passes no longer.
Requirements that a scenario of the profile does not have are not counted.

Exit codes:
  0  nothing is worse
  1  something is worse
  2  wrong usage, or an unreadable report
  4  the output cannot be written
  5  internal error: please report it";

const MERGE_HELP: &str = "\
Examples:
  jobcheck report merge shard-0 shard-1 shard-2 --into all

The reports must be of one run: profile, seed, list of scenarios and versions
are compared. A missing shard makes the result partial, and can be merged later.

Exit codes:
  0  success
  1  failure: a requirement is broken
  2  wrong usage, an unreadable report, or reports of different runs
  3  partial or inconclusive
  4  the folder cannot be written
  5  internal error: please report it";
