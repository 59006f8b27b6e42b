//! The decision of the TTL-after-finished controller (KEP-592).

use jobcheck_spec::job::{Condition, ConditionStatus, Job};
use jobcheck_spec::time::Time;

use super::mutated;
use crate::mutations::Mutations;
use crate::process::decisions::{TtlDecision, TtlRead};

/// The reference algorithm's decision about a Job that may have expired.
#[must_use]
pub fn decide(read: &TtlRead<'_>, mutations: &Mutations) -> TtlDecision {
    match expiry(read.job, read.clock, mutations) {
        None => TtlDecision::Leave,
        Some(expiry) if expiry > read.clock => TtlDecision::WaitUntil(expiry),
        Some(_) if mutated::is_fresh(read, mutations) => {
            TtlDecision::Delete(mutated::ttl_request(read.job.uid, mutations))
        }
        Some(_) => TtlDecision::Fetch,
    }
}

/// The time at which a Job expires; `None` if it is no candidate (TT-01, TT-02).
fn expiry(job: &Job, clock: Time, mutations: &Mutations) -> Option<Time> {
    if mutated::is_deleted_already(job, mutations) {
        return None;
    }
    let ttl = job.spec.ttl_seconds_after_finished?;
    let finished = mutated::finish_of_ttl(finish_time(job, mutations)?, clock, mutations);
    Some(finished.plus(i64::from(ttl)))
}

/// The transition time of the terminal condition.
fn finish_time(job: &Job, mutations: &Mutations) -> Option<Time> {
    let is_true = |it: &&Condition| it.status == ConditionStatus::True;
    let starts_ttl = |it: &&Condition| mutated::starts_ttl(&it.kind, mutations);
    let mut terminal = job.status.conditions.iter().filter(is_true).filter(starts_ttl);
    terminal.next().and_then(|condition| condition.last_transition_time)
}
