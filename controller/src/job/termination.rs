//! The decision how a Job terminates (TC-01).

use std::time::Duration;

use super::conditions::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED, find_true};
use super::observed::{Condition, Phase, PodFailureAction};
use super::per_index::{Indexes, is_ignored};
use super::pod_failure_policy;
use super::success_policy;
use super::view::{PodClass, View};
use crate::values::{Text, Time};

/// The termination of a Job: its result, and the conditions that report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// True if the Job will be Complete, false if it will be Failed.
    pub succeeds: bool,
    /// The reason of the interim and the terminal condition (TC-02).
    pub reason: Text,
    /// The message of the interim and the terminal condition.
    pub message: Text,
    /// The state of the interim condition.
    pub interim: Interim,
}

/// The state of the interim condition, FailureTarget or SuccessCriteriaMet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interim {
    /// The status has the condition, with this `lastTransitionTime`.
    Stored(Option<Time>),
    /// The plan writes it (TC-03).
    New,
    /// The Job gets none, because the gates that require one are off (UG-07).
    None,
}

/// The numbers of successes and failures on which decisions depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Counted, recorded, and new successes; for an Indexed Job the completed indexes (PC-04, PC-21).
    pub succeeded: i64,
    /// Counted, recorded, and new failures, without new ones that a rule ignores (BO-12).
    pub failed: i64,
}

/// Counts successes and failures. The record decides the result of a recorded UID, whatever the pod shows (S-01, S-07).
#[must_use]
pub fn tally(view: &View, indexes: &Indexes) -> Tally {
    let status = &view.job().status;
    let recorded = status.uncounted.as_ref().map_or((0, 0), |it| (it.succeeded.len(), it.failed.len()));
    let new = || view.pods.iter().filter(|it| it.has_finalizer && it.countable() && !it.recorded);
    let new_succeeded = new().filter(|it| it.class == PodClass::Succeeded).count();
    let new_failed = new().filter(|it| it.class == PodClass::Failed && !is_ignored(view, it)).count();
    let succeeded = if view.indexed() {
        long(indexes.completed.len())
    } else {
        i64::from(status.succeeded) + long(recorded.0 + new_succeeded)
    };
    Tally { succeeded, failed: i64::from(status.failed) + long(recorded.1 + new_failed) }
}

fn long(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the first termination that applies (TC-01).
///
/// A stored interim condition is never withdrawn (TC-06), and a failure takes precedence over a success.
#[must_use]
pub fn termination(view: &View, indexes: &Indexes, tally: Tally) -> Option<Termination> {
    stored(view)
        .or_else(|| failed_by_rule(view))
        .or_else(|| failed_by_count(view, tally))
        .or_else(|| failed_by_deadline(view))
        .or_else(|| failed_by_indexes(view, indexes))
        .or_else(|| succeeded_by_policy(view, indexes))
        .or_else(|| succeeded_by_count(view, tally))
}

/// A stored interim condition is honoured whatever the gates are: a rollback does not revive a Job (UG-03).
fn stored(view: &View) -> Option<Termination> {
    let conditions = &view.job().status.conditions;
    let termination = |found: &Condition, succeeds| Termination {
        succeeds,
        reason: found.reason.clone(),
        message: found.message.clone(),
        interim: Interim::Stored(found.last_transition),
    };
    find_true(conditions, SUCCESS_CRITERIA_MET)
        .map(|it| termination(it, true))
        .or_else(|| find_true(conditions, FAILURE_TARGET).map(|it| termination(it, false)))
}

/// PF-08: the rules apply to every failed pod of the Job, with or without the finalizer.
fn failed_by_rule(view: &View) -> Option<Termination> {
    let job = view.job();
    view.pods.iter().filter(|it| it.facts.phase == Phase::Failed).find_map(|pod| {
        let found = view.policy_match(pod).filter(|it| it.action == PodFailureAction::FailJob)?;
        let message = pod_failure_policy::message(&job.namespace, &pod.facts.name, found);
        // KEP-3329 has this interim condition whatever the gates of UG-07 are.
        Some(failure(Interim::New, "PodFailurePolicy", &message))
    })
}

fn failed_by_count(view: &View, tally: Tally) -> Option<Termination> {
    let exceeded = tally.failed > i64::from(view.job().spec.backoff_limit) || restarted_too_often(view);
    exceeded.then(|| {
        failure(interim(view), "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    })
}

/// BO-13: the restarts of containers in pending and running pods reach the limit, and at least 1.
fn restarted_too_often(view: &View) -> bool {
    let spec = &view.job().spec;
    if !spec.restarts_on_failure {
        return false;
    }
    let running = view.pods.iter().filter(|it| matches!(it.facts.phase, Phase::Pending | Phase::Running));
    let restarts: i64 =
        running.flat_map(|it| it.facts.containers.iter()).map(|it| i64::from(it.restarts)).sum();
    restarts >= i64::from(spec.backoff_limit).max(1)
}

fn failed_by_deadline(view: &View) -> Option<Termination> {
    let past = time_left(view).is_some_and(|left| left.is_zero());
    past.then(|| failure(interim(view), "DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// The remaining part of `activeDeadlineSeconds`; none if the Job has no deadline or is suspended (SU-08).
#[must_use]
pub fn time_left(view: &View) -> Option<Duration> {
    let seconds = view.job().spec.active_deadline_seconds?;
    let allowed = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(allowed.saturating_sub(running_since(view)?.until(view.observed.now)))
}

/// Returns true if the time of the Job counts from the stored `startTime`.
#[must_use]
pub fn runs_already(view: &View) -> bool {
    let (job, status) = (view.job(), &view.job().status);
    // A Job that is being deleted keeps the condition even after it was resumed.
    let waits = job.deletion.is_none() && find_true(&status.conditions, SUSPENDED).is_some();
    status.start_time.is_some() && !waits
}

/// The time at which the Job began to run; none while it is suspended.
///
/// This is now, without the fraction of the second, if the Job starts or is resumed with this plan (SU-04, SU-11).
#[must_use]
pub fn running_since(view: &View) -> Option<Time> {
    let job = view.job();
    if job.spec.suspend {
        return None;
    }
    Some(job.status.start_time.filter(|_| runs_already(view)).unwrap_or(view.observed.now.truncated()))
}

fn failed_by_indexes(view: &View, indexes: &Indexes) -> Option<Termination> {
    let failed = indexes.failed_count();
    let limit = view.job().spec.max_failed_indexes.map(|it| usize::try_from(it).unwrap_or(0));
    if indexes.failed.is_some() && limit.is_some_and(|limit| failed > limit) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(failure(interim(view), "MaxFailedIndexesExceeded", message));
    }
    let all = failed + indexes.completed.len() >= view.completions() as usize;
    (failed > 0 && all).then(|| failure(interim(view), "FailedIndexes", "Job has failed indexes"))
}

fn succeeded_by_policy(view: &View, indexes: &Indexes) -> Option<Termination> {
    let rules = view.job().spec.success_policy.as_ref()?;
    if !view.indexed() || !view.gates().success_policy {
        return None;
    }
    let rule = success_policy::met(rules, &indexes.completed, view.completions())?;
    // KEP-3998 has this interim condition whatever the gates of UG-07 are.
    Some(success(Interim::New, "SuccessPolicy", &format!("Matched rules at index {rule}")))
}

/// PC-24, TC-14: enough pods have succeeded, and no pod of the Job is active.
fn succeeded_by_count(view: &View, tally: Tally) -> Option<Termination> {
    (enough_successes(view, tally) && view.active_count() == 0).then(|| completions_reached(view))
}

/// The termination of a suspended Job whose successes suffice once its active pods have been deleted.
///
/// It applies only if [`termination`] returns none. While a Job is being deleted, nothing is stopped (FT-19).
#[must_use]
pub fn completed_once_stopped(view: &View, tally: Tally) -> Option<Termination> {
    let stops = view.job().spec.suspend && view.job().deletion.is_none() && view.active_count() > 0;
    (stops && enough_successes(view, tally)).then(|| completions_reached(view))
}

fn enough_successes(view: &View, tally: Tally) -> bool {
    match view.job().spec.completions {
        Some(completions) => tally.succeeded >= i64::from(completions),
        None => tally.succeeded > 0,
    }
}

fn completions_reached(view: &View) -> Termination {
    let (reason, message) = if view.gates().success_policy {
        ("CompletionsReached", "Reached expected number of succeeded pods")
    } else {
        // Reason and message came with the success policy (KEP-3998); before, a Job completed without any.
        ("", "")
    };
    success(interim(view), reason, message)
}

fn interim(view: &View) -> Interim {
    if view.delays_terminal() { Interim::New } else { Interim::None }
}

fn failure(interim: Interim, reason: &str, message: &str) -> Termination {
    Termination { succeeds: false, reason: Text::from(reason), message: Text::from(message), interim }
}

fn success(interim: Interim, reason: &str, message: &str) -> Termination {
    Termination { succeeds: true, ..failure(interim, reason, message) }
}
