//! The shipped controllers in a child process, so that its CPU and memory are theirs alone.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command};

use jobcheck_cluster::Usage;
use jobcheck_controller_runtime::client::Target;
use jobcheck_controller_runtime::config::Config;
use jobcheck_controller_runtime::run;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Result, arguments};

/// The first argument of the child process. The second one is a [`ControllerSetup`] as JSON.
const ARGUMENT: &str = "--controller";

/// The settings of the controllers. All others are the defaults.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ControllerSetup {
    /// The kubeconfig of their API server.
    pub kubeconfig: PathBuf,
    /// The limit of requests per second. Without a limit it is 0.
    pub qps: f64,
    /// The address at which metrics are served.
    pub metrics: Option<String>,
    /// The delay after each failure in milliseconds, instead of the default delays.
    pub failure_delay: Option<u64>,
}

impl ControllerSetup {
    /// The command that starts this program again, as the controllers. They end when their standard input is closed.
    ///
    /// # Errors
    ///
    /// The path of this program is unknown.
    pub fn command(&self) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(ARGUMENT).arg(serde_json::to_string(self)?);
        Ok(command)
    }

    fn config(self) -> Config {
        let mut config = Config {
            target: Target { kubeconfig: Some(self.kubeconfig), context: None },
            metrics_bind_address: self.metrics,
            qps: self.qps,
            // The burst is the number of requests of one second.
            burst: self.qps.max(1.0) as u32,
            // There is no other replica.
            election: None,
            ..Config::default()
        };
        if let Some(delay) = self.failure_delay.map(std::time::Duration::from_millis) {
            config.settings.pod_failure_backoff = delay;
            config.settings.pod_failure_backoff_max = delay;
        }
        config
    }
}

/// Runs the controllers, if this process is the child of a benchmark. A benchmark calls it first.
///
/// `None` if the process is the benchmark itself.
#[must_use]
pub fn run_child() -> Option<Result<()>> {
    match arguments().as_slice() {
        [_, first, setup] if first == ARGUMENT => {
            Some(serde_json::from_str(setup).map_err(Into::into).and_then(run_controllers))
        }
        _ => None,
    }
}

fn run_controllers(setup: ControllerSetup) -> Result<()> {
    let stop = CancellationToken::new();
    let parent = stop.clone();
    std::thread::spawn(move || {
        drop(io::stdin().read_to_end(&mut Vec::new()));
        parent.cancel();
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run::run(setup.config(), stop));
    result.map_err(|error| error.to_string().into())
}

/// A process that is measured. It is killed when this is dropped.
#[derive(Debug)]
pub struct MeasuredProcess(Child);

impl MeasuredProcess {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<MeasuredProcess> {
        Ok(MeasuredProcess(command.spawn()?))
    }

    /// Checks that the process still runs.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the controllers ended: {status}").into()),
        }
    }

    /// The CPU and memory that the process has used so far.
    ///
    /// # Errors
    ///
    /// It has ended, or the system has no `/proc`.
    pub fn usage(&mut self) -> Result<Usage> {
        self.check()?;
        Ok(Usage::of(self.0.id())?)
    }
}

impl Drop for MeasuredProcess {
    fn drop(&mut self) {
        // The measurement is complete, so it need not finish its work.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
