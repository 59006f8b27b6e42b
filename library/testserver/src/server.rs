//! The server of a test, with its clockwork.

use std::fmt;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, TokioClock};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config, Server};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::faults::{Drawn, Draws, Faults, Lag};
use crate::node::{Node, Pods};
use crate::recording::{Recorded, Recording};
use crate::verdict::{Verdict, judged};

/// The user of the controller under test.
const CONTROLLER: &str = "controller-under-test";

/// The time between two rounds of kubelet, garbage collectors, and lagging watches.
const ROUND: Duration = Duration::from_millis(250);

/// The time that a request takes. Virtual time passes only if everybody waits for it. Without a latency, a controller that never
/// rests would stop it.
const LATENCY: Duration = Duration::from_millis(5);

/// The time that [`TestServer::finished`] waits at most.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The settings of a [`TestServer`].
#[derive(Clone, Debug)]
pub struct Builder {
    seed: u64,
    faults: Faults,
    pods: Pods,
    user: String,
    manages: Manages,
}

/// The Jobs of the controller under test, and what it does for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manages {
    /// Jobs without `spec.managedBy`, as the built-in controller does.
    #[default]
    Unmanaged,
    /// Jobs with `spec.managedBy`, whose pods it creates.
    Pods,
    /// Jobs with `spec.managedBy`, whose status alone it writes.
    Status,
}

impl Builder {
    /// The seed of generated names, UIDs, and faults; 0 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Builder {
        self.seed = seed;
        self
    }

    /// The faults of the controller; none by default.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Builder {
        self.faults = faults;
        self
    }

    /// The end of pods; they succeed by default.
    #[must_use]
    pub fn pods(mut self, pods: Pods) -> Builder {
        self.pods = pods;
        self
    }

    /// The user name of the controller.
    #[must_use]
    pub fn controller(mut self, user: impl Into<String>) -> Builder {
        self.user = user.into();
        self
    }

    /// The Jobs of the controller, by which its requests are judged; those without `spec.managedBy` by default.
    #[must_use]
    pub fn manages(mut self, manages: Manages) -> Builder {
        self.manages = manages;
        self
    }

    /// Starts the server. It stops when it is dropped.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(self) -> TestServer {
        let Builder { seed, faults, pods, user, manages } = self;
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("the time is well-formed");
        let mut server = Server::new(Config { seed, ..Config::default() }, start);
        let recording = Recording::default();
        let sink = recording.clone();
        server.set_audit(Some(AuditSink::new(false, move |event| sink.add(Recorded::Request(event)))));
        let drawn =
            Drawn { recording: recording.clone(), faults, user: user.clone(), draws: Draws::of(seed) };
        server.set_faults(Some(Box::new(drawn)));
        let node = Node::new(&mut server, start, pods);
        let shared = SharedServer::new(server, TokioClock::starting_at(start));
        let clockwork = tokio::spawn(work(shared.clone(), node, Lag::new(faults, &user, seed)));
        TestServer { shared, recording, user, manages, seed, clockwork }
    }
}

/// Kubelet, garbage collectors, and lagging watches, one round after the other.
async fn work(shared: SharedServer, mut node: Node, mut lag: Lag) {
    loop {
        shared.with(|server, now| {
            node.work(server, now);
            server.collect_garbage(now);
            server.collect_pods(now);
            server.finish_namespaces(now);
            lag.go_on(server, now);
        });
        sleep(ROUND).await;
    }
}

/// An API server for one test.
pub struct TestServer {
    shared: SharedServer,
    recording: Recording,
    user: String,
    manages: Manages,
    seed: u64,
    clockwork: JoinHandle<()>,
}

/// A Job that has not finished in time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedOut {
    /// The Job as it is stored; `None` if it does not exist.
    pub job: Option<Value>,
    /// The number of the controller's refused writes, and the last refusal.
    pub refused: Option<String>,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say_what_is_there(formatter)?;
        self.refused.iter().try_for_each(|refused| write!(formatter, "; {refused}"))
    }
}

impl TimedOut {
    fn say_what_is_there(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.job {
            None => formatter.write_str("the Job does not exist after an hour"),
            Some(job) if is_empty(&job["status"]) => formatter
                .write_str("the Job is not finished after an hour, and nobody has written its status"),
            Some(job) => {
                write!(formatter, "the Job is not finished after an hour; its status: {}", job["status"])
            }
        }
    }
}

impl std::error::Error for TimedOut {}

impl TestServer {
    /// Begins the settings of a server.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            seed: 0,
            faults: Faults::none(),
            pods: Pods::Succeed,
            user: CONTROLLER.to_owned(),
            manages: Manages::default(),
        }
    }

    /// A server without faults, whose pods succeed.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start() -> TestServer {
        TestServer::builder().start()
    }

    /// The transport of the controller under test: `kube::Client::new(server.service(), "default")`.
    #[must_use]
    pub fn service(&self) -> ApiService {
        self.service_of(&self.user)
    }

    /// The transport of another user, whose requests never fail.
    #[must_use]
    pub fn service_of(&self, user: &str) -> ApiService {
        ApiService::new(self.shared.clone(), Auth::Everyone(user.to_owned())).with_latency(LATENCY)
    }

    /// The clock of the server. A controller that writes times must read this clock, because time is virtual.
    pub fn clock(&self) -> impl Fn() -> SystemTime + Clone + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || SystemTime::from(shared.now())
    }

    /// The stored Job; `None` if it does not exist.
    #[must_use]
    pub fn job(&self, namespace: &str, name: &str) -> Option<Value> {
        self.shared.with(|server, _| {
            let mut jobs = server.store().scan(Resource::Jobs, "");
            let is_it =
                |job: &Value| job["metadata"]["namespace"] == namespace && job["metadata"]["name"] == name;
            jobs.find(|(_, job)| is_it(job)).map(|(_, job)| Value::clone(job))
        })
    }

    /// Waits until a Job has the condition Complete or Failed, at most an hour, and returns the Job.
    ///
    /// # Errors
    ///
    /// The Job has not finished in time.
    pub async fn finished(&self, namespace: &str, name: &str) -> Result<Value, TimedOut> {
        let end = Instant::now() + PATIENCE;
        loop {
            let job = self.job(namespace, name);
            if let Some(job) = job.as_ref().filter(|job| is_finished(job)) {
                return Ok(job.clone());
            }
            if Instant::now() >= end {
                return Err(TimedOut { job, refused: self.recording.refusals(&self.user) });
            }
            sleep(ROUND).await;
        }
    }

    /// The recorded writes of all users, as a trace of jobcheck: one JSON object a line. `jobcheck replay` reads it.
    #[must_use]
    pub fn trace(&self) -> String {
        self.recording.trace()
    }

    /// Judges the recorded requests. [`Builder::manages`] says which Jobs are those of the controller under test.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        judged(self.trace(), &self.user, self.manages, self.seed)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.clockwork.abort();
    }
}

fn is_empty(status: &Value) -> bool {
    status.as_object().is_none_or(serde_json::Map::is_empty)
}

fn is_finished(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
    })
}
