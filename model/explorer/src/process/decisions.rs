//! The decisions of the controllers that are explored, as functions: a [`Scope`](crate::scope::Scope) names whose they
//! are, and nothing else of the model depends on it.
//!
//! What surrounds the decisions is the same for every subject: caches, the work queue, the gate of SY-03, the informer
//! with its orphan queue, faults, and the guards that judge every write.

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

/// The decisions of a Job controller and of a TTL-after-finished controller. Two of one name are equal.
#[derive(Clone, Copy)]
pub struct Decisions {
    /// What the command line calls it.
    pub name: &'static str,
    /// Whether a sync writes the status before it creates and deletes pods; else after that.
    pub writes_first: bool,
    /// Whether its decisions read the order of UIDs, so that worlds which differ by names are different.
    pub reads_uids: bool,
    /// One sync of a Job.
    pub sync: SyncDecision,
    /// What is done about a pod that no sync looks at (FT-20, FT-21).
    pub orphan: fn(&OrphanRead<'_>, &Mutations) -> OrphanDecision,
    /// What is done about a Job that may be expired (family TT).
    pub ttl: fn(&TtlRead<'_>, &Mutations) -> TtlDecision,
    /// What a sync that has read this decides, in words; `None` where that is nothing new. For stories.
    pub explain: fn(&Read, &Settings<'_>) -> Option<String>,
}

/// One sync of a Job: it reads, and makes its calls through the [`Io`], which runs it again from its start after each
/// answer. So it depends on nothing but its arguments.
///
/// # Errors
///
/// A call without an answer, or the failure of the sync.
pub type SyncDecision = fn(&Read, &Settings<'_>, &mut Io<'_>) -> Result<(), Stop>;

impl PartialEq for Decisions {
    fn eq(&self, other: &Decisions) -> bool {
        self.name == other.name
    }
}

impl Eq for Decisions {}

impl fmt::Debug for Decisions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What is read of a pod in the orphan queue. It holds the tracking finalizer.
#[derive(Clone, Copy, Debug)]
pub struct OrphanRead<'a> {
    /// The pod in the Pod cache.
    pub pod: &'a Pod,
    /// Who its controller reference names.
    pub owner: Owner,
    /// The Job of the name in the Job cache, whoever owns the pod.
    pub job: Option<&'a Arc<Job>>,
    /// The feature gates of the process.
    pub gates: Gates,
}

/// Who the controller reference of a pod names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There is none.
    Nobody,
    /// A Job that the cache does not hold, nor the server, which was asked (FT-21).
    Missing,
    /// The Job of the name in the cache.
    ThisJob,
}

/// What the orphan path does about a pod: at most one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanDecision {
    /// Nothing.
    Leave,
    /// The tracking finalizer is removed.
    RemoveFinalizer(Precondition),
    /// The pod is deleted, finalizer in place: it was created too late to be of use (S-08).
    Delete(Precondition),
}

/// What must not have changed for a request to be carried out, else the server answers 409.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing but that it is the same object.
    Uid,
    /// That nobody has adopted the pod: what the reference algorithm gets of a resourceVersion (S-25).
    Owner,
    /// Anything: a resourceVersion.
    Version,
}

/// What is read of a Job whose time may be over.
#[derive(Clone, Copy, Debug)]
pub struct TtlRead<'a> {
    /// The Job, from the cache, or from the server.
    pub job: &'a Arc<Job>,
    /// Whether it was just read from the server.
    pub fresh: bool,
    /// The TTL controller's clock.
    pub clock: Time,
}

/// What is done about a Job that may be expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlDecision {
    /// Nothing: it is no candidate (TT-01, TT-02).
    Leave,
    /// It will expire, and is looked at again then (TT-04).
    WaitUntil(Time),
    /// It is read from the server, and looked at again (TT-05).
    Fetch,
    /// It is deleted (TT-06).
    Delete(Request),
    /// It cannot be judged, and is looked at again.
    Retry,
}
