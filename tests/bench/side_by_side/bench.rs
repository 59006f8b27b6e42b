//! The control plane on which all cases are measured.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jobcheck_bench::Result;
use jobcheck_bench::controller::MeasuredProcess;
use jobcheck_cluster::{self as cluster, Cluster, Home, Plane, Spec, Up, Version, program, up};
use jobcheck_record::Access;
use jobcheck_record::watch::{self, WatchTarget, WatchUpdate, text};
use jobcheck_traces::Resource;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::controller::Controllers;
use crate::kubelet::Kubelet;
use crate::measure::{Case, Figures, PodResult};
use crate::requests;

const NAMESPACE: &str = "default";
/// The time limit for the start of the control plane.
const READY: Duration = Duration::from_secs(120);
/// If no pod terminates for this long, the measurement fails.
const STALLED: Duration = Duration::from_secs(120);
/// The interval of checks.
const INTERVAL: Duration = Duration::from_millis(20);

/// A control plane without controllers, and a kubelet.
pub struct Bench {
    cluster: Cluster,
    program: PathBuf,
    client: Client,
    kubelet: Kubelet,
    finished: Receiver<(String, Instant)>,
    watch: JoinHandle<()>,
    /// The number of Jobs so far. Each has a name of its own.
    count: u32,
}

impl Bench {
    /// Starts the control plane and the kubelet.
    ///
    /// # Errors
    ///
    /// Go is missing, or a part does not start.
    pub async fn start() -> Result<Bench> {
        let home = Home::find()?;
        let program =
            program::built(&home.builds(), Version::default(), &mut |what| eprintln!("{what}")).await?;
        let name = format!("side-by-side-{}", std::process::id()).parse()?;
        let plane = Plane::Real { programs: program.clone().into(), controllers: cluster::Controllers::None };
        let spec = Spec { name, plane, version: Version::default(), port: None, timeout: READY };
        let Up::Started(cluster) = up(&home, &spec).await? else {
            return Err("a cluster of this name runs already".into());
        };
        let client = Access { kubeconfig: Some(cluster.kubeconfig()), context: None }.client().await?;
        let kubelet = Kubelet::start(client.clone(), NAMESPACE).await?;
        let (finished, watch) = follow_jobs(&client).await?;
        Ok(Bench { cluster, program, client, kubelet, finished, watch, count: 0 })
    }

    /// Measures a case with a new process of the controllers.
    ///
    /// # Errors
    ///
    /// The process ends, or the Job makes no progress.
    pub async fn measure(&mut self, controllers: Controllers, case: Case) -> Result<Figures> {
        let mut process = controllers.start(case.qps, &self.cluster, &self.program)?;
        // After one Job the process is ready, and has sent the requests that it sends only once.
        self.run(Case { pods: 1, pod_result: PodResult::Succeed, ..case }, &mut process).await?;
        let (before, calls_before) = (process.usage()?, requests::of_controllers(&self.client).await?);
        let (started, finished) = self.run(case, &mut process).await?;
        let (after, calls_after) = (process.usage()?, requests::of_controllers(&self.client).await?);
        let last = self.kubelet.terminated().last.ok_or("no pod has terminated")?;
        drop(process);
        self.clear().await?;
        Ok(Figures {
            seconds: (finished - started).as_secs_f64(),
            last_seconds: finished.saturating_duration_since(last).as_secs_f64(),
            calls: calls_after - calls_before,
            // The system counts in hundredths.
            cpu_seconds: ((after.cpu - before.cpu) * 100.0).round() / 100.0,
            peak_mb: after.peak as f64 / 1_000.0,
        })
    }

    /// Runs a Job. Returns the times of its creation and of its terminal condition.
    async fn run(&mut self, case: Case, process: &mut MeasuredProcess) -> Result<(Instant, Instant)> {
        self.count += 1;
        let name = format!("measured-{}", self.count);
        self.kubelet.reset(case.pod_result);
        let started = Instant::now();
        self.send("POST", &format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs"), &case.job(&name)).await?;
        let (mut pods, mut changed) = (0, Instant::now());
        loop {
            if let Some((_, at)) = self.finished.try_iter().find(|(job, _)| *job == name) {
                return Ok((started, at));
            }
            process.check()?;
            let terminated = self.kubelet.terminated().pods;
            if terminated != pods {
                (pods, changed) = (terminated, Instant::now());
            }
            if changed.elapsed() > STALLED {
                let all = case.pods;
                return Err(format!("a Job of {all} pods does not finish; {pods} have terminated").into());
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Removes Jobs and pods, so that the next process does not have them in its caches.
    async fn clear(&self) -> Result<()> {
        let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        for path in ["/apis/batch/v1", "/api/v1"].into_iter().zip(["jobs", "pods"]) {
            let path = format!("{}/namespaces/{NAMESPACE}/{}", path.0, path.1);
            self.send("DELETE", &path, &now).await?;
            while self.send("GET", &format!("{path}?limit=1"), &Value::Null).await?["items"][0].is_object() {
                tokio::time::sleep(INTERVAL).await;
            }
        }
        Ok(())
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)?;
        Ok(self.client.request(request).await?)
    }

    /// Stops the control plane.
    ///
    /// # Errors
    ///
    /// A process does not end.
    pub fn stop(self) -> Result<()> {
        self.watch.abort();
        drop(self.kubelet);
        Ok(self.cluster.stop()?)
    }
}

/// The names of finished Jobs, with the time at which a watch showed it.
async fn follow_jobs(client: &Client) -> Result<(Receiver<(String, Instant)>, JoinHandle<()>)> {
    let target = WatchTarget { namespace: Some(NAMESPACE.to_owned()), resource: Resource::Jobs };
    let version = watch::list(client, &target).await?.version;
    let (sender, receiver) = channel();
    let on_update = move |shown| match shown {
        WatchUpdate::Event { object, .. } if jobcheck_bench::is_finished(&object["status"]) => {
            sender.send((text(&object, "name").to_owned(), Instant::now())).is_ok()
        }
        _ => true,
    };
    Ok((receiver, tokio::spawn(watch::follow(client.clone(), target, version, on_update))))
}
