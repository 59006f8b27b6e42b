//! The feature gates of the Job controller (`docs/reference/judging.md`, section 8).
//!
//! Gates belong to a process and change only if another process takes over. A gate that is off mostly makes a process
//! read a field of the Job as unset ([`Gates::read`]). The API server has gates of its own
//! ([`RuleSet`](crate::apiserver::RuleSet)).

use std::sync::Arc;

use crate::job::{FailureAction, Job, JobSpec};

/// The feature gates with which a process was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gates {
    /// `JobManagedBy` (KEP-4368): the process ignores Jobs of other managers, and delays terminal conditions
    /// ([`Gates::delays_terminal_condition`]).
    pub job_managed_by: bool,
    /// `JobPodReplacementPolicy` (KEP-3939): `podReplacementPolicy` applies, `status.terminating` is reported, and
    /// terminal conditions are delayed ([`Gates::delays_terminal_condition`]).
    pub job_pod_replacement_policy: bool,
    /// `JobBackoffLimitPerIndex` (KEP-3850): the limits per index and the action FailIndex apply.
    pub job_backoff_limit_per_index: bool,
    /// `JobSuccessPolicy` (KEP-3998): `successPolicy` applies.
    pub job_success_policy: bool,
}

impl Gates {
    /// All gates on. Kubernetes 1.36 locks them in this state.
    pub const ON: Gates = Gates {
        job_managed_by: true,
        job_pod_replacement_policy: true,
        job_backoff_limit_per_index: true,
        job_success_policy: true,
    };

    /// Returns whether each terminal condition follows an interim condition, and waits until no pod is terminating
    /// (UG-07).
    #[must_use]
    pub fn delays_terminal_condition(self) -> bool {
        self.job_managed_by || self.job_pod_replacement_policy
    }

    /// The gates that are on in both.
    #[must_use]
    pub fn and(self, other: Gates) -> Gates {
        Gates {
            job_managed_by: self.job_managed_by && other.job_managed_by,
            job_pod_replacement_policy: self.job_pod_replacement_policy && other.job_pod_replacement_policy,
            job_backoff_limit_per_index: self.job_backoff_limit_per_index
                && other.job_backoff_limit_per_index,
            job_success_policy: self.job_success_policy && other.job_success_policy,
        }
    }

    /// The Job as a process with these gates reads it: fields of features that are off are unset (UG-05, UG-09, UG-14).
    ///
    /// The status is unchanged. The same `Arc` is returned if nothing differs.
    #[must_use]
    pub fn read(self, job: &Arc<Job>) -> Arc<Job> {
        if self == Gates::ON {
            return job.clone();
        }
        let spec = self.spec(&job.spec);
        if spec == *job.spec {
            job.clone()
        } else {
            Arc::new(Job { spec: Arc::new(spec), ..Job::clone(job) })
        }
    }

    fn spec(self, spec: &JobSpec) -> JobSpec {
        let mut spec = spec.clone();
        if !self.job_managed_by {
            spec.managed_by = None;
        }
        if !self.job_pod_replacement_policy {
            spec.pod_replacement_policy = None;
        }
        if !self.job_backoff_limit_per_index {
            (spec.backoff_limit_per_index, spec.max_failed_indexes) = (None, None);
            if let Some(policy) = &mut spec.pod_failure_policy {
                policy.rules.retain(|rule| rule.action != FailureAction::FailIndex);
            }
        }
        if !self.job_success_policy {
            spec.success_policy = None;
        }
        spec
    }

    /// These gates with one of them switched, by its Kubernetes name; `None` if the name is not one of the four.
    #[must_use]
    pub fn with(mut self, gate: &str, on: bool) -> Option<Gates> {
        let field = match gate {
            "JobManagedBy" => &mut self.job_managed_by,
            "JobPodReplacementPolicy" => &mut self.job_pod_replacement_policy,
            "JobBackoffLimitPerIndex" => &mut self.job_backoff_limit_per_index,
            "JobSuccessPolicy" => &mut self.job_success_policy,
            _ => return None,
        };
        *field = on;
        Some(self)
    }

    /// The Kubernetes names of the gates that are off.
    #[must_use]
    pub fn off(self) -> Vec<&'static str> {
        let all = [
            (self.job_managed_by, "JobManagedBy"),
            (self.job_pod_replacement_policy, "JobPodReplacementPolicy"),
            (self.job_backoff_limit_per_index, "JobBackoffLimitPerIndex"),
            (self.job_success_policy, "JobSuccessPolicy"),
        ];
        all.into_iter().filter(|(on, _)| !on).map(|(_, name)| name).collect()
    }
}

impl Default for Gates {
    fn default() -> Gates {
        Gates::ON
    }
}
