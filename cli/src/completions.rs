//! `jobcheck completions`.

use std::ffi::OsString;

use clap::Args;
use clap_complete::Shell;
use jobcheck_judge::report::Exit;

use crate::{args, output};

/// Arguments of `jobcheck completions`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

const AFTER_HELP: &str = "\
Example:
  jobcheck completions bash > /etc/bash_completion.d/jobcheck

Exit codes:
  0  the completions are printed
  2  wrong usage, or no such shell
  4  the output cannot be written
  5  internal error: please report it";

/// Prints the script.
pub fn run(args: &CompletionsArgs, arguments: &[OsString]) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(arguments), "jobcheck", &mut script);
    output::print(&String::from_utf8_lossy(&script), Exit::Conforms)
}
