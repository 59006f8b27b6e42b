//! The decisions of the explored controllers: the trait that a subject implements.
//!
//! The rest of the explorer is the same for every subject: caches, queues, the informer, faults, and the gate of SY-03.
//! The same guards judge all subjects.

use std::fmt;
use std::sync::Arc;

use crate::mutations::Mutations;
use crate::process::io::{Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::ttl::Request;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;

/// The decisions of a Job controller and of a TTL-after-finished controller. The name identifies them.
///
/// Each decision must depend on nothing but its arguments, because the explorer repeats it.
pub trait Decisions: Send + Sync {
    /// The name in options and reports.
    fn name(&self) -> &'static str;

    /// True if a sync writes the status before it creates and deletes pods, false if it does so afterwards.
    fn writes_first(&self) -> bool;

    /// True if the decisions depend on the order of UIDs. Then states that differ only in names behave
    /// differently.
    fn reads_uids(&self) -> bool;

    /// One sync of a Job. It makes its calls through the [`Io`], which runs the function again from its start
    /// after each response.
    ///
    /// # Errors
    ///
    /// A call is not answered yet, or the sync failed.
    fn sync(&self, read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop>;

    /// The request about a pod that no sync looks at (FT-20, FT-21).
    fn orphan(&self, read: &OrphanRead<'_>, mutations: &Mutations) -> OrphanDecision;

    /// The action on a Job that may have expired (requirements TT).
    fn ttl(&self, read: &TtlRead<'_>, mutations: &Mutations) -> TtlDecision;

    /// The decision of a sync with this input as text, for counterexamples; `None` if the sync decides
    /// nothing new.
    fn explain(&self, read: &Read, settings: &Settings<'_>) -> Option<String>;
}

impl fmt::Debug for dyn Decisions + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The input of the orphan path: a pod that holds the tracking finalizer.
#[derive(Clone, Copy, Debug)]
pub struct OrphanRead<'a> {
    /// The pod in the Pod cache.
    pub pod: &'a Pod,
    /// The owner that the pod's controller reference names.
    pub owner: Owner,
    /// The Job in the Job cache, whether or not it owns the pod.
    pub job: Option<&'a Arc<Job>>,
    /// The feature gates of the process.
    pub gates: Gates,
}

/// The owner that a pod's controller reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The pod has no controller reference.
    Nobody,
    /// A Job that neither the cache nor the server has. The server was asked (FT-21).
    Missing,
    /// The Job in the cache.
    ThisJob,
}

/// The decision of the orphan path about a pod: at most one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanDecision {
    /// No request.
    Leave,
    /// Removes the tracking finalizer.
    RemoveFinalizer(Precondition),
    /// Deletes the pod, whose finalizer stays. The pod was created too late to be of use (S-08).
    Delete(Precondition),
}

/// The object that must not have changed since it was read. If it has, the server responds with 409.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The UID.
    Uid,
    /// The controller reference. It stands for the resourceVersion that the reference algorithm sends (S-25).
    Owner,
    /// The resourceVersion.
    Version,
}

/// The input of the TTL-after-finished controller.
#[derive(Clone, Copy, Debug)]
pub struct TtlRead<'a> {
    /// The Job, from the cache or from the server.
    pub job: &'a Arc<Job>,
    /// True if the Job was just read from the server.
    pub fresh: bool,
    /// The time by the controller's clock.
    pub clock: Time,
}

/// The decision about a Job that may have expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlDecision {
    /// Nothing: the Job is no candidate (TT-01, TT-02).
    Leave,
    /// Looks at the Job again at this time (TT-04).
    WaitUntil(Time),
    /// Reads the Job from the server and decides again (TT-05).
    Fetch,
    /// Deletes the Job (TT-06).
    Delete(Request),
    /// Puts the key back into the queue, since the Job cannot be judged.
    Retry,
}
