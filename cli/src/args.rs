//! The grammar of the command line.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand};

use crate::check::CheckArgs;
#[cfg(feature = "cluster")]
use crate::cluster::ClusterArgs;
use crate::completions::CompletionsArgs;
#[cfg(feature = "cluster")]
use crate::conform::ConformArgs;
#[cfg(feature = "cluster")]
use crate::controller::ControllerArgs;
#[cfg(feature = "explore")]
use crate::explore::ExploreArgs;
use crate::fuzz::FuzzArgs;
use crate::global::Global;
use crate::kubectl::KubectlArgs;
use crate::man::ManArgs;
use crate::mutants::MutantsArgs;
#[cfg(feature = "cluster")]
use crate::record::RecordArgs;
use crate::redact::RedactArgs;
use crate::replay::ReplayArgs;
#[cfg(feature = "cluster")]
use crate::report::ReportArgs;
use crate::rule::RuleArgs;
use crate::run::RunArgs;
use crate::status::StatusArgs;
use crate::verify::VerifyArgs;
use crate::view::ViewArgs;
#[cfg(feature = "cluster")]
use crate::watch_audit::WatchAuditArgs;

/// Check controllers of Kubernetes Jobs against a model-checked specification.
#[derive(Debug, Parser)]
#[command(name = "jobcheck", version, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// The flags that every command accepts.
    #[command(flatten)]
    pub global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify specification, shipped controllers, scenarios and corpus; no cluster.
    Verify(VerifyArgs),
    /// Judge recorded traces: audit logs, watch streams, native traces.
    Replay(Box<ReplayArgs>),
    /// Show judged traces as one page, which needs no network.
    View(Box<ViewArgs>),
    /// Record the Jobs and pods of any cluster as a trace for replay.
    #[cfg(feature = "cluster")]
    Record(RecordArgs),
    /// Judge the Jobs of a cluster continuously, from its audit log or webhook.
    #[cfg(feature = "cluster")]
    WatchAudit(Box<WatchAuditArgs>),
    /// Take what may be secret out of recorded traces.
    Redact(RedactArgs),
    /// Show, verify, compare and merge reports of conformance runs.
    #[cfg(feature = "cluster")]
    Report(ReportArgs),
    /// Explore every behaviour of small scopes, and check the properties.
    Check(CheckArgs),
    /// Step through a scope in the browser.
    #[cfg(feature = "explore")]
    Explore(ExploreArgs),
    /// Check that every known defect is caught.
    Mutants(MutantsArgs),
    /// Print a requirement: its text, its reason, and the code, mutants and traces that are about it.
    Rule(RuleArgs),
    /// Ask whether API servers of several versions would accept a status of a Job.
    Status(StatusArgs),
    /// Run scenarios on the model, in simulation, or on real clusters.
    Run(RunArgs),
    /// Run random scenarios, and shorten those that fail.
    Fuzz(FuzzArgs),
    /// Check a controller that runs somewhere against a profile, and write its results.
    #[cfg(feature = "cluster")]
    Conform(Box<ConformArgs>),
    /// Run the shipped Job and TTL-after-finished controllers on a cluster.
    #[cfg(feature = "cluster")]
    Controller(Box<ControllerArgs>),
    /// Start and stop local clusters, embedded or real.
    #[cfg(feature = "cluster")]
    Cluster(ClusterArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Man(ManArgs),
    /// Print the candidates for kubectl_complete-jobcheck.
    #[command(name = "__complete", hide = true)]
    Kubectl(KubectlArgs),
}

const AFTER_HELP: &str = concat!(
    "\
Examples:
  jobcheck verify                       checks everything that needs no cluster
  jobcheck replay audit.log             judges an audit log
  jobcheck check --list                 lists the scopes of the model
  jobcheck run backoff-limit            runs a scenario of the library

Exit codes:
  0  conforms
  1  a requirement is violated
  2  wrong usage, or an unreadable input; the message names file and line
  3  inconclusive: nothing to judge, a gap, a limit, or an interrupt
  4  the environment lacks something: a cluster, a permission, disk space
  5  internal error: please report it",
    left_out!()
);

/// The command line's grammar, under the name by which the program was called.
pub fn command(arguments: &[OsString]) -> clap::Command {
    let mut command = Cli::command().color(color_of(arguments)).max_term_width(WIDEST);
    if is_plugin(arguments) {
        command = command.bin_name(PLUGIN).mut_subcommands(as_plugin);
    }
    command
}

/// Columns that help fills on a wide terminal.
const WIDEST: usize = 100;

/// Replaces `jobcheck` by `kubectl jobcheck` in the examples of a command and its subcommands.
fn as_plugin(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = match help {
        Some(help) => command.after_help(help.replace("  jobcheck ", &format!("  {PLUGIN} "))),
        None => command,
    };
    command.mut_subcommands(as_plugin)
}

const PLUGIN: &str = "kubectl jobcheck";

/// Returns whether kubectl has called the program as a plugin.
fn is_plugin(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("kubectl-"))
}

/// The value of `--color`, for messages of the parser, which are printed before the flag is parsed.
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
