//! The choice of the requirement that a finding reports.
//!
//! A guard decides that a comparison is false. The functions here return the most specific requirement that explains
//! the found value, as far as the view and the write show it. They change the id of a finding, and never whether there
//! is one.

use crate::catalogue::Req;
use crate::guards::counting::{Counters, CountingHistory};
use crate::guards::decision::{Reason, Tally};
use crate::guards::ttl::finish_time;
use crate::indexes::IndexSet;
use crate::job::{Condition, ConditionKind, ConditionStatus, FailureAction, Job, JobStatus};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::time::Time;
use crate::view::View;

/// The requirement to report for an interim condition whose reason does not hold.
#[must_use]
pub fn of_false_reason(reason: Reason, view: &View<'_>, condition: &Condition, tally: &Tally) -> Req {
    let has_failed_index = tally.failed_indexes.as_ref().is_some_and(|failed| !failed.is_empty());
    match reason {
        Reason::PodFailurePolicy => of_false_match(view, condition),
        // SU-11: the time before the suspension does not count.
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

/// The requirement to report for a FailJob match that does not exist: PF-01 to PF-04 or PF-06, by the rule that the
/// message names.
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

/// The requirement to report for a reason although an `earlier` one in the order of TC-01 holds.
#[must_use]
pub fn of_order(reason: Reason, earlier: Reason) -> Req {
    match (reason, earlier) {
        (Reason::CompletionsReached, Reason::SuccessPolicy) => Req::SX05,
        (Reason::SuccessPolicy, _) => Req::SX04,
        _ => Req::TC01,
    }
}

/// The requirement to report in place of TC-14 for a missing interim condition; `None` if no other one explains it.
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

/// The requirement to report for a missing interim condition whose reason holds.
///
/// It is BO-16 if successes were subtracted from the failures, BO-13 if container restarts exceed `backoffLimit`, else
/// TC-14.
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

/// The requirement to report for a wrong message with reason SuccessPolicy: SX-01 if it names a rule, else TC-02.
#[must_use]
pub fn of_success_message(found: &str) -> Req {
    if found.starts_with("Matched rules at index ") { Req::SX01 } else { Req::TC02 }
}

/// The requirement to report for a creation while terminating pods take the room.
///
/// It is RP-05 if pods that suspension or scale-down deleted make the difference, RP-02 if the Job has a failure
/// policy, else RP-03.
#[must_use]
pub fn of_crowding(view: &View<'_>, held: i64, want: i64) -> Req {
    let chosen = view.post.iter().filter(|pod| pod.is_terminating() && !pod.finalizer).count();
    match () {
        () if held - i64::try_from(chosen).unwrap_or(0) < want => Req::RP05,
        () if view.spec().pod_failure_policy.is_some() => Req::RP02,
        () => Req::RP03,
    }
}

/// The requirement to report for wrong counters.
///
/// | pattern | requirement |
/// | --- | --- |
/// | no UID left a list, so that only the removal of a pod can have changed them | FT-31 |
/// | a recorded failure was counted as a success after `podReplacementPolicy` had changed | RP-13 |
/// | a recorded failure was counted as a success | FT-13 |
/// | a recorded success was counted as a failure | S-07 |
/// | any other difference | FT-02 |
#[must_use]
pub fn of_counters(counters: &Counters, history: &dyn CountingHistory) -> Req {
    let Counters { expected, found, none_left } = counters;
    let crossed = found.iter().sum::<i64>() == expected.iter().sum::<i64>();
    match () {
        () if *none_left => Req::FT31,
        () if crossed && found[1] < expected[1] && history.policy_changed() => Req::RP13,
        () if crossed && found[1] < expected[1] => Req::FT13,
        () if crossed => Req::S07,
        () => Req::FT02,
    }
}

/// The requirement to report for a DELETE before the expiry.
///
/// It is TT-02 if `completionTime` was used as the finish time, TT-10 if the finish time is in the future, else TT-03.
#[must_use]
pub fn of_early_deletion(readable: &[&Job], latest: Time) -> Req {
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

/// The requirement to report for wrong failed indexes.
///
/// It is BI-05 if a stored index is lost. It is BI-05 as well if an added index is not below `completions`, or has a
/// failed pod without the finalizer. Else it is BI-01.
#[must_use]
pub fn of_failed_indexes(view: &View<'_>, expected: &IndexSet, found: &IndexSet) -> Req {
    let completions = view.spec().completion_count();
    let lost = !view.job.status.failed_set(completions).minus(found).is_empty();
    let added = found.minus(expected);
    let is_added = |pod: &Pod| pod.index.is_some_and(|index| added.contains(index));
    let unfounded = added.last().zip(completions).is_some_and(|(last, completions)| last >= completions)
        || view.cache.iter().any(|pod| is_added(pod) && !pod.finalizer && view.has_failed(pod));
    if lost || unfounded { Req::BI05 } else { Req::BI01 }
}
