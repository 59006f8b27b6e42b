//! What a manager does that knows what etcd holds ([`crate::ghost::GhostHistory::deleted`] and its neighbours).

use super::Property;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::ConditionKind;
use jobcheck_spec::pod::{Phase, Pod};

/// FT-32.
pub const NO_FINISHED_POD_IS_DELETED: Property = Property {
    req: Req::FT32,
    name: "a manager deletes no pod that has ended",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.violations.deleted_finished.map(|uid| format!("pod {uid:?} had ended"))
    },
    premise: |it| {
        let kept = |pod: &Pod| pod.controlled && pod.is_terminated() && !pod.deleting;
        it.job_state.pods.iter().any(kept)
    },
};

/// TC-14: neither terminating pods nor uncounted ones hold the announcement up.
pub const THE_END_IS_ANNOUNCED_AT_ONCE: Property = Property {
    req: Req::TC14,
    name: "the first status write in which a Job has ended says so",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.violations.silent_write.then(|| "a status write did not announce the end".to_owned())
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

/// BI-15: of several failed pods of an index one may go (BI-10), the last may not.
pub const FAILED_POD_STAYS_FOR_ITS_REPLACEMENT: Property = Property {
    req: Req::BI15,
    name: "a failed pod is released once its replacement is there, or its index has failed",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .finalizer_removed_alone
            .map(|uid| format!("pod {uid:?} was the last of its index"))
    },
    premise: |it| {
        let per_index = |job: &jobcheck_spec::job::Job| job.spec.backoff_limit_per_index.is_some();
        let limited = it.job_state.job.as_deref().is_some_and(per_index);
        let failed = |pod: &Pod| pod.phase == Phase::Failed && pod.finalizer;
        limited && it.job_state.ghost.decision.is_none() && it.job_state.pods.iter().any(failed)
    },
};

/// BI-16, L2: no limit of the whole Job is reached, and no rule fails it.
pub const AN_INDEX_IS_LEFT_TO_ITSELF: Property = Property {
    req: Req::BI16,
    name: "the only pod of an open index is not deleted for what other indexes did",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.violations.deleted_for_others.map(|uid| format!("pod {uid:?} was deleted"))
    },
    premise: |it| {
        let failed = |status: &jobcheck_spec::job::JobStatus| !status.failed_set(None).is_empty();
        let decided = it.job_state.ghost.decision.is_some();
        let some = it.job_state.job.as_ref().is_some_and(|job| failed(&job.status));
        some && !decided && it.job_state.pods.sums().active > 0
    },
};

/// BI-17: unlike the delay of BO-01, which a restart loses (BO-05), that of an index is told by its pods.
pub const DELAY_OF_AN_INDEX_SURVIVES: Property = Property {
    req: Req::BI17,
    name: "no pod is created within the first delay after a failure of its index, restarts or not",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.violations.hasty_retry.map(|uid| format!("pod {uid:?} came too soon after a failure"))
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

/// PC-12. In no scope five minutes pass.
pub const NO_FUTILE_CREATION: Property = Property {
    req: Req::PC12,
    name: "what a namespace that is being deleted has refused once is not asked of it again",
    needs_processes: true,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .futile_creation
            .then(|| "a creation was tried again in a later sync".to_owned())
    },
    premise: |it| it.job_state.ghost.told_of_namespace && it.job_state.job.is_some(),
};
