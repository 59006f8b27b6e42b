//! The contract of managers that write status alone (family MR, `docs/reference/managers.md`).
//!
//! | write | requirements | decided by |
//! | --- | --- | --- |
//! | status write: counters and indexes (`mirror_counts.rs`) | MR-01, MR-02, MR-03, MR-11, MR-12 | the truth |
//! | the same: times (`mirror_times.rs`) | MR-04, MR-05, MR-14 | the truth, and the response |
//! | the same: conditions ([`judge_mirror`]) | MR-06, MR-07, MR-08, TC-03 | the truth |
//! | the same: the end comes late ([`judge_delay`]) | MR-08 | the truth, and the time of the manager's requests |
//! | status write without effect, or of times alone ([`judge_idle`]) | MR-10 | the truth, and the writes before |
//! | refused status write ([`judge_refusal`], [`judge_missing_permission`]) | MR-09 | the response |
//! | write to the main resource ([`judge_main_write`]) | MR-15 | the truth |
//! | any write that changes metadata (`mirror_metadata.rs`) | MR-15 | the truth, and who has set what |
//!
//! Such a manager copies what it sees on another cluster. It misses states, so that several steps come in one write. The
//! rules therefore compare stored objects, and none asks for a step of its own. Some recommendations may be missed together
//! with a state: they are advice, and no findings.

use std::collections::BTreeSet;

use crate::catalogue::Req;
use crate::guards::contract::judge_foreign_conditions;
use crate::guards::counting::{added, has_true};
use crate::guards::mirror_counts::{judge_mirrored_counts, recorded, smaller};
use crate::guards::mirror_times::judge_mirrored_times;
use crate::guards::status::{TERMINAL_TEXT, judge_text, true_entry};
use crate::job::{
    Condition, ConditionKind, ConditionStatus, Conditions, Job, JobSpec, JobStatus, Template, Text,
};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::uid::Uid;

/// The past of a Job, as far as its writes have shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Past {
    /// The times in the last status of the previous Job with this name.
    pub former: Vec<Time>,
    /// The Job has been suspended since its creation, which is known.
    pub never_ran: bool,
    /// The highest parallelism so far.
    pub parallelism: u32,
    /// The types of conditions that no Job controller sets, and that the manager has set.
    pub own_types: BTreeSet<Text>,
    /// The UIDs that the manager has recorded, counted, and taken from the lists again.
    pub counted: BTreeSet<Uid>,
    /// The smallest `completions` since the last status write of the manager, if there is such a number.
    pub completions: Option<u32>,
    /// The number of idle writes in a row: those that changed nothing or times alone.
    pub idle: u32,
}

impl Past {
    /// The past of a Job at its first sight. `is_new`: it has just been created.
    #[must_use]
    pub fn begin(spec: &JobSpec, is_new: bool) -> Past {
        Past {
            never_ran: is_new && spec.is_suspended(),
            parallelism: spec.parallelism_count(),
            completions: spec.completion_count(),
            ..Past::default()
        }
    }

    /// Notes a new specification.
    pub fn note_spec(&mut self, spec: &JobSpec) {
        self.never_ran &= spec.is_suspended();
        self.parallelism = self.parallelism.max(spec.parallelism_count());
        self.completions = smaller(self.completions, spec.completion_count());
        self.idle = 0;
    }

    /// Notes the specification beside a status write of the manager.
    pub fn note_size(&mut self, spec: &JobSpec) {
        self.completions = spec.completion_count();
    }

    /// Notes a status write of the manager.
    pub fn note_status(&mut self, old: &JobStatus, new: &JobStatus) {
        self.idle = if differs_in_times_alone(old, new) { self.idle + 1 } else { 0 };
        let before = Conditions::of(&old.conditions);
        for condition in new.conditions.iter().filter(|condition| !before.contains(condition)) {
            if let ConditionKind::Other(name) = &condition.kind {
                self.own_types.insert(name.clone());
            }
        }
        for (was, is) in recorded(old).into_iter().zip(recorded(new)) {
            self.counted.extend(added(is, was));
        }
    }
}

/// A status write of a manager that writes status alone.
#[derive(Clone, Copy, Debug)]
pub struct MirrorWrite<'a> {
    /// The stored Job that it replaces, with the specification.
    pub job: &'a Job,
    /// The new status.
    pub new: &'a JobStatus,
    /// The response, if the trace shows its time.
    pub until: Option<Time>,
    /// Seconds by which the clocks may differ.
    pub skew: i64,
    /// The past of the Job.
    pub past: &'a Past,
}

/// Judges a status write of a manager that writes status alone.
///
/// `findings` gets what the contract demands, and `advice` what it recommends.
pub fn judge_mirror(write: &MirrorWrite<'_>, findings: &mut Findings, advice: &mut Findings) {
    judge_mirrored_counts(write, findings, advice);
    judge_mirrored_times(write, findings, advice);
    let is_own = |name: &Text| write.past.own_types.contains(name);
    judge_foreign_conditions((&write.job.status, write.new), Req::MR06, &is_own, findings);
    judge_interim(&write.job.status, write.new, findings, advice);
    judge_kept_decision(&write.job.status, write.new, findings);
    if differs_in_times_alone(&write.job.status, write.new) {
        judge_idle("times alone", write.past.idle, findings, advice);
    }
}

/// MR-07: the interim condition is present with the terminal one. A manager that misses states may write both at once, so
/// that the order is advice (SS-34). TC-03: the two have one reason and message.
fn judge_interim(old: &JobStatus, new: &JobStatus, findings: &mut Findings, advice: &mut Findings) {
    for (interim, terminal) in [
        (ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        (ConditionKind::FailureTarget, ConditionKind::Failed),
    ] {
        if !has_true(new, &terminal) || has_true(old, &terminal) {
            continue;
        }
        let (first, second) = (interim.as_str(), terminal.as_str());
        let expected = Operand::lazy(|| format!("{first} with {second}"));
        let is_present = has_true(new, &interim);
        let found = Operand::lazy(|| format!("no {first}"));
        if !findings.require(Req::MR07, is_present, "conditions", expected, found) {
            continue;
        }
        let expected = Operand::lazy(|| format!("{first} in an earlier write than {second}"));
        advice.require(Req::MR07, has_true(old, &interim), "conditions", expected, "both in one write");
        if let (Some(first), Some(second)) = (true_entry(new, &interim), true_entry(new, &terminal)) {
            judge_text(Req::TC03, TERMINAL_TEXT, first, second, findings);
        }
    }
}

/// MR-08: a decided end is not taken back.
fn judge_kept_decision(old: &JobStatus, new: &JobStatus, findings: &mut Findings) {
    for kind in [
        ConditionKind::SuccessCriteriaMet,
        ConditionKind::FailureTarget,
        ConditionKind::Complete,
        ConditionKind::Failed,
    ] {
        if has_true(old, &kind) {
            let found = Operand::lazy(|| match new.condition(&kind) {
                None => format!("no {}", kind.as_str()),
                Some(_) => format!("{} is not True", kind.as_str()),
            });
            let expected = Operand::lazy(|| format!("{} stays", kind.as_str()));
            findings.require(Req::MR08, has_true(new, &kind), "a decided end", expected, found);
        }
    }
}

/// MR-08: the terminal condition follows within the patience of this rule.
///
/// `worked` is the time that the manager has worked since nothing was left to wait for. `patience` is the maximum. Both are
/// in seconds.
pub fn judge_delay(worked: i64, patience: i64, findings: &mut Findings) {
    let expected = Operand::lazy(|| format!("at most {patience} s of the manager's work after the decision"));
    let found = Operand::lazy(|| format!("{worked} s"));
    findings.require(Req::MR08, worked <= patience, "delay of the terminal condition", expected, found);
}

/// MR-10: at quiescence nothing is written. The first idle write may come from a cache that lagged, and is advice. The
/// second one in a row came after the manager had written this status itself.
///
/// `changes` describes what the write changes, and `before` is the number of idle writes in a row before this one.
pub fn judge_idle(changes: &'static str, before: u32, findings: &mut Findings, advice: &mut Findings) {
    let which = if before == 0 { advice } else { findings };
    which.require(Req::MR10, false, "status write at quiescence", "none", changes);
}

/// Returns whether two different statuses differ in times alone. A `startTime` that is set or removed counts as another
/// change.
#[must_use]
pub fn differs_in_times_alone(old: &JobStatus, new: &JobStatus) -> bool {
    let timeless = |status: &JobStatus| {
        let without = |condition: &Condition| Condition { last_transition_time: None, ..condition.clone() };
        JobStatus {
            start_time: status.start_time.map(|_| Time::default()),
            completion_time: status.completion_time.map(|_| Time::default()),
            conditions: status.conditions.iter().map(without).collect(),
            ..status.clone()
        }
    };
    old != new && timeless(old) == timeless(new)
}

/// MR-09: no status write is refused by validation.
///
/// `cause` is the rule or message of the refusal. With `again`, a write with this content was refused before, and the
/// Job has not changed since.
pub fn judge_refusal(cause: String, again: bool, findings: &mut Findings) {
    let what = if again { "refused status write, sent again" } else { "response to the status write" };
    findings.require(Req::MR09, false, what, "a status that validation accepts", cause);
}

/// MR-09: the manager has the permission to write the status. `refusal` is the authorizer's message.
pub fn judge_missing_permission(refusal: &str, findings: &mut Findings) {
    let what = "response to the status write";
    findings.require(Req::MR09, false, what, "the permission to write the status", refusal.to_owned());
}

/// MR-15: a manager that writes status alone changes `suspend` in the specification, and what a dispatcher owns. That is
/// labels, annotations and finalizers, and the scheduling directives of the pod template.
pub fn judge_main_write(old: &Job, new: &Job, findings: &mut Findings) {
    let fixed = |job: &Job| {
        let template = &job.spec.template;
        let template = Template {
            metadata_digest: template.metadata_digest,
            fixed_digest: template.fixed_digest,
            resources_digest: template.resources_digest,
            ..Template::default()
        };
        JobSpec { suspend: None, template, ..(*job.spec).clone() }
    };
    if old.spec != new.spec {
        let expected = "suspend, labels, annotations and scheduling directives alone";
        let found = Operand::lazy(|| changed(&fixed(old), &fixed(new)));
        let fits = fixed(old) == fixed(new);
        findings.require(Req::MR15, fits, "spec in a write of the Job's manager", expected, found);
    }
}

/// The first field in which two specifications differ.
fn changed(old: &JobSpec, new: &JobSpec) -> &'static str {
    match () {
        () if old.parallelism != new.parallelism => "another parallelism",
        () if old.completions != new.completions => "other completions",
        () if old.backoff_limit != new.backoff_limit => "another backoffLimit",
        () if old.active_deadline_seconds != new.active_deadline_seconds => "another activeDeadlineSeconds",
        () if old.ttl_seconds_after_finished != new.ttl_seconds_after_finished => {
            "another ttlSecondsAfterFinished"
        }
        () if old.template != new.template => "another template",
        () => "another field",
    }
}

/// Returns whether a status write is that of a suspender: it removes `startTime` of a suspended Job, and changes nothing
/// else (SS-09). A suspender is no manager, so that the write says nothing about who manages the Job.
#[must_use]
pub fn is_of_suspender(before: &Job, after: &JobStatus) -> bool {
    let was_set = before.status.start_time.is_some();
    let without = JobStatus { start_time: None, ..before.status.clone() };
    before.spec.is_suspended() && was_set && *after == without
}

/// Returns whether a status shows no pod that still has to end or to be counted.
#[must_use]
pub fn is_at_end(status: &JobStatus) -> bool {
    status.active == 0 && status.terminating.unwrap_or(0) == 0 && status.recorded() == 0
}

/// MR-13: returns whether `active` and the condition Suspended agree with `spec.suspend`.
#[must_use]
pub fn agrees_with_suspend(job: &Job) -> bool {
    let suspended = job.status.condition(&ConditionKind::Suspended).map(|condition| condition.status);
    let is_true = suspended == Some(ConditionStatus::True);
    if job.spec.is_suspended() { is_true && job.status.active == 0 } else { !is_true }
}

#[cfg(test)]
mod tests;
