//! When a finished Job is deleted (family TT).

use std::time::Duration;

use crate::job::observed::Condition;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// What the decision reads of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlFacts {
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Time>,
    /// `spec.ttlSecondsAfterFinished`.
    pub ttl_seconds_after_finished: Option<i32>,
    /// `status.conditions`, in their order.
    pub conditions: Vec<Condition>,
}

/// One look at a Job.
#[derive(Clone, Copy, Debug)]
pub struct TtlObserved<'a> {
    /// The Job.
    pub job: &'a TtlFacts,
    /// Whether the facts come from the API server just now, and not from a cache.
    pub fresh: bool,
}

/// What to do about a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TtlPlan {
    /// Nothing, until the Job changes.
    Leave,
    /// Look again after this long (TT-04).
    WaitFor(Duration),
    /// GET the Job, not from a cache, and plan again with `fresh` set (TT-05). 404 ends it.
    FetchFresh,
    /// Delete the Job, dependents in the foreground (TT-06).
    Delete(TtlDelete),
    /// The Job cannot be judged: look again with the delays of a failure (TT-02).
    Retry {
        /// Why, as a lower-case fragment.
        why: &'static str,
    },
}

/// A deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlDelete {
    /// The precondition on the UID.
    pub uid: Uid,
    /// The precondition on the version: a Job whose TTL was raised meanwhile is not deleted (TT-06).
    pub resource_version: ResourceVersion,
    /// When the TTL ran out, for MX of TT-12.
    pub expired_at: Time,
}
