//! `jobcheck controller`: the shipped Job and TTL-after-finished controllers.

mod args;

use std::io::IsTerminal;

use anstream::eprintln;
use jobcheck_controller::runtime::config::Config;
use jobcheck_controller::runtime::run::{RunError, run as run_controllers};
use jobcheck_controller::runtime::signals;
use jobcheck_judge::report::Exit;
use tracing_subscriber::EnvFilter;

use self::args::LogFormat;
pub use self::args::{ControllerArgs, manager};
use crate::args::Global;
use crate::output;

/// Runs the controllers until a signal; returns what it comes to.
pub fn run(args: &ControllerArgs, global: &Global) -> Exit {
    let config = match args.config() {
        Ok(config) => config,
        Err(why) => {
            eprintln!("error: {why}");
            return Exit::Unreadable;
        }
    };
    log(args.log_format, global);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start threads: {error}");
            return Exit::Environment;
        }
    };
    match runtime.block_on(until_signal(config)) {
        Ok(()) => Exit::Conforms,
        Err(why) => {
            eprintln!("error: {}", why.lines().map(output::clean).collect::<Vec<_>>().join("\n"));
            Exit::Environment
        }
    }
}

async fn until_signal(config: Config) -> Result<(), String> {
    let stop = signals::listen().map_err(|error| format!("cannot take signals: {error}"))?;
    run_controllers(config, stop).await.map_err(|error: RunError| error.to_string())
}

/// Logs to standard error.
fn log(format: LogFormat, global: &Global) {
    let default = match (global.verbose, global.quiet) {
        (true, _) => "info,jobcheck_controller=debug",
        (_, true) => "error",
        // The client logs each answer with 5xx as an error; the controllers do so themselves, with what they were at.
        (false, false) => "info,kube_client=off",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    match format {
        LogFormat::Json => log.json().init(),
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
    }
}
