//! A kubelet that ends every pod, on a thread beside the server.

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
use serde_json::Value;

use crate::Result;
use crate::jobs::NAMESPACE;

/// Events that are handled before others get the server.
const AT_ONCE: usize = 32;
/// How long it rests when nothing happened.
const REST: Duration = Duration::from_millis(5);

/// What becomes of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Each succeeds at once.
    Succeed,
    /// They run until so many have been created, and then fail together; each later one succeeds at once.
    FailFirst(usize),
    /// They run until so many have been created, and then succeed together.
    Together(usize),
}

impl Fate {
    /// They run and never end.
    pub const RUN: Fate = Fate::Together(usize::MAX);
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Playing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            drop(thread.join());
        }
    }
}

/// Plays the kubelet of this server.
///
/// # Errors
/// The server refuses the node.
pub fn play(server: &SharedServer, fate: Fate) -> Result<Playing> {
    let kubelet = server.with(|server, now| Kubelet::of(server, now, "node"));
    let kubelet = kubelet.map_err(|error| format!("the node was refused: {error:?}"))?;
    let mut node = Node { kubelet, fate, watch: None, started: 0, running: Vec::new(), ending: Vec::new() };
    let stop = Arc::new(AtomicBool::new(false));
    let (server, stopped) = (server.clone(), Arc::clone(&stop));
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            if !server.with(|server, now| node.round(server, now)) {
                std::thread::sleep(REST);
            }
        }
    });
    Ok(Playing { stop, thread: Some(thread) })
}

struct Node {
    kubelet: Kubelet,
    fate: Fate,
    watch: Option<WatchId>,
    /// Pods that were made to run.
    started: usize,
    running: Vec<String>,
    ending: Vec<String>,
}

impl Node {
    /// Handles some pods; whether there were any.
    fn round(&mut self, server: &mut Server, now: Timestamp) -> bool {
        let Some(watch) = self.watch.or_else(|| open(server, now)) else { return false };
        let taken = server.take_events(now, watch, AT_ONCE);
        // A watch that ended begins anew with all pods; those that have ended are left alone.
        self.watch = (!taken.closed).then_some(watch);
        for event in taken.events.iter().filter(|event| event.kind == "ADDED") {
            if event.object["status"]["phase"] == "Pending" {
                self.start(server, now, &event.object);
            }
        }
        let ending = self.ending.split_off(self.ending.len().saturating_sub(AT_ONCE));
        let end = if matches!(self.fate, Fate::FailFirst(_)) { End::Failed(1) } else { End::Succeeded };
        for pod in &ending {
            self.end(server, now, pod, end);
        }
        !taken.events.is_empty() || !ending.is_empty()
    }

    fn start(&mut self, server: &mut Server, now: Timestamp, pod: &Value) {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        match self.fate {
            Fate::Succeed => self.end(server, now, name, End::Succeeded),
            Fate::FailFirst(count) if self.started >= count => self.end(server, now, name, End::Succeeded),
            Fate::FailFirst(count) | Fate::Together(count) => {
                // A pod that is gone meanwhile needs no kubelet.
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
