//! When a Job's fate is decided, and by what (TC-01, TC-02, TC-14, BO-12, BO-13, SU-08, BI-06, BI-07, PF, SX,
//! PC-24).

use crate::catalogue::Req;
use crate::gates::Gates;
use crate::guards::diagnosis::{self, of_false_reason, of_missing, of_order};
use crate::indexes::IndexSet;
use crate::job::{Condition, ConditionKind, ConditionStatus, JobStatus, RestartPolicy, SuccessRule, Text};
use crate::pod::PolicyMatch;
use crate::requirement::{Findings, Said};
use crate::time::Time;
use crate::view::View;
use crate::words::or_none;

/// Why a Job ends, in the order in which the reasons are tried (TC-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A failed pod matches a FailJob rule.
    PodFailurePolicy,
    /// More failures, or restarts, than the Job allows.
    BackoffLimitExceeded,
    /// Active for longer than allowed.
    DeadlineExceeded,
    /// More failed indexes than allowed.
    MaxFailedIndexesExceeded,
    /// Every index is done and some have failed.
    FailedIndexes,
    /// A rule of the success policy is met.
    SuccessPolicy,
    /// Enough successes.
    CompletionsReached,
}

/// Whether a reason holds. Clocks are known to the second only, so a deadline may be undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// It does not.
    No,
    /// It depends on the instant at which the controller looked at its clock.
    Maybe,
    /// It does.
    Yes,
}

impl Reason {
    /// All reasons in order.
    pub const ALL: [Reason; 7] = [
        Reason::PodFailurePolicy,
        Reason::BackoffLimitExceeded,
        Reason::DeadlineExceeded,
        Reason::MaxFailedIndexesExceeded,
        Reason::FailedIndexes,
        Reason::SuccessPolicy,
        Reason::CompletionsReached,
    ];

    /// The reason as conditions spell it (TC-02).
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

    /// The reason as a process with these gates writes it: that of a completion came with the success policy, and without
    /// its gate a Job completes without reason and message (TestSuccessPolicy of Kubernetes).
    #[must_use]
    pub fn said_with(self, gates: Gates) -> &'static str {
        if self.is_silent(gates) { "" } else { self.as_str() }
    }

    fn is_silent(self, gates: Gates) -> bool {
        self == Reason::CompletionsReached && !gates.job_success_policy
    }

    /// Whether a condition that says this was written for this reason, whatever the gates of who wrote it.
    #[must_use]
    pub fn is_said_by(self, text: &str) -> bool {
        [self.as_str(), self.said_with(WITHOUT_WORDS)].contains(&text)
    }

    /// The interim condition that announces this end.
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

    /// The requirement that says when the reason holds.
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

    /// The message as a process with these gates writes it (TC-02); `None` where it names a pod or a rule of a policy.
    #[must_use]
    pub fn message(self, gates: Gates) -> Option<&'static str> {
        match self {
            _ if self.is_silent(gates) => Some(""),
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

/// Gates with which a reason may be left out.
const WITHOUT_WORDS: Gates = Gates { job_success_policy: false, ..Gates::ON };

/// What the reasons are evaluated on.
#[derive(Clone, Debug)]
pub struct Tally {
    /// [`View::succeeded`].
    pub succeeded: i64,
    /// [`View::failed`].
    pub failed: i64,
    /// [`View::completed`], of an Indexed Job.
    pub completed: IndexSet,
    /// [`View::failed_indexes`].
    pub failed_indexes: Option<IndexSet>,
}

impl Tally {
    /// Counts a view.
    #[must_use]
    pub fn of(view: &View<'_>) -> Tally {
        let completed = if view.spec().is_indexed() { view.completed() } else { IndexSet::new() };
        let failed_indexes = if view.spec().is_indexed() { view.failed_indexes(&completed) } else { None };
        let succeeded = if view.spec().is_indexed() { i64::from(completed.len()) } else { view.succeeded() };
        Tally { succeeded, failed: view.failed(), completed, failed_indexes }
    }
}

/// Whether a reason holds in a view.
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

/// BO-12, BO-13.
fn exceeds_backoff_limit(view: &View<'_>, tally: &Tally) -> bool {
    let Some(limit) = view.spec().backoff_limit else { return false };
    if tally.failed > i64::from(limit) {
        return true;
    }
    let restarts = i64::from(view.cache.sums().restarts);
    view.spec().template.restart_policy == RestartPolicy::OnFailure && restarts >= i64::from(limit.max(1))
}

/// SU-08, SU-09: relative to `startTime`, which the sync that finds none sets to its own now.
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

/// BI-06.
fn exceeds_max_failed_indexes(view: &View<'_>, tally: &Tally) -> bool {
    match (&tally.failed_indexes, view.spec().max_failed_indexes) {
        (Some(failed), Some(limit)) => i64::from(failed.len()) > i64::from(limit),
        (None, _) | (_, None) => false,
    }
}

/// BI-07.
fn all_done_some_failed(view: &View<'_>, tally: &Tally) -> bool {
    match (&tally.failed_indexes, view.spec().completions) {
        (Some(failed), Some(completions)) => {
            !failed.is_empty() && i64::from(failed.len()) + tally.succeeded >= i64::from(completions)
        }
        (None, _) | (_, None) => false,
    }
}

/// The first success rule that is met (SX-01, SX-02).
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
            let have = wanted.iter().filter(|index| tally.completed.contains(*index)).count();
            !wanted.is_empty() && (have == wanted.len() as usize || enough(i64::try_from(have).unwrap_or(0)))
        }
    }
}

/// PC-24, PC-25: on what is active after the sync's own deletions and creations.
fn reaches_completions(view: &View<'_>, tally: &Tally) -> bool {
    let enough = match view.spec().completions {
        None => tally.succeeded > 0,
        Some(completions) => tally.succeeded >= i64::from(completions),
    };
    enough && view.post.sums().active == 0
}

/// The decision that a view forces, if any: the first reason that certainly holds.
#[must_use]
pub fn decide(view: &View<'_>, tally: &Tally) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| holds(*reason, view, tally) == Holds::Yes)
}

/// Judges the interim condition of a status write: it appears exactly when the fate is decided.
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
        Some(condition) => judge_fresh_interim(view, condition, tally, findings),
        None => judge_missing_interim(view, tally, findings),
    }
}

fn judge_fresh_interim(view: &View<'_>, condition: &Condition, tally: &Tally, findings: &mut Findings) {
    let said = |reason: &Reason| *reason.said_with(view.gates) == *condition.reason;
    let Some(reason) = Reason::ALL.into_iter().find(said) else {
        findings.require(
            Req::TC02,
            false,
            "the reason of the interim condition",
            "a reason of the table in TC-02",
            condition.reason.to_string(),
        );
        return;
    };
    let as_expected = reason.interim() == condition.kind;
    findings.require(
        Req::TC02,
        as_expected,
        "the interim condition for this reason",
        Said::later(|| reason.interim().as_str().to_owned()),
        Said::later(|| condition.kind.as_str().to_owned()),
    );
    let held = holds(reason, view, tally);
    findings.require(
        match held {
            Holds::No => of_false_reason(reason, view, condition, tally),
            Holds::Maybe | Holds::Yes => reason.requirement(view),
        },
        held != Holds::No,
        "the interim condition",
        Said::later(|| nearest(reason, view, tally)),
        Said::later(|| format!("{} ({})", condition.kind.as_str(), condition.reason)),
    );
    if held == Holds::No {
        return;
    }
    let earlier = Reason::ALL.into_iter().take_while(|other| *other < reason);
    for other in earlier {
        let wins = holds(other, view, tally) == Holds::Yes;
        let what = "the reason of the interim condition";
        findings.require(of_order(reason, other), !wins, what, other.as_str(), reason.as_str());
    }
    judge_message(reason, view, condition, tally, findings);
    judge_nothing_active(reason, view, findings);
}

/// TC-02, PF-07: the message that belongs to the reason.
fn judge_message(
    reason: Reason,
    view: &View<'_>,
    condition: &Condition,
    tally: &Tally,
    findings: &mut Findings,
) {
    let found = &condition.message;
    let what = "the message of the interim condition";
    match reason {
        Reason::PodFailurePolicy => {
            let mut messages =
                view.cache.matching_fail_job().filter_map(|pod| fail_job_message(&pod.policy)).peekable();
            let first = messages.peek().cloned();
            let expected = || first.map_or(String::new(), |text| text.to_string());
            let fits = messages.any(|message| message == *found);
            findings.require(Req::PF07, fits, what, Said::later(expected), Said::later(|| found.to_string()));
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
                Said::later(|| found.to_string()),
            );
        }
    }
}

/// TC-07, TC-08, SX-03: at the interim condition every active pod has been deleted.
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

/// TC-14: the interim condition stands in the first write in which the decision holds, unless an active pod
/// could not be deleted or a created one was not seen yet (TC-08; not for CompletionsReached, PC-24).
fn judge_missing_interim(view: &View<'_>, tally: &Tally, findings: &mut Findings) {
    let Some(reason) = decide(view, tally) else { return };
    let all_seen = view.expectations_met && !view.deletion_unseen && !view.deletes_failed;
    if let Some(req) = of_missing(reason, view).filter(|_| all_seen) {
        let expected = format!("{} ({})", reason.interim().as_str(), reason.as_str());
        findings.require(req, false, "the interim condition", expected, "no interim condition");
        return;
    }
    let excused = reason != Reason::CompletionsReached && !all_seen;
    if !excused {
        findings.require(
            Req::TC14.diagnosed_by(|| diagnosis::of_missing_end(reason, view, tally)),
            false,
            "the interim condition",
            Said::Text(format!("{} ({})", reason.interim().as_str(), reason.as_str())),
            "no interim condition",
        );
    }
}

/// The comparison that is false, and the value that would have made it true.
fn nearest(reason: Reason, view: &View<'_>, tally: &Tally) -> Said {
    let spec = view.spec();
    let failed_indexes = tally.failed_indexes.as_ref().map_or(0, IndexSet::len);
    Said::Text(match reason {
        Reason::PodFailurePolicy => "a failed pod that matches a FailJob rule; none does".to_owned(),
        Reason::BackoffLimitExceeded => {
            format!("failed > backoffLimit {}; failed is {}", spec.backoff_limit.unwrap_or(0), tally.failed)
        }
        Reason::DeadlineExceeded => format!(
            "{} s since startTime {}; at the latest it is {}",
            spec.active_deadline_seconds.unwrap_or(0),
            or_none(view.job.status.start_time),
            or_none(view.latest)
        ),
        Reason::MaxFailedIndexesExceeded => format!(
            "more than maxFailedIndexes {} failed indexes; there are {failed_indexes}",
            spec.max_failed_indexes.unwrap_or(0)
        ),
        Reason::FailedIndexes => format!(
            "a failed index, and completed + failed >= completions {}; there are {} + {failed_indexes}",
            spec.completions.unwrap_or(0),
            tally.succeeded
        ),
        Reason::SuccessPolicy => {
            format!("a success rule that is met; completed indexes are \"{}\"", tally.completed)
        }
        Reason::CompletionsReached => format!(
            "succeeded >= {} and nothing active; succeeded is {}, active {}",
            spec.completions.unwrap_or(1),
            tally.succeeded,
            view.post.sums().active
        ),
    })
}
