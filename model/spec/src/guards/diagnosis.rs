//! Which requirement to accuse where a comparison is false.
//!
//! The guards decide that something is wrong. The functions here find out which rule was misread, as far as the view and
//! the write show it: the narrowest one that explains what was found. They change the id of a violation, never whether
//! there is one.

use crate::catalogue::Req;
use crate::guards::counting::{Counters, Ledger};
use crate::guards::decision::{Reason, Tally};
use crate::guards::ttl::finish_time;
use crate::indexes::IndexSet;
use crate::job::{Condition, ConditionKind, ConditionStatus, FailureAction, Job, JobStatus};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::time::Time;
use crate::view::View;

/// What an interim condition breaks whose reason does not hold.
#[must_use]
pub fn of_false_reason(reason: Reason, view: &View<'_>, condition: &Condition, tally: &Tally) -> Req {
    let has_failed_index = tally.failed_indexes.as_ref().is_some_and(|failed| !failed.is_empty());
    match reason {
        Reason::PodFailurePolicy => of_false_match(view, condition),
        // SU-11: the time before the suspension is not counted.
        Reason::DeadlineExceeded if was_resumed(&view.job.status) => Req::SU11,
        Reason::SuccessPolicy if view.spec().success_policy.is_none() || tally.completed.is_empty() => {
            Req::SX01
        }
        Reason::CompletionsReached if has_failed_index => Req::BI07,
        Reason::DeadlineExceeded
        | Reason::SuccessPolicy
        | Reason::CompletionsReached
        | Reason::BackoffLimitExceeded
        | Reason::MaxFailedIndexesExceeded
        | Reason::FailedIndexes => reason.requirement(view),
    }
}

/// PF-01 to PF-04: a FailJob match that does not exist, by the rule that the message names.
fn of_false_match(view: &View<'_>, condition: &Condition) -> Req {
    let failed = || view.cache.iter().filter(|pod| pod.phase == Phase::Failed);
    if failed().next().is_none() {
        return Req::PF02;
    }
    if failed().any(|pod| matches!(pod.policy, PolicyMatch::Action(_))) {
        return Req::PF01;
    }
    let index = condition.message.rsplit(' ').next().and_then(|index| index.parse::<usize>().ok());
    let rule = view
        .spec()
        .pod_failure_policy
        .as_ref()
        .and_then(|policy| policy.rules.get(index?))
        .filter(|rule| rule.action == FailureAction::FailJob);
    match rule {
        Some(rule) if rule.on_exit_codes.is_some() => Req::PF03,
        Some(_) => Req::PF04,
        None => Req::PF06,
    }
}

fn was_resumed(status: &JobStatus) -> bool {
    status
        .condition(&ConditionKind::Suspended)
        .is_some_and(|condition| condition.status == ConditionStatus::False)
}

/// What a reason breaks that another one precedes.
#[must_use]
pub fn of_order(reason: Reason, earlier: Reason) -> Req {
    match (reason, earlier) {
        (Reason::CompletionsReached, Reason::SuccessPolicy) => Req::SX05,
        (Reason::SuccessPolicy, _) => Req::SX04,
        _ => Req::TC01,
    }
}

/// What a missing interim condition breaks besides TC-14; `None` where nothing narrower tells.
#[must_use]
pub fn of_missing(reason: Reason, view: &View<'_>) -> Option<Req> {
    let withdrawn = |condition: &Condition| {
        condition.kind == reason.interim() && condition.status == ConditionStatus::False
    };
    match reason {
        _ if view.job.status.conditions.iter().any(withdrawn) => Some(Req::TC10),
        Reason::PodFailurePolicy if view.cache.matching_fail_job().all(|pod| !pod.finalizer) => {
            Some(Req::PF08)
        }
        Reason::BackoffLimitExceeded if view.spec().backoff_limit_per_index.is_some() => Some(Req::BI11),
        Reason::DeadlineExceeded if view.spec().active_deadline_seconds == Some(0) => Some(Req::SU09),
        Reason::PodFailurePolicy
        | Reason::BackoffLimitExceeded
        | Reason::DeadlineExceeded
        | Reason::MaxFailedIndexesExceeded
        | Reason::FailedIndexes
        | Reason::SuccessPolicy
        | Reason::CompletionsReached => None,
    }
}

/// A missing interim condition whose reason holds: BO-16 if successes were subtracted from the failures that are compared
/// with `backoffLimit`, BO-13 if it is the restarts of containers that exceed it, else TC-14.
#[must_use]
pub fn of_missing_end(reason: Reason, view: &View<'_>, tally: &Tally) -> Req {
    let limit = i64::from(view.spec().backoff_limit.unwrap_or(i32::MAX));
    let by_limit = reason == Reason::BackoffLimitExceeded;
    match () {
        () if by_limit && tally.failed > limit && tally.succeeded > 0 => Req::BO16,
        () if by_limit && tally.failed <= limit => reason.requirement(view),
        () => Req::TC14,
    }
}

/// A wrong message of a success by policy: SX-01 if it names a rule, which is then the wrong one, else TC-02.
#[must_use]
pub fn of_success_message(found: &str) -> Req {
    if found.starts_with("Matched rules at index ") { Req::SX01 } else { Req::TC02 }
}

/// A creation beside terminating pods: RP-05 if those that suspension or scale-down deleted make the difference, RP-02 if
/// it is the failure policy that asks to wait, else RP-03.
#[must_use]
pub fn of_crowding(view: &View<'_>, held: i64, want: i64) -> Req {
    let chosen = view.post.iter().filter(|pod| pod.is_terminating() && !pod.finalizer).count();
    match () {
        () if held - i64::try_from(chosen).unwrap_or(0) < want => Req::RP05,
        () if view.spec().pod_failure_policy.is_some() => Req::RP02,
        () => Req::RP03,
    }
}

/// Wrong counters: a UID went into the counter of the other list (FT-13, S-07, RP-13), nothing but the removal of a pod
/// can have moved them (FT-31), or they moved by a wrong number (FT-02).
#[must_use]
pub fn of_counters(counters: &Counters, ledger: &dyn Ledger) -> Req {
    let Counters { expected, found, none_left } = counters;
    let crossed = found.iter().sum::<i64>() == expected.iter().sum::<i64>();
    match () {
        () if *none_left => Req::FT31,
        () if crossed && found[1] < expected[1] && ledger.policy_changed() => Req::RP13,
        () if crossed && found[1] < expected[1] => Req::FT13,
        () if crossed => Req::S07,
        () => Req::FT02,
    }
}

/// A DELETE before the expiry: TT-02 if another date than the transition was taken for the finish
/// time, TT-10 if that time is still to come, else TT-03.
#[must_use]
pub fn of_haste(readable: &[&Job], latest: Time) -> Req {
    let by_completion = |job: &&&Job| {
        let ttl = job.spec.ttl_seconds_after_finished.map(i64::from);
        let end = job.status.completion_time;
        end.zip(ttl)
            .is_some_and(|(end, ttl)| end.plus(ttl) <= latest && Some(end) != finish_time(&job.status))
    };
    let to_come = |job: &&&Job| finish_time(&job.status).is_some_and(|finish| finish > latest);
    match () {
        () if readable.iter().any(|job| by_completion(&job)) => Req::TT02,
        () if readable.iter().any(|job| to_come(&job)) => Req::TT10,
        () => Req::TT03,
    }
}

/// What differing failed indexes break: BI-05 where a stored index is lost, or one is added by a pod that is
/// accounted already or lies beyond completions; else BI-01.
#[must_use]
pub fn of_failed_indexes(view: &View<'_>, expected: &IndexSet, found: &IndexSet) -> Req {
    let completions = view.spec().completion_count();
    let lost = !view.job.status.failed_set(completions).minus(found).is_empty();
    let strange = found.minus(expected).iter().any(|index| {
        let released = |pod: &&Pod| !pod.finalizer && pod.index == Some(index) && view.has_failed(pod);
        completions.is_some_and(|completions| index >= completions)
            || view.cache.iter().any(|pod| released(&pod))
    });
    if lost || strange { Req::BI05 } else { Req::BI01 }
}
