//! A run: the API server, the processes, and the loop over the Jobs.

mod disturb;
mod load;
mod samples;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use jiff::Timestamp;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer};
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::HttpServer;

use self::disturb::{Certificates, Disturbances, ShiftedClock, Tokens};
use self::load::Load;
use self::samples::Samples;

/// The arguments of a run.
#[derive(Debug, Args)]
pub struct Soak {
    /// Number of Jobs.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub jobs: u64,
    /// Number of Jobs that live at the same time.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub window: usize,
    /// Write samples and curves to files with this beginning: PATH.csv and PATH.svg.
    #[arg(long, value_name = "PATH", default_value = "target/soak")]
    pub report: PathBuf,
}

/// The number of samples of a run.
const SAMPLES: u64 = 200;
/// The changes of each resource that the API server keeps.
const HISTORY: usize = 8_000;
/// The time between two steps of the kubelet and the garbage collector, which look at all objects.
const TICK: Duration = Duration::from_millis(40);
/// The time without any finished Job after which the run is stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the program. Returns a table, and a line about the verdict.
///
/// # Errors
///
/// A Job is lost, a process ends, a verdict is a violation, or the memory grows.
pub async fn soak(program: &Path, soak: &Soak) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let clock = ShiftedClock::default();
    let config = Config { history: HISTORY, ..Config::default() };
    let server = SharedServer::new(Server::new(config, Timestamp::now()), clock.clone());
    let tokens = Tokens::begin(folder.path())?;
    let certificates = Certificates::begin()?;
    let address = serve(&server, &tokens, &certificates).await?;
    let kubeconfig = kubeconfig(folder.path(), &address, &tokens, &certificates)?;
    let processes = Processes::begin(program, &kubeconfig, folder.path())?;
    let disturbances = Disturbances::new(&server, clock, tokens, certificates, soak.jobs);
    let samples = run(soak, &server, disturbances, &processes).await?;
    let verdict = processes.end(folder.path()).with_context(|| samples.table())?;
    let report = format!("{}{verdict}\n", samples.table());
    samples.check().context(report.clone())?;
    Ok(report)
}

/// Serves the API on this machine. Each token is accepted that was valid once: clients read the file when they please.
async fn serve(
    server: &SharedServer,
    tokens: &Tokens,
    certificates: &Certificates,
) -> anyhow::Result<String> {
    let socket = HttpServer::bind("127.0.0.1:0").await?;
    let address = socket.address().to_string();
    let service = ApiService::new(server.clone(), Auth::Tokens(Arc::new(tokens.all())));
    let certificates = certificates.clone();
    let encrypted = move |stream| certificates.clone().accept(stream);
    tokio::spawn(async move { service.serve_over(encrypted, socket, std::future::pending()).await });
    Ok(address)
}

fn kubeconfig(
    folder: &Path,
    address: &str,
    tokens: &Tokens,
    certificates: &Certificates,
) -> anyhow::Result<PathBuf> {
    let (file, authority) = (folder.join("kubeconfig"), folder.join("authority.crt"));
    fs::write(&authority, certificates.authority())?;
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster:\n    server: https://{address}\n    certificate-authority: {}\n\
         contexts:\n- name: c\n  context: {{cluster: c, user: u}}\nusers:\n- name: u\n  user:\n    tokenFile: {}\n",
        authority.display(),
        tokens.file.display()
    );
    fs::write(&file, text)?;
    Ok(file)
}

/// The program, with its own allocator. The API server of the run may have another, with which it is faster. Ctrl-C reaches
/// the run alone, which ends its processes in their order.
fn own(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD").process_group(0);
    command
}

/// The processes under test.
struct Processes(Mutex<Vec<(&'static str, Child)>>);

impl Processes {
    fn begin(program: &Path, kubeconfig: &Path, folder: &Path) -> anyhow::Result<Processes> {
        let log = |name: &str| fs::File::create(folder.join(name));
        let mut all = Vec::new();
        for name in ["controller 1", "controller 2"] {
            let mut command = own(program);
            command.args(["controller", "--qps=100000", "--burst=100000", "--sync-batch-period=10ms"]);
            command.args([
                "--concurrent-job-syncs=64",
                "--concurrent-ttl-syncs=64",
                "--pod-failure-backoff=1ms",
            ]);
            command.args(["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"]);
            command.args(["--leader-elect-retry-period=500ms", "--leader-elect-resource-namespace=default"]);
            command.env("RUST_LOG", "error").arg("--kubeconfig").arg(kubeconfig);
            all.push((name, command.stdin(Stdio::null()).stderr(log(name)?).spawn()?));
        }
        let mut record = own(program);
        record.args(["record", "-A", "-o", "-", "--quiet", "--kubeconfig"]).arg(kubeconfig);
        let mut record = record.stdout(Stdio::piped()).stderr(log("record")?).spawn()?;
        let trace = record.stdout.take().context("the recorder has no output")?;
        let mut replay = own(program);
        replay.args([
            "replay",
            "-",
            "-ojson",
            "--list=violations",
            "--assume",
            "pod-failure-backoff=1ms",
            "--budget=1000h",
        ]);
        let replay = replay.stdin(trace).stdout(log("verdict")?).stderr(log("replay")?).spawn()?;
        all.extend([("record", record), ("replay", replay)]);
        Ok(Processes(Mutex::new(all)))
    }

    /// The names and ids.
    fn ids(&self) -> Vec<(&'static str, u32)> {
        let all = self.0.lock().unwrap_or_else(|it| it.into_inner());
        all.iter().map(|(name, child)| (*name, child.id())).collect()
    }

    /// The name of a process that has ended.
    fn ended(&self) -> Option<&'static str> {
        let mut all = self.0.lock().unwrap_or_else(|it| it.into_inner());
        all.iter_mut().find_map(|(name, child)| child.try_wait().ok().flatten().map(|_| *name))
    }

    /// Ends all processes in their order, and returns a line about the verdict. An error if it is a violation.
    fn end(&self, folder: &Path) -> anyhow::Result<String> {
        let mut all = self.0.lock().unwrap_or_else(|it| it.into_inner());
        for (name, child) in all.iter_mut() {
            if *name != "replay" {
                let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            }
            child.wait()?;
        }
        let report: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("verdict"))?)?;
        let wrong = report["jobs"].as_array().into_iter().flatten().next();
        let number = |key: &str| report["unlisted"][key].as_u64().unwrap_or(0);
        let (conforming, inconclusive) = (number("conforming"), number("inconclusive"));
        ensure!(
            wrong.is_none(),
            "the judge finds a violation: {}",
            wrong.unwrap_or(&serde_json::Value::Null)
        );
        Ok(format!(
            "the recording has {} events of {} Jobs: {conforming} conform, {inconclusive} are inconclusive",
            report["events"],
            conforming + inconclusive
        ))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in self.0.lock().unwrap_or_else(|it| it.into_inner()).iter_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Makes all Jobs, and waits until each has finished and is gone. Ctrl-C ends the creation of Jobs.
async fn run(
    soak: &Soak,
    server: &SharedServer,
    mut disturbances: Disturbances,
    processes: &Processes,
) -> anyhow::Result<Samples> {
    let mut load = Load::new(server, soak.jobs, soak.window)?;
    let mut samples = Samples::new(processes.ids(), soak.jobs);
    let every = (soak.jobs / SAMPLES).max(1);
    let mut last = (0, Instant::now());
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut is_last = false;
    while !load.is_done() {
        load.step()?;
        disturbances.step(load.gone())?;
        if load.gone() > last.0 {
            last = (load.gone(), Instant::now());
        }
        if load.gone() >= samples.next(every) {
            samples.take(load.gone(), &disturbances);
            samples.write(&soak.report)?;
        }
        if let Some(name) = processes.ended() {
            anyhow::bail!("{name} has ended after {} Jobs", load.gone());
        }
        ensure!(last.1.elapsed() < PATIENCE, "no Job has finished for {PATIENCE:?}: {}", load.stuck());
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            // A long run that is ended early has a verdict on its Jobs so far.
            _ = &mut interrupted, if !is_last => {
                is_last = true;
                load.create_no_more();
            }
        }
    }
    samples.ends_after(load.gone());
    samples.write(&soak.report)?;
    Ok(samples)
}
