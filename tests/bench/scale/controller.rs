//! The shipped controllers in a process of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jobcheck_cluster::Usage;
use jobcheck_controller::runtime::client::Target;
use jobcheck_controller::runtime::config::Config;
use jobcheck_controller::runtime::run::run as run_controllers;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Result;

/// The first argument of the child.
pub const WORD: &str = "--controller";
/// How long the child may take to start, and to stop.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an answer of its metrics may take.
const ANSWER: Duration = Duration::from_secs(30);
const SYNC_BUCKET: &str = "job_controller_job_sync_duration_seconds_bucket{";

/// How the controllers are started; all else is as shipped.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Requests a second; 0 for no limit.
    pub qps: f64,
    /// The delay after each failure, where it is not that of the built-in.
    pub backoff: Option<Duration>,
}

/// What the child does. Its end is that of its standard input.
///
/// # Errors
/// Wrong words, or the controllers could not begin.
pub fn run(words: &[String]) -> Result<()> {
    let [kubeconfig, metrics, qps, backoff] = words else {
        return Err(format!("{WORD} is for the benchmark itself").into());
    };
    let mut config = Config {
        target: Target { kubeconfig: Some(PathBuf::from(kubeconfig)), context: None },
        metrics_bind_address: Some(metrics.clone()),
        qps: qps.parse()?,
        // There is no other one.
        election: None,
        ..Config::default()
    };
    // As many at once as in a second.
    config.burst = qps.parse::<f64>()?.max(1.0) as u32;
    if let Some(delay) = backoff.parse().ok().map(Duration::from_millis) {
        config.settings.pod_failure_backoff = delay;
        config.settings.pod_failure_backoff_max = delay;
    }
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

/// The child; it ends when this is dropped, and with this process.
#[derive(Debug)]
pub struct Controller {
    child: Child,
    metrics: SocketAddr,
}

impl Controller {
    /// Starts the controllers, and waits until their caches are filled.
    ///
    /// # Errors
    /// They do not start.
    pub fn start(server: SocketAddr, start: Start) -> Result<Controller> {
        let metrics = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let name = format!("jobcheck-scale-{}-{}", std::process::id(), metrics.port());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        let ready = spawn(&folder, server, metrics, start).and_then(|child| {
            let mut controller = Controller { child, metrics };
            controller.ready()?;
            Ok(controller)
        });
        // It has read its file, or never will.
        fs::remove_dir_all(&folder)?;
        ready
    }

    fn ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        while !self.get("/readyz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            self.check()?;
            if begun.elapsed() > PATIENCE {
                return Err("the controllers are not ready".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// It ended.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the controllers ended: {status}").into()),
        }
    }

    /// CPU and memory so far.
    ///
    /// # Errors
    /// `/proc` does not have them: this is no Linux, or it ended.
    pub fn used(&self) -> Result<Usage> {
        Ok(Usage::of(self.child.id())?)
    }

    /// How many syncs there were, and the bound of the bucket that holds the 99th percentile of their seconds.
    ///
    /// # Errors
    /// The metrics cannot be read.
    pub fn syncs(&self) -> Result<(u64, f64)> {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for line in self.get("/metrics")?.lines().filter(|line| line.starts_with(SYNC_BUCKET)) {
            let bound = line.split("le=\"").nth(1).and_then(|it| it.split('"').next()).unwrap_or_default();
            let bound: f64 = bound.parse().unwrap_or(f64::INFINITY);
            let count = line.rsplit(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
            // The bits of positive numbers are in the order of the numbers.
            *buckets.entry(bound.to_bits()).or_default() += count;
        }
        let all = buckets.values().last().copied().unwrap_or(0);
        let holds = buckets.iter().find(|(_, count)| **count * 100 >= all * 99);
        Ok((all, holds.map_or(0.0, |(bound, _)| f64::from_bits(*bound))))
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.metrics)?;
        stream.set_read_timeout(Some(ANSWER))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

fn spawn(folder: &Path, server: SocketAddr, metrics: SocketAddr, start: Start) -> Result<Child> {
    let kubeconfig = folder.join("kubeconfig");
    let context = json!({"name": "scale", "context": {"cluster": "scale", "user": "scale"}});
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "scale", "contexts": [context],
        "clusters": [{"name": "scale", "cluster": {"server": format!("http://{server}")}}],
        "users": [{"name": "scale", "user": {}}],
    });
    fs::write(&kubeconfig, config.to_string())?;
    let backoff = start.backoff.map_or_else(|| "default".to_owned(), |delay| delay.as_millis().to_string());
    let child = Command::new(std::env::current_exe()?)
        .arg(WORD)
        .arg(&kubeconfig)
        .args([metrics.to_string(), start.qps.to_string(), backoff])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    Ok(child)
}

impl Drop for Controller {
    fn drop(&mut self) {
        // What it was measured for is over: it need not finish what is under way.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
