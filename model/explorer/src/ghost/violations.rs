//! Forbidden events, as the history variables keep them.

use jobcheck_spec::catalogue::Req;
use jobcheck_spec::uid::Uid;

/// Forbidden events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Violations {
    /// A terminated pod lost its finalizer, although the status did not include the pod.
    pub lost: Option<Uid>,
    /// An active pod that the Job needed lost its finalizer, so that nothing will count it.
    pub uncountable: Option<Uid>,
    /// A pod that matches a FailJob rule lost its finalizer before the Job was decided, although the manager
    /// had seen the pod.
    pub verdict_lost: Option<Uid>,
    /// The number of pods that held the finalizer when the Job finished, although its process knew that they
    /// had terminated.
    pub tracked_at_the_end: u8,
    /// A status was written after the terminal condition.
    pub write_after_end: bool,
    /// A pod was created after the decision, and the manager could know of it.
    pub creation_after_decision: Option<Uid>,
    /// A pod was created while the Job was suspended, and the manager could know of it.
    pub creation_while_suspended: Option<Uid>,
    /// A pod was created for a failed index.
    pub retry_of_failed_index: Option<Uid>,
    /// A pod was created with a failure count other than the number of failures of its index.
    pub wrong_failure_count: Option<Uid>,
    /// A pod was created within the first delay after a failure.
    pub premature_creation: Option<Uid>,
    /// `startTime` moved although the Job was not suspended.
    pub start_moved: bool,
    /// The requirement that a process broke because it ignored its feature gates.
    pub gates: Option<Req>,
    /// A manager deleted a pod that it knew to have terminated.
    pub deleted_terminated: Option<Uid>,
    /// A pod was deleted that its index needed, although nothing ended the Job.
    pub deleted_for_others: Option<Uid>,
    /// A status write lacked the interim condition although the Job was decided.
    pub missing_interim: bool,
    /// A failed pod lost its finalizer, although no other pod carried the number of failures of its index.
    pub count_lost: Option<Uid>,
    /// A pod was created within the first delay after a failure of its index.
    pub premature_retry: Option<Uid>,
    /// A pod creation was sent although an earlier sync had been refused one because the namespace is being
    /// deleted.
    pub futile_creation: bool,
}
