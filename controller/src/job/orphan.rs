//! Pods that hold the tracking finalizer and have no Job that would take it from them (FT-20 to FT-23).

use super::command::PodRef;
use super::observed::{JobFacts, PodFacts, Settings};

/// One look at such a pod.
#[derive(Clone, Copy, Debug)]
pub struct OrphanObserved<'a> {
    /// The pod as the cache shows it; [`PodFacts::controller`] and [`PodFacts::selected`] are not read.
    pub pod: &'a PodFacts,
    /// Who its controller reference names.
    pub owner: Owner<'a>,
    /// Limits and feature gates.
    pub settings: &'a Settings,
}

/// Who the controller reference of a pod names.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// There is no controller reference.
    Nobody,
    /// A kind or apiVersion other than `batch/v1` Job.
    AnotherKind,
    /// A `batch/v1` Job that the cache does not hold under this name with this UID.
    Missing,
    /// This Job.
    Job(&'a JobFacts),
}

/// What to do, in this order; each call waits for the success of the one before.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OrphanPlan {
    /// Take the tracking finalizer from the pod, with UID and resourceVersion as preconditions (S-25). 404 is a success,
    /// 409 a reason to look again.
    pub release: Option<PodRef>,
    /// Delete the pod, with its UID as precondition (S-08): it was created too late to be of use.
    pub delete: Option<PodRef>,
}
