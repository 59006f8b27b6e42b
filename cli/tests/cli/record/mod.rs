//! `jobcheck record`: watches of the embedded API server, audit logs and webhooks.

mod audit;
mod disk;
mod usage;
mod watches;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use rustix::process::Signal;
use serde_json::json;

use crate::cluster::{job, kill};
use crate::support::{Run, binary, replay};

/// The number of attempts to find something that must happen within a minute.
const LOOKS: usize = 600;
const LOOK: Duration = Duration::from_millis(100);

/// A recording in progress.
pub struct Recording {
    child: Child,
    pub trace: PathBuf,
}

impl Recording {
    /// Begins a recording, and waits for its first line.
    pub fn begin(trace: PathBuf, arguments: &[&str]) -> Recording {
        let mut command = binary();
        command.args(["record", "-o"]).arg(&trace).args(arguments);
        Recording::of(command, trace)
    }

    /// Begins a recording with another command.
    pub fn of(mut command: Command, trace: PathBuf) -> Recording {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut recording = Recording { child: command.spawn().unwrap(), trace };
        recording.until("\"kind\":\"start\"");
        recording
    }

    /// Waits until the trace contains a text.
    pub fn until(&mut self, what: &str) {
        for _ in 0..LOOKS {
            if self.text().contains(what) {
                return;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{status}: {:?}", self.read());
            }
            std::thread::sleep(LOOK);
        }
        panic!("{what:?} is not in the trace after a minute: {}", self.text());
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.trace).unwrap_or_default()
    }

    /// Ends the recording by a signal.
    pub fn end(mut self, signal: Signal) -> Run {
        kill(self.child.id(), signal);
        self.read()
    }

    /// Waits until the recording ends by itself.
    pub fn wait(mut self) -> Run {
        self.read()
    }

    /// The next line of standard error.
    pub fn error_line(&mut self) -> String {
        use std::io::BufRead;
        let mut line = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        std::io::BufReader::with_capacity(1, stderr).read_line(&mut line).unwrap();
        line
    }

    fn read(&mut self) -> Run {
        use std::io::Read;
        let (mut out, mut err) = (String::new(), String::new());
        let _ = self.child.stdout.take().unwrap().read_to_string(&mut out);
        let _ = self.child.stderr.take().unwrap().read_to_string(&mut err);
        Run { code: self.child.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a Job, lets each pod of it succeed, and waits until it is complete.
pub async fn run_a_job(client: Client, name: &str) {
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    jobs.create(&PostParams::default(), &job(name)).await.unwrap();
    for _ in 0..LOOKS {
        let status = jobs.get(name).await.unwrap().status.unwrap_or_default();
        if status
            .conditions
            .unwrap_or_default()
            .iter()
            .any(|it| it.type_ == "Complete" && it.status == "True")
        {
            return;
        }
        let_pods_succeed(&client, name).await;
        tokio::time::sleep(LOOK).await;
    }
    panic!("{name} is not complete after a minute");
}

async fn let_pods_succeed(client: &Client, job: &str) {
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for pod in pods.list(&ListParams::default().labels(&format!("job-name={job}"))).await.unwrap().items {
        let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
        if phase != "Succeeded" && pod.metadata.deletion_timestamp.is_none() {
            let ended = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
            let name = pod.metadata.name.unwrap();
            // The pod may have been deleted.
            let _ = pods.patch_status(&name, &PatchParams::default(), &ended).await;
        }
    }
}

/// The verdict on a trace, and the exit code.
pub fn verdict(trace: &Path) -> (String, i32) {
    let run = replay([trace]);
    (run.first_line().split(' ').next().unwrap_or_default().to_owned(), run.code)
}

/// Asserts that a trace has this Job only, and conforms.
pub fn assert_conforms(trace: &Path, job: &str) {
    let run = replay([trace]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains(": 1 Job, ") && run.out.contains(&format!("/{job}  executor, ")), "{run:?}");
    assert!(!run.out.contains("from mid-life on"), "{run:?}");
}
