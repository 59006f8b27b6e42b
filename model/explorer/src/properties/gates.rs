//! Feature gates that are off, and Jobs of other managers.

use super::{Property, Situation};
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;

/// UG-05: `terminating` needs its gate.
pub const NO_TERMINATING_WITHOUT_ITS_GATE: Property = Property {
    req: Req::UG05,
    name: "with JobPodReplacementPolicy off, status.terminating is not set",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG05, "status.terminating was set"),
    premise: |it| {
        !it.job_state.gates().job_pod_replacement_policy && it.job_state.pods.sums().terminating > 0
    },
};

/// UG-07: interim conditions need one of two gates.
pub const NO_INTERIM_WITHOUT_ITS_GATES: Property = Property {
    req: Req::UG07,
    name: "with JobManagedBy and JobPodReplacementPolicy off, no interim condition is stored",
    needs_processes: true,
    broken: |job_state| violation(job_state, Req::UG07, "an interim condition was stored"),
    premise: |it| !it.job_state.gates().delays_terminal_condition() && it.job_state.ghost.ending.is_some(),
};

/// UG-09: `failedIndexes` needs its gate.
pub const NO_FAILED_INDEXES_WITHOUT_THEIR_GATE: Property = Property {
    req: Req::UG09,
    name: "with JobBackoffLimitPerIndex off, status.failedIndexes is not set",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG09, "status.failedIndexes was set"),
    premise: |it| {
        let stored = it.job_state.job.as_ref().is_some_and(|job| job.status.failed_indexes.is_some());
        !it.job_state.gates().job_backoff_limit_per_index && stored
    },
};

/// UG-15, MB-03: `spec.managedBy` excludes the built-in controller.
pub const EXTERNAL_JOBS_ARE_LEFT_ALONE: Property = Property {
    req: Req::UG15,
    name: "with JobManagedBy on, the built-in controller does not touch the Job of another manager",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG15, "the built-in controller made a write"),
    premise: |it| is_external(it) && it.job_state.gates().job_managed_by,
};

/// MB-14: the manager of a Job does not change.
pub const ONE_MANAGER_WRITES: Property = Property {
    req: Req::MB14,
    name: "one manager makes all status writes of a Job",
    needs_processes: false,
    broken: |job_state| {
        let writers = job_state.ghost.writers;
        (writers.built_in && writers.external)
            .then(|| "the built-in controller and another manager have written the status".to_owned())
    },
    premise: |it| is_external(it) && it.job_state.ghost.writers.external,
};

fn violation(job_state: &JobState, req: Req, why: &str) -> Option<String> {
    (job_state.ghost.violations.gates == Some(req)).then(|| why.to_owned())
}

fn is_external(it: &Situation<'_>) -> bool {
    it.job_state.job.as_ref().is_some_and(|job| !job.is_managed_by_built_in())
}
