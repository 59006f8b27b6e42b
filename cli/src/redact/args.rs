//! The arguments of `jobcheck redact`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jobcheck_traces::parse_duration;

use crate::parse::{DEFAULT_BUDGET, size};

/// Arguments of `jobcheck redact`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RedactArgs {
    /// Audit logs, watch streams, native traces, and exports of log systems, as `replay` reads them; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write each file to this directory, under its own name. By default one file is written to standard output.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Use this much memory at most, such as 512MB or 4GB. A record for which there is no room ends the command with exit code 3.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Stop after this time, such as 10m, with exit code 3.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = DEFAULT_BUDGET)]
    pub budget: Duration,
}

const AFTER_HELP: &str = "\
Values of environment variables and of HTTP headers, arguments, commands,
termination messages, annotations, and refused values in messages of the API
server are replaced by digests with a random key. Names, labels and images stay.
Equal texts of one call stay equal, so that the verdict is the same: give all
files of a trace at once. Each record becomes one line, out of the envelopes of
log systems. What no trace needs is left out: reads, other resources, and the
fields of audit events that `replay` does not read.

Examples:
  jobcheck redact audit.log > redacted.log
  jobcheck redact jobs.jsonl pods.jsonl --to redacted
  kubectl get pods -w -ojson --output-watch-events | jobcheck redact - > pods.jsonl

Exit codes:
  0  every file was redacted
  2  wrong usage, or an input that cannot be redacted as a whole; the message
     names it
  3  a limit was reached; the output is not whole, and a file of it is removed
  4  the output cannot be written
  5  internal error: please report it";
