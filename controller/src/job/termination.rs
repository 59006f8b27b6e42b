//! Whether a Job has met its end, and which (TC-01).

use std::time::Duration;

use super::conditions::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED, find_true};
use super::observed::{Condition, Phase, PodFailureAction};
use super::per_index::Indexes;
use super::pod_failure_policy;
use super::success_policy;
use super::view::{Verdict, View};
use crate::values::{Text, Time};

/// How a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// Whether it will be Complete, else Failed.
    pub succeeds: bool,
    /// The reason of both conditions (TC-02).
    pub reason: Text,
    /// The message of both conditions.
    pub message: Text,
    /// What there is of the condition that comes before the terminal one.
    pub interim: Interim,
    /// Whether it comes true with the deletion of the active pods of a suspended Job, which go as those of a suspended
    /// Job do (FT-16).
    pub by_stopping: bool,
}

/// What there is of FailureTarget or SuccessCriteriaMet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interim {
    /// The status has it, since then.
    Stored(Option<Time>),
    /// It is to be written now (TC-03).
    New,
    /// There will be none: the gates that would want one are off (UG-07).
    None,
}

/// Successes and failures as decisions count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// In the counter, listed, and new; of an Indexed Job the completed indexes (PC-04, PC-21).
    pub succeeded: i64,
    /// In the counter, listed, and new without those that a rule ignores (BO-12).
    pub failed: i64,
}

/// Counts successes and failures. A UID that is in a list is counted by the list, whatever the pod shows (S-01, S-07).
#[must_use]
pub fn tally(view: &View, indexes: &Indexes) -> Tally {
    let status = &view.job().status;
    let listed = status.uncounted.as_ref().map_or((0, 0), |it| (it.succeeded.len(), it.failed.len()));
    let new = || view.pods.iter().filter(|it| it.holds && it.countable() && !it.listed);
    let new_succeeded = new().filter(|it| it.verdict == Verdict::Succeeded).count();
    let new_failed = new().filter(|it| it.verdict == Verdict::Failed && counts(view, it)).count();
    let succeeded = if view.indexed() {
        long(indexes.completed.len())
    } else {
        i64::from(status.succeeded) + long(listed.0 + new_succeeded)
    };
    Tally { succeeded, failed: i64::from(status.failed) + long(listed.1 + new_failed) }
}

fn counts(view: &View, pod: &super::view::Pod) -> bool {
    !super::per_index::is_ignored(view, pod)
}

fn long(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The first of these that holds (TC-01). What is stored is never taken back (TC-06); failure comes before success.
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

/// An interim condition is honoured whatever the gates say: a rollback does not revive a Job (UG-03).
fn stored(view: &View) -> Option<Termination> {
    let conditions = &view.job().status.conditions;
    let termination = |found: &Condition, succeeds| Termination {
        succeeds,
        reason: found.reason.clone(),
        message: found.message.clone(),
        interim: Interim::Stored(found.last_transition),
        by_stopping: false,
    };
    find_true(conditions, SUCCESS_CRITERIA_MET)
        .map(|it| termination(it, true))
        .or_else(|| find_true(conditions, FAILURE_TARGET).map(|it| termination(it, false)))
}

/// PF-08: all failed pods of the Job are asked, also those that are released.
fn failed_by_rule(view: &View) -> Option<Termination> {
    let job = view.job();
    view.pods.iter().filter(|it| it.facts.phase == Phase::Failed).find_map(|pod| {
        let found = view.policy_match(pod).filter(|it| it.action == PodFailureAction::FailJob)?;
        let message = pod_failure_policy::message(&job.namespace, &pod.facts.name, found);
        // This condition is there whatever the gates say (UG-07 is about the others).
        Some(failure(Interim::New, "PodFailurePolicy", &message))
    })
}

fn failed_by_count(view: &View, tally: Tally) -> Option<Termination> {
    let exceeded = tally.failed > i64::from(view.job().spec.backoff_limit) || restarted_too_often(view);
    exceeded.then(|| {
        failure(interim(view), "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    })
}

/// BO-13: restarts in place, of pods that are at work; a limit of zero bears none, any other bears less than itself.
fn restarted_too_often(view: &View) -> bool {
    let spec = &view.job().spec;
    if !spec.restarts_on_failure {
        return false;
    }
    let at_work = view.pods.iter().filter(|it| matches!(it.facts.phase, Phase::Pending | Phase::Running));
    let restarts: i64 =
        at_work.flat_map(|it| it.facts.containers.iter()).map(|it| i64::from(it.restarts)).sum();
    restarts >= i64::from(spec.backoff_limit).max(1)
}

fn failed_by_deadline(view: &View) -> Option<Termination> {
    let past = time_left(view).is_some_and(|left| left.is_zero());
    past.then(|| failure(interim(view), "DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// What is left of `activeDeadlineSeconds`; none without one, and while the Job is suspended (SU-08).
#[must_use]
pub fn time_left(view: &View) -> Option<Duration> {
    let seconds = view.job().spec.active_deadline_seconds?;
    let allowed = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(allowed.saturating_sub(running_since(view)?.until(view.observed.now)))
}

/// Whether the time of the Job counts from a `startTime` that is stored.
#[must_use]
pub fn runs_already(view: &View) -> bool {
    let (job, status) = (view.job(), &view.job().status);
    // One that is being deleted keeps the condition, also when it is resumed.
    let waits = job.deletion.is_none() && find_true(&status.conditions, SUSPENDED).is_some();
    status.start_time.is_some() && !waits
}

/// When the Job began to run: now, if it begins or is resumed with this plan (SU-04, SU-11); none while it is suspended.
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
    let borne = view.job().spec.max_failed_indexes.map(|it| usize::try_from(it).unwrap_or(0));
    if indexes.failed.is_some() && borne.is_some_and(|borne| failed > borne) {
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
    // With this gate the interim condition is there whatever the others say.
    Some(success(Interim::New, "SuccessPolicy", &format!("Matched rules at index {rule}")))
}

/// PC-24, TC-14: and no pod of the Job is at work, or will be after this plan.
fn succeeded_by_count(view: &View, tally: Tally) -> Option<Termination> {
    let enough = match view.job().spec.completions {
        Some(completions) => tally.succeeded >= i64::from(completions),
        None => tally.succeeded > 0,
    };
    let at_work = view.active_count() > 0;
    // FT-19: while a Job is being deleted, nothing is stopped.
    let stops = view.job().spec.suspend && view.job().deletion.is_none();
    if !enough || (at_work && !stops) {
        return None;
    }
    let (reason, message) = if view.gates().success_policy {
        ("CompletionsReached", "Reached expected number of succeeded pods")
    } else {
        // These words came with the success policy (KEP-3998); before, a Job completed without any.
        ("", "")
    };
    Some(Termination { by_stopping: at_work, ..success(interim(view), reason, message) })
}

fn interim(view: &View) -> Interim {
    if view.delays_terminal() { Interim::New } else { Interim::None }
}

fn failure(interim: Interim, reason: &str, message: &str) -> Termination {
    let (reason, message) = (Text::from(reason), Text::from(message));
    Termination { succeeds: false, reason, message, interim, by_stopping: false }
}

fn success(interim: Interim, reason: &str, message: &str) -> Termination {
    Termination { succeeds: true, ..failure(interim, reason, message) }
}
