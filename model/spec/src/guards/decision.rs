//! The decision to finish a Job: its reason, and the interim condition that shows it.
//!
//! A Job finishes for the first [`Reason`] that holds, in the order of TC-01. The status write that decides adds an
//! interim condition: FailureTarget or SuccessCriteriaMet. The terminal condition follows once no pod is left (TC-04).
//!
//! | reason | holds if | requirements |
//! | --- | --- | --- |
//! | PodFailurePolicy | a failed pod matches a FailJob rule | PF-01 to PF-08 |
//! | BackoffLimitExceeded | there are more failures, or container restarts, than `backoffLimit` | BO-12, BO-13 |
//! | DeadlineExceeded | `activeDeadlineSeconds` have passed since `startTime` | SU-08, SU-09 |
//! | MaxFailedIndexesExceeded | there are more failed indexes than `maxFailedIndexes` | BI-06 |
//! | FailedIndexes | every index is completed or failed, and one has failed | BI-07 |
//! | SuccessPolicy | a success rule is met | SX-01, SX-02 |
//! | CompletionsReached | there are enough successes, and no active pod | PC-24, PC-25 |
//!
//! All of this is decided by a view: the counts that the caches show. [`judge_interim`] judges the interim condition
//! of a status write (TC-01, TC-02, TC-07, TC-08, TC-14, PF-07, SX-03).

use crate::catalogue::Req;
use crate::gates::Gates;
use crate::guards::diagnosis::{self, of_false_reason, of_missing, of_order};
use crate::indexes::IndexSet;
use crate::job::{Condition, ConditionKind, ConditionStatus, JobStatus, RestartPolicy, SuccessRule, Text};
use crate::pod::PolicyMatch;
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;
use crate::words::or_none;

/// The reason for which a Job finishes, in the order in which reasons are tried (TC-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A failed pod matches a FailJob rule.
    PodFailurePolicy,
    /// There are more failures, or container restarts, than `backoffLimit` allows.
    BackoffLimitExceeded,
    /// The Job has been active for longer than `activeDeadlineSeconds`.
    DeadlineExceeded,
    /// There are more failed indexes than `maxFailedIndexes`.
    MaxFailedIndexesExceeded,
    /// Every index is completed or failed, and some have failed.
    FailedIndexes,
    /// A rule of the success policy is met.
    SuccessPolicy,
    /// There are enough successes.
    CompletionsReached,
}

/// The truth of a reason in a view. It may be unknown for a deadline, because a view shows no exact time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// The reason does not hold.
    No,
    /// The reason holds or not, depending on the time at which the controller read its clock.
    Maybe,
    /// The reason holds.
    Yes,
}

impl Reason {
    /// All reasons, in the order in which they are tried.
    pub const ALL: [Reason; 7] = [
        Reason::PodFailurePolicy,
        Reason::BackoffLimitExceeded,
        Reason::DeadlineExceeded,
        Reason::MaxFailedIndexesExceeded,
        Reason::FailedIndexes,
        Reason::SuccessPolicy,
        Reason::CompletionsReached,
    ];

    /// The text of the reason in a condition (TC-02).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::PodFailurePolicy => "PodFailurePolicy",
            Reason::BackoffLimitExceeded => "BackoffLimitExceeded",
            Reason::DeadlineExceeded => "DeadlineExceeded",
            Reason::MaxFailedIndexesExceeded => "MaxFailedIndexesExceeded",
            Reason::FailedIndexes => "FailedIndexes",
            Reason::SuccessPolicy => "SuccessPolicy",
            Reason::CompletionsReached => "CompletionsReached",
        }
    }

    /// The text of the reason as a process with these gates writes it.
    ///
    /// With `JobSuccessPolicy` off, a Job completes without reason and message (`TestSuccessPolicy` of Kubernetes).
    #[must_use]
    pub fn written_with(self, gates: Gates) -> &'static str {
        if self.is_omitted(gates) { "" } else { self.as_str() }
    }

    fn is_omitted(self, gates: Gates) -> bool {
        self == Reason::CompletionsReached && !gates.job_success_policy
    }

    /// Returns whether the reason of a condition is this one, as a process with any gates writes it.
    #[must_use]
    pub fn is_written_as(self, text: &str) -> bool {
        [self.as_str(), self.written_with(WITHOUT_REASON)].contains(&text)
    }

    /// The type of the interim condition with this reason.
    #[must_use]
    pub fn interim(self) -> ConditionKind {
        match self {
            Reason::PodFailurePolicy
            | Reason::BackoffLimitExceeded
            | Reason::DeadlineExceeded
            | Reason::MaxFailedIndexesExceeded
            | Reason::FailedIndexes => ConditionKind::FailureTarget,
            Reason::SuccessPolicy | Reason::CompletionsReached => ConditionKind::SuccessCriteriaMet,
        }
    }

    /// The requirement that defines when the reason holds.
    #[must_use]
    pub fn requirement(self, view: &View<'_>) -> Req {
        match self {
            Reason::PodFailurePolicy => Req::PF06,
            Reason::BackoffLimitExceeded
                if view.spec().template.restart_policy == RestartPolicy::OnFailure =>
            {
                Req::BO13
            }
            Reason::BackoffLimitExceeded => Req::BO12,
            Reason::DeadlineExceeded => Req::SU08,
            Reason::MaxFailedIndexesExceeded => Req::BI06,
            Reason::FailedIndexes => Req::BI07,
            Reason::SuccessPolicy => Req::SX02,
            Reason::CompletionsReached => Req::PC24,
        }
    }

    /// The message as a process with these gates writes it (TC-02); `None` if it contains the name of a pod or the
    /// index of a rule.
    #[must_use]
    pub fn message(self, gates: Gates) -> Option<&'static str> {
        match self {
            _ if self.is_omitted(gates) => Some(""),
            Reason::PodFailurePolicy | Reason::SuccessPolicy => None,
            Reason::BackoffLimitExceeded => Some("Job has reached the specified backoff limit"),
            Reason::DeadlineExceeded => Some("Job was active longer than specified deadline"),
            Reason::MaxFailedIndexesExceeded => {
                Some("Job has exceeded the specified maximal number of failed indexes")
            }
            Reason::FailedIndexes => Some("Job has failed indexes"),
            Reason::CompletionsReached => Some("Reached expected number of succeeded pods"),
        }
    }
}

/// Gates with which a condition may have no reason.
const WITHOUT_REASON: Gates = Gates { job_success_policy: false, ..Gates::ON };

/// The numbers and index sets of a view on which the reasons are evaluated.
#[derive(Clone, Debug)]
pub struct Tally {
    /// [`View::succeeded`].
    pub succeeded: i64,
    /// [`View::failed`].
    pub failed: i64,
    /// [`View::completed`]; empty if the Job is not Indexed.
    pub completed: IndexSet,
    /// [`View::failed_indexes`]; `None` if the Job is not Indexed.
    pub failed_indexes: Option<IndexSet>,
}

impl Tally {
    /// Evaluates a view once, so that several guards can share the result.
    #[must_use]
    pub fn of(view: &View<'_>) -> Tally {
        let completed = if view.spec().is_indexed() { view.completed() } else { IndexSet::new() };
        let failed_indexes = if view.spec().is_indexed() { view.failed_indexes(&completed) } else { None };
        let succeeded = if view.spec().is_indexed() { i64::from(completed.len()) } else { view.succeeded() };
        Tally { succeeded, failed: view.failed(), completed, failed_indexes }
    }
}

/// Returns whether a reason holds in a view.
#[must_use]
pub fn holds(reason: Reason, view: &View<'_>, tally: &Tally) -> Holds {
    let yes = match reason {
        Reason::PodFailurePolicy => view.cache.matching_fail_job().next().is_some(),
        Reason::BackoffLimitExceeded => exceeds_backoff_limit(view, tally),
        Reason::DeadlineExceeded => return past_deadline(view),
        Reason::MaxFailedIndexesExceeded => exceeds_max_failed_indexes(view, tally),
        Reason::FailedIndexes => all_done_some_failed(view, tally),
        Reason::SuccessPolicy => matching_success_rule(view, tally).is_some(),
        Reason::CompletionsReached => reaches_completions(view, tally),
    };
    if yes { Holds::Yes } else { Holds::No }
}

/// BO-12, BO-13: there are more failures than `backoffLimit`, or as many container restarts with `OnFailure`.
fn exceeds_backoff_limit(view: &View<'_>, tally: &Tally) -> bool {
    let Some(limit) = view.spec().backoff_limit else { return false };
    if tally.failed > i64::from(limit) {
        return true;
    }
    let restarts = i64::from(view.cache.sums().restarts);
    view.spec().template.restart_policy == RestartPolicy::OnFailure && restarts >= i64::from(limit.max(1))
}

/// SU-08, SU-09: `activeDeadlineSeconds` have passed since `startTime`. A sync that finds no `startTime` sets it to
/// its own time.
fn past_deadline(view: &View<'_>) -> Holds {
    let Some(deadline) = view.spec().active_deadline_seconds else { return Holds::No };
    if view.spec().is_suspended() {
        return Holds::No;
    }
    let Some(start) = view.job.status.start_time else {
        return if deadline == 0 { Holds::Yes } else { Holds::No };
    };
    let has_passed = |instant: Time| instant.since(start) >= deadline;
    match (view.earliest.max(view.not_before), view.latest) {
        (Some(earliest), _) if has_passed(earliest) => Holds::Yes,
        (_, Some(latest)) if !has_passed(latest) => Holds::No,
        (Some(_) | None, Some(_) | None) => Holds::Maybe,
    }
}

/// BI-06: there are more failed indexes than `maxFailedIndexes`.
fn exceeds_max_failed_indexes(view: &View<'_>, tally: &Tally) -> bool {
    match (&tally.failed_indexes, view.spec().max_failed_indexes) {
        (Some(failed), Some(limit)) => i64::from(failed.len()) > i64::from(limit),
        (None, _) | (_, None) => false,
    }
}

/// BI-07: every index is completed or failed, and one has failed.
fn all_done_some_failed(view: &View<'_>, tally: &Tally) -> bool {
    match (&tally.failed_indexes, view.spec().completions) {
        (Some(failed), Some(completions)) => {
            !failed.is_empty() && i64::from(failed.len()) + tally.succeeded >= i64::from(completions)
        }
        (None, _) | (_, None) => false,
    }
}

/// The position of the first success rule that is met (SX-01, SX-02).
fn matching_success_rule(view: &View<'_>, tally: &Tally) -> Option<usize> {
    let policy = view.spec().success_policy.as_ref()?;
    if tally.completed.is_empty() {
        return None;
    }
    policy.rules.iter().position(|rule| meets(rule, view.spec().completion_count(), tally))
}

fn meets(rule: &SuccessRule, completions: Option<u32>, tally: &Tally) -> bool {
    let enough = |have: i64| rule.succeeded_count.is_some_and(|count| have >= i64::from(count));
    match &rule.succeeded_indexes {
        None => enough(tally.succeeded),
        Some(text) => {
            let wanted = IndexSet::read(text, completions);
            // By intervals: a rule may name 2^31 indexes.
            let have = wanted.common(&tally.completed).len();
            !wanted.is_empty() && (have == wanted.len() || enough(i64::from(have)))
        }
    }
}

/// PC-24, PC-25: there are enough successes, and no pod is active after the creations and deletions of the sync.
fn reaches_completions(view: &View<'_>, tally: &Tally) -> bool {
    let enough = match view.spec().completions {
        None => tally.succeeded > 0,
        Some(completions) => tally.succeeded >= i64::from(completions),
    };
    enough && view.post.sums().active == 0
}

/// The first reason that certainly holds in a view: the controller must finish the Job for it.
#[must_use]
pub fn decide(view: &View<'_>, tally: &Tally) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| holds(*reason, view, tally) == Holds::Yes)
}

/// Judges the interim condition of a status write: it appears in the first write in which a reason holds, and only
/// then.
pub fn judge_interim(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    let old = &view.job.status;
    if old.is_decided() {
        return;
    }
    let is_interim = |condition: &&Condition| {
        condition.status == ConditionStatus::True
            && matches!(condition.kind, ConditionKind::FailureTarget | ConditionKind::SuccessCriteriaMet)
    };
    match new.conditions.iter().find(is_interim) {
        Some(condition) => judge_new_interim(view, condition, tally, findings),
        None => judge_missing_interim(view, tally, findings),
    }
}

/// TC-01, TC-02: a new interim condition has the first reason that holds, and the type and message of that reason.
fn judge_new_interim(view: &View<'_>, condition: &Condition, tally: &Tally, findings: &mut Findings) {
    let is_written = |reason: &Reason| *reason.written_with(view.gates) == *condition.reason;
    let Some(reason) = Reason::ALL.into_iter().find(is_written) else {
        findings.require(
            Req::TC02,
            false,
            "reason of the interim condition",
            "a reason that Kubernetes defines (TC-02)",
            condition.reason.to_string(),
        );
        return;
    };
    let as_expected = reason.interim() == condition.kind;
    findings.require(
        Req::TC02,
        as_expected,
        "type of the interim condition with this reason",
        Operand::lazy(|| reason.interim().as_str().to_owned()),
        Operand::lazy(|| condition.kind.as_str().to_owned()),
    );
    let held = holds(reason, view, tally);
    findings.require(
        match held {
            Holds::No => of_false_reason(reason, view, condition, tally),
            Holds::Maybe | Holds::Yes => reason.requirement(view),
        },
        held != Holds::No,
        "interim condition",
        Operand::lazy(|| unmet(reason, view, tally)),
        Operand::lazy(|| format!("{} ({})", condition.kind.as_str(), condition.reason)),
    );
    if held == Holds::No {
        return;
    }
    let earlier = Reason::ALL.into_iter().take_while(|other| *other < reason);
    for other in earlier {
        let wins = holds(other, view, tally) == Holds::Yes;
        let what = "reason of the interim condition";
        findings.require(of_order(reason, other), !wins, what, other.as_str(), reason.as_str());
    }
    judge_message(reason, view, condition, tally, findings);
    judge_nothing_active(reason, view, findings);
}

/// TC-02, PF-07, SX-01: the interim condition has the message of its reason.
fn judge_message(
    reason: Reason,
    view: &View<'_>,
    condition: &Condition,
    tally: &Tally,
    findings: &mut Findings,
) {
    let found = &condition.message;
    let what = "message of the interim condition";
    match reason {
        Reason::PodFailurePolicy => {
            let mut messages =
                view.cache.matching_fail_job().filter_map(|pod| fail_job_message(&pod.policy)).peekable();
            let first = messages.peek().cloned();
            let expected = || first.map_or(String::new(), |text| text.to_string());
            let fits = messages.any(|message| message == *found);
            findings.require(
                Req::PF07,
                fits,
                what,
                Operand::lazy(expected),
                Operand::lazy(|| found.to_string()),
            );
        }
        Reason::SuccessPolicy => {
            let rule = matching_success_rule(view, tally).unwrap_or_default();
            let expected = format!("Matched rules at index {rule}");
            let rule = Req::SX01.diagnosed_by(|| diagnosis::of_success_message(found));
            findings.equal(rule, what, expected, found.to_string());
        }
        Reason::BackoffLimitExceeded
        | Reason::DeadlineExceeded
        | Reason::MaxFailedIndexesExceeded
        | Reason::FailedIndexes
        | Reason::CompletionsReached => {
            let expected = reason.message(view.gates).unwrap_or_default();
            findings.require(
                Req::TC02,
                &**found == expected,
                what,
                expected,
                Operand::lazy(|| found.to_string()),
            );
        }
    }
}

/// TC-07, TC-08, SX-03: every active pod has been deleted before the interim condition is written.
fn judge_nothing_active(reason: Reason, view: &View<'_>, findings: &mut Findings) {
    let req = match reason {
        Reason::SuccessPolicy => Req::SX03,
        _ if view.deletes_failed => Req::TC08,
        _ => Req::TC07,
    };
    let active = view.post.sums().active;
    findings.require(req, active == 0, "active pods at the interim condition", 0, active);
}

fn fail_job_message(policy: &PolicyMatch) -> Option<Text> {
    match policy {
        PolicyMatch::FailJob(message) => Some(message.clone()),
        PolicyMatch::None | PolicyMatch::Action(_) => None,
    }
}

/// TC-14: the first write in which a reason holds has the interim condition.
///
/// It may be missing if an active pod could not be deleted, or if the cache does not show a created pod yet (TC-08).
/// The exception does not cover CompletionsReached (PC-24).
fn judge_missing_interim(view: &View<'_>, tally: &Tally, findings: &mut Findings) {
    let Some(reason) = decide(view, tally) else { return };
    let all_seen = view.expectations_met && !view.deletion_unseen && !view.deletes_failed;
    if let Some(req) = of_missing(reason, view).filter(|_| all_seen) {
        let expected = format!("{} ({})", reason.interim().as_str(), reason.as_str());
        findings.require(req, false, "interim condition", expected, "none");
        return;
    }
    let excused = reason != Reason::CompletionsReached && !all_seen;
    if !excused {
        findings.require(
            Req::TC14.diagnosed_by(|| diagnosis::of_missing_end(reason, view, tally)),
            false,
            "interim condition",
            Operand::Text(format!("{} ({})", reason.interim().as_str(), reason.as_str())),
            "none",
        );
    }
}

/// The condition under which the reason holds, and in parentheses the value in the view that does not satisfy it.
fn unmet(reason: Reason, view: &View<'_>, tally: &Tally) -> Operand {
    let spec = view.spec();
    let failed_indexes = tally.failed_indexes.as_ref().map_or(0, IndexSet::len);
    Operand::Text(match reason {
        Reason::PodFailurePolicy => "a failed pod that matches a FailJob rule (none does)".to_owned(),
        Reason::BackoffLimitExceeded => {
            let limit = spec.backoff_limit.unwrap_or(0);
            format!("more failures than backoffLimit {limit} (there are {})", tally.failed)
        }
        Reason::DeadlineExceeded => format!(
            "{} s since startTime {} (the write was sent by {})",
            spec.active_deadline_seconds.unwrap_or(0),
            or_none(view.job.status.start_time),
            or_none(view.latest)
        ),
        Reason::MaxFailedIndexesExceeded => format!(
            "more failed indexes than maxFailedIndexes {} (there are {failed_indexes})",
            spec.max_failed_indexes.unwrap_or(0)
        ),
        Reason::FailedIndexes => format!(
            "a failed index, and {} completed or failed indexes (there are {} and {failed_indexes})",
            spec.completions.unwrap_or(0),
            tally.succeeded
        ),
        Reason::SuccessPolicy => {
            format!("a success rule that is met (completed indexes are \"{}\")", tally.completed)
        }
        Reason::CompletionsReached => format!(
            "at least {} successes and no active pod (there are {} and {})",
            spec.completions.unwrap_or(1),
            tally.succeeded,
            view.post.sums().active
        ),
    })
}
