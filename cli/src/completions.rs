//! `jobcheck completions`.

use std::ffi::OsString;

use clap::Args;
use clap_complete::Shell;
use jobcheck_harness::report::Exit;

use crate::{args, output};

/// Arguments of `jobcheck completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  jobcheck completions bash > /etc/bash_completion.d/jobcheck")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs, arguments: &[OsString]) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(arguments), "jobcheck", &mut script);
    output::print(&String::from_utf8_lossy(&script), Exit::Conforms)
}
