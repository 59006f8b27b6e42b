//! One measurement: an API server, a kubelet, and the controllers.

use std::time::{Duration, Instant};

use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config, Server};
use jobcheck_bench::Result;
use jobcheck_cluster::Usage;
use jobcheck_serve::HttpServer;
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::controller::{Controller, Settings};
use crate::jobs::NAMESPACE;
use crate::kubelet::{self, KubeletThread, PodResult};
use crate::observer::{Counts, Observer};

/// If there is no request for this long, the measurement fails.
const STALLED: Duration = Duration::from_secs(60);
/// The interval of checks.
const INTERVAL: Duration = Duration::from_millis(10);

/// An API server with its kubelet, and the controllers. They end when this is dropped.
pub struct Bench {
    // Fields are dropped in this order: clients before the server.
    controller: Controller,
    _kubelet: KubeletThread,
    server: SharedServer,
    observer: Observer,
    before: Usage,
    started: Instant,
    runtime: Option<Runtime>,
}

/// The figures of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The seconds since the controllers were ready.
    pub seconds: f64,
    /// The CPU seconds of the controllers in that time.
    pub cpu_seconds: f64,
    /// The resident memory of the controllers in kB.
    pub resident: u64,
    /// The peak memory of the controllers in kB.
    pub peak: u64,
    /// The number of syncs of Jobs.
    pub syncs: u64,
    /// The bound of the bucket with the 99th percentile of their seconds.
    pub p99_seconds: f64,
    /// The requests.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Bench {
    /// Starts all parts.
    ///
    /// # Errors
    ///
    /// A part does not start.
    pub fn start(settings: Settings, pod_result: PodResult) -> Result<Bench> {
        let config = Config { seed: 1, ..Config::default() };
        let server = SharedServer::new(Server::new(config, jiff::Timestamp::now()), SystemClock);
        let observer = Observer::default();
        let faults = Box::new(observer.clone());
        server.with(|server, _| server.set_faults(Some(faults)));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let socket = runtime.block_on(HttpServer::bind("127.0.0.1:0"))?;
        let address = socket.address();
        let service = ApiService::new(server.clone(), Auth::Everyone("admin".to_owned()));
        runtime.spawn(service.serve(socket, std::future::pending()));
        let kubelet = kubelet::start(&server, pod_result)?;
        let mut controller = Controller::start(address, settings)?;
        let before = controller.usage()?;
        *observer.counts() = Counts::default();
        let (started, runtime) = (Instant::now(), Some(runtime));
        Ok(Bench { controller, _kubelet: kubelet, server, observer, before, started, runtime })
    }

    /// Creates a Job.
    ///
    /// # Errors
    ///
    /// The API server refuses it.
    pub fn create(&self, job: Value) -> Result<()> {
        let request = Request::new(Resource::Jobs, Some(NAMESPACE), None, Verb::Create(job));
        let response = self.server.with(|server, now| server.handle(now, &request).object());
        response.map(drop).map_err(|error| format!("a Job was refused: {error:?}").into())
    }

    /// Does the work of the garbage collector.
    pub fn collect_garbage(&self) {
        self.server.with(|server, now| server.collect_garbage(now));
    }

    /// Waits until this number of Jobs has finished.
    ///
    /// # Errors
    ///
    /// The controllers make no progress.
    pub fn wait_for_jobs(&mut self, jobs: usize) -> Result<()> {
        self.wait_until(&format!("{jobs} Jobs do not finish"), |counts| counts.finished.len() >= jobs)
    }

    /// Waits until the counts satisfy a condition.
    ///
    /// # Errors
    ///
    /// The controllers make no progress. The message says what is missing.
    pub fn wait_until(&mut self, missing: &str, is_done: impl Fn(&Counts) -> bool) -> Result<()> {
        let (mut requests, mut changed) = (0, Instant::now());
        loop {
            let (now, done) = {
                let counts = self.observer.counts();
                (counts.total(), is_done(&counts))
            };
            if done {
                return Ok(());
            }
            self.controller.check()?;
            if now != requests {
                (requests, changed) = (now, Instant::now());
            }
            if changed.elapsed() > STALLED {
                let counts = serde_json::json!(self.counts());
                return Err(format!("{missing}; requests so far: {counts}").into());
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.observer.counts().clone()
    }

    /// The figures so far.
    ///
    /// # Errors
    ///
    /// The controllers have ended, or their metrics cannot be read.
    pub fn figures(&mut self) -> Result<Figures> {
        let seconds = self.started.elapsed().as_secs_f64();
        let usage = self.controller.usage()?;
        let (syncs, p99_seconds) = self.controller.syncs()?;
        let (cpu_seconds, counts) = (usage.cpu - self.before.cpu, self.counts());
        let (resident, peak) = (usage.resident, usage.peak);
        Ok(Figures { seconds, cpu_seconds, resident, peak, syncs, p99_seconds, counts })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
