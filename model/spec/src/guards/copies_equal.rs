//! The fields in which the status of a Job differs from that of its copy (MR-20, MR-24).
//!
//! While there is one copy, its fields are those of the Job. After a redispatch the Job keeps what other copies have
//! counted, so that its counters and indexes have bounds ([`Others`]). The decision, and what runs, are those of the last copy.

use super::copies::{Copy, Grants, Local, Micros, Version};
use crate::IndexSet;
use crate::catalogue::Req;
use crate::job::{ConditionKind, ConditionStatus, JobSpec, JobStatus};
use crate::time::Time;

/// A field that differs.
#[derive(Debug)]
pub(super) struct Difference {
    /// The broken requirement.
    pub(super) req: Req,
    /// The field.
    pub(super) what: &'static str,
    /// Its value here.
    pub(super) found: String,
    /// The value that it should have.
    pub(super) expected: String,
}

/// The past, as far as it may be in the status of a Job beside that of its copy.
#[derive(Debug)]
pub(super) struct Others<'a> {
    local: &'a Local<'a>,
    /// The status before the creation of the copy, if there are other copies. Nothing in it is from that copy.
    before: Option<&'a JobStatus>,
    /// The specification.
    spec: Option<&'a JobSpec>,
    /// The other copies so far.
    copies: Vec<&'a Copy<'a>>,
    /// The statuses with which some of them have ended. The end of the Job may be one of those.
    ends: Vec<&'a JobStatus>,
}

impl<'a> Others<'a> {
    /// For the copy at a position, at a time.
    pub(super) fn of(local: &'a Local<'a>, position: usize, now: Micros, grants: Grants) -> Others<'a> {
        let created = |at: usize| local.copies[at].created;
        let others = (0..local.copies.len()).filter(|at| *at != position && created(*at) <= now);
        let copies: Vec<&Copy<'_>> = others.map(|at| &local.copies[at]).collect();
        let since = created(position).saturating_sub(grants.skew);
        let has_ended = |copy: &&&Copy<'_>| copy.ended.is_some_and(|ended| ended <= now);
        Others {
            local,
            before: local.at(since).filter(|_| !copies.is_empty()).map(|it| it.status),
            spec: local.at(now).map(|it| it.spec),
            ends: copies.iter().filter(has_ended).map(|copy| copy.status).collect(),
            copies,
        }
    }

    fn is_only_copy(&self) -> bool {
        self.copies.is_empty()
    }

    /// Returns `true` if the Job may keep this `startTime`, since the API server refuses another one while the Job is not suspended
    /// (SS-09). It came with the resumption of the Job (MR-05); or a copy has had it, and the Job was not suspended since, or there
    /// was another copy. The end of a suspension can be reported before it is passed on.
    fn may_keep(&self, start: Time) -> bool {
        let is_of_copy = self.local.own_times.contains(&start);
        is_of_copy && !(self.is_only_copy() && self.was_suspended_after(start))
            || self.resumption().is_some_and(|it| it.status.start_time == Some(start))
    }

    /// The version of the last resumption.
    fn resumption(&self) -> Option<&Version<'a>> {
        let is_suspended = |it: &Version<'_>| it.status.is_true(&ConditionKind::Suspended);
        let mut pairs = self.local.versions.windows(2).rev();
        pairs.find(|pair| is_suspended(&pair[0]) && !is_suspended(&pair[1])).map(|pair| &pair[1])
    }

    /// Returns `true` if the Job was suspended after it had got this `startTime`. Without versions, it may have been.
    fn was_suspended_after(&self, start: Time) -> bool {
        let versions = &self.local.versions;
        let mut started = versions.iter().skip_while(|it| it.status.start_time != Some(start));
        match versions.is_empty() {
            true => self.local.suspend_changed.is_some(),
            false => started.any(|it| it.spec.is_suspended()),
        }
    }

    /// The successes that the Job may show for those of a copy, which may have more than it needs (MR-01).
    fn fitting(&self, successes: i32) -> i32 {
        let needed = self.spec.filter(|spec| !spec.is_indexed()).and_then(|spec| spec.completions);
        needed.map_or(successes, |needed| successes.min(needed.max(0)))
    }
}

/// The first field that differs.
pub(super) fn difference(
    here: &JobStatus,
    copy: &JobStatus,
    others: &Others<'_>,
    is_suspended: bool,
) -> Option<Difference> {
    let started = || {
        let differs = timed("status.startTime", here.start_time, copy.start_time);
        differs.filter(|_| !here.start_time.is_some_and(|start| others.may_keep(start)))
    };
    let completed =
        |end: &JobStatus| timed("status.completionTime", here.completion_time, end.completion_time);
    // The end of the Job is that of the copy, or of another one that has ended.
    let of_any_end = |differs: &dyn Fn(&JobStatus) -> Option<Difference>| {
        differs(copy).filter(|_| others.ends.iter().all(|end| differs(end).is_some()))
    };
    let counted = || match others.is_only_copy() {
        true => counted_alike(here, copy, others),
        false => counted_before(here, copy, others),
    };
    decided(here, copy)
        .or_else(|| living(here, copy))
        .or_else(counted)
        .or_else(|| (!is_suspended).then(started).flatten())
        .or_else(|| (!is_suspended).then(|| of_any_end(&completed)).flatten())
        .or_else(|| of_any_end(&|end| reasoned(here, end)))
}

/// Returns `true` if two statuses are equally far in the decision about a Job.
#[must_use]
pub fn is_decided_alike(here: &JobStatus, copy: &JobStatus) -> bool {
    DECISIONS.iter().all(|(kind, _)| here.is_true(kind) == copy.is_true(kind))
}

/// The conditions that decide a Job.
const DECISIONS: [(ConditionKind, &str); 4] = [
    (ConditionKind::Complete, "condition Complete"),
    (ConditionKind::Failed, "condition Failed"),
    (ConditionKind::SuccessCriteriaMet, "condition SuccessCriteriaMet"),
    (ConditionKind::FailureTarget, "condition FailureTarget"),
];

/// The conditions whose reasons say why a Job has ended.
const REASONS: [(ConditionKind, &str); 2] = [
    (ConditionKind::FailureTarget, "reason of the condition FailureTarget"),
    (ConditionKind::Failed, "reason of the condition Failed"),
];

fn unequal(what: &'static str, found: String, copied: &str) -> Difference {
    Difference { req: Req::MR20, what, found, expected: format!("{copied}, as in the copy") }
}

fn number(what: &'static str, mine: i32, theirs: i32) -> Option<Difference> {
    (mine != theirs).then(|| unequal(what, mine.to_string(), &theirs.to_string()))
}

fn text(what: &'static str, mine: &str, theirs: &str) -> Option<Difference> {
    let shown = |text: &str| if text.is_empty() { "none" } else { text }.to_owned();
    (mine != theirs).then(|| unequal(what, shown(mine), &shown(theirs)))
}

fn timed(what: &'static str, mine: Option<Time>, theirs: Option<Time>) -> Option<Difference> {
    let word = |time: Option<Time>| time.map_or_else(String::new, |time| time.to_string());
    text(what, &word(mine), &word(theirs))
}

/// The conditions of the decision. A copy of an older Kubernetes ends without the interim condition, which the Job has (MR-07).
fn decided(here: &JobStatus, copy: &JobStatus) -> Option<Difference> {
    let is_older = |kind: &ConditionKind| match kind {
        ConditionKind::SuccessCriteriaMet => copy.is_true(&ConditionKind::Complete) && !copy.is_true(kind),
        ConditionKind::FailureTarget => copy.is_true(&ConditionKind::Failed) && !copy.is_true(kind),
        _ => false,
    };
    let differs = |kind: &ConditionKind| here.is_true(kind) != copy.is_true(kind) && !is_older(kind);
    let (kind, what) = DECISIONS.iter().find(|(kind, _)| differs(kind))?;
    let word = |status: &JobStatus| if status.is_true(kind) { "True" } else { "not True" };
    Some(unequal(what, word(here).to_owned(), word(copy)))
}

fn living(here: &JobStatus, copy: &JobStatus) -> Option<Difference> {
    // An older Kubernetes does not count terminating pods.
    let terminating = here.terminating.zip(copy.terminating);
    number("status.active", here.active, copy.active)
        .or_else(|| number("status.ready", here.ready.unwrap_or(0), copy.ready.unwrap_or(0)))
        .or_else(|| terminating.and_then(|(mine, theirs)| number("status.terminating", mine, theirs)))
}

fn counted_alike(here: &JobStatus, copy: &JobStatus, others: &Others<'_>) -> Option<Difference> {
    let is_cut = here.succeeded == others.fitting(copy.succeeded);
    let failed = |status: &JobStatus| status.failed_indexes.as_deref().unwrap_or_default().to_owned();
    let succeeded = number("status.succeeded", here.succeeded, copy.succeeded).filter(|_| !is_cut);
    succeeded
        .or_else(|| number("status.failed", here.failed, copy.failed))
        .or_else(|| text("status.completedIndexes", &here.completed_indexes, &copy.completed_indexes))
        .or_else(|| text("status.failedIndexes", &failed(here), &failed(copy)))
}

/// After a redispatch: what earlier copies have counted is kept, and what the last one counts is added. A new copy of an
/// Indexed Job may complete an index again.
fn counted_before(here: &JobStatus, copy: &JobStatus, others: &Others<'_>) -> Option<Difference> {
    let sum = |what, number: fn(&JobStatus) -> i32, most: fn(&Others<'_>, i32) -> i32| {
        let before = others.before.map_or(0, number);
        let (mine, theirs) = (number(here), number(copy));
        let least = most(others, before.saturating_add(theirs));
        (mine < least).then(|| Difference {
            req: if mine < most(others, theirs) { Req::MR20 } else { Req::MR24 },
            what,
            found: mine.to_string(),
            expected: format!(
                "at least {least}, with {before} of earlier copies and {theirs} of the last one"
            ),
        })
    };
    let is_indexed = others.spec.is_some_and(JobSpec::is_indexed);
    let succeeded = || sum("status.succeeded", |status| status.succeeded, |others, all| others.fitting(all));
    let failed = || sum("status.failed", |status| status.failed, |_, all| all);
    match is_indexed {
        true => failed().or_else(|| indexed(here, copy, others)),
        false => succeeded().or_else(failed),
    }
}

/// The indexes that the last copy has completed are, and no others than those that any copy has.
fn indexed(here: &JobStatus, copy: &JobStatus, others: &Others<'_>) -> Option<Difference> {
    let differs = |what, of: fn(&JobStatus) -> IndexSet, due: IndexSet| {
        let mine = of(here);
        let missing = due.minus(&mine);
        let statuses = others.copies.iter().flat_map(|copy| copy.statuses()).chain([copy]);
        let more = statuses.fold(mine.clone(), |left, status| left.minus(&of(status)));
        let expected = match (missing.is_empty(), more.is_empty()) {
            (true, true) => return None,
            (false, _) => format!("also {missing}, as in the copy"),
            (true, false) => format!("without {more}, which no copy has"),
        };
        let found = if mine.is_empty() { "none".to_owned() } else { mine.to_string() };
        Some(Difference { req: Req::MR20, what, found, expected })
    };
    let completed: fn(&JobStatus) -> IndexSet = |status| status.completed(None);
    let failed: fn(&JobStatus) -> IndexSet = |status| status.failed_set(None);
    differs("status.completedIndexes", completed, completed(copy))
        .or_else(|| differs("status.failedIndexes", failed, failed(copy).minus(&completed(here))))
}

fn reasoned(here: &JobStatus, copy: &JobStatus) -> Option<Difference> {
    let reason = |status: &JobStatus, kind: &ConditionKind| {
        let condition = status.condition(kind).filter(|it| it.status == ConditionStatus::True);
        condition.map_or_else(String::new, |it| it.reason.to_string())
    };
    REASONS.iter().find_map(|(kind, name)| text(name, &reason(here, kind), &reason(copy, kind)))
}
