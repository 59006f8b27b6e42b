//! That a Job's fate is decided.

use super::{PodHistory, first_true};
use jobcheck_spec::job::{ConditionKind, JobSpec, JobStatus, RestartPolicy, Text};
use jobcheck_spec::time::Time;

/// An interim condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Whether it is `SuccessCriteriaMet`, and not `FailureTarget`.
    pub good: bool,
    /// Its reason.
    pub reason: Text,
    /// Its message.
    pub message: Text,
    /// The clock when it was stored.
    pub when: Time,
    /// The fewest `completions` since then.
    pub completions: Option<i32>,
    /// BO-13: restarts of containers, where they count, in all pods so far: a cache may have shown each as it still ran.
    pub restarts: u32,
    /// `backoffLimit` then.
    pub backoff_limit: Option<i32>,
    /// `activeDeadlineSeconds` then.
    pub deadline: Option<i64>,
    /// `maxFailedIndexes` then.
    pub max_failed_indexes: Option<i32>,
    /// How many indexes had failed then, as the status said.
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

/// BO-13: restarts of containers, where they count.
pub(super) fn restarts(spec: &JobSpec, pods: &[PodHistory]) -> u32 {
    let counts = spec.template.restart_policy == RestartPolicy::OnFailure;
    if counts { pods.iter().map(|pod| pod.restarts).sum() } else { 0 }
}
