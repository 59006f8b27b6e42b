//! Rules for a valid specification (SP-02 to SP-07, SP-15, RP-01, BI-12, MB-01, PC-15).
//!
//! They apply to the creation of a Job, and to every write of its specification (SP-10).

use std::collections::BTreeSet;

use super::names::{LABEL_LENGTH, is_dns_label, is_dns_subdomain, is_domain_prefixed_path};
use super::outcome::Outcome;
use super::policies::{pod_failure_policy_is_valid, success_policy_is_valid};
use crate::catalogue::Req;
use crate::job::{CompletionMode, Job, JobSpec, PodReplacementPolicy, RestartPolicy, Text};
use crate::requirement::Operand;
use crate::uid::Uid;
use crate::words::labels as labels_shown;

/// The label of a pod with the name of its Job.
pub const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";
/// The label of a pod with the UID of its Job.
pub const CONTROLLER_UID_LABEL: &str = "batch.kubernetes.io/controller-uid";
/// The older form of [`JOB_NAME_LABEL`], without a prefix.
pub const LEGACY_JOB_NAME_LABEL: &str = "job-name";
/// The older form of [`CONTROLLER_UID_LABEL`], without a prefix.
pub const LEGACY_CONTROLLER_UID_LABEL: &str = "controller-uid";

const MAX_PARALLELISM: i32 = 100_000;
const MAX_FAILED_INDEXES: i32 = 100_000;
/// With `backoffLimitPerIndex` and more completions than this, the two limits below apply.
const MANY_COMPLETIONS: i32 = 100_000;
const MAX_PARALLELISM_OF_MANY: i32 = 10_000;
const MAX_FAILED_INDEXES_OF_MANY: i32 = 10_000;

/// A Job whose specification is judged.
pub(super) struct Subject<'a> {
    pub(super) job: &'a Job,
    /// The labels that the server has generated, if it checks the write for them (PC-15). It then checks for the generated selector,
    /// and for a name that fits into them (SP-05), as well.
    pub(super) generated: Option<&'static [&'static str]>,
}

/// A rule, and the requirement that it decides.
pub(super) type Rule = (Req, fn(&Subject<'_>) -> Outcome);

/// The rules for every stored specification.
pub(super) const VALID: &[Rule] = &[
    (Req::SP02, |subject| numbers_are_not_negative(&subject.job.spec)),
    (Req::SP03, |subject| completion_mode_is_valid(subject.job)),
    (Req::SP04, |subject| restart_policy_is_valid(&subject.job.spec)),
    (Req::SP05, name_is_valid),
    (Req::SP06, |subject| pod_failure_policy_is_valid(&subject.job.spec)),
    (Req::SP07, |subject| success_policy_is_valid(&subject.job.spec)),
    (Req::SP15, |subject| replacement_policy_is_known(&subject.job.spec)),
    (Req::RP01, |subject| failure_policy_replaces_failed_pods_only(&subject.job.spec)),
    (Req::BI12, |subject| backoff_limit_per_index_is_valid(&subject.job.spec)),
    (Req::MB01, |subject| managed_by_is_valid(&subject.job.spec)),
    (Req::PC15, selector_selects_the_template),
];

/// SP-02: no number is negative.
fn numbers_are_not_negative(spec: &JobSpec) -> Outcome {
    let numbers = [
        ("spec.parallelism", spec.parallelism.map(i64::from)),
        ("spec.completions", spec.completions.map(i64::from)),
        ("spec.activeDeadlineSeconds", spec.active_deadline_seconds),
        ("spec.backoffLimit", spec.backoff_limit.map(i64::from)),
        ("spec.ttlSecondsAfterFinished", spec.ttl_seconds_after_finished.map(i64::from)),
        ("spec.backoffLimitPerIndex", spec.backoff_limit_per_index.map(i64::from)),
        ("spec.maxFailedIndexes", spec.max_failed_indexes.map(i64::from)),
    ];
    Outcome::all(numbers.into_iter().map(|(what, number)| match number {
        None => Outcome::NotApplicable,
        Some(number) => Outcome::of(number >= 0, what, || ("0 or more", number)),
    }))
}

/// SP-03: the mode is known. An Indexed Job has `completions`, limited `parallelism`, and a name that leaves room for
/// the largest index in a host name.
fn completion_mode_is_valid(job: &Job) -> Outcome {
    let spec = &job.spec;
    match spec.completion_mode {
        None | Some(CompletionMode::NonIndexed) => Outcome::Holds,
        Some(CompletionMode::Unknown) => {
            Outcome::breaks("spec.completionMode", "NonIndexed or Indexed", "another value")
        }
        Some(CompletionMode::Indexed) => Outcome::all([
            Outcome::of(spec.completions.is_some(), "spec.completions", || ("a number for Indexed", "none")),
            at_most("spec.parallelism", spec.parallelism, MAX_PARALLELISM),
            host_name_fits(job),
        ]),
    }
}

fn host_name_fits(job: &Job) -> Outcome {
    match job.spec.completions {
        Some(completions) if completions > 0 => {
            let host_name = format!("{}-{}", job.name, completions - 1);
            Outcome::of(is_dns_label(&host_name), "metadata.name", || {
                ("a name with which the host names of pods are DNS labels", host_name.clone())
            })
        }
        Some(_) | None => Outcome::NotApplicable,
    }
}

/// SP-04: the restart policy is `OnFailure` or `Never`, and `Never` with a pod failure policy.
fn restart_policy_is_valid(spec: &JobSpec) -> Outcome {
    const WHAT: &str = "spec.template.spec.restartPolicy";
    match spec.template.restart_policy {
        RestartPolicy::Never => Outcome::Holds,
        RestartPolicy::OnFailure => Outcome::of(spec.pod_failure_policy.is_none(), WHAT, || {
            ("Never with podFailurePolicy", "OnFailure")
        }),
        RestartPolicy::Always => Outcome::breaks(WHAT, "OnFailure or Never", "Always"),
        RestartPolicy::Unset => Outcome::breaks(WHAT, "OnFailure or Never", "none"),
    }
}

/// SP-05: the name is a DNS subdomain, and short enough for a label value if the selector is generated.
fn name_is_valid(subject: &Subject<'_>) -> Outcome {
    if subject.generated.is_none() {
        return Outcome::NotApplicable;
    }
    let name = &*subject.job.name;
    let fits = is_manual(&subject.job.spec) || name.len() <= LABEL_LENGTH;
    Outcome::of(is_dns_subdomain(name) && fits, "metadata.name", || {
        ("a DNS subdomain, of at most 63 characters if the selector is generated", name.to_owned())
    })
}

/// SP-15: `podReplacementPolicy` has one of two values. With a pod failure policy, RP-01 judges it.
fn replacement_policy_is_known(spec: &JobSpec) -> Outcome {
    match spec.pod_replacement_policy {
        None => Outcome::NotApplicable,
        Some(PodReplacementPolicy::TerminatingOrFailed | PodReplacementPolicy::Failed) => Outcome::Holds,
        Some(PodReplacementPolicy::Unknown) if spec.pod_failure_policy.is_some() => Outcome::NotApplicable,
        Some(PodReplacementPolicy::Unknown) => {
            Outcome::breaks("spec.podReplacementPolicy", "TerminatingOrFailed or Failed", "another value")
        }
    }
}

/// RP-01: with a pod failure policy, only `Failed` is allowed.
fn failure_policy_replaces_failed_pods_only(spec: &JobSpec) -> Outcome {
    match (&spec.pod_failure_policy, spec.pod_replacement_policy) {
        (Some(_), Some(policy)) => {
            Outcome::of(policy == PodReplacementPolicy::Failed, "spec.podReplacementPolicy", || {
                ("Failed with podFailurePolicy", format!("{policy:?}"))
            })
        }
        (None, _) | (_, None) => Outcome::NotApplicable,
    }
}

/// BI-12: `backoffLimitPerIndex` needs mode `Indexed`. `maxFailedIndexes` needs `backoffLimitPerIndex`, and is limited.
fn backoff_limit_per_index_is_valid(spec: &JobSpec) -> Outcome {
    let (limit, max_failed) = (spec.backoff_limit_per_index, spec.max_failed_indexes);
    if limit.is_none() && max_failed.is_none() {
        return Outcome::NotApplicable;
    }
    let has_limit = Outcome::of(limit.is_some(), "spec.backoffLimitPerIndex", || {
        ("a number with maxFailedIndexes", "none")
    });
    let by_mode = match spec.completion_mode {
        None | Some(CompletionMode::NonIndexed) => Outcome::breaks(
            "spec.backoffLimitPerIndex",
            "none without mode Indexed",
            shown(limit.or(max_failed)),
        ),
        Some(CompletionMode::Indexed) => Outcome::all([
            spec.completions
                .map_or(Outcome::NotApplicable, |n| at_most("spec.maxFailedIndexes", max_failed, n)),
            at_most("spec.maxFailedIndexes", max_failed, MAX_FAILED_INDEXES),
            many_completions_are_bounded(spec),
        ]),
        // SP-03 refuses an unknown mode.
        Some(CompletionMode::Unknown) => Outcome::NotApplicable,
    };
    Outcome::all([has_limit, by_mode])
}

fn many_completions_are_bounded(spec: &JobSpec) -> Outcome {
    let many = spec.completions.is_some_and(|completions| completions > MANY_COMPLETIONS);
    if !many || spec.backoff_limit_per_index.is_none() {
        return Outcome::NotApplicable;
    }
    let required = Outcome::of(spec.max_failed_indexes.is_some(), "spec.maxFailedIndexes", || {
        ("a number with so many completions", "none")
    });
    Outcome::all([
        required,
        at_most("spec.parallelism", spec.parallelism, MAX_PARALLELISM_OF_MANY),
        at_most("spec.maxFailedIndexes", spec.max_failed_indexes, MAX_FAILED_INDEXES_OF_MANY),
    ])
}

/// MB-01: `managedBy` is a domain-prefixed path of at most 63 bytes.
fn managed_by_is_valid(spec: &JobSpec) -> Outcome {
    match &spec.managed_by {
        None => Outcome::NotApplicable,
        Some(manager) => {
            let valid = is_domain_prefixed_path(manager) && manager.len() <= LABEL_LENGTH;
            Outcome::of(valid, "spec.managedBy", || {
                ("a domain-prefixed path of at most 63 bytes", manager.to_string())
            })
        }
    }
}

/// PC-15: the selector matches the labels of the template. If it was generated, the template has the labels of name and
/// UID, and the selector requires no other labels.
fn selector_selects_the_template(subject: &Subject<'_>) -> Outcome {
    let job = subject.job;
    let (wanted, labels) = (&job.spec.selector.match_labels, &job.spec.template.labels);
    let selects =
        Outcome::of(has_all(labels, wanted), SELECTOR, || ("labels of the template", labels_shown(wanted)));
    let Some(required) = subject.generated.filter(|_| !is_manual(&job.spec)) else { return selects };
    let labelled = required.iter().map(|key| {
        let label = label(labels, key);
        Outcome::of(
            label.is_some_and(|label| identifies(job, key, label)),
            "spec.template.metadata.labels",
            || {
                (
                    format!("{key} of the Job"),
                    label.map_or(Operand::Words("none"), |label| label.to_string().into()),
                )
            },
        )
    });
    let generated = Outcome::of(wanted.iter().all(|(key, _)| required.contains(&&**key)), SELECTOR, || {
        ("generated labels only", labels_shown(wanted))
    });
    Outcome::all(labelled.chain([selects, generated]))
}

/// Returns whether all pairs are among the labels. A long selector is hostile, and must not take quadratic time.
fn has_all(labels: &[(Text, Text)], wanted: &[(Text, Text)]) -> bool {
    const SHORT: usize = 16;
    if wanted.len() <= SHORT {
        return wanted.iter().all(|pair| labels.contains(pair));
    }
    let labels: BTreeSet<&(Text, Text)> = labels.iter().collect();
    wanted.iter().all(|pair| labels.contains(pair))
}

/// SP-16: a pod template has no TTL; the server drops a field of that name.
pub(super) fn template_has_no_ttl(spec: &JobSpec) -> Outcome {
    Outcome::of(!spec.template.has_ttl, "spec.template", || {
        ("no ttlSecondsAfterFinished", "ttlSecondsAfterFinished")
    })
}

const SELECTOR: &str = "spec.selector";

/// Returns whether the user has chosen the selector.
pub(super) fn is_manual(spec: &JobSpec) -> bool {
    spec.manual_selector == Some(true)
}

/// The value of a label.
pub(super) fn label<'a>(labels: &'a [(Text, Text)], key: &str) -> Option<&'a Text> {
    labels.iter().find(|(name, _)| **name == *key).map(|(_, value)| value)
}

/// The keys of the labels that the server adds to the template of a Job with a generated selector.
pub(super) fn generated_labels(prefixed: bool) -> &'static [&'static str] {
    const ALL: [&str; 4] =
        [LEGACY_CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL, CONTROLLER_UID_LABEL, JOB_NAME_LABEL];
    if prefixed { &ALL } else { &ALL[..2] }
}

fn identifies(job: &Job, key: &str, value: &str) -> bool {
    match key {
        JOB_NAME_LABEL | LEGACY_JOB_NAME_LABEL => *value == *job.name,
        _ => Uid::parse(value) == job.uid,
    }
}

fn at_most(what: &'static str, number: Option<i32>, limit: i32) -> Outcome {
    match number {
        None => Outcome::NotApplicable,
        Some(number) => Outcome::of(number <= limit, what, || (limit, number)),
    }
}

fn shown(number: Option<i32>) -> Operand {
    number.map_or(Operand::Words("none"), Operand::from)
}

#[cfg(test)]
mod tests;
