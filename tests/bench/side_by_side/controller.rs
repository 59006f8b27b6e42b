//! The controllers that are compared, each in a process of its own.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use jobcheck_bench::Result;
use jobcheck_bench::controller::{ControllerSetup, MeasuredProcess};
use jobcheck_cluster::{Cluster, process};

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
    pub fn start(self, qps: u32, cluster: &Cluster, program: &Path) -> Result<MeasuredProcess> {
        let log = File::create(cluster.folder().join(format!("measured-{}.log", self.name())))?;
        let mut command = match self {
            Controllers::Shipped => {
                let (kubeconfig, qps) = (cluster.kubeconfig(), f64::from(qps));
                ControllerSetup { kubeconfig, qps, metrics: None, failure_delay: None }.command()?
            }
            Controllers::BuiltIn => built_in(qps, cluster, program)?,
        };
        // The removal of the cluster ends the process, too.
        command.env(process::MARK, cluster.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        MeasuredProcess::start(&mut command)
    }
}

fn built_in(qps: u32, cluster: &Cluster, program: &Path) -> Result<Command> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let rate = if qps == 0 { UNLIMITED } else { qps };
    let mut command = Command::new(program);
    command.current_dir(cluster.folder()).arg("kube-controller-manager");
    command.arg(format!("--kubeconfig={}", cluster.kubeconfig().display()));
    command.arg("--controllers=job-controller,ttl-after-finished-controller");
    command.args(["--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir=measured-certificates"]);
    command.arg(format!("--secure-port={port}"));
    command.arg(format!("--kube-api-qps={rate}")).arg(format!("--kube-api-burst={rate}"));
    Ok(command)
}
