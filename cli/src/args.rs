//! The arguments that all commands share.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::check::CheckArgs;
use crate::cluster::ClusterArgs;
use crate::completions::CompletionsArgs;
use crate::controller::ControllerArgs;
use crate::explore::ExploreArgs;
use crate::fuzz::FuzzArgs;
use crate::mutants::MutantsArgs;
use crate::record::RecordArgs;
use crate::replay::ReplayArgs;
use crate::rule::RuleArgs;
use crate::run::RunArgs;
use crate::verify::VerifyArgs;

/// Checks controllers of Kubernetes Jobs against the specification.
#[derive(Debug, Parser)]
#[command(name = "jobcheck", version, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What all commands share.
    #[command(flatten)]
    pub global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The main job, offline: specification, shipped controllers, scenarios, and the corpus of traces.
    Verify(VerifyArgs),
    /// Judge recorded traces: audit logs, watch streams, native traces.
    Replay(ReplayArgs),
    /// Record what happens to Jobs and pods on any cluster, for replay.
    Record(RecordArgs),
    /// Explore the specification: every behaviour of small scopes keeps the invariants.
    Check(CheckArgs),
    /// Step through a scope in the browser.
    Explore(ExploreArgs),
    /// Look for known defects: each must be caught as a mutant of the reference algorithm.
    Mutants(MutantsArgs),
    /// Run scenarios: what happens to Jobs step by step, and what is expected.
    Run(RunArgs),
    /// Run random scenarios with the shipped controllers, and shorten what is wrong.
    Fuzz(FuzzArgs),
    /// Print a requirement: its text, its reason, and the code, mutants and traces that stand for it.
    Rule(RuleArgs),
    /// Run the shipped Job and TTL-after-finished controllers.
    Controller(Box<ControllerArgs>),
    /// Start and stop a local cluster, embedded or real, to aim kubectl and controllers at.
    Cluster(ClusterArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
}

/// What all commands share.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are honoured.
    #[arg(long, global = true, help_heading = "Global options", value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Show more: all Jobs, every id, warnings and what is pending.
    #[arg(short, long, global = true, help_heading = "Global options", conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show less: of each trace one line, of searches what they came to; and no progress.
    #[arg(long, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

/// The arguments of a command for which none are given.
pub fn usual<A: clap::Args>() -> A {
    /// The arguments as a command of their own.
    #[derive(Parser)]
    struct Alone<A: clap::Args> {
        #[command(flatten)]
        args: A,
    }
    Alone::parse_from(["jobcheck"]).args
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes it so for all that is printed.
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

const AFTER_HELP: &str = "\
Exit codes:
  0  conforms
  1  a requirement is violated
  2  wrong usage, or an input that cannot be read (the message names file and line)
  3  inconclusive: nothing to judge, a gap, or a level of recording that shows too little
  4  something is missing in the environment
  5  internal error: please report it";

/// The command line's grammar, under the name by which the program was called.
pub fn command(arguments: &[OsString]) -> clap::Command {
    let mut command = Cli::command().color(color_of(arguments));
    if is_plugin(arguments) {
        command = command.bin_name(PLUGIN).mut_subcommands(as_plugin);
    }
    command
}

/// The examples of a command, and of those below it, as kubectl's user types them.
fn as_plugin(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = match help {
        Some(help) => command.after_help(help.replace("  jobcheck ", &format!("  {PLUGIN} "))),
        None => command,
    };
    command.mut_subcommands(as_plugin)
}

const PLUGIN: &str = "kubectl jobcheck";

/// Whether kubectl called.
fn is_plugin(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("kubectl-"))
}

/// `--color` counts for the messages of the parser too, which come before it is parsed.
fn color_of(arguments: &[OsString]) -> clap::ColorChoice {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let value = words.iter().enumerate().find_map(|(position, word)| match &**word {
        "--color" => words.get(position + 1).map(|value| value.to_string()),
        word => word.strip_prefix("--color=").map(str::to_owned),
    });
    match value.as_deref() {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn kubectl_is_recognised_by_the_name_of_the_program() {
        assert!(is_plugin(&["/usr/local/bin/kubectl-jobcheck".into()]));
        assert!(!is_plugin(&["/opt/kubectl-things/jobcheck".into()]));
        assert!(!is_plugin(&[]));
    }
}
