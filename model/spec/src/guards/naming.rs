//! Which requirement a wrong decision breaks.
//!
//! TC-01, TC-14, and PF-06 say that a decision is wrong; here it is told which narrower rule was misread, as far
//! as the view and the condition show it.

use crate::catalogue::Req;
use crate::guards::decision::{Reason, Tally};
use crate::indexes::IndexSet;
use crate::job::{Condition, ConditionKind, ConditionStatus, FailureAction, JobStatus};
use crate::pod::{Phase, Pod, PolicyMatch};
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
