//! A kubelet that terminates each pod, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_apiserver::Server;
use jobcheck_apiserver::http::SharedServer;
use jobcheck_apiserver::kubelet::{End, Kubelet};
use jobcheck_apiserver::request::{Reply, Request, Verb, WatchOptions};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::watch::WatchId;
use jobcheck_bench::Result;
use serde_json::Value;

use crate::jobs::NAMESPACE;

/// The number of events that are handled while the server is locked.
const BATCH: usize = 32;
/// The pause after a round without events.
const PAUSE: Duration = Duration::from_millis(5);

/// The result of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodResult {
    /// Each succeeds at once.
    Succeed,
    /// This number of pods fails together, once all of them run. Each later one succeeds at once.
    FailFirst(usize),
    /// This number of pods succeeds together, once all of them run.
    SucceedTogether(usize),
}

impl PodResult {
    /// The pods never terminate.
    pub const NONE: PodResult = PodResult::SucceedTogether(usize::MAX);
}

/// The thread of a kubelet. It ends when this is dropped.
#[derive(Debug)]
pub struct KubeletThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for KubeletThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            drop(thread.join());
        }
    }
}

/// Starts a kubelet.
///
/// # Errors
///
/// The API server refuses the node.
pub fn start(server: &SharedServer, pod_result: PodResult) -> Result<KubeletThread> {
    let kubelet = server.with(|server, now| Kubelet::of(server, now, "node"));
    let kubelet = kubelet.map_err(|error| format!("the node was refused: {error:?}"))?;
    let mut node =
        Node { kubelet, pod_result, watch: None, started: 0, running: Vec::new(), ending: Vec::new() };
    let stop = Arc::new(AtomicBool::new(false));
    let (server, stopped) = (server.clone(), Arc::clone(&stop));
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            if !server.with(|server, now| node.handle_events(server, now)) {
                std::thread::sleep(PAUSE);
            }
        }
    });
    Ok(KubeletThread { stop, thread: Some(thread) })
}

struct Node {
    kubelet: Kubelet,
    pod_result: PodResult,
    watch: Option<WatchId>,
    /// The number of pods that were started.
    started: usize,
    running: Vec<String>,
    ending: Vec<String>,
}

impl Node {
    /// Handles a batch of pods. Returns true if there were any.
    fn handle_events(&mut self, server: &mut Server, now: Timestamp) -> bool {
        let Some(watch) = self.watch.or_else(|| open(server, now)) else { return false };
        let taken = server.take_events(now, watch, BATCH);
        // A new watch begins with all pods. Terminated ones are skipped.
        self.watch = (!taken.closed).then_some(watch);
        for event in taken.events.iter().filter(|event| event.kind == "ADDED") {
            if event.object["status"]["phase"] == "Pending" {
                self.start(server, now, &event.object);
            }
        }
        let ending = self.ending.split_off(self.ending.len().saturating_sub(BATCH));
        let end =
            if matches!(self.pod_result, PodResult::FailFirst(_)) { End::Failed(1) } else { End::Succeeded };
        for pod in &ending {
            self.end(server, now, pod, end);
        }
        !taken.events.is_empty() || !ending.is_empty()
    }

    fn start(&mut self, server: &mut Server, now: Timestamp, pod: &Value) {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        match self.pod_result {
            PodResult::Succeed => self.end(server, now, name, End::Succeeded),
            PodResult::FailFirst(count) if self.started >= count => {
                self.end(server, now, name, End::Succeeded)
            }
            PodResult::FailFirst(count) | PodResult::SucceedTogether(count) => {
                // The pod may have been deleted meanwhile.
                drop(self.kubelet.run(server, now, NAMESPACE, name, true));
                self.running.push(name.to_owned());
                self.started += 1;
                if self.started >= count {
                    self.ending.append(&mut self.running);
                }
            }
        }
    }

    fn end(&self, server: &mut Server, now: Timestamp, pod: &str, end: End) {
        drop(self.kubelet.end(server, now, NAMESPACE, pod, end));
    }
}

fn open(server: &mut Server, now: Timestamp) -> Option<WatchId> {
    let options = Verb::Watch(WatchOptions::default());
    match server.handle(now, &Request::new(Resource::Pods, None, None, options)).outcome {
        Ok(Reply::Watch(watch)) => Some(watch),
        _ => None,
    }
}
