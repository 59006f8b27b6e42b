//! Numbers that differ between Job controllers: delays, and the size of lists.

use crate::apiserver::RuleSet;

/// Constants of a Job controller. The default is Kubernetes 1.36.
///
/// `docs/reference/built-in.md`, section 0.1, lists their sources. `--assume` of `jobcheck replay` changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The delay after the first failure of a pod, in milliseconds (BO-01).
    pub pod_failure_backoff_ms: i64,
    /// The longest delay after failures, in milliseconds (BO-01).
    pub pod_failure_backoff_max_ms: i64,
    /// The largest number of UIDs in both lists of `uncountedTerminatedPods` together (FT-10).
    pub max_uncounted_pods: usize,
    /// True if the write that suspends a Job may leave `startTime` unchanged (SU-02).
    ///
    /// With the gate `MutableSchedulingDirectivesForSuspendedJobs` off, only the resumption sets a new `startTime`.
    pub may_keep_start_time: bool,
}

impl Constants {
    /// The constants of Kubernetes 1.36.
    pub const V1_36: Constants = Constants {
        pod_failure_backoff_ms: 10_000,
        pod_failure_backoff_max_ms: 600_000,
        max_uncounted_pods: 500,
        may_keep_start_time: false,
    };

    /// The constants of Kubernetes 1.34 and 1.35.
    pub const V1_35: Constants = Constants { may_keep_start_time: true, ..Constants::V1_36 };

    /// These constants for a controller of the same minor version as an API server with these rules.
    #[must_use]
    pub const fn for_version_of(self, rules: &RuleSet) -> Constants {
        let of_version = if rules.minor < 36 { Constants::V1_35 } else { Constants::V1_36 };
        Constants { may_keep_start_time: of_version.may_keep_start_time, ..self }
    }

    /// The delay after this number of consecutive failures, in milliseconds (BO-01).
    ///
    /// It doubles with each failure up to the maximum, and is 0 without a failure.
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
