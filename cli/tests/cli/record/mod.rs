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

/// How often something is looked at that is to come within a minute.
const LOOKS: usize = 600;
const LOOK: Duration = Duration::from_millis(100);

/// A recording under way.
pub struct Recording {
    child: Child,
    pub trace: PathBuf,
}

impl Recording {
    /// Begins, and waits until it has.
    pub fn begin(trace: PathBuf, arguments: &[&str]) -> Recording {
        let mut command = binary();
        command.args(["record", "-o"]).arg(&trace).args(arguments);
        Recording::of(command, trace)
    }

    /// The same with a command of its own.
    pub fn of(mut command: Command, trace: PathBuf) -> Recording {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut recording = Recording { child: command.spawn().unwrap(), trace };
        recording.until("\"kind\":\"start\"");
        recording
    }

    /// Waits until the trace holds this.
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

    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.trace).unwrap_or_default()
    }

    /// Ends it by a signal.
    pub fn end(mut self, signal: Signal) -> Run {
        kill(self.child.id(), signal);
        self.read()
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> Run {
        self.read()
    }

    /// A line that it has said on standard error.
    pub fn says(&mut self) -> String {
        use std::io::BufRead;
        let mut line = String::new();
        let said = self.child.stderr.as_mut().unwrap();
        std::io::BufReader::with_capacity(1, said).read_line(&mut line).unwrap();
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
            // It may be gone by now.
            let _ = pods.patch_status(&name, &PatchParams::default(), &ended).await;
        }
    }
}

/// The verdict of a trace, and its exit code.
pub fn verdict(trace: &Path) -> (String, i32) {
    let run = replay([trace]);
    (run.first_line().split(' ').next().unwrap_or_default().to_owned(), run.code)
}

/// The trace is one of this Job alone, which conforms.
pub fn assert_conforms(trace: &Path, job: &str) {
    let run = replay([trace]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains(": 1 Job, ") && run.out.contains(&format!("/{job}  executor, ")), "{run:?}");
    assert!(!run.out.contains("from mid-life on"), "{run:?}");
}
