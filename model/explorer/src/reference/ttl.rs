//! The decision of the TTL-after-finished controller (KEP-592).

use jobcheck_spec::job::{ConditionKind, ConditionStatus, Job};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::decisions::{TtlDecision, TtlRead};
use crate::ttl::Request;

/// What the reference algorithm does about a Job.
#[must_use]
pub fn decide(read: &TtlRead<'_>, mutations: &Mutations) -> TtlDecision {
    match due(read.job, read.clock, mutations) {
        None => TtlDecision::Leave,
        Some(due) if due > read.clock => TtlDecision::WaitUntil(due),
        Some(_) if read.fresh || mutations.on(Mutation::TtlTrustsItsCache) => {
            TtlDecision::Delete(request(read.job.uid, mutations))
        }
        Some(_) => TtlDecision::Fetch,
    }
}

/// When a Job expires; `None` where it is no candidate (TT-01, TT-02).
fn due(job: &Job, clock: Time, mutations: &Mutations) -> Option<Time> {
    if job.deleting && !mutations.on(Mutation::TtlDeletesAgain) {
        return None;
    }
    let ttl = job.spec.ttl_seconds_after_finished?;
    let end = finish(job, mutations)?;
    let end = if mutations.on(Mutation::TtlClampsFutureEnd) { end.min(clock) } else { end };
    Some(end.plus(i64::from(ttl)))
}

fn finish(job: &Job, mutations: &Mutations) -> Option<Time> {
    use ConditionKind::{Complete, Failed, FailureTarget, SuccessCriteriaMet};
    let conditions = job.status.conditions.iter();
    let interim = mutations.on(Mutation::TtlTakesInterimForEnd);
    let ends = |kind: &ConditionKind| match kind {
        Complete | Failed => true,
        SuccessCriteriaMet | FailureTarget => interim,
        _ => mutations.on(Mutation::TtlTakesAnyConditionForEnd),
    };
    let mut ends = conditions.filter(|it| it.status == ConditionStatus::True && ends(&it.kind));
    ends.next().and_then(|condition| condition.last_transition_time)
}

fn request(uid: Uid, mutations: &Mutations) -> Request {
    Request {
        uid: Some(uid).filter(|_| !mutations.on(Mutation::TtlOmitsUidPrecondition)),
        if_unchanged: false,
        foreground: !mutations.on(Mutation::TtlDeletesInBackground),
    }
}
