//! Finished Jobs whose time is over (family TT).

use k8s_openapi::api::batch::v1::Job;
use kube::Client;
use tracing::{debug, info, warn};

use super::handlers::Wiring;
use super::job_sync::{Next, now};
use super::rest;
use super::store::ObjectKey;
use crate::answer::Failure;
use crate::ttl::observe;
use crate::ttl::plan::{TtlDelete, TtlObserved, TtlPlan, plan};

/// Everything that syncs of the TTL controller need.
#[derive(Clone)]
pub struct TtlSync {
    /// Caches, queues.
    pub wiring: Wiring,
    /// Where requests go.
    pub client: Client,
}

impl TtlSync {
    /// Syncs the Job of this name.
    pub async fn sync(&self, key: &ObjectKey) -> Next {
        let Some(job) = self.wiring.jobs.get(key) else { return Next::Rest };
        match plan(&TtlObserved { job: &job.ttl, fresh: false }, now()) {
            TtlPlan::FetchFresh => self.look_again(key).await,
            // The cache alone never leads to a deletion (TT-05).
            TtlPlan::Delete(_) => self.look_again(key).await,
            other => self.rest(key, &other),
        }
    }

    /// TT-05.
    async fn look_again(&self, key: &ObjectKey) -> Next {
        let stored = match rest::get_job(&self.client, key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Next::Rest,
            Err(failure) => return failed(key, &failure),
        };
        let facts = match stored.try_parse::<Job>().map_err(|error| error.to_string()) {
            Ok(job) => observe::facts(&job).map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(why) => {
                warn!(job = %key, why, "a Job that cannot be read is not deleted");
                return Next::Retry;
            }
        };
        match plan(&TtlObserved { job: &facts, fresh: true }, now()) {
            TtlPlan::Delete(delete) => self.delete(key, &delete).await,
            other => self.rest(key, &other),
        }
    }

    async fn delete(&self, key: &ObjectKey, delete: &TtlDelete) -> Next {
        match rest::delete(&self.client, &rest::job(key), &observe::deletion(delete)).await {
            Ok(_) => {
                let late = delete.expired_at.until(now());
                self.wiring.metrics.ttl_deleted(late.as_secs_f64());
                info!(job = %key, uid = %delete.uid, ?late, "deleted a Job whose time is over (TT-06)");
                Next::Rest
            }
            Err(failure) => failed(key, &failure),
        }
    }

    fn rest(&self, key: &ObjectKey, plan: &TtlPlan) -> Next {
        match plan {
            TtlPlan::Leave => Next::Rest,
            TtlPlan::WaitFor(delay) => Next::After(*delay),
            TtlPlan::Retry { why } => {
                warn!(job = %key, why, "cannot tell when the Job finished (TT-02)");
                Next::Retry
            }
            // Not said of fresh facts.
            TtlPlan::FetchFresh | TtlPlan::Delete(_) => Next::Retry,
        }
    }
}

fn failed(key: &ObjectKey, failure: &Failure) -> Next {
    debug!(job = %key, %failure, "trying again later (TT-07)");
    Next::Retry
}

#[cfg(test)]
mod tests;
