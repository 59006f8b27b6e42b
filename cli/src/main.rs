//! The `jobcheck` command line, also known as `kubectl jobcheck`.

mod args;
mod check;
mod cluster;
mod completions;
mod controller;
mod explore;
mod fuzz;
mod internal_error;
mod mutants;
mod output;
mod real;
mod record;
mod replay;
mod rule;
mod run;
mod save;
mod styles;
mod verify;

use std::process::ExitCode;

use clap::FromArgMatches;
use jobcheck_judge::report::Exit;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
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
        Err(error) => explain_usage(&error),
    }
}

/// Help and versions are no errors; both may meet a closed pipe.
fn explain_usage(error: &clap::Error) -> Exit {
    let _ = error.print();
    if error.use_stderr() { Exit::Unreadable } else { Exit::Conforms }
}

fn dispatch(cli: Cli, arguments: &[std::ffi::OsString]) -> Exit {
    cli.global.color.apply();
    match cli.command {
        Command::Check(args) => check::run(&args, &cli.global),
        Command::Explore(args) => explore::run(&args),
        Command::Mutants(args) => mutants::run(&args, &cli.global),
        Command::Replay(args) => replay::run(&args, &cli.global),
        Command::Record(args) => record::run(&args, &cli.global),
        Command::Rule(args) => rule::run(&args),
        Command::Run(args) => run::run(&args, &cli.global),
        Command::Cluster(args) => cluster::run(&args, &cli.global),
        Command::Controller(args) => controller::run(&args, &cli.global),
        Command::Fuzz(args) => fuzz::run(&args, &cli.global),
        Command::Verify(args) => verify::run(&args, &cli.global),
        Command::Completions(args) => completions::run(&args, arguments),
    }
}
