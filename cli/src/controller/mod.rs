//! `jobcheck controller`: runs the shipped Job and TTL-after-finished controllers.

mod args;

use std::io::IsTerminal;

use jobcheck_controller::runtime::config::Config;
use jobcheck_controller::runtime::run::{RunError, run as run_controllers};
use jobcheck_controller::runtime::signals;
use jobcheck_judge::report::Exit;
use tracing_subscriber::EnvFilter;

use self::args::LogFormat;
pub use self::args::{ControllerArgs, manager};
use crate::global::Global;
use crate::output;
use crate::runtime;

/// Runs the controllers until a signal. Returns the exit code.
pub fn run(args: &ControllerArgs, global: &Global) -> Exit {
    let config = match args.config() {
        Ok(config) => config,
        Err(why) => {
            output::error(why);
            return Exit::Unreadable;
        }
    };
    log(args.log_format, global);
    let runtime = match runtime::start() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    match runtime.block_on(until_signal(config)) {
        Ok(()) => Exit::Conforms,
        Err(why) => {
            output::error(output::clean_lines(&why));
            Exit::Environment
        }
    }
}

async fn until_signal(config: Config) -> Result<(), String> {
    let stop = signals::listen().map_err(|error| format!("cannot listen to signals: {error}"))?;
    run_controllers(config, stop).await.map_err(|error: RunError| error.to_string())
}

/// Starts the log on standard error.
fn log(format: LogFormat, global: &Global) {
    let default = match (global.verbose, global.quiet) {
        (true, _) => "info,jobcheck_controller=debug",
        (_, true) => "error",
        // The controllers log each 5xx response themselves, with its context.
        (false, false) => "info,kube_client=off",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    match format {
        LogFormat::Json => log.json().init(),
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
    }
}
