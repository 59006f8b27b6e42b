//! The TTL-after-finished controller.

use std::time::Duration;

use jobcheck_controller::job::conditions::{FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET};
use jobcheck_controller::ttl::plan::{TtlFacts, TtlObserved, TtlPlan, plan};
use jobcheck_controller::values;
use jobcheck_explorer::mutations::{Mutation, Mutations};
use jobcheck_explorer::process::decisions::{TtlDecision, TtlRead};
use jobcheck_explorer::ttl::Request;

use crate::facts::{self, status, time};

/// The shipped controller's decision about a Job that may have expired.
#[must_use]
pub fn decide(read: &TtlRead<'_>, mutations: &Mutations) -> TtlDecision {
    let job = read.job;
    let mut facts = TtlFacts {
        name: job.name.clone(),
        uid: facts::job::uid(job),
        resource_version: facts::version(),
        deletion: job.deleting.then(|| time(job.created)),
        ttl_seconds_after_finished: job.spec.ttl_seconds_after_finished,
        conditions: status::conditions(&job.status),
    };
    apply_mutations(mutations, &mut facts, time(read.clock));
    let fresh = read.fresh || mutations.on(Mutation::TtlTrustsItsCache);
    match plan(&TtlObserved { job: &facts, fresh }, time(read.clock)) {
        TtlPlan::Leave => TtlDecision::Leave,
        TtlPlan::WaitFor(span) => TtlDecision::WaitUntil(read.clock.plus(seconds(span))),
        TtlPlan::FetchFresh => TtlDecision::Fetch,
        // Both preconditions are those of the plan: the UID, and the version that was read.
        TtlPlan::Delete(delete) => TtlDecision::Delete(Request {
            uid: (delete.uid == facts.uid && !mutations.on(Mutation::TtlOmitsUidPrecondition))
                .then_some(job.uid),
            if_unchanged: delete.resource_version == facts.resource_version && mutations.is_empty(),
            foreground: !mutations.on(Mutation::TtlDeletesInBackground),
        }),
        TtlPlan::Retry { .. } => TtlDecision::Retry,
    }
}

/// The mutations that change the input of the plan ([`crate::mutations`]).
fn apply_mutations(mutations: &Mutations, facts: &mut TtlFacts, now: values::Time) {
    if mutations.on(Mutation::TtlDeletesAgain) {
        facts.deletion = None;
    }
    for condition in &mut facts.conditions {
        if mutations.on(Mutation::TtlClampsFutureFinish) {
            condition.last_transition = condition.last_transition.map(|end| end.min(now));
        }
        let interim = matches!(&*condition.kind, FAILURE_TARGET | SUCCESS_CRITERIA_MET);
        if mutations.on(Mutation::TtlStartsAtAnyCondition)
            || (interim && mutations.on(Mutation::TtlStartsAtInterimCondition))
        {
            condition.kind = FAILED.into();
        }
    }
}

fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs() + u64::from(span.subsec_nanos() > 0)).unwrap_or(i64::MAX)
}
