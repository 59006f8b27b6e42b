//! The controllers that are measured, each a process of its own.

use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jobcheck_cluster::{Cluster, Usage, process};
use jobcheck_controller::runtime::client::Target;
use jobcheck_controller::runtime::config::Config;
use jobcheck_controller::runtime::run::run as run_controllers;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::Result;

/// The first argument of the child that is ours.
pub const WORD: &str = "--controller";
/// What is no limit for kube-controller-manager, in requests a second.
const UNLIMITED: u32 = 1_000_000;

/// Who runs the Jobs. Both run the Job and the TTL-after-finished controller, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Who {
    /// The shipped controllers.
    Ours,
    /// kube-controller-manager.
    BuiltIn,
}

impl Who {
    /// As the tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Who::Ours => "ours",
            Who::BuiltIn => "built-in",
        }
    }
}

/// What the child that is ours does. Its end is that of its standard input.
///
/// # Errors
/// Wrong words, or the controllers could not begin.
pub fn run(words: &[String]) -> Result<()> {
    let [kubeconfig, qps] = words else {
        return Err(format!("{WORD} is for the benchmark itself").into());
    };
    let qps: u32 = qps.parse()?;
    let config = Config {
        target: Target { kubeconfig: Some(PathBuf::from(kubeconfig)), context: None },
        qps: f64::from(qps),
        burst: qps.max(1),
        // There is no other one.
        election: None,
        ..Config::default()
    };
    let stop = CancellationToken::new();
    let parent = stop.clone();
    std::thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        parent.cancel();
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(run_controllers(config, stop));
    ended.map_err(|error| error.to_string().into())
}

/// A controller; it ends when this is dropped.
#[derive(Debug)]
pub struct Controller(Child);

impl Controller {
    /// Starts it on this cluster, with so many requests a second, or without a limit.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(who: Who, qps: u32, cluster: &Cluster, program: &Path) -> Result<Controller> {
        let log = File::create(cluster.folder().join(format!("measured-{}.log", who.name())))?;
        let mut command = match who {
            Who::Ours => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg(WORD).arg(cluster.kubeconfig()).arg(qps.to_string());
                command
            }
            Who::BuiltIn => built_in(qps, cluster, program)?,
        };
        // Whoever clears the cluster ends it as well.
        command.env(process::MARK, cluster.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        Ok(Controller(command.spawn()?))
    }

    /// CPU and memory so far.
    ///
    /// # Errors
    /// It ended.
    pub fn used(&mut self) -> Result<Usage> {
        if let Some(status) = self.0.try_wait()? {
            return Err(format!("the controllers ended: {status}").into());
        }
        Ok(Usage::of(self.0.id())?)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // What it was measured for is over.
        drop(self.0.kill());
        drop(self.0.wait());
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
