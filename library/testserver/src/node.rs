//! The node of the cluster: binds, runs, and ends pods.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::Server;
use jobcheck_apiserver::kubelet::{End, Kubelet};
use jobcheck_apiserver::resource::Resource;
use serde_json::Value;

/// The end of pods. The number of a pod counts all pods of the test, from 0.
#[derive(Clone)]
pub enum Pods {
    /// Every pod succeeds after five seconds.
    Succeed,
    /// Every pod fails after five seconds, with the exit code 1.
    Fail,
    /// Pods run until they are deleted.
    RunOn,
    /// The exit code of each pod, by number and object; `None` if it runs on.
    By(ExitCode),
}

/// The exit code of a pod, by number and object; `None` if it runs on.
pub type ExitCode = Arc<dyn Fn(usize, &Value) -> Option<i32> + Send + Sync>;

impl Pods {
    /// Pods end with the exit code that a function returns for number and object; `None` if they run on.
    #[must_use]
    pub fn by(exit_code: impl Fn(usize, &Value) -> Option<i32> + Send + Sync + 'static) -> Pods {
        Pods::By(Arc::new(exit_code))
    }

    fn exit_code(&self, number: usize, pod: &Value) -> Option<i32> {
        match self {
            Pods::Succeed => Some(0),
            Pods::Fail => Some(1),
            Pods::RunOn => None,
            Pods::By(exit_code) => exit_code(number, pod),
        }
    }
}

impl fmt::Debug for Pods {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Pods::Succeed => "Succeed",
            Pods::Fail => "Fail",
            Pods::RunOn => "RunOn",
            Pods::By(_) => "By",
        })
    }
}

/// The time that a pod runs.
const RUNS: SignedDuration = SignedDuration::from_secs(5);

/// The time between the start of a deletion and the end of the containers.
const STOPS: SignedDuration = SignedDuration::from_secs(1);

pub(crate) struct Node {
    kubelet: Kubelet,
    pods: Pods,
    /// For each pod by UID, its number, and the time at which it was first seen, started, or deleted.
    known: BTreeMap<String, Known>,
    count: usize,
}

struct Known {
    number: usize,
    started: Timestamp,
    stopping: Option<Timestamp>,
}

/// The next event of a pod.
enum Next {
    Bind,
    Run,
    End(End),
    Finish,
    Wait,
}

impl Node {
    pub(crate) fn new(server: &mut Server, now: Timestamp, pods: Pods) -> Node {
        let kubelet = Kubelet::of(server, now, "node").expect("a new server accepts a node");
        Node { kubelet, pods, known: BTreeMap::new(), count: 0 }
    }

    /// Does what is due for each pod.
    pub(crate) fn work(&mut self, server: &mut Server, now: Timestamp) {
        let pods: Vec<Arc<Value>> =
            server.store().scan(Resource::Pods, "").map(|(_, pod)| Arc::clone(pod)).collect();
        self.known.retain(|uid, _| pods.iter().any(|pod| pod["metadata"]["uid"] == **uid));
        for pod in pods {
            let next = self.next(&pod, now);
            let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
            let (namespace, name) = (text("namespace"), text("name"));
            // A request that fails is made again in the next round.
            let _ = match next {
                Next::Bind => self.kubelet.bind(server, now, namespace, name),
                Next::Run => self.kubelet.run(server, now, namespace, name, true),
                Next::End(end) => self.kubelet.end(server, now, namespace, name, end),
                Next::Finish => self.kubelet.finish(server, now, namespace, name),
                Next::Wait => Ok(()),
            };
        }
    }

    fn next(&mut self, pod: &Value, now: Timestamp) -> Next {
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        if !self.known.contains_key(uid) {
            let known = Known { number: self.count, started: now, stopping: None };
            self.known.insert(uid.to_owned(), known);
            self.count += 1;
        }
        let Some(known) = self.known.get_mut(uid) else { return Next::Wait };
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        let is_terminated = matches!(phase, "Succeeded" | "Failed");
        if pod["metadata"].get("deletionTimestamp").is_some() {
            let since = *known.stopping.get_or_insert(now);
            return match () {
                () if now.duration_since(since) < STOPS => Next::Wait,
                () if !is_terminated => Next::End(End::Failed(137)),
                () if pod["metadata"]["deletionGracePeriodSeconds"] != 0 => Next::Finish,
                () => Next::Wait,
            };
        }
        match phase {
            _ if is_terminated => Next::Wait,
            _ if pod["spec"].get("nodeName").is_none() => Next::Bind,
            "Running" if now.duration_since(known.started) >= RUNS => {
                match self.pods.exit_code(known.number, pod) {
                    None => Next::Wait,
                    Some(0) => Next::End(End::Succeeded),
                    Some(code) => Next::End(End::Failed(code)),
                }
            }
            "Running" => Next::Wait,
            _ => {
                known.started = now;
                Next::Run
            }
        }
    }
}
