//! Slips of managers, as ghost history keeps them.

use jobcheck_spec::catalogue::Req;
use jobcheck_spec::uid::Uid;

/// Things that must never happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Violations {
    /// A finished pod lost its finalizer although nothing in the status told of it.
    pub lost: Option<Uid>,
    /// A pod that ran and was wanted lost its finalizer, so that nothing will count it.
    pub dropped: Option<Uid>,
    /// A pod that fails the Job by a FailJob rule, and was seen to, was released before the decision.
    pub verdict_lost: Option<Uid>,
    /// When the Job was finished, pods that its process knew to have ended and to hold the finalizer.
    pub passed_over: u8,
    /// A status write came after the terminal condition.
    pub write_after_end: bool,
    /// A pod was created after the decision, and the manager could know.
    pub creation_after_decision: Option<Uid>,
    /// A pod was created although the Job was suspended, and the manager could know.
    pub creation_while_suspended: Option<Uid>,
    /// A pod was created for an index that had failed.
    pub retry_of_failed_index: Option<Uid>,
    /// A pod was born with a failure count that is not the number of failures of its index.
    pub wrong_failure_count: Option<Uid>,
    /// A pod was created sooner after a failure than the first delay.
    pub hasty_creation: Option<Uid>,
    /// `startTime` moved although the Job was not suspended.
    pub start_moved: bool,
    /// What a process did that its feature gates forbid.
    pub gates: Option<Req>,
    /// A pod that had ended was deleted by a manager that knew.
    pub deleted_finished: Option<Uid>,
    /// A pod was deleted that its index wanted, and nothing ended its Job.
    pub deleted_for_others: Option<Uid>,
    /// A status write did not announce the end that it had come to.
    pub silent_write: bool,
    /// A failed pod was released although nothing tells how often its index has failed.
    pub finalizer_removed_alone: Option<Uid>,
    /// A pod was created sooner after a failure of its index than the first delay.
    pub hasty_retry: Option<Uid>,
    /// A pod was to be created although the process had been told that the namespace takes none.
    pub futile_creation: bool,
}
