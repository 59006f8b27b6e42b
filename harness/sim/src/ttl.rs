//! A process of the shipped TTL-after-finished controller.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::Server;
use jobcheck_apiserver::request::{DeleteOptions, Request, Response, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_controller::ttl::observe::{deletion, facts};
use jobcheck_controller::ttl::plan::{TtlObserved, TtlPlan, plan};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::serde::Deserialize;
use serde_json::Value;

use crate::cache::{Change, ObjectCache};
use crate::cluster::NAMESPACE;
use crate::process::time;

/// The actor of the TTL controller in faults and marks.
pub const ACTOR: &str = "ttl-after-finished-controller";
const USER: &str = "system:serviceaccount:jobcheck:ttl-after-finished-controller";
const AGENT: &str = "jobcheck/0.1.0 ttl-after-finished-controller";

/// A process of the TTL controller.
#[derive(Debug)]
pub struct TtlProcess {
    jobs: ObjectCache,
    queue: BTreeSet<String>,
    wakes: BTreeMap<String, Timestamp>,
    /// The time by which its clock is ahead of the API server's.
    ahead: SignedDuration,
    asked: Option<(String, Request)>,
}

impl TtlProcess {
    /// Returns a new process that has listed the Jobs.
    pub fn started(server: &mut Server, now: Timestamp, ahead: SignedDuration) -> TtlProcess {
        let jobs = ObjectCache::listed(server, now, Resource::Jobs);
        let queue = jobs.all().map(|(name, _)| name.clone()).collect();
        TtlProcess { jobs, queue, wakes: BTreeMap::new(), ahead, asked: None }
    }

    /// The time by which its clock is ahead.
    #[must_use]
    pub fn ahead(&self) -> SignedDuration {
        self.ahead
    }

    /// Ends the watch of the process.
    pub fn stop(&self, server: &mut Server) {
        self.jobs.close(server);
    }

    /// The lag of its cache in events.
    pub fn lag(&mut self, server: &mut Server, now: Timestamp) -> usize {
        self.jobs.lag(server, now)
    }

    /// Delivers the next event to its cache (TT-08).
    pub fn show(&mut self) {
        let Some(change) = self.jobs.show() else { return };
        self.queue.extend(change.names());
    }

    /// Relists its cache.
    pub fn relist(&mut self, server: &mut Server, now: Timestamp) {
        let changes = self.jobs.relist(server, now, Resource::Jobs);
        self.queue.extend(changes.iter().flat_map(Change::names));
    }

    /// The next time at which a key is due.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.values().min().copied()
    }

    /// Returns the next request.
    pub fn next_request(&mut self, now: Timestamp) -> Option<Request> {
        let due = self.wakes.iter().filter(|(_, wake)| **wake <= now).map(|(job, _)| job.clone());
        for job in due.collect::<Vec<_>>() {
            self.wakes.remove(&job);
            self.queue.insert(job);
        }
        while self.asked.is_none() {
            let name = self.queue.pop_first()?;
            let Some(job) = self.jobs.get(&name).cloned() else { continue };
            self.decide(name, &job, false, now);
        }
        self.asked.as_ref().map(|(_, request)| request.clone())
    }

    fn decide(&mut self, name: String, job: &Value, fresh: bool, now: Timestamp) {
        let Some(job) = Job::deserialize(job).ok().and_then(|job| facts(&job).ok()) else { return };
        let clock = now.saturating_add(self.ahead).unwrap_or(now);
        let verb = match plan(&TtlObserved { job: &job, fresh }, time(clock)) {
            TtlPlan::Leave => return,
            TtlPlan::WaitFor(wait) => {
                let wake = now.saturating_add(SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX));
                self.wakes.insert(name, wake.unwrap_or(Timestamp::MAX));
                return;
            }
            TtlPlan::Retry { .. } => {
                self.wakes.insert(name, now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now));
                return;
            }
            TtlPlan::FetchFresh => Verb::Get { resource_version: None },
            TtlPlan::Delete(delete) => {
                let Ok(options) = DeleteOptions::deserialize(deletion(&delete)) else { return };
                Verb::Delete(options)
            }
        };
        let request = Request::new(Resource::Jobs, Some(NAMESPACE), Some(&name), verb).of(USER, AGENT);
        self.asked = Some((name, request));
    }

    /// Ends the current request, with its response or without one (TT-07).
    pub fn answered(&mut self, response: Option<&Response>, now: Timestamp) {
        let Some((name, request)) = self.asked.take() else { return };
        let reads = matches!(request.verb, Verb::Get { .. });
        match response.map(|response| (response.code(), response.clone().object())) {
            Some((_, Ok(job))) if reads => self.decide(name, &job, true, now),
            Some((_, Ok(_)) | (404, _)) => {}
            Some(_) | None => drop(self.queue.insert(name)),
        }
    }
}
