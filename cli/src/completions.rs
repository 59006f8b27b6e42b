//! `jobcheck completions`: the completion scripts of shells.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};
use clap_complete::Shell;
use jobcheck_explorer::check::scopes;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_judge::report::Exit;
use jobcheck_spec::catalogue::CATALOGUE;

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
The script completes commands, flags, the ids of requirements and defects, and
the names of scopes.

Examples:
  jobcheck completions bash > /etc/bash_completion.d/jobcheck
  jobcheck completions zsh > ~/.zfunc/_jobcheck
  jobcheck completions fish > ~/.config/fish/completions/jobcheck.fish

Exit codes:
  0  the script is printed
  2  wrong usage, or no such shell
  4  the output cannot be written
  5  internal error: please report it";

/// Prints the script.
pub fn run(args: &CompletionsArgs, arguments: &[OsString]) -> Exit {
    let mut script = Vec::new();
    let mut command = completed(&args::command(arguments));
    clap_complete::generate(args.shell, &mut command, "jobcheck", &mut script);
    output::print(&String::from_utf8_lossy(&script), Exit::Conforms)
}

/// A command without its hidden commands, whose arguments know their values.
///
/// It is built anew because clap cannot remove a command from another.
pub fn completed(command: &Command) -> Command {
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set()).map(completed);
    let mut result = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().map(with_values))
        .subcommands(visible);
    if let Some(about) = command.get_about() {
        result = result.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        result = result.version(version.to_owned()).propagate_version(true);
    }
    result
}

/// An argument that completes the values that its name stands for.
fn with_values(arg: &Arg) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let values: Vec<&'static str> = match value {
        "REQUIREMENT" => CATALOGUE.iter().map(|entry| entry.id).collect(),
        "DEFECT" => MUTANTS.iter().map(|mutant| mutant.id).collect(),
        "SCOPE" => scopes().iter().map(|scope| scope.name).collect(),
        _ => return arg.clone(),
    };
    arg.clone().value_parser(PossibleValuesParser::new(values))
}
