//! The trait that the author of a controller implements.

use std::sync::Arc;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::process::decisions::{Decisions, OrphanDecision, OrphanRead, TtlDecision, TtlRead};
use jobcheck_explorer::process::io::{Io, Stop};
use jobcheck_explorer::process::read::Read;
use jobcheck_explorer::process::settings::Settings;
use jobcheck_explorer::reference::Reference;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;

use crate::api::Api;

/// A controller that creates the pods of Jobs and writes their status. Only [`Subject::sync`] is required.
///
/// A closure with the arguments of `sync` is a subject, too.
///
/// # What the explorer relies on
///
/// - `sync` depends on nothing but its arguments and the fields of `self`: no clock, no randomness, no state of its own.
///   The explorer runs it again from its start after each response.
/// - The process starts no sync before its caches show its own writes (SY-03). A subject without this protection says so
///   with [`Subject::waits_for_own_writes`].
pub trait Subject: Send + Sync + 'static {
    /// One sync of a Job: what a reconciler does for one key of its queue.
    ///
    /// # Errors
    ///
    /// Each call of the [`Api`] returns [`Stop`] until its response is there; pass it on with `?`. Return
    /// [`Stop::Failed`] if the sync failed and must be retried.
    fn sync(&self, seen: &Seen<'_>, api: &mut Api<'_, '_>) -> Result<(), Stop>;

    /// The request about a pod with the tracking finalizer that no sync looks at. Its Job is gone or finished, or the pod
    /// has no owner. By default, the decision of the reference algorithm.
    fn orphan(&self, seen: &OrphanRead<'_>) -> OrphanDecision {
        Reference.orphan(seen, &Mutations::NONE)
    }

    /// The action on a finished Job with a TTL. By default, the decision of the reference algorithm.
    fn expired(&self, seen: &TtlRead<'_>) -> TtlDecision {
        Reference.ttl(seen, &Mutations::NONE)
    }

    /// False if a sync may start before the caches show the process's own writes.
    fn waits_for_own_writes(&self) -> bool {
        true
    }

    /// False if no decision depends on the order of pods or UIDs. States that differ only in names are then explored once.
    fn depends_on_names(&self) -> bool {
        true
    }
}

impl<F> Subject for F
where
    F: Fn(&Seen<'_>, &mut Api<'_, '_>) -> Result<(), Stop> + Send + Sync + 'static,
{
    fn sync(&self, seen: &Seen<'_>, api: &mut Api<'_, '_>) -> Result<(), Stop> {
        self(seen, api)
    }
}

/// The input of a sync: the Job and its pods as the caches of the process show them, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    read: &'a Read,
}

impl<'a> Seen<'a> {
    /// The Job; `None` if the Job cache has none.
    #[must_use]
    pub fn job(&self) -> Option<&'a Job> {
        self.read.job.as_deref()
    }

    /// The pods that the Job controls, by UID.
    pub fn pods(&self) -> impl Iterator<Item = &'a Pod> {
        self.read.pods.iter()
    }

    /// The pods without an owner that the selector of the Job matches, or used to match.
    pub fn ownerless_pods(&self) -> impl Iterator<Item = &'a Pod> {
        self.read.ownerless.iter()
    }

    /// The time at the start of the sync, in seconds.
    #[must_use]
    pub fn now(&self) -> Time {
        self.read.now
    }
}

/// A subject as the explorer runs it.
pub(crate) struct Explored(pub(crate) Arc<dyn Subject>);

/// The name of every subject in the reports of the explorer.
const NAME: &str = "your controller";

impl Decisions for Explored {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The more lenient answer: a status that counts pods explains the requests that follow it in the same sync.
    fn writes_first(&self) -> bool {
        true
    }

    fn reads_uids(&self) -> bool {
        self.0.depends_on_names()
    }

    fn sync(&self, read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop> {
        self.0.sync(&Seen { read }, &mut Api::new(io, read, settings))
    }

    fn orphan(&self, read: &OrphanRead<'_>, _: &Mutations) -> OrphanDecision {
        self.0.orphan(read)
    }

    fn ttl(&self, read: &TtlRead<'_>, _: &Mutations) -> TtlDecision {
        self.0.expired(read)
    }

    fn explain(&self, _: &Read, _: &Settings<'_>) -> Option<String> {
        None
    }
}
