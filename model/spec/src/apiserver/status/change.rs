//! The difference between the statuses before and after a write, as the rules need it.

use crate::apiserver::rules::RuleSet;
use crate::job::{ConditionKind, ConditionStatus, Job, JobSpec, JobStatus};

/// A status write: the status before and after it, and the conditions that are True in each.
pub(super) struct Change<'a> {
    pub(super) rules: &'a RuleSet,
    /// The stored specification. A status write cannot change it (SS-32).
    pub(super) spec: &'a JobSpec,
    pub(super) old: &'a JobStatus,
    pub(super) new: &'a JobStatus,
    pub(super) was: Decisions,
    pub(super) is: Decisions,
}

/// The conditions that are True. The API server reads any entry of a type, not only the first one (SS-30).
pub(super) struct Decisions {
    pub(super) complete: bool,
    pub(super) failed: bool,
    pub(super) failure_target: bool,
    pub(super) success_criteria_met: bool,
}

impl<'a> Change<'a> {
    pub(super) fn between(rules: &'a RuleSet, old: &'a Job, new: &'a Job) -> Change<'a> {
        Change {
            rules,
            spec: &old.spec,
            old: &old.status,
            new: &new.status,
            was: Decisions::of(&old.status),
            is: Decisions::of(&new.status),
        }
    }

    pub(super) fn complete_changed(&self) -> bool {
        self.was.complete != self.is.complete
    }

    pub(super) fn failed_changed(&self) -> bool {
        self.was.failed != self.is.failed
    }

    pub(super) fn finished_changed(&self) -> bool {
        self.was.finished() != self.is.finished()
    }

    pub(super) fn start_time_changed(&self) -> bool {
        self.old.start_time != self.new.start_time
    }

    pub(super) fn completion_time_changed(&self) -> bool {
        self.old.completion_time != self.new.completion_time
    }

    pub(super) fn completed_indexes_changed(&self) -> bool {
        self.old.completed_indexes != self.new.completed_indexes
    }

    pub(super) fn failed_indexes_changed(&self) -> bool {
        self.old.failed_indexes != self.new.failed_indexes
    }

    pub(super) fn completions(&self) -> Option<i64> {
        self.spec.completions.map(i64::from)
    }
}

impl Decisions {
    fn of(status: &JobStatus) -> Decisions {
        Decisions {
            complete: has(status, &ConditionKind::Complete, ConditionStatus::True),
            failed: has(status, &ConditionKind::Failed, ConditionStatus::True),
            failure_target: has(status, &ConditionKind::FailureTarget, ConditionStatus::True),
            success_criteria_met: has(status, &ConditionKind::SuccessCriteriaMet, ConditionStatus::True),
        }
    }

    pub(super) fn finished(&self) -> bool {
        self.complete || self.failed
    }
}

/// Returns whether some entry of this condition type has this status.
pub(super) fn has(status: &JobStatus, kind: &ConditionKind, value: ConditionStatus) -> bool {
    status.conditions.iter().any(|condition| condition.kind == *kind && condition.status == value)
}
