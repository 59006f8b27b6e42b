//! Rules for the creation of a Job: its defaults, its generated fields, and a valid specification.
//!
//! Defaults and generated fields are SP-01, SP-11, SP-16, BO-14, RP-01, PC-15, SS-32, UG-04, UG-08, and UG-13. The
//! rules of a valid specification are in [`spec`](super::spec).

use super::outcome::Outcome;
use super::rules::RuleSet;
use super::spec::{
    CONTROLLER_UID_LABEL, Subject, VALID, generated_labels, is_manual, label, template_has_no_ttl,
};
use crate::catalogue::Req;
use crate::job::{FailureAction, Job, JobStatus};
use crate::requirement::{Broken, Findings};
use crate::words::{name_or_none, or_none};

/// Judges a Job that was created: `job` is what the server stored.
pub fn validate_create(rules: &RuleSet, job: &Job, findings: &mut Findings) {
    let created = Created { rules, job };
    for (req, rule) in PREPARED {
        rule(&created).report(*req, findings);
    }
    let subject = Subject { job, generated: Some(generated_labels(true)) };
    for (req, rule) in VALID {
        rule(&subject).report(*req, findings);
    }
}

/// The first rule for which the server would refuse to create `job`; `None` if it accepts the Job.
///
/// # Assumptions
///
/// `job` has its defaults and generated labels, as [`created`](super::created) returns it.
#[must_use]
pub fn would_refuse_create(job: &Job) -> Option<Broken> {
    let subject = Subject { job, generated: Some(generated_labels(true)) };
    VALID.iter().find_map(|(req, rule)| rule(&subject).refusal(*req))
}

struct Created<'a> {
    rules: &'a RuleSet,
    job: &'a Job,
}

/// A rule, and the requirement that it decides.
type Rule = (Req, fn(&Created<'_>) -> Outcome);

/// Rules that the server itself makes a new Job satisfy. They refuse no request.
const PREPARED: &[Rule] = &[
    (Req::SP01, defaults_are_set),
    (Req::BO14, backoff_limit_is_set),
    (Req::RP01, replacement_policy_is_set),
    (Req::UG04, replacement_policy_is_dropped_without_its_gate),
    (Req::UG08, limits_per_index_are_dropped_without_their_gate),
    (Req::UG13, managed_by_is_dropped_without_its_gate),
    (Req::PC15, selector_is_generated),
    (Req::SP11, generation_is_one),
    (Req::SS32, status_is_wiped),
    (Req::SP16, |created| template_has_no_ttl(&created.job.spec)),
];

/// SP-01: the fields that have a default are set.
fn defaults_are_set(created: &Created<'_>) -> Outcome {
    let spec = &created.job.spec;
    let defaulted = [
        ("spec.parallelism", spec.parallelism.is_some()),
        ("spec.completionMode", spec.completion_mode.is_some()),
        ("spec.suspend", spec.suspend.is_some()),
        ("spec.manualSelector", spec.manual_selector.is_some()),
    ];
    Outcome::all(defaulted.into_iter().map(|(what, set)| Outcome::of(set, what, || ("a value", "none"))))
}

/// BO-14: `backoffLimit` is set.
fn backoff_limit_is_set(created: &Created<'_>) -> Outcome {
    let limit = created.job.spec.backoff_limit;
    Outcome::of(limit.is_some(), "spec.backoffLimit", || ("a value", "none"))
}

/// RP-01: `podReplacementPolicy` is set.
fn replacement_policy_is_set(created: &Created<'_>) -> Outcome {
    if !created.rules.pod_replacement_policy {
        return Outcome::NotApplicable;
    }
    let policy = created.job.spec.pod_replacement_policy;
    Outcome::of(policy.is_some(), "spec.podReplacementPolicy", || ("a value", "none"))
}

/// UG-04: without its gate, `podReplacementPolicy` is dropped.
fn replacement_policy_is_dropped_without_its_gate(created: &Created<'_>) -> Outcome {
    if created.rules.pod_replacement_policy {
        return Outcome::NotApplicable;
    }
    let policy = created.job.spec.pod_replacement_policy;
    Outcome::of(policy.is_none(), "spec.podReplacementPolicy", || ("none", name_or_none(policy)))
}

/// UG-08: without their gate, the limits per index and FailIndex rules are dropped.
fn limits_per_index_are_dropped_without_their_gate(created: &Created<'_>) -> Outcome {
    if created.rules.backoff_limit_per_index {
        return Outcome::NotApplicable;
    }
    let spec = &created.job.spec;
    let fails_index = spec
        .pod_failure_policy
        .as_ref()
        .is_some_and(|policy| policy.rules.iter().any(|rule| rule.action == FailureAction::FailIndex));
    let fields = [
        ("spec.backoffLimitPerIndex", spec.backoff_limit_per_index.is_some()),
        ("spec.maxFailedIndexes", spec.max_failed_indexes.is_some()),
        ("spec.podFailurePolicy.rules", fails_index),
    ];
    Outcome::all(fields.into_iter().map(|(what, set)| Outcome::of(!set, what, || ("none", "a value"))))
}

/// UG-13: without its gate, `managedBy` is dropped.
fn managed_by_is_dropped_without_its_gate(created: &Created<'_>) -> Outcome {
    if created.rules.job_managed_by {
        return Outcome::NotApplicable;
    }
    let manager = &created.job.spec.managed_by;
    Outcome::of(manager.is_none(), "spec.managedBy", || ("none", or_none(manager.as_ref())))
}

/// PC-15: a generated selector requires the UID of the Job.
fn selector_is_generated(created: &Created<'_>) -> Outcome {
    let spec = &created.job.spec;
    if is_manual(spec) {
        return Outcome::NotApplicable;
    }
    let requires_uid = label(&spec.selector.match_labels, CONTROLLER_UID_LABEL).is_some();
    Outcome::of(requires_uid, "spec.selector", || (CONTROLLER_UID_LABEL, "a selector without it"))
}

/// SP-11: the generation of a new Job is 1.
fn generation_is_one(created: &Created<'_>) -> Outcome {
    match created.job.generation {
        // The source does not show the generation.
        0 => Outcome::NotApplicable,
        generation => Outcome::of(generation == 1, "metadata.generation", || (1, generation)),
    }
}

/// SS-32: a new Job has an empty status. The server drops a status in the request.
fn status_is_wiped(created: &Created<'_>) -> Outcome {
    let empty = created.job.status == JobStatus::default();
    Outcome::of(empty, "status", || ("an empty status", "a status from the request"))
}
