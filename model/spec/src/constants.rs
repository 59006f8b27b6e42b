//! The numbers that a subject may have been started with.

use crate::apiserver::RuleSet;

/// Constants of a Job controller (requirements.md 0.1). The default is Kubernetes 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// First pod-failure delay, in milliseconds.
    pub pod_failure_backoff_ms: i64,
    /// Largest pod-failure delay, in milliseconds.
    pub pod_failure_backoff_max_ms: i64,
    /// UIDs that the in-status lists may hold (FT-10).
    pub max_uncounted_pods: usize,
    /// Whether the write that suspends a Job may leave its `startTime` as it was (SU-02): where the gate
    /// `MutableSchedulingDirectivesForSuspendedJobs` is off, only the resumption sets a new one.
    pub may_keep_start_time: bool,
}

impl Constants {
    /// Kubernetes 1.36.
    pub const V1_36: Constants = Constants {
        pod_failure_backoff_ms: 10_000,
        pod_failure_backoff_max_ms: 600_000,
        max_uncounted_pods: 500,
        may_keep_start_time: false,
    };

    /// Kubernetes 1.35, and 1.34.
    pub const V1_35: Constants = Constants { may_keep_start_time: true, ..Constants::V1_36 };

    /// The same beside an API server with these rules.
    #[must_use]
    pub const fn for_version_of(self, rules: &RuleSet) -> Constants {
        let of_version = if rules.minor < 36 { Constants::V1_35 } else { Constants::V1_36 };
        Constants { may_keep_start_time: of_version.may_keep_start_time, ..self }
    }

    /// The delay after `failures` consecutive failures, in milliseconds (BO-01).
    #[must_use]
    pub fn backoff_ms(&self, failures: u32) -> i64 {
        if failures == 0 {
            return 0;
        }
        let doublings = (failures - 1).min(40);
        self.pod_failure_backoff_ms.saturating_mul(1 << doublings).min(self.pod_failure_backoff_max_ms)
    }
}

impl Default for Constants {
    fn default() -> Constants {
        Constants::V1_36
    }
}

#[cfg(test)]
mod tests {
    use super::Constants;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let delays: Vec<i64> = (0..9).map(|n| Constants::V1_36.backoff_ms(n)).collect();
        assert_eq!(delays, [0, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]);
    }
}
