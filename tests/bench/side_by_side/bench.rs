//! The control plane on which all cases are measured.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jobcheck_bench::Result;
use jobcheck_cluster::{self as cluster, Cluster, Home, Plane, Spec, Up, Version, program, up};
use jobcheck_record::Access;
use jobcheck_record::watch::{self, WatchTarget, WatchUpdate, text};
use jobcheck_traces::Resource;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::controller::{Controllers, Running};
use crate::kubelet::Kubelet;
use crate::measure::{Case, Figures, PodResult};
use crate::requests::{self, PodsHandled};

const NAMESPACE: &str = "default";
/// The time limit for the start of the control plane.
const READY: Duration = Duration::from_secs(120);
/// If no pod terminates for this long, the measurement fails.
const STALLED: Duration = Duration::from_secs(120);
/// The interval of checks.
const INTERVAL: Duration = Duration::from_millis(20);
/// The time limit for their removal.
const REMOVED: Duration = Duration::from_secs(900);
/// The interval of checks for remaining pods, which a controller removes at its rate.
const REMOVAL: Duration = Duration::from_millis(500);

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
        let mut process = self.begin(controllers, case.qps).await?;
        self.expect(case.pod_result);
        let (before, calls_before) = (process.usage()?, requests::of_controllers(&self.client).await?);
        let (started, finished) = self.run_job(case.job(), &mut process).await?;
        let (after, calls_after) = (process.usage()?, requests::of_controllers(&self.client).await?);
        let last = self.kubelet.terminated().last.ok_or("no pod has terminated")?;
        self.end(process).await?;
        Ok(Figures {
            seconds: (finished - started).as_secs_f64(),
            last_seconds: finished.saturating_duration_since(last).as_secs_f64(),
            calls: calls_after - calls_before,
            // The system counts in hundredths.
            cpu_seconds: ((after.cpu - before.cpu) * 100.0).round() / 100.0,
            peak_mb: after.peak as f64 / 1_000.0,
        })
    }

    /// Starts a process of the controllers. After one Job it is ready, and has sent the requests that it sends only once.
    ///
    /// # Errors
    ///
    /// The process ends, or the Job makes no progress.
    pub async fn begin(&mut self, controllers: Controllers, qps: u32) -> Result<Running> {
        let mut process = controllers.start(qps, &self.cluster, &self.program)?;
        self.expect(PodResult::Succeed);
        let one = Case { pods: 1, pod_result: PodResult::Succeed, qps };
        self.run_job(one.job(), &mut process).await?;
        Ok(process)
    }

    /// Removes Jobs and pods, so that the next process does not have them in its caches. This process ends once all are gone: it
    /// removes its finalizers.
    ///
    /// # Errors
    ///
    /// The API server does not respond, or objects remain.
    pub async fn end(&self, mut process: Running) -> Result<()> {
        let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        let started = Instant::now();
        for path in ["/apis/batch/v1", "/api/v1"].into_iter().zip(["jobs", "pods"]) {
            let path = format!("{}/namespaces/{NAMESPACE}/{}", path.0, path.1);
            // A sync that was under way may create more. The API server would not delete 100,000 pods in the time of a request.
            self.send("DELETE", &format!("{path}?limit=1000"), &now).await?;
            while self.send("GET", &format!("{path}?limit=1"), &Value::Null).await?["items"][0].is_object() {
                process.check()?;
                if started.elapsed() > REMOVED {
                    return Err("pods of the measurement remain".into());
                }
                tokio::time::sleep(REMOVAL).await;
                self.send("DELETE", &format!("{path}?limit=1000"), &now).await?;
            }
        }
        Ok(())
    }

    /// From now on pods get this result.
    pub fn expect(&self, pod_result: PodResult) {
        self.kubelet.reset(pod_result);
    }

    /// The pods that controllers have handled on this control plane so far.
    ///
    /// # Errors
    ///
    /// The API server does not respond.
    pub async fn pods_handled(&self) -> Result<PodsHandled> {
        requests::pods_handled(&self.client).await
    }

    /// Waits until the pods that were handled satisfy a condition.
    ///
    /// # Errors
    ///
    /// The process ends, or no pod is handled for a time.
    pub async fn wait_until(
        &self,
        process: &mut Running,
        missing: &str,
        is_done: impl Fn(PodsHandled) -> bool,
    ) -> Result<()> {
        let (mut handled, mut changed) = (0.0, Instant::now());
        loop {
            let now = self.pods_handled().await?;
            if is_done(now) {
                return Ok(());
            }
            process.check()?;
            if now.created + now.counted > handled {
                (handled, changed) = (now.created + now.counted, Instant::now());
            }
            if changed.elapsed() > STALLED {
                return Err(missing.into());
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Creates a Job, and returns its name.
    ///
    /// # Errors
    ///
    /// The API server refuses it.
    pub async fn create(&mut self, mut job: Value) -> Result<String> {
        self.count += 1;
        let name = format!("measured-{}", self.count);
        job["metadata"] = json!({"name": name});
        self.send("POST", &format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs"), &job).await?;
        Ok(name)
    }

    /// Runs a Job. Returns the times of its creation and of its terminal condition.
    ///
    /// # Errors
    ///
    /// The process ends, or no pod terminates for a time.
    pub async fn run_job(&mut self, job: Value, process: &mut Running) -> Result<(Instant, Instant)> {
        let started = Instant::now();
        let name = self.create(job).await?;
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
                return Err(format!("a Job does not finish; {pods} pods have terminated").into());
            }
            tokio::time::sleep(INTERVAL).await;
        }
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
