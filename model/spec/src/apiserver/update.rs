//! Rules for a write to the main resource of a Job: immutable fields, the template of a suspended Job, and the
//! generation.
//!
//! They are SP-08 to SP-11, SP-16, PC-22, SU-12, SU-13, SS-32, BI-12, MB-01, and UG-04.

use super::outcome::Outcome;
use super::rules::RuleSet;
use super::spec::{
    CONTROLLER_UID_LABEL, JOB_NAME_LABEL, Subject, VALID, generated_labels, label, template_has_no_ttl,
};
use crate::catalogue::Req;
use crate::job::{ConditionKind, ConditionStatus, Job, JobSpec};
use crate::requirement::{Broken, Findings, Operand};
use crate::words::{name_or_none, or_none};

/// Judges a write to the main resource that the server has accepted and stored as `new`.
///
/// # Assumptions
///
/// `old` is the object that `new` directly replaced.
pub fn validate_spec_update(rules: &RuleSet, old: &Job, new: &Job, findings: &mut Findings) {
    let update = Update { rules, old, new };
    let subject = update.subject();
    let mut invalid = Vec::new();
    for (req, rule) in VALID {
        if !rule(&subject).report(*req, findings) {
            invalid.push(req.id());
        }
    }
    findings.require(Req::SP10, invalid.is_empty(), "spec", "a valid specification", invalid.join(", "));
    for (req, rule) in CHANGES.iter().chain(PREPARED) {
        rule(&update).report(*req, findings);
    }
    note_permissions(&update, findings);
}

/// The first rule for which the server would refuse to write `new` over `old`; `None` if it accepts the write.
///
/// The status of `new` does not matter, because the server keeps the stored one (SS-32).
#[must_use]
pub fn would_refuse_spec(rules: &RuleSet, old: &Job, new: &Job) -> Option<Broken> {
    let update = Update { rules, old, new };
    let subject = update.subject();
    let invalid = VALID.iter().find_map(|(req, rule)| rule(&subject).refusal(*req));
    invalid.or_else(|| CHANGES.iter().find_map(|(req, rule)| rule(&update).refusal(*req)))
}

struct Update<'a> {
    rules: &'a RuleSet,
    old: &'a Job,
    new: &'a Job,
}

impl<'a> Update<'a> {
    fn subject(&self) -> Subject<'a> {
        let labels = &self.old.spec.template.labels;
        let had = |key: &str| label(labels, key).is_some();
        // Jobs from older versions may lack the prefixed labels.
        let prefixed = had(JOB_NAME_LABEL) && had(CONTROLLER_UID_LABEL);
        let is_checked = self.rules.updates_are_checked_like_creations;
        Subject { job: self.new, generated: is_checked.then(|| generated_labels(prefixed)) }
    }
}

/// A rule, and the requirement that it decides.
type Rule = (Req, fn(&Update<'_>) -> Outcome);

/// Rules for the fields that an update changes.
const CHANGES: &[Rule] = &[
    (Req::PC22, completions_follow_parallelism),
    (Req::SU12, template_changes_only_while_suspended),
    (Req::BI12, |update| {
        immutable(
            update,
            "spec.backoffLimitPerIndex",
            |spec| &spec.backoff_limit_per_index,
            |limit| or_none(*limit),
        )
    }),
    (Req::MB01, |update| {
        immutable(update, "spec.managedBy", |spec| &spec.managed_by, |manager| or_none(manager.as_ref()))
    }),
    (Req::SP08, other_fields_are_immutable),
];

/// Rules that the server itself makes an update satisfy. They refuse no request.
const PREPARED: &[Rule] = &[
    (Req::SP11, generation_counts_spec_changes),
    (Req::SS32, status_is_kept),
    (Req::UG04, replacement_policy_stays_away_without_its_gate),
    (Req::SP16, |update| template_has_no_ttl(&update.new.spec)),
];

/// SP-08: the immutable fields that no other rule names.
fn other_fields_are_immutable(update: &Update<'_>) -> Outcome {
    Outcome::all([
        immutable_whole(update, "spec.selector", |spec| &spec.selector),
        immutable(update, "spec.completionMode", |spec| &spec.completion_mode, |mode| name_or_none(*mode)),
        immutable_whole(update, "spec.podFailurePolicy", |spec| &spec.pod_failure_policy),
        immutable_whole(update, "spec.successPolicy", |spec| &spec.success_policy),
    ])
}

fn immutable<T: PartialEq>(
    update: &Update<'_>,
    what: &'static str,
    field: impl Fn(&JobSpec) -> &T,
    text: fn(&T) -> String,
) -> Outcome {
    let (old, new) = (field(&update.old.spec), field(&update.new.spec));
    Outcome::of(old == new, what, || (text(old), text(new)))
}

/// An immutable field whose value is too long for a message.
fn immutable_whole<T: PartialEq>(
    update: &Update<'_>,
    what: &'static str,
    field: impl Fn(&JobSpec) -> &T,
) -> Outcome {
    Outcome::of(field(&update.old.spec) == field(&update.new.spec), what, || ("the stored one", "another"))
}

/// PC-22: `completions` of an Indexed Job changes only together with `parallelism`, and that of other Jobs never.
fn completions_follow_parallelism(update: &Update<'_>) -> Outcome {
    let (old, new) = (&update.old.spec, &update.new.spec);
    if old.completions == new.completions {
        return Outcome::NotApplicable;
    }
    match new.completions {
        // SP-03 covers missing completions.
        None if new.is_indexed() => Outcome::NotApplicable,
        Some(completions) if new.is_indexed() => {
            Outcome::of(Some(completions) == new.parallelism, "spec.completions", || {
                (shown(new.parallelism), completions)
            })
        }
        Some(_) | None => Outcome::breaks("spec.completions", shown(old.completions), shown(new.completions)),
    }
}

/// SU-12, SU-13: the template of a suspended Job may change in its scheduling directives and resources. With the gate
/// for resources, all its metadata may change.
fn template_changes_only_while_suspended(update: &Update<'_>) -> Outcome {
    let (old, new) = (&update.old.spec.template, &update.new.spec.template);
    if old.digest == new.digest {
        return Outcome::NotApplicable;
    }
    let (directives, resources) = (directives_may_change(update), resources_may_change(update));
    if !directives && !resources {
        return Outcome::breaks(
            "spec.template",
            "the template of a Job that is not suspended and idle",
            "another",
        );
    }
    let parts = [
        (old.fixed_digest == new.fixed_digest, "spec.template.spec"),
        (directives || old.directives_digest == new.directives_digest, "spec.template.spec (directives)"),
        (resources || old.resources_digest == new.resources_digest, "spec.template.spec (resources)"),
        (resources || old.metadata_digest == new.metadata_digest, "spec.template.metadata"),
    ];
    Outcome::all(
        parts.into_iter().map(|(holds, what)| Outcome::of(holds, what, || ("the old one", "another"))),
    )
}

/// Returns whether the scheduling directives, labels, and annotations of the template may change.
fn directives_may_change(update: &Update<'_>) -> bool {
    let old = update.old;
    if update.rules.mutable_scheduling_directives {
        return is_suspended_and_idle(update.rules, old);
    }
    old.spec.is_suspended() && old.status.start_time.is_none()
}

/// Returns whether the resources and all metadata of the template may change.
fn resources_may_change(update: &Update<'_>) -> bool {
    update.rules.mutable_pod_resources && is_suspended_and_idle(update.rules, update.old)
}

/// Returns whether a Job is suspended without active pods, and never started or has the condition Suspended.
fn is_suspended_and_idle(rules: &RuleSet, old: &Job) -> bool {
    let not_started = rules.mutable_before_suspended_condition && old.status.start_time.is_none();
    let has_condition = old.status.conditions.iter().any(|condition| {
        condition.kind == ConditionKind::Suspended && condition.status == ConditionStatus::True
    });
    old.spec.is_suspended() && (not_started || has_condition) && old.status.active == 0
}

/// SP-11: the generation rises by one if the specification changes, else it stays.
///
/// A watch shows the first DELETE of a Job as an update. It raises the generation as well.
fn generation_counts_spec_changes(update: &Update<'_>) -> Outcome {
    let (old, new) = (update.old, update.new);
    if old.generation == 0 || new.generation == 0 {
        return Outcome::NotApplicable;
    }
    let marked = i64::from(new.deleting && !old.deleting);
    let after = |changes: i64| old.generation.saturating_add(marked + changes);
    let due = after(i64::from(old.spec != new.spec));
    let unseen = update.rules.spec_has_unseen_fields && new.generation == after(1);
    Outcome::of(new.generation == due || unseen, "metadata.generation", || (due, new.generation))
}

/// SS-32: a write to the main resource keeps the stored status. The server drops a status in the request.
fn status_is_kept(update: &Update<'_>) -> Outcome {
    Outcome::of(update.old.status == update.new.status, "status", || ("the stored status", "another one"))
}

/// UG-04: without its gate, `podReplacementPolicy` is dropped if the Job did not have it.
fn replacement_policy_stays_away_without_its_gate(update: &Update<'_>) -> Outcome {
    if update.rules.pod_replacement_policy || update.old.spec.pod_replacement_policy.is_some() {
        return Outcome::NotApplicable;
    }
    let policy = update.new.spec.pod_replacement_policy;
    Outcome::of(policy.is_none(), "spec.podReplacementPolicy", || ("none", name_or_none(policy)))
}

/// Records the premises of SP-09 and SU-13, which permit changes. Only a refusal could break them.
fn note_permissions(update: &Update<'_>, findings: &mut Findings) {
    let (old, new) = (&*update.old.spec, &*update.new.spec);
    if old.template.metadata_digest != new.template.metadata_digest && resources_may_change(update) {
        findings.premise(Req::SU13);
    }
    let mutable_changed = old.parallelism != new.parallelism
        || old.suspend != new.suspend
        || old.active_deadline_seconds != new.active_deadline_seconds
        || old.backoff_limit != new.backoff_limit
        || old.ttl_seconds_after_finished != new.ttl_seconds_after_finished
        || old.max_failed_indexes != new.max_failed_indexes
        || old.pod_replacement_policy != new.pod_replacement_policy
        || old.manual_selector != new.manual_selector;
    if mutable_changed {
        findings.premise(Req::SP09);
    }
}

fn shown(number: Option<i32>) -> Operand {
    number.map_or(Operand::Words("none"), Operand::from)
}

#[cfg(test)]
mod tests;
