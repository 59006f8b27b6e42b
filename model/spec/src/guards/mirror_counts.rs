//! Counters and indexes in the status write of a manager that writes status alone (MR-01, MR-02, MR-03, MR-11, MR-12).

use crate::catalogue::Req;
use crate::guards::counting::{added, has_true};
use crate::guards::mirror::MirrorWrite;
use crate::indexes::IndexSet;
use crate::job::{ConditionKind, JobSpec, JobStatus};
use crate::requirement::{Findings, Operand};
use crate::uid::Uid;

/// Judges the counters and indexes of a status write.
pub fn judge_mirrored_counts(write: &MirrorWrite<'_>, findings: &mut Findings, advice: &mut Findings) {
    let (spec, old, new) = (&*write.job.spec, &write.job.status, write.new);
    let since = Since { spec, completions: smaller(write.past.completions, spec.completion_count()) };
    judge_enough(&since, old, new, findings);
    if spec.is_indexed() {
        judge_indexes(spec, old, new, findings, advice);
    }
    judge_counters(&since, old, new, findings);
    judge_recorded_again(write, findings);
    judge_end(old, new, findings, advice);
    judge_active(write, advice);
}

/// A specification, and how small `completions` has been since the last status write. A manager may write for that size.
struct Since<'a> {
    spec: &'a JobSpec,
    completions: Option<u32>,
}

/// The smaller size, if the former one is known. A Job without `completions` has none.
pub(super) fn smaller(former: Option<u32>, now: Option<u32>) -> Option<u32> {
    now.map(|now| former.map_or(now, |former| former.min(now)))
}

/// The successes that a status counts or records.
fn successes(status: &JobStatus) -> i64 {
    let recorded = i64::try_from(status.uncounted_succeeded().len()).unwrap_or(i64::MAX);
    i64::from(status.succeeded).saturating_add(recorded)
}

/// Returns whether the successes of a status cover the completions. `None` for a work-queue Job without a success, which
/// has no number to reach.
#[must_use]
pub fn covers(spec: &JobSpec, status: &JobStatus) -> bool {
    covers_all(spec, spec.completion_count(), status)
}

fn covers_all(spec: &JobSpec, completions: Option<u32>, status: &JobStatus) -> bool {
    match completions {
        None => successes(status) >= 1,
        Some(count) if spec.is_indexed() => status.completed(Some(count)).len() >= count,
        Some(count) => successes(status) >= i64::from(count),
    }
}

/// MR-01: a Job that succeeds has its successes, and no Job has more than `completions`.
///
/// The UIDs that an executor has recorded, and not counted yet, are successes of the interim write. A success policy may
/// end the Job earlier.
fn judge_enough(since: &Since<'_>, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let spec = since.spec;
    if let Some(completions) = spec.completion_count().filter(|_| new.succeeded > old.succeeded) {
        let expected = Operand::lazy(|| format!("at most {completions}, which is completions"));
        let fits = i64::from(new.succeeded) <= i64::from(completions);
        findings.require(Req::MR01, fits, "succeeded", expected, new.succeeded);
    }
    let claims = |kind: &ConditionKind| has_true(new, kind) && !has_true(old, kind);
    let succeeds = claims(&ConditionKind::SuccessCriteriaMet) || claims(&ConditionKind::Complete);
    if !succeeds || spec.success_policy.is_some() {
        return;
    }
    let enough = if has_true(new, &ConditionKind::Complete) {
        covers_all(spec, since.completions, &JobStatus { uncounted: None, ..new.clone() })
    } else {
        covers_all(spec, since.completions, new)
    };
    let what = "counted successes of a Job that succeeds";
    let expected = Operand::lazy(|| match since.completions {
        Some(count) if spec.is_indexed() => format!("all {count} indexes"),
        Some(count) => format!("{count} or more"),
        None => "1 or more".to_owned(),
    });
    let found = Operand::lazy(|| match spec.completion_count() {
        Some(count) if spec.is_indexed() => i64::from(new.completed(Some(count)).len()),
        _ => i64::from(new.succeeded),
    });
    findings.require(Req::MR01, enough, what, expected, found);
}

/// MR-02: `succeeded` is the number of completed indexes. Completed and failed indexes are disjoint, and below
/// completions. Their text should be canonical.
///
/// A copy may lag behind a change of `completions`, so that only indexes that the write adds are compared with it.
fn judge_indexes(
    spec: &JobSpec,
    old: &JobStatus,
    new: &JobStatus,
    findings: &mut Findings,
    advice: &mut Findings,
) {
    let (completed, failed) = (new.completed(None), new.failed_set(None));
    if completed.is_empty() && failed.is_empty() && new.succeeded == 0 {
        return;
    }
    let succeeded = i64::from(new.succeeded);
    let what = "succeeded of an Indexed Job";
    findings.equal(Req::MR02, what, i64::from(completed.len()), succeeded);
    let common = completed.first_common(&failed);
    let found = Operand::lazy(|| format!("index {} in both", common.unwrap_or_default()));
    findings.require(Req::MR02, common.is_none(), "completed and failed indexes", "no common one", found);
    if let Some(count) = spec.completion_count() {
        let beyond = |now: &IndexSet, was: IndexSet| now.minus(&was).iter().find(|index| *index >= count);
        let found = beyond(&completed, old.completed(None)).or(beyond(&failed, old.failed_set(None)));
        let expected = Operand::lazy(|| format!("below {count}"));
        let found_text = Operand::lazy(|| i64::from(found.unwrap_or_default()));
        findings.require(Req::MR02, found.is_none(), "completed and failed indexes", expected, found_text);
    }
    let texts =
        [(&completed, &*new.completed_indexes), (&failed, new.failed_indexes.as_deref().unwrap_or(""))];
    for (set, text) in texts {
        let expected = Operand::lazy(|| set.to_string());
        let found = Operand::lazy(|| text.to_owned());
        advice.require(Req::MR02, set.is_written_as(text), "text of the indexes", expected, found);
    }
}

/// MR-03: a UID that leaves the lists raises its counter in the same write, no counter falls, and a completed index stays. A
/// scale-down of an elastic Indexed Job removes its completed indexes beyond the new `completions`.
fn judge_counters(since: &Since<'_>, old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    let spec = since.spec;
    let left =
        |before: &[Uid], after: &[Uid]| i64::try_from(added(after, before).count()).unwrap_or(i64::MAX);
    let kept = if spec.is_indexed() {
        i64::from(old.completed(since.completions).len()).min(i64::from(old.succeeded))
    } else {
        i64::from(old.succeeded)
    };
    for (what, before, after, gone) in [
        (
            "succeeded",
            kept,
            i64::from(new.succeeded),
            left(old.uncounted_succeeded(), new.uncounted_succeeded()),
        ),
        (
            "failed",
            i64::from(old.failed),
            i64::from(new.failed),
            left(old.uncounted_failed(), new.uncounted_failed()),
        ),
    ] {
        if before == 0 && gone == 0 {
            continue;
        }
        let expected = Operand::lazy(|| match gone {
            0 => format!("{before} or more, as before"),
            _ => format!("{} or more, because {gone} recorded UIDs leave the list", before + gone),
        });
        findings.require(Req::MR03, after >= before.saturating_add(gone), what, expected, after);
    }
    let is_counted = i64::from(new.succeeded) >= kept;
    if spec.is_indexed() && is_counted && !old.completed_indexes.is_empty() {
        let lost = old.completed(since.completions).minus(&new.completed(None));
        let found = Operand::lazy(|| format!("without {lost}"));
        findings.require(Req::MR03, lost.is_empty(), "completedIndexes", "those before", found);
    }
}

/// The recorded UIDs of a status, by their list.
#[must_use]
pub fn recorded(status: &JobStatus) -> [&[Uid]; 2] {
    [status.uncounted_succeeded(), status.uncounted_failed()]
}

/// MR-03: a UID that was counted, and has left the lists, is not recorded again. It would be counted twice.
fn judge_recorded_again(write: &MirrorWrite<'_>, findings: &mut Findings) {
    if write.past.counted.is_empty() {
        return;
    }
    for (was, is) in recorded(&write.job.status).into_iter().zip(recorded(write.new)) {
        let again = added(was, is).find(|uid| write.past.counted.contains(uid));
        let found = Operand::lazy(|| Operand::from(again.unwrap_or_default()));
        let (what, expected) = ("UID in uncountedTerminatedPods", "none that was counted before");
        findings.require(Req::MR03, again.is_none(), what, expected, found);
    }
}

/// MR-11: a terminal condition comes with no active, ready, or terminating pod. `terminating` should be reported, since
/// quota controllers read it (US-06).
fn judge_end(old: &JobStatus, new: &JobStatus, findings: &mut Findings, advice: &mut Findings) {
    if old.is_finished() || !new.is_finished() {
        return;
    }
    for (what, count) in [
        ("active of a finished Job", new.active),
        ("ready of a finished Job", new.ready.unwrap_or(0)),
        ("terminating of a finished Job", new.terminating.unwrap_or(0)),
    ] {
        findings.equal(Req::MR11, what, 0, i64::from(count));
    }
    let is_reported = new.terminating.is_some();
    advice.require(Req::MR11, is_reported, "terminating of a finished Job", 0, "none");
}

/// MR-12: `active` stays within the parallelism that the Job has had. A copy may lag behind a change of it.
fn judge_active(write: &MirrorWrite<'_>, advice: &mut Findings) {
    let (old, new, most) = (&write.job.status, write.new, write.past.parallelism);
    if new.active > old.active {
        let fits = i64::from(new.active) <= i64::from(most);
        let expected = Operand::lazy(|| format!("at most {most}, the highest parallelism of the Job"));
        advice.require(Req::MR12, fits, "active", expected, new.active);
    }
}
