//! The object that the API server stores for an accepted request: defaults, generated fields, and ignored parts.

use std::sync::Arc;

use super::rules::RuleSet;
use super::spec::{
    CONTROLLER_UID_LABEL, JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL, is_manual,
    label,
};
use crate::job::{CompletionMode, FailureAction, Job, JobSpec, JobStatus, PodReplacementPolicy, Text};

/// The default `backoffLimit` (BO-14).
const BACKOFF_LIMIT: i32 = 6;

/// The specification with its defaults (SP-01, BO-14, RP-01).
///
/// # Caveats
///
/// The server also copies the labels of the template to the Job. The model has no labels of Jobs.
#[must_use]
pub fn defaulted(rules: &RuleSet, spec: &JobSpec) -> JobSpec {
    let mut spec = spec.clone();
    if spec.completions.is_none() && spec.parallelism.is_none() {
        spec.completions = Some(1);
    }
    spec.parallelism.get_or_insert(1);
    let backoff_limit = if spec.backoff_limit_per_index.is_some() { i32::MAX } else { BACKOFF_LIMIT };
    spec.backoff_limit.get_or_insert(backoff_limit);
    spec.completion_mode.get_or_insert(CompletionMode::NonIndexed);
    spec.suspend.get_or_insert(false);
    spec.manual_selector.get_or_insert(false);
    if rules.pod_replacement_policy {
        spec.pod_replacement_policy.get_or_insert(match spec.pod_failure_policy {
            Some(_) => PodReplacementPolicy::Failed,
            None => PodReplacementPolicy::TerminatingOrFailed,
        });
    }
    spec
}

/// The Job that a creation stores if [`would_refuse_create`](super::would_refuse_create) returns `None`.
///
/// It has defaults, generated labels and selector (PC-15), generation 1 (SP-11), and an empty status (SS-32). Fields
/// whose gate is off are dropped (UG-04, UG-08, UG-13).
///
/// # Assumptions
///
/// `sent` has the name and UID that the server gives the Job.
///
/// # Caveats
///
/// The digests of the template are those of the request. Defaults are set before fields are dropped. The default of
/// `backoffLimit` is therefore that of a Job with limits per index, even if the limits are not stored.
#[must_use]
pub fn created(rules: &RuleSet, sent: &Job) -> Job {
    let mut spec = defaulted(rules, &sent.spec);
    if !is_manual(&spec) {
        generate_selector(sent, &mut spec);
    }
    if !rules.job_managed_by {
        spec.managed_by = None;
    }
    if !rules.pod_replacement_policy {
        spec.pod_replacement_policy = None;
    }
    if !rules.success_policy {
        spec.success_policy = None;
    }
    if !rules.backoff_limit_per_index {
        (spec.backoff_limit_per_index, spec.max_failed_indexes) = (None, None);
        if let Some(policy) = &mut spec.pod_failure_policy {
            policy.rules.retain(|rule| rule.action != FailureAction::FailIndex);
        }
    }
    Job { generation: 1, spec: Arc::new(spec), status: JobStatus::default(), ..sent.clone() }
}

/// The Job that a write of `sent` to the main resource stores if [`would_refuse_spec`](super::would_refuse_spec)
/// returns `None`.
///
/// It keeps the stored status (SS-32), and has the next generation if the specification changes (SP-11).
#[must_use]
pub fn spec_updated(rules: &RuleSet, old: &Job, sent: &Job) -> Job {
    let mut spec = defaulted(rules, &sent.spec);
    if !rules.pod_replacement_policy && old.spec.pod_replacement_policy.is_none() {
        spec.pod_replacement_policy = None;
    }
    if !rules.success_policy && old.spec.success_policy.is_none() {
        spec.success_policy = None;
    }
    if !rules.backoff_limit_per_index {
        spec.backoff_limit_per_index =
            spec.backoff_limit_per_index.filter(|_| old.spec.backoff_limit_per_index.is_some());
        spec.max_failed_indexes = spec.max_failed_indexes.filter(|_| old.spec.max_failed_indexes.is_some());
    }
    let changed = spec != *old.spec;
    Job {
        generation: old.generation.saturating_add(i64::from(changed)),
        spec: Arc::new(spec),
        status: old.status.clone(),
        ..sent.clone()
    }
}

/// The Job that a write of `sent` to `jobs/status` stores if [`would_refuse_status`](super::would_refuse_status)
/// returns `None`.
///
/// It keeps the stored specification and generation, and takes the metadata from the request (SS-32, MB-12).
#[must_use]
pub fn status_updated(old: &Job, sent: &Job) -> Job {
    Job { generation: old.generation, spec: Arc::clone(&old.spec), ..sent.clone() }
}

/// PC-15: missing labels and selectors are added. Those of the user stay, and validation judges them.
fn generate_selector(job: &Job, spec: &mut JobSpec) {
    let (name, uid) = (&job.name, Text::from(job.uid.to_string()));
    for key in [LEGACY_JOB_NAME_LABEL, JOB_NAME_LABEL] {
        put_if_absent(&mut spec.template.labels, key, name);
    }
    for key in [LEGACY_CONTROLLER_UID_LABEL, CONTROLLER_UID_LABEL] {
        put_if_absent(&mut spec.template.labels, key, &uid);
    }
    put_if_absent(&mut spec.selector.match_labels, CONTROLLER_UID_LABEL, &uid);
}

fn put_if_absent(labels: &mut Vec<(Text, Text)>, key: &str, value: &Text) {
    if label(labels, key).is_none() {
        let place = labels.partition_point(|(name, _)| **name < *key);
        labels.insert(place, (key.into(), value.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{decide, edit, job};
    use super::*;
    use crate::job::ConditionKind::Suspended;

    const RULES: RuleSet = RuleSet::V1_36;

    fn stored() -> Job {
        let mut stored = Job { generation: 7, ..job() };
        decide(&mut stored, &[Suspended]);
        stored
    }

    #[test]
    fn a_created_job_begins_anew() {
        let sent = stored();
        let new = created(&RULES, &sent);
        assert_eq!((new.generation, &new.status), (1, &JobStatus::default()));
        assert_eq!(new.spec.backoff_limit, Some(6), "defaults are set");
    }

    #[test]
    fn a_write_of_the_job_keeps_its_status() {
        let old = stored();
        let mut sent = Job { generation: 1, status: JobStatus::default(), ..old.clone() };
        assert_eq!(spec_updated(&RULES, &old, &sent), old);
        edit(&mut sent, |spec| spec.parallelism = Some(5));
        let new = spec_updated(&RULES, &old, &sent);
        assert_eq!((new.generation, new.spec.parallelism, &new.status), (8, Some(5), &old.status));
    }

    #[test]
    fn a_write_of_the_status_keeps_the_specification() {
        let old = stored();
        let mut sent = Job { generation: 1, status: JobStatus::default(), probes_digest: 9, ..old.clone() };
        edit(&mut sent, |spec| spec.parallelism = Some(5));
        let new = status_updated(&old, &sent);
        assert_eq!((new.generation, &new.spec), (7, &old.spec));
        assert_eq!((&new.status, new.probes_digest), (&sent.status, 9));
    }
}
