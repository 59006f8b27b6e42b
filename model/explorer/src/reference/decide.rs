//! Step 10: whether the Job's fate is decided, and by what (TC-01).

use jobcheck_spec::gates::Gates;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{
    Condition, ConditionKind, ConditionStatus, JobSpec, JobStatus, RestartPolicy, SuccessRule, Text,
};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::uid::Uid;

use crate::mutations::Mutation;
use crate::process::io::{Io, Stop};
use crate::process::read::Read;
use crate::reference::tally::Tally;

/// The end that a Job comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// Whether it completes.
    pub good: bool,
    /// The reason, as conditions spell it.
    pub reason: Text,
    /// The message.
    pub message: Text,
    /// Whether the interim condition is stored already.
    pub announced: bool,
    /// Whether it rests on a pod that matches a FailJob rule.
    pub by_fail_job: bool,
}

impl Termination {
    fn new(good: bool, reason: &str, message: &str) -> Termination {
        let (reason, message) = (reason.into(), message.into());
        Termination { good, reason, message, announced: false, by_fail_job: false }
    }

    /// PC-24, PC-25.
    #[must_use]
    pub fn completions_reached(gates: Gates) -> Termination {
        // These words came with the success policy.
        let silent = !gates.job_success_policy;
        let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
        if silent { Termination::new(true, "", "") } else { Termination::new(true, reason, message) }
    }

    /// UG-07: whether it is announced under every gate: a policy's verdict is, since it came with its own interim
    /// condition.
    #[must_use]
    pub fn is_of_a_policy(&self) -> bool {
        *self.reason == *"PodFailurePolicy" || *self.reason == *"SuccessPolicy"
    }

    /// The interim condition.
    #[must_use]
    pub fn interim(&self) -> ConditionKind {
        if self.good { ConditionKind::SuccessCriteriaMet } else { ConditionKind::FailureTarget }
    }

    /// The terminal condition.
    #[must_use]
    pub fn terminal(&self) -> ConditionKind {
        if self.good { ConditionKind::Complete } else { ConditionKind::Failed }
    }
}

/// The first of the ends that holds; completions are looked at later, when pods have been managed.
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
    let success_first = tally.mutations().on(Mutation::LooksAtSuccessFirst);
    let success = || success_policy(spec, tally).or_else(|| enough(spec, tally));
    let before = announced(status, tally).or_else(|| if success_first { success() } else { None });
    let verdict = if before.is_some() { None } else { fail_job(spec, read, io)? };
    let first = before.or(verdict);
    Ok(first
        .or_else(|| backoff_limit(spec, read, tally))
        .or_else(|| deadline(spec, status, read))
        .or_else(|| failed_indexes(spec, tally))
        .or_else(|| success_policy(spec, tally)))
}

/// B27: completions are reached, and nothing is active.
fn enough(spec: &JobSpec, tally: &Tally<'_>) -> Option<Termination> {
    let wanted = i64::from(spec.completions.unwrap_or(1));
    let met = tally.succeeded >= wanted && tally.active.is_empty();
    met.then(|| Termination::completions_reached(tally.settings().gates))
}

fn announced(status: &JobStatus, tally: &Tally<'_>) -> Option<Termination> {
    let settings = tally.settings();
    let forgets = tally.mutations().on(Mutation::ForgetsSuccessCriteriaMet)
        && !settings.delays_the_end()
        && !settings.gates.job_success_policy;
    let of = |kind: &ConditionKind, good: bool| {
        let condition = status.conditions.iter().find(|it: &&Condition| it.kind == *kind)?;
        (condition.status == ConditionStatus::True).then(|| Termination {
            good,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            announced: true,
            by_fail_job: false,
        })
    };
    of(&ConditionKind::SuccessCriteriaMet, true)
        .filter(|_| !forgets)
        .or_else(|| of(&ConditionKind::FailureTarget, false))
}

/// PF-08: over all failed pods, released ones too. Which of them the message names is chance.
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

/// What a FailJob rule says of a failed pod.
#[must_use]
pub fn fail_job_message(pod: &Pod) -> Option<&Text> {
    match &pod.policy {
        PolicyMatch::FailJob(message) if pod.phase == Phase::Failed => Some(message),
        PolicyMatch::FailJob(_) | PolicyMatch::Action(_) | PolicyMatch::None => None,
    }
}

/// BO-12, BO-13.
fn backoff_limit(spec: &JobSpec, read: &Read, tally: &Tally<'_>) -> Option<Termination> {
    let limit = i64::from(spec.backoff_limit?);
    let restarts = tally.restarts();
    let mutations = tally.mutations();
    let counts =
        spec.template.restart_policy == RestartPolicy::OnFailure && !mutations.on(Mutation::IgnoresRestarts);
    let restarted = counts && restarts >= limit.max(1);
    let text = "Job has reached the specified backoff limit";
    let seen = !mutations.on(Mutation::ChecksLimitOnNewFailuresOnly) || !tally.new_failures.is_empty();
    let requeued = mutations.on(Mutation::CountsRequeues) && !tally.new_failures.is_empty();
    let failed = if requeued { i64::from(read.requeues) + 1 } else { tally.failed };
    let exceeded = failed > limit && seen && !mutations.on(Mutation::IgnoresBackoffLimit);
    (exceeded || restarted).then(|| Termination::new(false, "BackoffLimitExceeded", text))
}

/// SU-08, SU-09: a Job without `startTime` starts in this sync.
fn deadline(spec: &JobSpec, status: &JobStatus, read: &Read) -> Option<Termination> {
    let deadline = spec.active_deadline_seconds.filter(|_| !spec.is_suspended())?;
    let start = status.start_time.unwrap_or(read.now);
    let passed = read.now.since(start) >= deadline;
    passed
        .then(|| Termination::new(false, "DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// BI-06, BI-07.
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

/// SX-01, SX-02.
fn success_policy(spec: &JobSpec, tally: &Tally<'_>) -> Option<Termination> {
    let gate = tally.settings().gates.job_success_policy;
    let on = gate || tally.mutations().on(Mutation::MeetsSuccessPolicyWithoutGate);
    let is_asked = on && !tally.completed.is_empty();
    let policy = spec.success_policy.as_ref().filter(|_| is_asked)?;
    let rule =
        policy.rules.iter().position(|rule| is_met(rule, &tally.completed, spec.completion_count()))?;
    Some(Termination::new(true, "SuccessPolicy", &format!("Matched rules at index {rule}")))
}

fn is_met(rule: &SuccessRule, completed: &IndexSet, completions: Option<u32>) -> bool {
    let Some(text) = &rule.succeeded_indexes else {
        return rule.succeeded_count.is_some_and(|count| i64::from(completed.len()) >= i64::from(count));
    };
    let listed = IndexSet::read(text, completions);
    let missing = listed.minus(completed).len();
    let enough = |count: i32| i64::from(listed.len() - missing) >= i64::from(count);
    !listed.is_empty() && (missing == 0 || rule.succeeded_count.is_some_and(enough))
}
