//! The Jobs, and the kubelet of their pods.

use anyhow::anyhow;
use jobcheck_apiserver::Server;
use jobcheck_apiserver::http::SharedServer;
use jobcheck_apiserver::kubelet::{End, Kubelet};
use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_apiserver::resource::Resource;
use serde_json::{Value, json};

/// Jobs that are created as others finish, up to a number.
pub struct Load {
    server: SharedServer,
    kubelet: Kubelet,
    jobs: u64,
    window: usize,
    created: u64,
    living: usize,
}

impl Load {
    pub fn new(server: &SharedServer, jobs: u64, window: usize) -> anyhow::Result<Load> {
        let kubelet = server.with(|server, now| {
            let namespace = json!({"metadata": {"name": "default"}});
            // The server may have it already.
            let _ =
                server.handle(now, &Request::new(Resource::Namespaces, None, None, Verb::Create(namespace)));
            Kubelet::of(server, now, "node").map_err(|error| anyhow!("{error:?}"))
        })?;
        Ok(Load { server: server.clone(), kubelet, jobs, window, created: 0, living: 0 })
    }

    /// The number of Jobs that have finished and are deleted.
    pub fn gone(&self) -> u64 {
        self.created - self.living as u64
    }

    /// The Jobs that are created are all.
    pub fn create_no_more(&mut self) {
        self.jobs = self.created;
    }

    pub fn is_done(&self) -> bool {
        self.created == self.jobs && self.living == 0
    }

    /// The names of some Jobs that live.
    pub fn stuck(&self) -> String {
        self.server.with(|server, _| {
            let jobs = server.store().scan(Resource::Jobs, "").take(3);
            jobs.map(|(_, job)| format!("{} {}", job["metadata"]["name"], job["status"]))
                .collect::<Vec<_>>()
                .join(", ")
        })
    }

    /// Moves each pod one step on, collects garbage, and creates Jobs.
    pub fn step(&mut self) -> anyhow::Result<()> {
        let Load { server, kubelet, jobs, window, created, living } = self;
        server.with(|server, now| {
            for (name, phase, is_deleted) in pods(server) {
                // A controller may have deleted the pod meanwhile.
                let _ = match phase.as_str() {
                    _ if is_deleted => kubelet.finish(server, now, "default", &name),
                    "Pending" => kubelet
                        .bind(server, now, "default", &name)
                        .and_then(|()| kubelet.run(server, now, "default", &name, true)),
                    "Running" => kubelet.end(server, now, "default", &name, end(&name)),
                    _ => Ok(()),
                };
            }
            server.collect_garbage(now);
            *living = server.store().scan(Resource::Jobs, "").count();
            while *living < *window && *created < *jobs {
                let request =
                    Request::new(Resource::Jobs, Some("default"), None, Verb::Create(job(*created)));
                let refused = |error| anyhow!("a Job is refused: {error:?}");
                server.handle(now, &request).object().map_err(refused)?;
                *created += 1;
                *living += 1;
            }
            Ok(())
        })
    }
}

/// The names and phases of the pods, and whether they are being deleted.
fn pods(server: &Server) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods = server.store().scan(Resource::Pods, "");
    let row = |pod: &Value| {
        let metadata = &pod["metadata"];
        (text(&metadata["name"]), text(&pod["status"]["phase"]), metadata["deletionTimestamp"].is_string())
    };
    pods.map(|(_, pod)| row(pod)).collect()
}

/// Every sixteenth pod fails, by its name.
fn end(name: &str) -> End {
    let sum: u32 = name.bytes().map(u32::from).sum();
    if sum.is_multiple_of(16) { End::Failed(1) } else { End::Succeeded }
}

/// Jobs of four kinds in turn. One in 21 has three pods, and the others have one.
fn job(number: u64) -> Value {
    let container = json!({"name": "main", "image": "busybox", "args": ["sleep", "1"]});
    let completions = if number.is_multiple_of(21) { 3 } else { 1 };
    let mut spec = json!({"backoffLimit": 3, "ttlSecondsAfterFinished": 0, "completions": completions, "parallelism": 2,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}});
    match number % 4 {
        1 => spec["completionMode"] = json!("Indexed"),
        2 => {
            spec["completionMode"] = json!("Indexed");
            spec["backoffLimitPerIndex"] = json!(1);
        }
        3 => spec["podReplacementPolicy"] = json!("Failed"),
        _ => {}
    }
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("job-{number}")}, "spec": spec})
}
