//! Writes that no manager with up-to-date caches may make ([`crate::ghost::GhostHistory::deleted`] and the
//! functions next to it).

use super::Property;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::ConditionKind;
use jobcheck_spec::pod::{Phase, Pod};

/// FT-32: terminated pods stay until their owner is gone.
pub const NO_TERMINATED_POD_IS_DELETED: Property = Property {
    req: Req::FT32,
    name: "a manager does not delete a terminated pod",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .deleted_terminated
            .map(|uid| format!("pod {} had terminated and was deleted", uid.0))
    },
    premise: |it| {
        let kept = |pod: &Pod| pod.controlled && pod.is_terminated() && !pod.deleting;
        it.job_state.pods.iter().any(kept)
    },
};

/// TC-14: neither terminating nor uncounted pods delay the interim condition.
pub const DECISION_IS_STORED_AT_ONCE: Property = Property {
    req: Req::TC14,
    name: "the first status write that decides a Job stores the interim condition",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .missing_interim
            .then(|| "a status write lacks the interim condition".to_owned())
    },
    premise: |it| {
        let job_state = it.job_state;
        let job = job_state.job.as_ref().filter(|_| job_state.ghost.decision.is_none());
        job.is_some_and(|job| {
            job_state.ghost.has_failed_too_often(job, &job_state.pods)
                || job_state.ghost.has_succeeded(job, &job_state.pods)
        })
    },
};

/// BI-15: an index needs one failed pod that carries the number of its failures. Others may go (BI-10).
pub const FAILED_POD_STAYS_FOR_ITS_REPLACEMENT: Property =
    Property {
        req: Req::BI15,
        name: "the last failed pod of an index keeps its finalizer until it is replaced or the index fails",
        needs_processes: false,
        broken: |job_state| {
            job_state.ghost.violations.count_lost.map(|uid| {
                format!("pod {} was the last failed pod of its index and lost its finalizer", uid.0)
            })
        },
        premise: |it| {
            let per_index = |job: &jobcheck_spec::job::Job| job.spec.backoff_limit_per_index.is_some();
            let limited = it.job_state.job.as_deref().is_some_and(per_index);
            let failed = |pod: &Pod| pod.phase == Phase::Failed && pod.finalizer;
            limited && it.job_state.ghost.decision.is_none() && it.job_state.pods.iter().any(failed)
        },
    };

/// BI-16, L2: without a limit or a rule for the whole Job, an index does not affect the others.
pub const AN_INDEX_IS_LEFT_TO_ITSELF: Property = Property {
    req: Req::BI16,
    name: "the only pod of an open index is not deleted because of other indexes",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .deleted_for_others
            .map(|uid| format!("pod {} was deleted, although nothing ended its Job", uid.0))
    },
    premise: |it| {
        let failed = |status: &jobcheck_spec::job::JobStatus| !status.failed_set(None).is_empty();
        let decided = it.job_state.ghost.decision.is_some();
        let some = it.job_state.job.as_ref().is_some_and(|job| failed(&job.status));
        some && !decided && it.job_state.pods.sums().active > 0
    },
};

/// BI-17: the pods of an index show its delay. A restart therefore does not lose it, unlike the delay of
/// BO-01 (BO-05).
pub const DELAY_OF_AN_INDEX_SURVIVES: Property = Property {
    req: Req::BI17,
    name: "no pod is created within the first delay after a failure of its index, even after a restart",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .premature_retry
            .map(|uid| format!("pod {} was created too soon after a failure of its index", uid.0))
    },
    premise: |it| {
        let job_state = it.job_state;
        let failed = job_state.pods.iter().any(|pod| pod.phase == Phase::Failed && pod.index.is_some());
        let per_index = job_state.job.as_ref().is_some_and(|job| {
            job.spec.backoff_limit_per_index.is_some() && !job.status.is_true(&ConditionKind::FailureTarget)
        });
        let delays = it.scope.constants.pod_failure_backoff_ms > 0;
        failed && per_index && delays && job_state.faults.crashes > 0
    },
};

/// PC-12: no scope lasts the five minutes after which another attempt is allowed.
pub const NO_FUTILE_CREATION: Property = Property {
    req: Req::PC12,
    name: "a sync does not create pods once an earlier one was refused in a terminating namespace",
    needs_processes: true,
    broken: |job_state| {
        job_state.ghost.violations.futile_creation.then(|| "a later sync tried to create a pod".to_owned())
    },
    premise: |it| it.job_state.ghost.namespace_refused && it.job_state.job.is_some(),
};
