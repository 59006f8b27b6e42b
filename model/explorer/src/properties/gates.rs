//! Feature gates that are off, and Jobs of other managers.

use super::{Property, Situation};
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;

/// UG-05.
pub const NO_TERMINATING_WITHOUT_ITS_GATE: Property = Property {
    req: Req::UG05,
    name: "without JobPodReplacementPolicy no terminating pods are reported",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG05, "terminating was reported"),
    premise: |it| {
        !it.job_state.gates().job_pod_replacement_policy && it.job_state.pods.sums().terminating > 0
    },
};

/// UG-07.
pub const NO_INTERIM_WITHOUT_ITS_GATES: Property = Property {
    req: Req::UG07,
    name: "without JobManagedBy and JobPodReplacementPolicy no end is announced",
    needs_processes: true,
    broken: |job_state| violation(job_state, Req::UG07, "an interim condition was written"),
    premise: |it| !it.job_state.gates().delay_the_end() && it.job_state.ghost.ending.is_some(),
};

/// UG-09.
pub const NO_FAILED_INDEXES_WITHOUT_THEIR_GATE: Property = Property {
    req: Req::UG09,
    name: "without JobBackoffLimitPerIndex failedIndexes leaves the status",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG09, "failedIndexes was written"),
    premise: |it| {
        let stored = it.job_state.job.as_ref().is_some_and(|job| job.status.failed_indexes.is_some());
        !it.job_state.gates().job_backoff_limit_per_index && stored
    },
};

/// UG-15, MB-03.
pub const EXTERNAL_JOBS_ARE_LET_GO: Property = Property {
    req: Req::UG15,
    name: "with JobManagedBy the built-in writes nothing for a Job of another manager",
    needs_processes: false,
    broken: |job_state| violation(job_state, Req::UG15, "it wrote"),
    premise: |it| is_external(it) && it.job_state.gates().job_managed_by,
};

/// MB-14.
pub const ONE_MANAGER_WRITES: Property = Property {
    req: Req::MB14,
    name: "all status writes of a Job come from one manager",
    needs_processes: false,
    broken: |job_state| {
        let writers = job_state.ghost.writers;
        (writers.built_in && writers.external)
            .then(|| "the built-in and another manager have written it".to_owned())
    },
    premise: |it| is_external(it) && it.job_state.ghost.writers.external,
};

fn violation(job_state: &JobState, req: Req, why: &str) -> Option<String> {
    (job_state.ghost.violations.gates == Some(req)).then(|| why.to_owned())
}

fn is_external(it: &Situation<'_>) -> bool {
    it.job_state.job.as_ref().is_some_and(|job| !job.is_managed_by_built_in())
}
