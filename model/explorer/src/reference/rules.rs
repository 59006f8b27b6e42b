//! Questions about the specification of a Job that several decisions ask.

use jobcheck_spec::job::{Job, JobSpec, PodReplacementPolicy};

use crate::mutations::Mutation;
use crate::process::settings::Settings;

impl Settings<'_> {
    /// MB-02, UG-14: whether the Job is left to another manager.
    #[must_use]
    pub fn leaves_alone(&self, job: &Job) -> bool {
        let looks = self.gates.job_managed_by && !self.mutations.on(Mutation::IgnoresManagedBy);
        looks && !job.is_managed_by_built_in()
    }

    /// RP-02, UG-05, S-31: whether a pod is replaced only once it has ended. A pod failure policy asks for that too.
    #[must_use]
    pub fn is_patient(&self, spec: &JobSpec) -> bool {
        let policy = spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
        (policy && self.gates.job_pod_replacement_policy) || spec.pod_failure_policy.is_some()
    }

    /// BI-01, UG-09.
    #[must_use]
    pub fn limit_per_index(&self, spec: &JobSpec) -> Option<i32> {
        let counts =
            self.gates.job_backoff_limit_per_index || self.mutations.on(Mutation::LimitsIndexesWithoutGate);
        spec.backoff_limit_per_index.filter(|_| counts)
    }

    /// UG-07: whether an end is announced, and waits for pods that terminate.
    #[must_use]
    pub fn delays_the_end(&self) -> bool {
        self.gates.job_managed_by || self.gates.job_pod_replacement_policy
    }
}
