//! The shipped controllers as a process of their own, with their metrics.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use jobcheck_bench::controller::{ControllerSetup, MeasuredProcess};
use jobcheck_bench::{Result, metrics};
use jobcheck_cluster::{Kubeconfig, Usage};
use tempfile::TempDir;

/// The time limit for the start of the process.
const READY: Duration = Duration::from_secs(20);
/// The time limit for a response with metrics.
const RESPONSE: Duration = Duration::from_secs(30);
/// The interval of checks.
const INTERVAL: Duration = Duration::from_millis(20);

/// The settings that differ from the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The limit of requests per second. 0 is no limit.
    pub qps: f64,
    /// The delay after each failure. `None` for the default delays.
    pub failure_delay: Option<Duration>,
}

/// The process. It ends when this is dropped, and with the benchmark.
#[derive(Debug)]
pub struct Controller {
    process: MeasuredProcess,
    metrics: SocketAddr,
    _folder: TempDir,
}

impl Controller {
    /// Starts the controllers, and waits until their caches are filled.
    ///
    /// # Errors
    ///
    /// They do not start in time.
    pub fn start(server: SocketAddr, settings: Settings) -> Result<Controller> {
        let metrics = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let folder = tempfile::Builder::new().prefix("jobcheck-scale-").tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let server = format!("http://{server}");
        let config =
            Kubeconfig { cluster: "scale", user: "scale", server: &server, authority: None, token: None };
        fs::write(&kubeconfig, config.text()?)?;
        let setup = ControllerSetup {
            kubeconfig,
            qps: settings.qps,
            metrics: Some(metrics.to_string()),
            failure_delay: settings.failure_delay.map(|delay| delay.as_millis() as u64),
        };
        let process = MeasuredProcess::start(setup.command()?.stdin(Stdio::piped()).stdout(Stdio::null()))?;
        let mut controller = Controller { process, metrics, _folder: folder };
        controller.wait_until_ready()?;
        Ok(controller)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while !self.get("/readyz").is_ok_and(|response| response.starts_with("HTTP/1.1 200")) {
            self.process.check()?;
            if started.elapsed() > READY {
                return Err("the controllers are not ready".into());
            }
            std::thread::sleep(INTERVAL);
        }
        Ok(())
    }

    /// Checks that the process still runs.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// The CPU and memory that the process has used so far.
    ///
    /// # Errors
    ///
    /// It has ended, or the system has no `/proc`.
    pub fn usage(&mut self) -> Result<Usage> {
        self.process.usage()
    }

    /// The number of syncs, and the bound of the bucket with the 99th percentile of their seconds.
    ///
    /// # Errors
    ///
    /// The metrics cannot be read.
    pub fn syncs(&self) -> Result<(u64, f64)> {
        Ok(metrics::syncs(&self.get("/metrics")?))
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.metrics)?;
        stream.set_read_timeout(Some(RESPONSE))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }
}
