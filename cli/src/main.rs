//! The command line `jobcheck`, also a plugin of kubectl (`kubectl jobcheck`).
//!
//! ```console
//! $ jobcheck replay audit.log
//! $ jobcheck check non-indexed
//! $ jobcheck run backoff-limit --target sim
//! ```
//!
//! Each command is a module: its arguments and help, a function `run` that returns the exit code, and its reports. A
//! command does no checking itself. It calls the crates that do, and prints what they return.
//!
//! | module | command, and the crate that does the work |
//! | --- | --- |
//! | [`verify`] | `verify`: the commands below, without a cluster |
//! | [`replay`] | `replay`: `jobcheck_judge` |
//! | [`view`] | `view`: `jobcheck_judge`, `jobcheck_view` |
//! | [`check`], [`mutants`], `explore` | `check`, `mutants`, `explore`: `jobcheck_explorer`, `jobcheck_adapter` |
//! | [`mod@run`] | `run`: `jobcheck_scenario`, `jobcheck_sim`, `jobcheck_live` |
//! | [`fuzz`] | `fuzz`: the same |
//! | `record` | `record`: `jobcheck_record` |
//! | `watch_audit` | `watch-audit`: `jobcheck_watch` |
//! | `controller` | `controller`: `jobcheck_controller_runtime` |
//! | `cluster` | `cluster`: `jobcheck_cluster` |
//! | `conform` | `conform`: `jobcheck_conform`, `jobcheck_live` |
//! | [`redact`] | `redact`: `jobcheck_traces` |
//! | [`report`] | `report`: `jobcheck_report` |
//! | [`completions`], [`kubectl`], [`man`] | `completions`, completion for kubectl, `man` |
//!
//! | shared module | content |
//! | --- | --- |
//! | [`args`], [`global`], [`parse`] | the grammar, the flags of all commands, parsers of values |
//! | [`format`](mod@format), [`output`], [`styles`] | forms of reports, standard output and error |
//! | [`junit`], [`text`] | of `jobcheck_report`: JUnit XML, and the escapes of all text that reaches a terminal |
//! | [`progress`], [`memory`], [`interrupt`] | progress, memory, Ctrl-C |
//! | [`library`] | scenarios and traces that are part of the binary |
//! | [`shard`] | parts of `check` and `fuzz` for several machines |
//! | [`save`] | counterexamples as traces and scenarios |
//! | `real_cluster`, `runtime` | clusters for `run` and `fuzz`; threads for asynchronous commands |
//! | [`internal_error`] | panics |
//!
//! # Features
//!
//! All are on by default. `cluster` compiles everything that needs a Kubernetes client, TLS and tokio: `record`,
//! `watch-audit`, `controller`, `cluster`, `conform`, and the targets live, builtin and external. `explore` compiles the HTTP server
//! of `explore`, and `stateright` a second search for `check`. `verify` needs none of them.

/// The end of the help of a build without all commands.
#[cfg(all(feature = "cluster", feature = "explore"))]
macro_rules! left_out {
    () => {
        ""
    };
}
#[cfg(not(all(feature = "cluster", feature = "explore")))]
macro_rules! left_out {
    () => {
        "\n\nThis build lacks some commands and targets. Build it with the features cluster\n\
         (record, watch-audit, controller, cluster, conform, report; the targets live, builtin, external) and explore."
    };
}

mod args;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod completions;
#[cfg(feature = "cluster")]
mod conform;
#[cfg(feature = "cluster")]
mod controller;
#[cfg(feature = "explore")]
mod explore;
mod format;
mod fuzz;
mod global;
mod internal_error;
mod interrupt;
mod kubectl;
mod library;
mod man;
mod memory;
mod mutants;
mod output;
mod page;
mod parse;
mod progress;
#[cfg(feature = "cluster")]
mod real_cluster;
#[cfg(feature = "cluster")]
mod record;
mod redact;
mod replay;
#[cfg(feature = "cluster")]
mod report;
mod rule;
mod run;
#[cfg(feature = "cluster")]
mod runtime;
mod save;
mod shard;
#[cfg(any(feature = "cluster", feature = "explore"))]
mod signals;
mod status;
mod styles;
mod verify;
mod view;
#[cfg(feature = "cluster")]
mod watch_audit;

use std::process::ExitCode;

use clap::FromArgMatches;
use jobcheck_judge::report::Exit;
use jobcheck_report::{junit, text};

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    interrupt::outlive_large_files();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let exit = internal_error::guard(&arguments, || run(&arguments));
    ExitCode::from(exit.code())
}

fn run(arguments: &[std::ffi::OsString]) -> Exit {
    let parsed = args::command(arguments)
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => dispatch(cli, arguments),
        Err(error) => print_usage(&error),
    }
}

/// Prints help, the version, or a usage error. Help and versions are no errors; a closed pipe is none either.
fn print_usage(error: &clap::Error) -> Exit {
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        output::print_to_stderr(&text);
        return Exit::Unreadable;
    }
    output::print(&text, Exit::Conforms)
}

fn dispatch(cli: Cli, arguments: &[std::ffi::OsString]) -> Exit {
    cli.global.color.apply();
    match cli.command {
        Command::Verify(args) => verify::run(&args, &cli.global),
        Command::Replay(args) => replay::run(&args, &cli.global),
        Command::View(args) => view::run(&args, &cli.global),
        #[cfg(feature = "cluster")]
        Command::Record(args) => record::run(&args, &cli.global),
        Command::Check(args) => check::run(&args, &cli.global),
        #[cfg(feature = "explore")]
        Command::Explore(args) => explore::run(&args),
        Command::Mutants(args) => mutants::run(&args, &cli.global),
        #[cfg(feature = "cluster")]
        Command::WatchAudit(args) => watch_audit::run(&args, &cli.global),
        Command::Redact(args) => redact::run(&args),
        #[cfg(feature = "cluster")]
        Command::Report(args) => report::run(&args, &cli.global),
        Command::Rule(args) => rule::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Run(args) => run::run(&args, &cli.global),
        Command::Fuzz(args) => fuzz::run(&args, &cli.global),
        #[cfg(feature = "cluster")]
        Command::Controller(args) => controller::run(&args, &cli.global),
        #[cfg(feature = "cluster")]
        Command::Cluster(args) => cluster::run(&args, &cli.global),
        #[cfg(feature = "cluster")]
        Command::Conform(args) => conform::run(&args, &cli.global),
        Command::Completions(args) => completions::run(&args, arguments),
        Command::Man(args) => man::run(&args, arguments),
        Command::Kubectl(args) => kubectl::run(&args),
    }
}
