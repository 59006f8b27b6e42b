//! Rules for a write to `jobs/status` (SS-01 to SS-28, SS-32, SS-36).
//!
//! Each rule is one function. Most rules are *ratcheted*: they apply only if the value in question changes, so that an
//! old bad value never blocks an unrelated write (SS-35).
//!
//! | this module | Kubernetes (`pkg/registry/batch/job`, `pkg/apis/batch/validation`) |
//! | --- | --- |
//! | [`Change`] and the `*_changed` premises | `getStatusValidationOptions` |
//! | SS-01 to SS-05, SS-10 to SS-25 | `validateJobStatus` |
//! | SS-06 to SS-09, SS-26 to SS-28 | `ValidateJobStatusUpdate` |

use super::index_text::first_overlap;
use super::outcome::Outcome;
use super::rules::RuleSet;
use crate::catalogue::Req;
use crate::indexes::check_grammar;
use crate::job::{ConditionKind, ConditionStatus, Job};
use crate::requirement::{Broken, Findings, Operand};
use crate::time::Time;
use crate::uid::Uid;

mod change;
use change::{Change, has};

/// Judges a status write that the server has accepted and stored as `new`.
///
/// # Assumptions
///
/// `old` is the object that `new` directly replaced.
pub fn validate_status_update(rules: &RuleSet, old: &Job, new: &Job, findings: &mut Findings) {
    let change = Change::between(rules, old, new);
    for (req, rule) in rules_in_force(rules) {
        rule(&change).report(req, findings);
    }
    if rules.job_managed_by {
        finish_leaves_no_pods(&change).report(Req::SS36, findings);
    }
    status_write_keeps_the_rest(old, new, findings);
}

/// The first rule for which the server would refuse to write the status of `new` over `old`; `None` if it accepts the
/// write.
///
/// The specification of `new` does not matter, because the server keeps the stored one (SS-32).
#[must_use]
pub fn would_refuse_status(rules: &RuleSet, old: &Job, new: &Job) -> Option<Broken> {
    let change = Change::between(rules, old, new);
    rules_in_force(rules).find_map(|(req, rule)| rule(&change).refusal(req))
}

/// All rules for which the server would refuse to write the status of `new` over `old`, as its response lists them.
#[must_use]
pub fn status_refusals(rules: &RuleSet, old: &Job, new: &Job) -> Vec<Broken> {
    let change = Change::between(rules, old, new);
    rules_in_force(rules).filter_map(|(req, rule)| rule(&change).refusal(req)).collect()
}

type Rule = (Req, fn(&Change<'_>) -> Outcome);

/// Rules that every version enforces.
const ALWAYS: &[Rule] = &[
    (Req::SS01, counters_are_not_negative),
    (Req::SS02, uncounted_uids_are_unique),
    (Req::SS03, success_criteria_met_excludes_failed),
    (Req::SS04, success_criteria_met_excludes_failure_target),
    (Req::SS05, success_policy_completes_by_success_criteria_met),
    (Req::SS06, success_criteria_met_stays),
    (Req::SS07, success_criteria_met_does_not_follow_complete),
];

/// Rules that came with `managedBy` (KEP-4368).
const WITH_MANAGED_BY: &[Rule] = &[
    (Req::SS08, decisions_stay),
    (Req::SS09, start_time_changes_only_while_suspended),
    (Req::SS10, finished_job_has_start_time),
    (Req::SS11, completion_does_not_precede_start),
    (Req::SS12, finished_job_has_no_active_pods),
    (Req::SS13, finished_job_has_no_uncounted_pods),
    (Req::SS14, completed_indexes_are_well_formed),
    (Req::SS15, failed_indexes_are_well_formed),
    (Req::SS16, index_lists_need_their_mode),
    (Req::SS17, completed_and_failed_indexes_are_disjoint),
    (Req::SS18, finished_job_has_no_terminating_pods),
    (Req::SS19, ready_does_not_exceed_active),
    (Req::SS20, failed_needs_failure_target),
    (Req::SS21, complete_needs_success_criteria_met),
    (Req::SS22, complete_excludes_failed),
    (Req::SS23, complete_excludes_failure_target),
    (Req::SS24, completion_time_needs_complete),
    (Req::SS25, complete_needs_completion_time),
    (Req::SS26, completion_time_is_immutable),
    (Req::SS27, failed_does_not_decrease),
    (Req::SS28, succeeded_does_not_decrease),
];

/// The rule that applies in their place if the gate is off: `SuccessCriteriaMet` is only for success policies.
const WITHOUT_MANAGED_BY: &[Rule] = &[(Req::UG07, success_criteria_met_needs_success_policy)];

fn rules_in_force(rules: &RuleSet) -> impl Iterator<Item = Rule> {
    let gated = if rules.job_managed_by { WITH_MANAGED_BY } else { WITHOUT_MANAGED_BY };
    ALWAYS.iter().chain(gated).copied()
}

/// SS-01: no counter is negative.
fn counters_are_not_negative(change: &Change<'_>) -> Outcome {
    let new = change.new;
    let counters = [
        ("status.active", new.active),
        ("status.succeeded", new.succeeded),
        ("status.failed", new.failed),
        ("status.ready", new.ready.unwrap_or(0)),
        ("status.terminating", new.terminating.unwrap_or(0)),
    ];
    match counters.into_iter().find(|(_, value)| *value < 0) {
        None => Outcome::Holds,
        Some((what, value)) => Outcome::breaks(what, "0 or more", value),
    }
}

/// SS-02: each uncounted UID is a non-empty text, and occurs once in one of the two lists.
fn uncounted_uids_are_unique(change: &Change<'_>) -> Outcome {
    const WHAT: &str = "status.uncountedTerminatedPods";
    let mut uids: Vec<Uid> = [change.new.uncounted_succeeded(), change.new.uncounted_failed()].concat();
    if uids.is_empty() {
        return Outcome::NotApplicable;
    }
    uids.sort_unstable();
    if uids.contains(&Uid::EMPTY) {
        return Outcome::breaks(WHAT, "UIDs that are not empty", "an empty UID");
    }
    match uids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Outcome::Holds,
        Some(pair) => Outcome::breaks(WHAT, "each UID once", format!("{} twice", pair[0])),
    }
}

/// SS-03: not both `SuccessCriteriaMet` and `Failed`.
fn success_criteria_met_excludes_failed(change: &Change<'_>) -> Outcome {
    excludes(change.is.success_criteria_met, change.is.failed, "no Failed", "SuccessCriteriaMet and Failed")
}

/// SS-04: not both `SuccessCriteriaMet` and `FailureTarget`.
fn success_criteria_met_excludes_failure_target(change: &Change<'_>) -> Outcome {
    let (one, other) = (change.is.success_criteria_met, change.is.failure_target);
    excludes(one, other, "no FailureTarget", "SuccessCriteriaMet and FailureTarget")
}

/// SS-05: a Job with a success policy is `Complete` only with `SuccessCriteriaMet`.
fn success_policy_completes_by_success_criteria_met(change: &Change<'_>) -> Outcome {
    let applies = change.spec.success_policy.is_some() && change.is.complete;
    needs(applies, change.is.success_criteria_met, "SuccessCriteriaMet", "Complete alone")
}

/// SS-06: `SuccessCriteriaMet`, once true, stays.
fn success_criteria_met_stays(change: &Change<'_>) -> Outcome {
    let (was, is) = (change.was.success_criteria_met, change.is.success_criteria_met);
    needs(was, is, "SuccessCriteriaMet=True as before", "no SuccessCriteriaMet=True")
}

/// SS-07: a Job that completed without `SuccessCriteriaMet` does not get it later.
fn success_criteria_met_does_not_follow_complete(change: &Change<'_>) -> Outcome {
    let applies = change.was.complete && !change.was.success_criteria_met;
    excludes(
        applies,
        change.is.success_criteria_met,
        "no SuccessCriteriaMet",
        "SuccessCriteriaMet after Complete",
    )
}

/// SS-08: `Failed`, `Complete`, and `FailureTarget`, once true, stay.
fn decisions_stay(change: &Change<'_>) -> Outcome {
    let (was, is) = (&change.was, &change.is);
    let decisions = [
        (was.failed, is.failed, "Failed", "no Failed=True"),
        (was.complete, is.complete, "Complete", "no Complete=True"),
        (was.failure_target, is.failure_target, "FailureTarget", "no FailureTarget=True"),
    ];
    match decisions.into_iter().find(|(was, is, ..)| *was && !is) {
        Some((_, _, expected, found)) => Outcome::breaks(CONDITIONS, expected, found),
        None if decisions.into_iter().any(|(was, ..)| was) => Outcome::Holds,
        None => Outcome::NotApplicable,
    }
}

/// SS-09: `startTime`, once set, changes only while `spec.suspend` is true, or in the write that ends
/// `Suspended`.
fn start_time_changes_only_while_suspended(change: &Change<'_>) -> Outcome {
    let Some(old) = change.old.start_time else { return Outcome::NotApplicable };
    let resuming = change.rules.resuming_changes_start_time
        && has(change.old, &ConditionKind::Suspended, ConditionStatus::True)
        && has(change.new, &ConditionKind::Suspended, ConditionStatus::False);
    if change.spec.is_suspended() || resuming {
        return Outcome::NotApplicable;
    }
    Outcome::of(!change.start_time_changed(), "status.startTime", || (old, shown_time(change.new.start_time)))
}

/// SS-10: a finished Job has a `startTime`.
fn finished_job_has_start_time(change: &Change<'_>) -> Outcome {
    let exempt = change.rules.suspended_with_zero_completions
        && change.spec.is_suspended()
        && change.spec.completions == Some(0);
    let applies =
        change.is.finished() && (change.finished_changed() || change.start_time_changed()) && !exempt;
    if !applies {
        return Outcome::NotApplicable;
    }
    Outcome::of(change.new.start_time.is_some(), "status.startTime", || ("a time", "none"))
}

/// SS-11: `completionTime` is not before `startTime`.
fn completion_does_not_precede_start(change: &Change<'_>) -> Outcome {
    let changed = change.start_time_changed() || change.completion_time_changed();
    let (Some(start), Some(end), true) = (change.new.start_time, change.new.completion_time, changed) else {
        return Outcome::NotApplicable;
    };
    Outcome::of(end >= start, "status.completionTime", || (start, end))
}

/// SS-12: a finished Job has no active pods.
fn finished_job_has_no_active_pods(change: &Change<'_>) -> Outcome {
    let changed = change.finished_changed() || change.old.active != change.new.active;
    if !change.is.finished() || !changed {
        return Outcome::NotApplicable;
    }
    Outcome::of(change.new.active <= 0, "status.active", || (0, change.new.active))
}

/// SS-13: a finished Job has no uncounted pods.
fn finished_job_has_no_uncounted_pods(change: &Change<'_>) -> Outcome {
    let changed = change.finished_changed() || change.old.uncounted != change.new.uncounted;
    if !change.is.finished() || !changed {
        return Outcome::NotApplicable;
    }
    let count = change.new.recorded();
    Outcome::of(count == 0, "status.uncountedTerminatedPods", || (0, count))
}

/// SS-14: `completedIndexes` is a well-formed index list.
fn completed_indexes_are_well_formed(change: &Change<'_>) -> Outcome {
    let text = &*change.new.completed_indexes;
    match change.completions() {
        Some(completions) if change.completed_indexes_changed() && !text.is_empty() => {
            well_formed("status.completedIndexes", text, completions)
        }
        Some(_) | None => Outcome::NotApplicable,
    }
}

/// SS-15: `failedIndexes` is a well-formed index list.
fn failed_indexes_are_well_formed(change: &Change<'_>) -> Outcome {
    let changed = change.failed_indexes_changed() && change.spec.backoff_limit_per_index.is_some();
    match (change.completions(), &change.new.failed_indexes) {
        (Some(completions), Some(text)) if changed && !text.is_empty() => {
            well_formed("status.failedIndexes", text, completions)
        }
        (_, Some(_) | None) => Outcome::NotApplicable,
    }
}

fn well_formed(what: &'static str, text: &str, completions: i64) -> Outcome {
    match check_grammar(text, completions) {
        Ok(()) => Outcome::Holds,
        Err(why) => {
            Outcome::breaks(what, "increasing indexes below completions", format!("\"{text}\": {why}"))
        }
    }
}

/// SS-16: `completedIndexes` needs mode `Indexed`, and `failedIndexes`, even empty, `backoffLimitPerIndex`.
fn index_lists_need_their_mode(change: &Change<'_>) -> Outcome {
    let completed_applies = change.completed_indexes_changed() && !change.spec.is_indexed();
    let failed_applies = change.failed_indexes_changed() && change.spec.backoff_limit_per_index.is_none();
    let completed = &change.new.completed_indexes;
    if completed_applies && !completed.is_empty() {
        return Outcome::breaks("status.completedIndexes", "none", format!("\"{completed}\""));
    }
    match &change.new.failed_indexes {
        Some(failed) if failed_applies => {
            Outcome::breaks("status.failedIndexes", "none", format!("\"{failed}\""))
        }
        Some(_) | None if completed_applies || failed_applies => Outcome::Holds,
        Some(_) | None => Outcome::NotApplicable,
    }
}

/// SS-17: no index is completed and failed.
fn completed_and_failed_indexes_are_disjoint(change: &Change<'_>) -> Outcome {
    let changed = change.completed_indexes_changed() || change.failed_indexes_changed();
    let completed = &*change.new.completed_indexes;
    match (change.completions(), &change.new.failed_indexes) {
        (Some(completions), Some(failed)) if changed && !completed.is_empty() && !failed.is_empty() => {
            match first_overlap(completed, failed, completions) {
                None => Outcome::Holds,
                Some(index) => Outcome::breaks(
                    "status.failedIndexes",
                    format!("no index of \"{completed}\""),
                    format!("\"{failed}\", which shares {index}"),
                ),
            }
        }
        (_, Some(_) | None) => Outcome::NotApplicable,
    }
}

/// SS-18: a finished Job has no terminating pods.
fn finished_job_has_no_terminating_pods(change: &Change<'_>) -> Outcome {
    let changed = change.finished_changed() || change.old.terminating != change.new.terminating;
    if !change.is.finished() || !changed {
        return Outcome::NotApplicable;
    }
    let terminating = change.new.terminating.unwrap_or(0);
    Outcome::of(terminating <= 0, "status.terminating", || (0, terminating))
}

/// SS-19: there are no more ready pods than active pods.
fn ready_does_not_exceed_active(change: &Change<'_>) -> Outcome {
    let (old, new) = (change.old, change.new);
    match new.ready {
        Some(ready) if old.ready != new.ready || old.active != new.active => {
            Outcome::of(ready <= new.active, "status.ready", || (format!("at most {}", new.active), ready))
        }
        Some(_) | None => Outcome::NotApplicable,
    }
}

/// SS-20: a Job is `Failed` only with `FailureTarget`. The rule also applies if `failedIndexes` changes.
fn failed_needs_failure_target(change: &Change<'_>) -> Outcome {
    let changed = change.failed_changed() || change.failed_indexes_changed();
    needs(changed && change.is.failed, change.is.failure_target, "FailureTarget", "Failed alone")
}

/// SS-21: a Job is `Complete` only with `SuccessCriteriaMet`.
fn complete_needs_success_criteria_met(change: &Change<'_>) -> Outcome {
    let changed =
        change.complete_changed() || change.was.success_criteria_met != change.is.success_criteria_met;
    needs(
        changed && change.is.complete,
        change.is.success_criteria_met,
        "SuccessCriteriaMet",
        "Complete alone",
    )
}

/// SS-22: not both `Complete` and `Failed`.
fn complete_excludes_failed(change: &Change<'_>) -> Outcome {
    let changed = change.complete_changed() || change.failed_changed();
    excludes(changed && change.is.complete, change.is.failed, "no Failed", "Complete and Failed")
}

/// SS-23: not both `Complete` and `FailureTarget`.
fn complete_excludes_failure_target(change: &Change<'_>) -> Outcome {
    let changed = change.complete_changed() || change.was.failure_target != change.is.failure_target;
    let applies = changed && change.is.complete;
    excludes(applies, change.is.failure_target, "no FailureTarget", "Complete and FailureTarget")
}

/// SS-24: a Job has `completionTime` only with `Complete`.
fn completion_time_needs_complete(change: &Change<'_>) -> Outcome {
    let changed = change.complete_changed() || change.completion_time_changed();
    match change.new.completion_time {
        Some(time) if changed => {
            Outcome::of(change.is.complete, "status.completionTime", || ("none without Complete", time))
        }
        Some(_) | None => Outcome::NotApplicable,
    }
}

/// SS-25: a `Complete` Job has `completionTime`.
fn complete_needs_completion_time(change: &Change<'_>) -> Outcome {
    let changed = change.complete_changed() || change.completion_time_changed();
    if !change.is.complete || !changed {
        return Outcome::NotApplicable;
    }
    Outcome::of(change.new.completion_time.is_some(), "status.completionTime", || ("a time", "none"))
}

/// SS-26: `completionTime` does not change from one time to another. SS-25 covers its removal.
fn completion_time_is_immutable(change: &Change<'_>) -> Outcome {
    match (change.old.completion_time, change.new.completion_time) {
        (Some(old), Some(new)) => Outcome::of(old == new, "status.completionTime", || (old, new)),
        (None, _) | (Some(_), None) => Outcome::NotApplicable,
    }
}

/// SS-27: `failed` does not decrease.
fn failed_does_not_decrease(change: &Change<'_>) -> Outcome {
    let (old, new) = (change.old.failed, change.new.failed);
    Outcome::of(new >= old, "status.failed", || (format!("{old} or more"), new))
}

/// SS-28: `succeeded` does not decrease, except in an Indexed Job that may be scaled down.
fn succeeded_does_not_decrease(change: &Change<'_>) -> Outcome {
    if change.spec.is_indexed() && change.spec.completions == change.spec.parallelism {
        return Outcome::NotApplicable;
    }
    let (old, new) = (change.old.succeeded, change.new.succeeded);
    Outcome::of(new >= old, "status.succeeded", || (format!("{old} or more"), new))
}

/// UG-07: with `JobManagedBy` and `JobPodReplacementPolicy` off, only an Indexed Job with a success policy gets
/// `SuccessCriteriaMet`. A Job that has it already keeps it.
fn success_criteria_met_needs_success_policy(change: &Change<'_>) -> Outcome {
    let extended = change.rules.pod_replacement_policy || change.was.success_criteria_met;
    let in_scope = change.spec.is_indexed() && change.spec.success_policy.is_some();
    excludes(
        !extended && !in_scope,
        change.is.success_criteria_met,
        "no SuccessCriteriaMet",
        "SuccessCriteriaMet",
    )
}

const CONDITIONS: &str = "status.conditions";

/// If `applies`, the `other` condition must not be True.
fn excludes(applies: bool, other: bool, expected: &'static str, found: &'static str) -> Outcome {
    needs(applies, !other, expected, found)
}

/// If `applies`, the `other` condition must be True.
fn needs(applies: bool, other: bool, expected: &'static str, found: &'static str) -> Outcome {
    if applies { Outcome::of(other, CONDITIONS, || (expected, found)) } else { Outcome::NotApplicable }
}

fn shown_time(time: Option<Time>) -> Operand {
    time.map_or(Operand::Words("none"), Operand::Time)
}

/// SS-36: no pod is ready or terminating when a Job finishes.
///
/// No rule of the server concerns `ready`. It follows from SS-12 and SS-19, unless `ready` exceeded `active` before and
/// neither changes.
fn finish_leaves_no_pods(change: &Change<'_>) -> Outcome {
    let (old, new) = (change.old, change.new);
    if !change.is.finished() || !change.finished_changed() {
        return Outcome::NotApplicable;
    }
    let (ready, terminating) = (new.ready.unwrap_or(0), new.terminating.unwrap_or(0));
    let inherited = ready > new.active && old.ready == new.ready && old.active == new.active;
    Outcome::all([
        Outcome::of(terminating <= 0, "status.terminating", || (0, terminating)),
        Outcome::of(ready <= 0 || inherited, "status.ready", || (0, ready)),
    ])
}

/// SS-32 and SP-11: a status write changes neither the specification nor the generation.
fn status_write_keeps_the_rest(old: &Job, new: &Job, findings: &mut Findings) {
    findings.require(Req::SS32, old.spec == new.spec, "spec", "the stored specification", "another one");
    if old.generation != 0 && new.generation != 0 {
        findings.equal(Req::SP11, "metadata.generation", old.generation, new.generation);
    }
}

#[cfg(test)]
mod tests;
