//! What the API server sees of the controllers: their requests, and the status that they store.
//!
//! It stands where faults are decided, and decides for none: unlike an audit event, that copies no object.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults};
use jobcheck_apiserver::request::{Reply, Request, Subresource};
use jobcheck_apiserver::resource::Resource;
use serde::Serialize;
use serde_json::Value;

/// Requests, and what came of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// Requests of the controllers by verb and resource, without those for Events and Leases.
    pub calls: BTreeMap<String, u64>,
    /// Of these, those that were refused.
    pub refused: u64,
    /// Pods created.
    pub created: u64,
    /// PATCH requests for pods that went through: finalizers removed.
    pub released: u64,
    /// Status writes of Jobs that went through.
    pub status_writes: u64,
    /// The most UIDs that `uncountedTerminatedPods` ever held.
    pub longest_list: usize,
    /// The most bytes that it ever had as JSON.
    pub longest_list_bytes: usize,
    /// When each Job got its terminal condition.
    #[serde(skip)]
    pub finished: BTreeMap<String, Instant>,
}

impl Seen {
    /// All requests.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    fn request(&mut self, request: &Request, outcome: &std::result::Result<Reply, ApiError>) {
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
            (verb, Resource::Jobs, Some(Subresource::Status)) if verb != "get" => {
                self.status_writes += 1;
                if let Reply::Object { object, .. } = reply {
                    self.status(request.name(), &object["status"]);
                }
            }
            _ => {}
        }
    }

    fn status(&mut self, job: &str, status: &Value) {
        let lists = &status["uncountedTerminatedPods"];
        let length = |list: &str| lists[list].as_array().map_or(0, Vec::len);
        let uids = length("succeeded") + length("failed");
        if uids > self.longest_list {
            self.longest_list = uids;
            self.longest_list_bytes = lists.to_string().len();
        }
        let terminal =
            |it: &Value| (it["type"] == "Complete" || it["type"] == "Failed") && it["status"] == "True";
        if status["conditions"].as_array().is_some_and(|all| all.iter().any(terminal)) {
            self.finished.entry(job.to_owned()).or_insert_with(Instant::now);
        }
    }
}

/// Looks at every request of a server. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct Observer(Arc<Mutex<Seen>>);

impl Observer {
    /// What was seen so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
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
        // The benchmark itself names no program.
        let foreign = request.user_agent.is_empty() || request.user_agent.starts_with("kubelet/");
        let apart = matches!(request.resource.facts().plural, "events" | "leases");
        if !foreign && !apart {
            self.seen().request(request, outcome);
        }
        None
    }
}
