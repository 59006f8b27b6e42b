//! `jobcheck controller`: runs the shipped Job and TTL-after-finished controllers.

mod args;

use std::fmt::Debug;
use std::io::{IsTerminal, Write};

use crate::signals;
use jobcheck_controller_runtime::config::Config;
use jobcheck_controller_runtime::run::{RunError, run as run_controllers};
use jobcheck_judge::report::Exit;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use self::args::LogFormat;
pub use self::args::{ControllerArgs, manager};
use crate::global::Global;
use crate::output;
use crate::runtime;
use crate::text::{clean, in_json};

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
            output::error_lines(&why);
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
        (true, _) => "info,jobcheck_controller_runtime=debug",
        (_, true) => "error",
        // The controllers log each 5xx response themselves, with its context.
        (false, false) => "info,kube_client=off",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    // After its terminal was closed, a process must still be able to end its work.
    let log = log.log_internal_errors(false);
    match format {
        LogFormat::Json => log.with_writer(|| CleanJson(std::io::stderr())).json().init(),
        LogFormat::Text => {
            let fields = debug_fn(|out, name, value| field(out, name.name(), value));
            log.with_ansi(std::io::stderr().is_terminal()).fmt_fields(fields).init();
        }
    }
}

/// Escapes what the strings of JSON lines may contain, and a terminal must not receive. Each line is written at once.
struct CleanJson<W>(W);

impl<W: Write> Write for CleanJson<W> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = in_json(String::from_utf8_lossy(line).into_owned());
        self.0.write_all(text.as_bytes()).map(|()| line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Writes a field of a log line. Messages of API servers, webhooks and quotas are in such fields.
fn field(out: &mut Writer<'_>, name: &str, value: &dyn Debug) -> std::fmt::Result {
    match name {
        "message" => write!(out, "{}", clean(&format!("{value:?}"))),
        // The metadata of records of the crate `log`, which the line begins with.
        name if name.starts_with("log.") => Ok(()),
        name => write!(out, " {}={}", name.trim_start_matches("r#"), clean(&format!("{value:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_line_has_no_raw_control_character() {
        let mut out = Vec::new();
        let line = "{\"failure\":\"a\u{9b}31m \u{202e}b\"}\n";
        CleanJson(&mut out).write_all(line.as_bytes()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "{\"failure\":\"a\\u009b31m \\u202eb\"}\n");
        let [raw, escaped] = [line, &*text].map(|it| serde_json::from_str::<serde_json::Value>(it).unwrap());
        assert_eq!(raw, escaped);
    }

    #[test]
    fn what_a_server_said_forges_no_line_of_the_log() {
        let mut line = String::new();
        field(&mut Writer::new(&mut line), "message", &format_args!("the sync failed")).unwrap();
        let said = format_args!("500: \u{1b}[31mboom\nINFO forged \u{202e}");
        field(&mut Writer::new(&mut line), "failure", &said).unwrap();
        assert_eq!(line, "the sync failed failure=500: \\u{1b}[31mboom\\nINFO forged \\u{202e}");
    }
}
