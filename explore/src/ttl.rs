//! The TTL-after-finished controller.

use std::time::Duration;

use jobcheck_controller::ttl::plan::{TtlFacts, TtlObserved, TtlPlan, plan};
use jobcheck_model::algorithm::switches::Switches;
use jobcheck_model::subject::{TtlDecision, TtlRead};
use jobcheck_model::ttl::Request;

use crate::facts::{self, status, time};

/// What the shipped controller does about a Job that may be expired.
#[must_use]
pub fn decide(read: &TtlRead<'_>, _switches: &Switches) -> TtlDecision {
    let job = read.job;
    let facts = TtlFacts {
        name: job.name.clone(),
        uid: facts::job::uid(job),
        resource_version: facts::version(),
        deletion: job.deleting.then(|| time(job.created)),
        ttl_seconds_after_finished: job.spec.ttl_seconds_after_finished,
        conditions: status::conditions(&job.status),
    };
    match plan(&TtlObserved { job: &facts, fresh: read.fresh }, time(read.clock)) {
        TtlPlan::Leave => TtlDecision::Leave,
        TtlPlan::WaitFor(span) => TtlDecision::WaitUntil(read.clock.plus(seconds(span))),
        TtlPlan::FetchFresh => TtlDecision::Fetch,
        // Both preconditions are the plan's: the UID, and the version that was read.
        TtlPlan::Delete(delete) => TtlDecision::Delete(Request {
            uid: (delete.uid == facts.uid).then_some(job.uid),
            if_unchanged: delete.resource_version == facts.resource_version,
            foreground: true,
        }),
        TtlPlan::Retry { .. } => TtlDecision::Retry,
    }
}

fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs() + u64::from(span.subsec_nanos() > 0)).unwrap_or(i64::MAX)
}
