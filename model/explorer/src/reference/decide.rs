//! The decision that a Job succeeds or fails, with its reason (TC-01).

use jobcheck_spec::gates::Gates;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{
    Condition, ConditionKind, ConditionStatus, JobSpec, JobStatus, RestartPolicy, SuccessRule, Text,
};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::uid::Uid;

use crate::process::io::{Io, Stop};
use crate::process::read::Read;
use crate::reference::tally::Tally;

/// The end that a Job reaches, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// True if the Job completes, false if it fails.
    pub good: bool,
    /// The reason, as conditions spell it.
    pub reason: Text,
    /// The message.
    pub message: Text,
    /// True if the interim condition is already stored.
    pub is_stored: bool,
    /// True if a pod that matches a FailJob rule is the reason.
    pub by_fail_job: bool,
}

impl Termination {
    fn new(good: bool, reason: &str, message: &str) -> Termination {
        let (reason, message) = (reason.into(), message.into());
        Termination { good, reason, message, is_stored: false, by_fail_job: false }
    }

    /// PC-24, PC-25.
    #[must_use]
    pub fn completions_reached(gates: Gates) -> Termination {
        // Upstream added this reason and message with the success policy.
        let silent = !gates.job_success_policy;
        let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
        if silent { Termination::new(true, "", "") } else { Termination::new(true, reason, message) }
    }

    /// UG-07: returns true if a policy is the reason. Its interim condition does not depend on the gates that
    /// the others need, because upstream added it with the policy.
    #[must_use]
    pub fn is_of_a_policy(&self) -> bool {
        *self.reason == *"PodFailurePolicy" || *self.reason == *"SuccessPolicy"
    }

    /// The type of the interim condition.
    #[must_use]
    pub fn interim(&self) -> ConditionKind {
        if self.good { ConditionKind::SuccessCriteriaMet } else { ConditionKind::FailureTarget }
    }

    /// The type of the terminal condition.
    #[must_use]
    pub fn terminal(&self) -> ConditionKind {
        if self.good { ConditionKind::Complete } else { ConditionKind::Failed }
    }
}

/// The first reason that applies. Returns `None` if the Job continues. Completions are not among the reasons,
/// because a sync checks them after it has managed pods.
///
/// # Errors
///
/// A choice that was not made yet.
pub fn decide(
    spec: &JobSpec,
    status: &JobStatus,
    read: &Read,
    tally: &Tally<'_>,
    io: &mut Io<'_>,
) -> Result<Option<Termination>, Stop> {
    let earlier = stored(status, tally).or_else(|| tally.success_before_failure(spec));
    let verdict = if earlier.is_some() { None } else { fail_job(spec, read, io)? };
    Ok(earlier
        .or(verdict)
        .or_else(|| backoff_limit(spec, read, tally))
        .or_else(|| deadline(spec, status, read))
        .or_else(|| failed_indexes(spec, tally))
        .or_else(|| success_policy(spec, tally)))
}

/// TC-06: the termination of the stored interim condition.
fn stored(status: &JobStatus, tally: &Tally<'_>) -> Option<Termination> {
    let of = |kind: &ConditionKind, good: bool| {
        let condition = status.conditions.iter().find(|it: &&Condition| it.kind == *kind)?;
        (condition.status == ConditionStatus::True).then(|| Termination {
            good,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            is_stored: true,
            by_fail_job: false,
        })
    };
    of(&ConditionKind::SuccessCriteriaMet, true)
        .filter(|_| tally.settings().reads_success_criteria_met())
        .or_else(|| of(&ConditionKind::FailureTarget, false))
}

/// PF-08: a FailJob rule matches a failed pod, with or without its finalizer. If several pods match, the message names a
/// random one.
fn fail_job(spec: &JobSpec, read: &Read, io: &mut Io<'_>) -> Result<Option<Termination>, Stop> {
    if spec.pod_failure_policy.is_none() {
        return Ok(None);
    }
    let matching: Vec<Uid> =
        read.pods.iter().filter(|pod| fail_job_message(pod).is_some()).map(|pod| pod.uid).collect();
    let named = io.pick(&matching, 1)?;
    let message = named.first().and_then(|uid| read.pods.get(*uid)).and_then(fail_job_message);
    let termination = |message: &Text| Termination {
        by_fail_job: true,
        ..Termination::new(false, "PodFailurePolicy", message)
    };
    Ok(message.map(termination))
}

/// The message of the FailJob rule that a failed pod matches; `None` if it matches none.
#[must_use]
pub fn fail_job_message(pod: &Pod) -> Option<&Text> {
    match &pod.policy {
        PolicyMatch::FailJob(message) if pod.phase == Phase::Failed => Some(message),
        PolicyMatch::FailJob(_) | PolicyMatch::Action(_) | PolicyMatch::None => None,
    }
}

/// BO-12, BO-13: more failures than `backoffLimit`, or as many container restarts.
fn backoff_limit(spec: &JobSpec, read: &Read, tally: &Tally<'_>) -> Option<Termination> {
    let limit = i64::from(spec.backoff_limit?);
    let restarts_count = spec.template.restart_policy == RestartPolicy::OnFailure && tally.reads_restarts();
    let restarted = restarts_count && tally.restarts() >= limit.max(1);
    let exceeded = tally.failures_against_limit(read) > limit && tally.checks_backoff_limit();
    let text = "Job has reached the specified backoff limit";
    (exceeded || restarted).then(|| Termination::new(false, "BackoffLimitExceeded", text))
}

/// SU-08, SU-09: the Job was active for as long as `activeDeadlineSeconds`. A Job without `startTime` starts in this
/// sync.
fn deadline(spec: &JobSpec, status: &JobStatus, read: &Read) -> Option<Termination> {
    let deadline = spec.active_deadline_seconds.filter(|_| !spec.is_suspended())?;
    let start = status.start_time.unwrap_or(read.now);
    let passed = read.now.since(start) >= deadline;
    passed
        .then(|| Termination::new(false, "DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// BI-06, BI-07: more failed indexes than `maxFailedIndexes`, or no index is left to run and one has failed.
fn failed_indexes(spec: &JobSpec, tally: &Tally<'_>) -> Option<Termination> {
    let failed = tally.failed_indexes.as_ref().filter(|failed| !failed.is_empty())?;
    let count = i64::from(failed.len());
    if spec.max_failed_indexes.is_some_and(|limit| count > i64::from(limit)) {
        let text = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Termination::new(false, "MaxFailedIndexesExceeded", text));
    }
    let done = count + tally.succeeded >= i64::from(spec.completions?);
    done.then(|| Termination::new(false, "FailedIndexes", "Job has failed indexes"))
}

/// SX-01, SX-02: the completed indexes meet a rule of the success policy.
pub(super) fn success_policy(spec: &JobSpec, tally: &Tally<'_>) -> Option<Termination> {
    let applies = tally.settings().has_success_policies() && !tally.completed.is_empty();
    let policy = spec.success_policy.as_ref().filter(|_| applies)?;
    let rule =
        policy.rules.iter().position(|rule| is_met(rule, &tally.completed, spec.completion_count()))?;
    Some(Termination::new(true, "SuccessPolicy", &format!("Matched rules at index {rule}")))
}

fn is_met(rule: &SuccessRule, completed: &IndexSet, completions: Option<u32>) -> bool {
    let Some(text) = &rule.succeeded_indexes else {
        return rule.succeeded_count.is_some_and(|count| i64::from(completed.len()) >= i64::from(count));
    };
    let named = IndexSet::read(text, completions);
    let missing = named.minus(completed).len();
    let enough = |count: i32| i64::from(named.len() - missing) >= i64::from(count);
    !named.is_empty() && (missing == 0 || rule.succeeded_count.is_some_and(enough))
}
