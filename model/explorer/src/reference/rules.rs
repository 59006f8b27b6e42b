//! The features that the specification of a Job uses, given the feature gates of the process.

use jobcheck_spec::job::{Job, JobSpec, PodReplacementPolicy};

use crate::process::settings::Settings;

impl Settings<'_> {
    /// MB-02, UG-14: returns true if the controller must leave the Job to another manager.
    #[must_use]
    pub fn leaves_alone(&self, job: &Job) -> bool {
        self.reads_managed_by() && !job.is_managed_by_built_in()
    }

    /// RP-02, UG-05, S-31: returns true if a pod is replaced only after it has terminated. A pod failure
    /// policy requires this too.
    #[must_use]
    pub fn replaces_after_termination(&self, spec: &JobSpec) -> bool {
        let policy = spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
        (policy && self.gates.job_pod_replacement_policy) || spec.pod_failure_policy.is_some()
    }

    /// BI-01, UG-09: the `backoffLimitPerIndex` in effect.
    #[must_use]
    pub fn limit_per_index(&self, spec: &JobSpec) -> Option<i32> {
        spec.backoff_limit_per_index.filter(|_| self.limits_indexes())
    }

    /// UG-07: returns true if a Job gets an interim condition, and its terminal condition waits for terminating pods.
    #[must_use]
    pub fn delays_the_end(&self) -> bool {
        self.gates.job_managed_by || self.gates.job_pod_replacement_policy
    }
}
