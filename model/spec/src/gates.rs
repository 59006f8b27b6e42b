//! Feature gates of a process (judging.md 8; kep-coverage.md 6).
//!
//! They are values of a process, in its memory: they change only when another process takes over. What a gate that is
//! off means is for nearly all of them that a field of the Job reads as unset ([`Gates::read`]).

use std::sync::Arc;

use crate::job::{FailureAction, Job, JobSpec};

/// The gates of the Job features, as a process was started with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gates {
    /// `JobManagedBy` (KEP-4368): Jobs of other managers are left alone, and every end is announced and waits.
    pub job_managed_by: bool,
    /// `JobPodReplacementPolicy` (KEP-3939): the policy counts, terminating pods are reported, and every end is
    /// announced and waits.
    pub job_pod_replacement_policy: bool,
    /// `JobBackoffLimitPerIndex` (KEP-3850): the limits per index and the action FailIndex count.
    pub job_backoff_limit_per_index: bool,
    /// `JobSuccessPolicy` (KEP-3998): the success policy counts.
    pub job_success_policy: bool,
}

impl Gates {
    /// All on, as they are locked in 1.36.
    pub const ON: Gates = Gates {
        job_managed_by: true,
        job_pod_replacement_policy: true,
        job_backoff_limit_per_index: true,
        job_success_policy: true,
    };

    /// UG-07: whether each end of a Job is announced by an interim condition, and waits until no pod terminates.
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

    /// A Job as a process with these gates takes it: the fields of features that are off are not there (UG-05, UG-09,
    /// UG-14). Its status is what it is.
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

    /// The same with one gate on or off, called as Kubernetes spells it; `None` where there is no such gate here.
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

    /// The gates that are off, as Kubernetes spells them.
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
