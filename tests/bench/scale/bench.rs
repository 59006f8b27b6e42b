//! One measurement: a server, a kubelet, and the controllers.

use std::time::{Duration, Instant};

use jobcheck_apiserver::http::{ApiService, Auth, Limits, SharedServer, SystemClock, serve};
use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config, Server};
use jobcheck_cluster::Usage;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::Result;
use crate::controller::{Controller, Start};
use crate::jobs::NAMESPACE;
use crate::kubelet::{Fate, Playing, play};
use crate::observer::{Observer, Seen};

/// With no request for so long a measurement has come to nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// How often one looks whether it is over.
const LOOK: Duration = Duration::from_millis(10);

/// A server with its kubelet, and the controllers; all ends when this is dropped.
pub struct Bench {
    // Dropped in this order: who asks first, who answers last.
    controller: Controller,
    _kubelet: Playing,
    server: SharedServer,
    observer: Observer,
    before: Usage,
    begun: Instant,
    runtime: Option<Runtime>,
}

/// What a measurement tells.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// From the first Job's creation on.
    pub seconds: f64,
    /// Of the controllers, since they were ready.
    pub cpu_seconds: f64,
    /// Of the controllers, in kB.
    pub resident: u64,
    /// Of the controllers, in kB, ever.
    pub peak: u64,
    /// Syncs of Jobs.
    pub syncs: u64,
    /// Bound of the bucket of the 99th percentile of their seconds.
    pub p99_seconds: f64,
    /// Requests.
    #[serde(flatten)]
    pub seen: Seen,
}

impl Bench {
    /// Starts all.
    ///
    /// # Errors
    /// A part does not start.
    pub fn start(start: Start, fate: Fate) -> Result<Bench> {
        let config = Config { seed: 1, ..Config::default() };
        let server = SharedServer::new(Server::new(config, jiff::Timestamp::now()), SystemClock);
        let observer = Observer::default();
        let faults = Box::new(observer.clone());
        server.with(|server, _| server.set_faults(Some(faults)));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let service = ApiService::new(server.clone(), Auth::Everyone("admin".to_owned()));
        runtime.spawn(serve(listener, service, Limits::default(), std::future::pending()));
        let kubelet = play(&server, fate)?;
        let controller = Controller::start(address, start)?;
        let before = controller.used()?;
        *observer.seen() = Seen::default();
        let (begun, runtime) = (Instant::now(), Some(runtime));
        Ok(Bench { controller, _kubelet: kubelet, server, observer, before, begun, runtime })
    }

    /// Creates a Job.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn create(&self, job: Value) -> Result<()> {
        let request = Request::new(Resource::Jobs, Some(NAMESPACE), None, Verb::Create(job));
        let answer = self.server.with(|server, now| server.handle(now, &request).object());
        answer.map(drop).map_err(|error| format!("a Job was refused: {error:?}").into())
    }

    /// Waits until so many Jobs have finished.
    ///
    /// # Errors
    /// Nothing happens any more.
    pub fn finished(&mut self, jobs: usize) -> Result<()> {
        self.until(&format!("{jobs} Jobs do not finish"), |seen| seen.finished.len() >= jobs)
    }

    /// Waits until what was seen is enough.
    ///
    /// # Errors
    /// Nothing happens any more; `else_wrong` says what is missing then.
    pub fn until(&mut self, else_wrong: &str, enough: impl Fn(&Seen) -> bool) -> Result<()> {
        let (mut requests, mut heard) = (0, Instant::now());
        loop {
            let (now, done) = {
                let seen = self.observer.seen();
                (seen.total(), enough(&seen))
            };
            if done {
                return Ok(());
            }
            self.controller.check()?;
            if now != requests {
                (requests, heard) = (now, Instant::now());
            }
            if heard.elapsed() > SILENCE {
                let seen = self.observer.seen().clone();
                return Err(format!("{else_wrong}; seen: {}", serde_json::json!(seen)).into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.observer.seen().clone()
    }

    /// All figures, as of now.
    ///
    /// # Errors
    /// The controllers do not tell theirs.
    pub fn figures(&self) -> Result<Figures> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let used = self.controller.used()?;
        let (syncs, p99_seconds) = self.controller.syncs()?;
        let (cpu_seconds, seen) = (used.cpu - self.before.cpu, self.seen());
        Ok(Figures {
            seconds,
            cpu_seconds,
            resident: used.resident,
            peak: used.peak,
            syncs,
            p99_seconds,
            seen,
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
