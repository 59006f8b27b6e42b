//! The fields in which the status of a Job differs from that of its copy (MR-20, MR-24).
//!
//! While there is one copy, its fields are those of the Job. After a redispatch the Job keeps what earlier copies have
//! counted, so that its counters and indexes have bounds ([`Earlier`]). The decision, and what runs, are those of the last copy.

use super::copies::{Copy, Local, Micros};
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

/// What earlier copies may have left in the status of a Job.
#[derive(Debug)]
pub(super) struct Earlier<'a> {
    /// The status before the creation of the last copy, and the specification now. Nothing in it is from that copy.
    before: Option<(&'a JobStatus, &'a JobSpec)>,
    /// The statuses of all copies.
    all: Vec<&'a JobStatus>,
    /// The times in them.
    times: &'a [Time],
    /// An earlier one has ended, so that the end of the Job may be its end.
    has_ended: bool,
}

impl<'a> Earlier<'a> {
    /// The copies before one at a position; `None` if there are none. `since`: a time before its creation by all clocks.
    /// `now`: the time of the comparison.
    pub(super) fn of(
        local: &'a Local<'a>,
        position: usize,
        since: Micros,
        now: Micros,
    ) -> Option<Earlier<'a>> {
        (position > 0).then(|| Earlier {
            before: local.at(since).map(|it| it.status).zip(local.at(now).map(|it| it.spec)),
            all: local.copies[..=position].iter().flat_map(Copy::statuses).collect(),
            times: &local.own_times,
            has_ended: local.copies[..position].iter().any(|copy| copy.ended.is_some()),
        })
    }
}

/// The first field that differs. `earlier` is `None` while there is one copy.
pub(super) fn difference(
    here: &JobStatus,
    copy: &JobStatus,
    earlier: Option<&Earlier<'_>>,
    is_suspended: bool,
) -> Option<Difference> {
    let is_one_end = earlier.is_none_or(|earlier| !earlier.has_ended);
    let counted = || match earlier {
        None => counted_alike(here, copy),
        Some(earlier) => counted_before(here, copy, earlier),
    };
    let started = || {
        let is_of_earlier = |time: Time| earlier.is_some_and(|earlier| earlier.times.contains(&time));
        let is_kept = here.start_time.is_some_and(is_of_earlier);
        (!is_kept).then(|| timed("status.startTime", here.start_time, copy.start_time)).flatten()
    };
    let completed = || timed("status.completionTime", here.completion_time, copy.completion_time);
    decided(here, copy)
        .or_else(|| living(here, copy))
        .or_else(counted)
        .or_else(|| (!is_suspended).then(started).flatten())
        .or_else(|| (!is_suspended && is_one_end).then(completed).flatten())
        .or_else(|| is_one_end.then(|| reasoned(here, copy)).flatten())
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

fn decided(here: &JobStatus, copy: &JobStatus) -> Option<Difference> {
    let (kind, what) = DECISIONS.iter().find(|(kind, _)| here.is_true(kind) != copy.is_true(kind))?;
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

fn counted_alike(here: &JobStatus, copy: &JobStatus) -> Option<Difference> {
    let failed = |status: &JobStatus| status.failed_indexes.as_deref().unwrap_or_default().to_owned();
    number("status.succeeded", here.succeeded, copy.succeeded)
        .or_else(|| number("status.failed", here.failed, copy.failed))
        .or_else(|| text("status.completedIndexes", &here.completed_indexes, &copy.completed_indexes))
        .or_else(|| text("status.failedIndexes", &failed(here), &failed(copy)))
}

/// After a redispatch: what earlier copies have counted is kept, and what the last one counts is added. A new copy of an
/// Indexed Job may complete an index again.
fn counted_before(here: &JobStatus, copy: &JobStatus, earlier: &Earlier<'_>) -> Option<Difference> {
    let sum = |what, number: fn(&JobStatus) -> i32, most: i32| {
        let before = earlier.before.map_or(0, |(status, _)| number(status));
        let (mine, theirs) = (number(here), number(copy));
        let least = before.saturating_add(theirs).min(most.max(theirs));
        (mine < least).then(|| Difference {
            req: if mine < theirs { Req::MR20 } else { Req::MR24 },
            what,
            found: mine.to_string(),
            expected: format!(
                "at least {least}, with {before} of earlier copies and {theirs} of the last one"
            ),
        })
    };
    // A Job counts no more successes than it needs, and each index once.
    let needed = match earlier.before {
        Some((_, spec)) if spec.is_indexed() => 0,
        Some((_, spec)) => spec.completions.unwrap_or(i32::MAX),
        None => 0,
    };
    sum("status.succeeded", |status| status.succeeded, needed)
        .or_else(|| sum("status.failed", |status| status.failed, i32::MAX))
        .or_else(|| indexed(here, copy, earlier))
}

/// An index that any copy has completed stays completed, and no other one is.
fn indexed(here: &JobStatus, copy: &JobStatus, earlier: &Earlier<'_>) -> Option<Difference> {
    let differs = |what, of: fn(&JobStatus) -> IndexSet, due: IndexSet| {
        let mine = of(here);
        let missing = due.minus(&mine);
        let more = earlier.all.iter().fold(mine.clone(), |left, status| left.minus(&of(status)));
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
