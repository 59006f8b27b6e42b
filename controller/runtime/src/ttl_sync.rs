//! The sync of a finished Job whose TTL may have expired (family TT).

use jobcheck_access::Readable;
use jobcheck_controller::answer::{Failure, excerpt};
use jobcheck_controller::ttl::observe;
use jobcheck_controller::ttl::plan::{TtlDelete, TtlObserved, TtlPlan, plan};
use k8s_openapi::api::batch::v1::Job;
use kube::Client;
use tracing::{debug, info, warn};

use super::handlers::Wiring;
use super::job_sync::{Requeue, now};
use super::rest;
use super::store::ObjectKey;

/// The dependencies of the syncs of the TTL controller.
#[derive(Clone)]
pub struct TtlSync {
    /// The caches and queues.
    pub wiring: Wiring,
    /// The client of the requests.
    pub client: Client,
}

impl TtlSync {
    /// Syncs the Job with this name.
    pub async fn sync(&self, key: &ObjectKey) -> Requeue {
        let Some(job) = self.wiring.jobs.get(key).filter(|_| !self.wiring.jobs.is_unread(key)) else {
            return Requeue::AwaitChange;
        };
        match plan(&TtlObserved { job: &job.ttl, fresh: false }, now()) {
            TtlPlan::FetchFresh => self.plan_fresh(key).await,
            // TT-05: no deletion is decided from a cache.
            TtlPlan::Delete(_) => self.plan_fresh(key).await,
            other => requeue(key, &other),
        }
    }

    /// Plans again with the Job from the API server (TT-05).
    async fn plan_fresh(&self, key: &ObjectKey) -> Requeue {
        let stored = match rest::get_job(&self.client, key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Requeue::AwaitChange,
            Err(failure) => return failed(key, &failure),
        };
        let job = Readable::<Job>::of(&stored).read().map_err(|unreadable| unreadable.why);
        let facts = match job.and_then(|job| observe::facts(&job).map_err(|error| error.to_string())) {
            Ok(facts) => facts,
            Err(why) => {
                warn!(job = %key, why = excerpt(&why), "not deleting a Job that cannot be read");
                return Requeue::RateLimited;
            }
        };
        match plan(&TtlObserved { job: &facts, fresh: true }, now()) {
            TtlPlan::Delete(delete) => self.delete(key, &delete).await,
            other => requeue(key, &other),
        }
    }

    async fn delete(&self, key: &ObjectKey, delete: &TtlDelete) -> Requeue {
        match rest::delete(&self.client, &rest::job(key), &observe::deletion(delete)).await {
            Ok(_) => {
                let late = delete.expired_at.until(now());
                self.wiring.metrics.ttl_deleted(late.as_secs_f64());
                info!(job = %key, uid = %delete.uid, ?late, "deleted a Job whose TTL has expired (TT-06)");
                Requeue::AwaitChange
            }
            Err(failure) => failed(key, &failure),
        }
    }
}

fn requeue(key: &ObjectKey, plan: &TtlPlan) -> Requeue {
    match plan {
        TtlPlan::Leave => Requeue::AwaitChange,
        TtlPlan::WaitFor(delay) => Requeue::After(*delay),
        TtlPlan::Retry { why } => {
            warn!(job = %key, why, "the finish time of the Job is unknown (TT-02)");
            Requeue::RateLimited
        }
        // The callers handle these plans.
        TtlPlan::FetchFresh | TtlPlan::Delete(_) => Requeue::RateLimited,
    }
}

fn failed(key: &ObjectKey, failure: &Failure) -> Requeue {
    debug!(job = %key, %failure, "the request failed and is retried later (TT-07)");
    Requeue::RateLimited
}

#[cfg(test)]
mod tests;
