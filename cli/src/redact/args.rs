//! The arguments of `jobcheck redact`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `jobcheck redact`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RedactArgs {
    /// Audit logs, watch streams or native traces, unpacked; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write each file to this directory, under its own name. By default one file is written to standard output.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Values of environment variables and of HTTP headers, arguments, commands,
termination messages, and annotations are replaced by digests with a random key.
Names, labels, images and messages of the API server stay. Equal texts of one
call stay equal, so that the verdict is the same: give all files of a trace at
once. Events in texts, as log systems export them, are redacted, too.

Examples:
  jobcheck redact audit.log > redacted.log
  jobcheck redact jobs.jsonl pods.jsonl --to redacted
  zcat audit.log.gz | jobcheck redact - > redacted.log

Exit codes:
  0  every file was redacted
  2  wrong usage, or an input that cannot be redacted as a whole; the message
     names it
  4  the output cannot be written
  5  internal error: please report it";
