//! Completed and failed indexes of Indexed Jobs.

use super::Property;
use crate::ghost::{End, PodHistory};
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::decision::Reason;
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::job::{FailureAction, Job};

/// FT-06, FT-12, PC-21: an index completes by a pod that succeeded.
pub const COMPLETED_INDEXES_ARE_EARNED: Property = Property {
    req: Req::FT12,
    name: "a completed index has a successful pod",
    needs_processes: false,
    broken: |job_state| {
        let completed = indexed(job_state)?.status.completed(None);
        let earned: IndexSet = ended(job_state, End::Success).filter_map(|ghost| ghost.index).collect();
        let unearned = completed.iter().find(|index| !earned.contains(*index))?;
        Some(format!("index {unearned} is completed, but none of its pods succeeded"))
    },
    premise: |it| indexed(it.job_state).is_some_and(|job| !job.status.completed_indexes.is_empty()),
};

/// PC-21: for an Indexed Job, `succeeded` counts indexes.
pub const SUCCEEDED_IS_THE_NUMBER_OF_INDEXES: Property = Property {
    req: Req::PC21,
    name: "succeeded is the number of completed indexes",
    needs_processes: false,
    broken: |job_state| {
        let status = &indexed(job_state)?.status;
        let completed = i64::from(status.completed(None).len());
        (completed != i64::from(status.succeeded))
            .then(|| format!("succeeded is {}, but {completed} indexes are completed", status.succeeded))
    },
    premise: |it| indexed(it.job_state).is_some_and(|job| job.status.succeeded > 0),
};

/// BI-14, SS-17, S-02: `completedIndexes` and `failedIndexes` are disjoint.
pub const NO_INDEX_IN_BOTH_TEXTS: Property = Property {
    req: Req::BI14,
    name: "no index is both completed and failed",
    needs_processes: false,
    broken: |job_state| {
        let status = &indexed(job_state)?.status;
        let index = status.completed(None).first_common(&status.failed_set(None))?;
        Some(format!("index {index} is both completed and failed"))
    },
    premise: |it| {
        let both = |index: &Index| {
            has_ended(it.job_state, *index, End::Success) && has_ended(it.job_state, *index, End::Failure)
        };
        it.job_state.ghost.pods.iter().filter_map(|ghost| ghost.index).any(|index| both(&index))
    },
};

/// BI-01: an index fails because of its own limit or because of a FailIndex rule.
pub const FAILED_INDEXES_HAD_THEIR_RETRIES: Property = Property {
    req: Req::BI01,
    name: "a failed index has used all its retries",
    needs_processes: false,
    broken: |job_state| {
        let job = indexed(job_state)?;
        let limit = usize::try_from(job.spec.backoff_limit_per_index?).unwrap_or(usize::MAX);
        if has_fail_index(job) {
            return None;
        }
        let failed = job.status.failed_set(None);
        let index = failed.iter().find(|index| failures(job_state, *index) <= limit)?;
        Some(format!("index {index} has failed after only {} failed pods", failures(job_state, index)))
    },
    premise: |it| indexed(it.job_state).is_some_and(|job| !job.status.failed_set(None).is_empty()),
};

fn has_fail_index(job: &Job) -> bool {
    let rules = job.spec.pod_failure_policy.as_ref().map(|policy| &policy.rules);
    rules.is_some_and(|rules| rules.iter().any(|rule| rule.action == FailureAction::FailIndex))
}

/// The number of pods of an index that failed or were deleted.
fn failures(job_state: &JobState, index: Index) -> usize {
    let failed = |ghost: &&PodHistory| ghost.index == Some(index) && !ghost.ignored && is_failure(ghost);
    job_state.ghost.pods.iter().filter(failed).count()
}

fn is_failure(ghost: &PodHistory) -> bool {
    ghost.has_failed() || ghost.deleted
}

/// BI-04: a failed index gets no more pods.
pub const FAILED_INDEX_IS_NOT_RETRIED: Property = Property {
    req: Req::BI04,
    name: "no pod is created for a failed index",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .retry_of_failed_index
            .map(|uid| format!("pod {} was created for a failed index", uid.0))
    },
    premise: |it| {
        let undecided = it.job_state.ghost.decision.is_none();
        undecided && indexed(it.job_state).is_some_and(|job| !job.status.failed_set(None).is_empty())
    },
};

/// BI-02, BI-08, BI-17: the annotation of a replacement counts the failures of its index.
pub const FAILURE_COUNT_IS_CARRIED_ON: Property = Property {
    req: Req::BI02,
    name: "a replacement carries the number of failures of its index",
    needs_processes: false,
    broken: |job_state| {
        let uid = job_state.ghost.violations.wrong_failure_count?;
        Some(format!("pod {} was created with a wrong failure count", uid.0))
    },
    premise: |it| {
        let retried = |pod: &&jobcheck_spec::pod::Pod| pod.failure_count > 0;
        it.job_state.pods.iter().find(retried).is_some()
    },
};

/// BI-07: completion by `completions` needs all indexes.
pub const COMPLETE_HAS_NO_FAILED_INDEX: Property = Property {
    req: Req::BI07,
    name: "a Job with a failed index does not complete by completions",
    needs_processes: false,
    broken: |job_state| {
        let job = indexed(job_state)?;
        let decision = job_state.ghost.decision.as_ref()?;
        // PC-23: an index that was removed does not count.
        let most = decision.completions.and_then(|most| u32::try_from(most).ok());
        let failed = job.status.failed_set(most);
        let by_completions = Reason::CompletionsReached.is_written_as(&decision.reason);
        (by_completions && !failed.is_empty())
            .then(|| format!("the Job completes, but the indexes \"{failed}\" have failed"))
    },
    premise: |it| {
        let status = indexed(it.job_state).map(|job| &job.status);
        status.is_some_and(|status| status.succeeded > 0 && !status.failed_set(None).is_empty())
    },
};

/// BI-06: more indexes failed than `maxFailedIndexes` allows.
pub const TOO_MANY_FAILED_INDEXES: Property = Property {
    req: Req::BI06,
    name: "a Job that fails by maxFailedIndexes has more failed indexes than the limit",
    needs_processes: false,
    broken: |job_state| {
        let decision = job_state.ghost.decision.as_ref()?;
        if *decision.reason != *Reason::MaxFailedIndexesExceeded.as_str() {
            return None;
        }
        let limit = usize::try_from(decision.max_failed_indexes?).unwrap_or(0);
        let failed = decision.failed_indexes;
        (failed <= limit).then(|| format!("{failed} indexes had failed, maxFailedIndexes was {limit}"))
    },
    premise: |it| {
        let reason = it.job_state.ghost.decision.as_ref().map(|decision| decision.reason.clone());
        reason.is_some_and(|reason| *reason == *Reason::MaxFailedIndexesExceeded.as_str())
    },
};

/// PC-17, PC-23: pods are created for indexes below `completions` only.
pub const NO_INDEX_BEYOND_COMPLETIONS: Property = Property {
    req: Req::PC17,
    name: "no pod is created for an index beyond completions",
    needs_processes: false,
    broken: |job_state| {
        let most = u32::try_from(job_state.ghost.most?).unwrap_or(0);
        indexed(job_state)?;
        let index =
            job_state.ghost.pods.iter().filter_map(|ghost| ghost.index).find(|index| *index >= most)?;
        Some(format!("index {index} is beyond {most} completions"))
    },
    premise: |it| indexed(it.job_state).is_some() && it.job_state.ghost.pods.len() > 1,
};

fn indexed(job_state: &JobState) -> Option<&Job> {
    job_state.job.as_deref().filter(|job| job.spec.is_indexed())
}

fn ended(job_state: &JobState, end: End) -> impl Iterator<Item = &PodHistory> {
    job_state.ghost.pods.iter().filter(move |ghost| ghost.end == Some(end))
}

fn has_ended(job_state: &JobState, index: Index, end: End) -> bool {
    ended(job_state, end).any(|ghost| ghost.index == Some(index))
}
