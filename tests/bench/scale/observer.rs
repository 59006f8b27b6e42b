//! Counts of the controllers' requests, and of what they store in the status of Jobs.
//!
//! The observer is installed as a source of faults that has none. Unlike an audit event, this copies no object.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults};
use jobcheck_apiserver::request::{Reply, Request, Subresource};
use jobcheck_apiserver::resource::Resource;
use jobcheck_bench::is_finished;
use serde::Serialize;
use serde_json::Value;

/// Counts of requests and results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// The requests of the controllers by verb and resource. Those for Events and Leases are excluded.
    pub calls: BTreeMap<String, u64>,
    /// The number of refused requests among them.
    pub refused: u64,
    /// The number of created pods.
    pub created: u64,
    /// The number of accepted PATCH requests for pods. Each removes a finalizer.
    pub released: u64,
    /// The number of accepted writes of the status of Jobs.
    pub status_writes: u64,
    /// The maximum number of UIDs in `uncountedTerminatedPods`.
    pub longest_list: usize,
    /// The bytes of that list as JSON.
    pub longest_list_bytes: usize,
    /// The times of the terminal conditions of Jobs.
    #[serde(skip)]
    pub finished: BTreeMap<String, Instant>,
    /// The times of the first accepted DELETE of Jobs.
    #[serde(skip)]
    pub deleted: BTreeMap<String, Instant>,
}

impl Counts {
    /// The number of requests.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    fn add(&mut self, request: &Request, outcome: &std::result::Result<Reply, ApiError>) {
        let subresource = request.subresource.map(|it| format!("/{}", it.name())).unwrap_or_default();
        let call = format!("{} {}{subresource}", request.verb.name(), request.resource.facts().plural);
        *self.calls.entry(call).or_default() += 1;
        let Ok(reply) = outcome else {
            self.refused += 1;
            return;
        };
        match (request.verb.name(), request.resource, request.subresource) {
            ("create", Resource::Pods, None) => self.created += 1,
            ("patch", Resource::Pods, None) => self.released += 1,
            ("delete", Resource::Jobs, None) => {
                self.deleted.entry(request.name().to_owned()).or_insert_with(Instant::now);
            }
            (verb, Resource::Jobs, Some(Subresource::Status)) if verb != "get" => {
                self.status_writes += 1;
                if let Reply::Object { object, .. } = reply {
                    self.add_status(request.name(), &object["status"]);
                }
            }
            _ => {}
        }
    }

    fn add_status(&mut self, job: &str, status: &Value) {
        let lists = &status["uncountedTerminatedPods"];
        let length = |list: &str| lists[list].as_array().map_or(0, Vec::len);
        let uids = length("succeeded") + length("failed");
        if uids > self.longest_list {
            self.longest_list = uids;
            self.longest_list_bytes = lists.to_string().len();
        }
        if is_finished(status) {
            self.finished.entry(job.to_owned()).or_insert_with(Instant::now);
        }
    }
}

/// Counts the requests of an API server. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub struct Observer(Arc<Mutex<Counts>>);

impl Observer {
    /// The counts so far.
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Faults for Observer {
    fn after(
        &mut self,
        _: Timestamp,
        request: &Request,
        outcome: &std::result::Result<Reply, ApiError>,
    ) -> Option<Fault> {
        // The benchmark itself sends no user agent.
        let is_foreign = request.user_agent.is_empty() || request.user_agent.starts_with("kubelet/");
        let is_excluded = matches!(request.resource.facts().plural, "events" | "leases");
        if !is_foreign && !is_excluded {
            self.counts().add(request, outcome);
        }
        None
    }
}
