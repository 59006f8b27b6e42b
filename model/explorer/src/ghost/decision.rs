//! The decision about a Job: its interim condition.

use super::{PodHistory, first_true};
use jobcheck_spec::job::{ConditionKind, JobSpec, JobStatus, RestartPolicy, Text};
use jobcheck_spec::time::Time;

/// An interim condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// True if it is `SuccessCriteriaMet`, false if it is `FailureTarget`.
    pub good: bool,
    /// Its reason.
    pub reason: Text,
    /// Its message.
    pub message: Text,
    /// The time at which it was stored.
    pub when: Time,
    /// The smallest `completions` since then.
    pub completions: Option<i32>,
    /// BO-13: the number of container restarts that count, in all pods so far. A cache may have shown any of
    /// the pods while it still ran.
    pub restarts: u32,
    /// `backoffLimit` at that time.
    pub backoff_limit: Option<i32>,
    /// `activeDeadlineSeconds` at that time.
    pub deadline: Option<i64>,
    /// `maxFailedIndexes` at that time.
    pub max_failed_indexes: Option<i32>,
    /// The number of failed indexes in the status at that time.
    pub failed_indexes: usize,
}

impl Decision {
    pub(super) fn of(
        spec: &JobSpec,
        status: &JobStatus,
        pods: &[PodHistory],
        when: Time,
    ) -> Option<Decision> {
        let (condition, good) =
            first_true(status, &ConditionKind::SuccessCriteriaMet, &ConditionKind::FailureTarget)?;
        let (reason, message) = (condition.reason.clone(), condition.message.clone());
        let restarts = restarts(spec, pods);
        let (backoff_limit, deadline) = (spec.backoff_limit, spec.active_deadline_seconds);
        let (max_failed_indexes, completions) = (spec.max_failed_indexes, spec.completions);
        let failed_indexes = status.failed_set(None).len() as usize;
        Some(Decision {
            good,
            reason,
            message,
            when,
            completions,
            restarts,
            backoff_limit,
            deadline,
            max_failed_indexes,
            failed_indexes,
        })
    }
}

/// BO-13: the number of container restarts that count.
pub(super) fn restarts(spec: &JobSpec, pods: &[PodHistory]) -> u32 {
    let counts = spec.template.restart_policy == RestartPolicy::OnFailure;
    if counts { pods.iter().map(|pod| pod.restarts).sum() } else { 0 }
}
