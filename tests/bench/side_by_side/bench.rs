//! One control plane, on which all is measured.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jobcheck_cluster::{Cluster, Controllers, Home, Plane, Spec, Up, Version, program, up};
use jobcheck_record::Access;
use jobcheck_record::watch::{self, Scope, Shown, text};
use jobcheck_traces::Resource;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::Result;
use crate::controller::{Controller, Who};
use crate::kubelet::Kubelet;
use crate::measure::{Case, Fate, Figures};
use crate::requests;

const NAMESPACE: &str = "default";
/// How long the control plane may take to be ready.
const READY: Duration = Duration::from_secs(120);
/// If no pod ends for so long, a measurement has come to nothing.
const SILENCE: Duration = Duration::from_secs(120);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A control plane without controllers, and a kubelet.
pub struct Bench {
    cluster: Cluster,
    program: PathBuf,
    client: Client,
    kubelet: Kubelet,
    finished: Receiver<(String, Instant)>,
    watch: JoinHandle<()>,
    /// Measurements so far: no name is used twice.
    count: u32,
}

impl Bench {
    /// Starts it all.
    ///
    /// # Errors
    /// Go is missing, or a part does not start.
    pub async fn start() -> Result<Bench> {
        let home = Home::find()?;
        let program =
            program::built(&home.builds(), Version::default(), &mut |what| eprintln!("{what}")).await?;
        let name = format!("side-by-side-{}", std::process::id()).parse()?;
        let plane = Plane::Real { program: program.clone(), controllers: Controllers::None };
        let spec = Spec { name, plane, version: Version::default(), port: None, timeout: READY };
        let Up::Started(cluster) = up(&home, &spec).await? else {
            return Err("a cluster of this name runs already".into());
        };
        let client = Access { kubeconfig: Some(cluster.kubeconfig()), context: None }.client().await?;
        let kubelet = Kubelet::begin(client.clone(), NAMESPACE).await?;
        let (finished, watch) = follow_jobs(&client).await?;
        Ok(Bench { cluster, program, client, kubelet, finished, watch, count: 0 })
    }

    /// Measures a case with a controller of its own.
    ///
    /// # Errors
    /// The controller ends, or nothing happens any more.
    pub async fn measure(&mut self, who: Who, case: Case) -> Result<Figures> {
        let mut controller = Controller::start(who, case.qps, &self.cluster, &self.program)?;
        // Once it has run a Job it is ready, and has asked for all that it asks for but once.
        self.run(Case { pods: 1, fate: Fate::Succeed, ..case }, &mut controller).await?;
        let (used, calls) = (controller.used()?, requests::of_controllers(&self.client).await?);
        let (begun, ended) = self.run(case, &mut controller).await?;
        let (after, all) = (controller.used()?, requests::of_controllers(&self.client).await?);
        let last = self.kubelet.done().last.ok_or("no pod has ended")?;
        drop(controller);
        self.clear().await?;
        Ok(Figures {
            seconds: (ended - begun).as_secs_f64(),
            last_seconds: ended.saturating_duration_since(last).as_secs_f64(),
            calls: all - calls,
            // It is told in hundredths.
            cpu_seconds: ((after.cpu - used.cpu) * 100.0).round() / 100.0,
            peak_mb: after.peak as f64 / 1_000.0,
        })
    }

    /// Runs a Job; when it was created, and when it ended.
    async fn run(&mut self, case: Case, controller: &mut Controller) -> Result<(Instant, Instant)> {
        self.count += 1;
        let name = format!("measured-{}", self.count);
        self.kubelet.anew(case.fate);
        let begun = Instant::now();
        self.send("POST", &format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs"), &case.job(&name)).await?;
        let (mut pods, mut heard) = (0, Instant::now());
        loop {
            if let Some((_, at)) = self.finished.try_iter().find(|(job, _)| *job == name) {
                return Ok((begun, at));
            }
            controller.used()?;
            let done = self.kubelet.done().ended;
            if done != pods {
                (pods, heard) = (done, Instant::now());
            }
            if heard.elapsed() > SILENCE {
                return Err(format!("a Job of {} pods does not finish; {pods} have ended", case.pods).into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Removes Jobs and pods: the next controller is not to hold them.
    async fn clear(&self) -> Result<()> {
        let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        for path in ["/apis/batch/v1", "/api/v1"].into_iter().zip(["jobs", "pods"]) {
            let path = format!("{}/namespaces/{NAMESPACE}/{}", path.0, path.1);
            self.send("DELETE", &path, &now).await?;
            while self.send("GET", &format!("{path}?limit=1"), &Value::Null).await?["items"][0].is_object() {
                tokio::time::sleep(LOOK).await;
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
    /// A process does not end.
    pub fn stop(self) -> Result<()> {
        self.watch.abort();
        drop(self.kubelet);
        Ok(self.cluster.stop()?)
    }
}

/// Names of Jobs that have ended, and when that was seen.
async fn follow_jobs(client: &Client) -> Result<(Receiver<(String, Instant)>, JoinHandle<()>)> {
    let scope = Scope { namespace: Some(NAMESPACE.to_owned()), resource: Resource::Jobs };
    let version = watch::list(client, &scope).await?.version;
    let (sender, receiver) = channel();
    let out = move |shown| match shown {
        Shown::Event { object, .. } if has_ended(&object) => {
            sender.send((text(&object, "name").to_owned(), Instant::now())).is_ok()
        }
        _ => true,
    };
    Ok((receiver, tokio::spawn(watch::follow(client.clone(), scope, version, out))))
}

fn has_ended(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let terminal =
        |it: &Value| (it["type"] == "Complete" || it["type"] == "Failed") && it["status"] == "True";
    conditions.into_iter().any(terminal)
}
