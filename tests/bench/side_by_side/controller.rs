//! The controllers that are compared, each in a process of its own.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use jobcheck_bench::Result;
use jobcheck_bench::controller::{ControllerSetup, MeasuredProcess};
use jobcheck_cluster::{Cluster, Usage, process};
use kube::{Client, Config};

/// The limit for kube-controller-manager if there is none, in requests per second.
const UNLIMITED: u32 = 1_000_000;

/// The controllers of a run. Both run the Job controller and the TTL-after-finished controller, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controllers {
    /// The shipped controllers.
    Shipped,
    /// Those of kube-controller-manager.
    BuiltIn,
}

impl Controllers {
    /// The name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Controllers::Shipped => "shipped",
            Controllers::BuiltIn => "built-in",
        }
    }

    /// Starts them on a cluster. A limit of 0 requests per second is no limit.
    ///
    /// # Errors
    ///
    /// They cannot be started.
    pub fn start(self, qps: u32, cluster: &Cluster, program: &Path) -> Result<Running> {
        let log = File::create(cluster.folder().join(format!("measured-{}.log", self.name())))?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let (mut command, scheme) = match self {
            Controllers::Shipped => {
                let (kubeconfig, qps) = (cluster.kubeconfig(), f64::from(qps));
                let metrics = Some(address.to_string());
                (ControllerSetup { kubeconfig, qps, metrics, failure_delay: None }.command()?, "http")
            }
            Controllers::BuiltIn => (built_in(qps, cluster, program, address.port()), "https"),
        };
        // The removal of the cluster ends the process, too.
        command.env(process::MARK, cluster.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        // kube-controller-manager has made its certificate itself.
        let mut config = Config::new(format!("{scheme}://{address}").parse()?);
        config.accept_invalid_certs = true;
        Ok(Running { metrics: Client::try_from(config)?, process: MeasuredProcess::start(&mut command)? })
    }
}

/// A process of controllers. It is killed when this is dropped.
pub struct Running {
    process: MeasuredProcess,
    metrics: Client,
}

impl Running {
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

    /// Its metrics.
    ///
    /// # Errors
    ///
    /// The process does not respond.
    pub async fn metrics(&self) -> Result<String> {
        Ok(self.metrics.request_text(http::Request::get("/metrics").body(Vec::new())?).await?)
    }
}

fn built_in(qps: u32, cluster: &Cluster, program: &Path, port: u16) -> Command {
    let rate = if qps == 0 { UNLIMITED } else { qps };
    let mut command = Command::new(program);
    command.current_dir(cluster.folder()).arg("kube-controller-manager");
    command.arg(format!("--kubeconfig={}", cluster.kubeconfig().display()));
    command.arg("--controllers=job-controller,ttl-after-finished-controller");
    command.args(["--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir=measured-certificates"]);
    command.arg(format!("--secure-port={port}")).arg("--authorization-always-allow-paths=/healthz,/metrics");
    command.arg(format!("--kube-api-qps={rate}")).arg(format!("--kube-api-burst={rate}"));
    command
}
