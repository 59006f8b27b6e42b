//! Failures that a Job's manager met: refused writes to pods, and server errors.

use jobcheck_spec::guards::creation::judge_retry;
use jobcheck_spec::{Broken, Findings, Req};
use serde::{Deserialize, Serialize};

use super::event::{Event, NOT_FOUND};
use super::settings::Settings;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// The message of a refusal in a namespace that is being deleted.
const TERMINATING_NAMESPACE: &str = "because it is being terminated";

/// Returns `true` for the refusal of a creation because the namespace is being deleted.
#[must_use]
pub fn is_of_terminating_namespace(message: &str) -> bool {
    message.contains(TERMINATING_NAMESPACE)
}

/// The kind of a refused creation, by the message of the refusal.
#[must_use]
pub fn refused_creation(message: &str) -> RefusedWrite {
    if message.contains(TERMINATING_NAMESPACE) {
        RefusedWrite::CreationWithoutNamespace
    } else {
        RefusedWrite::Creation
    }
}

/// The times of the last failures, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Setbacks {
    /// A refused creation.
    pub creation: Option<i64>,
    /// A refused finalizer removal or deletion.
    pub pod_write: Option<i64>,
    /// A server error.
    pub server_error: Option<i64>,
    /// A refused status write of the manager; its content waits for the next one.
    pub status: Option<i64>,
    /// Number of creations with a server error that may have been committed.
    pub lost_creations: u32,
    /// Number of recorded UIDs at the last refused finalizer removal; 0 once there was room again (J-02).
    pub listed_at_refusal: usize,
    namespace: Option<GivenUp>,
}

/// A creation was refused because the namespace is being deleted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct GivenUp {
    when: i64,
    /// The sync continues, so its other creations belong to the same attempt.
    same_sync: bool,
}

impl Setbacks {
    /// Notes a refused creation of a pod.
    pub fn creation_refused(&mut self, event: &Event, message: &str) {
        let Some(when) = event.when.map(|when| when.done) else { return };
        self.creation = Some(when);
        if event.has_server_error() {
            self.lost_creations += 1;
        }
        if message.contains(TERMINATING_NAMESPACE) {
            self.namespace.get_or_insert(GivenUp { when, same_sync: true }).when = when;
        }
        self.answered(event);
    }

    /// Notes another refused write to a pod, while `listed` UIDs are recorded.
    pub fn pod_write_refused(&mut self, event: &Event, listed: usize) {
        self.listed_at_refusal = listed;
        self.pod_write = event.when.map(|when| when.done).or(self.pod_write);
        self.answered(event);
    }

    /// Notes a refused status write of the manager. For a Job that does not exist it is not retried.
    pub fn status_refused(&mut self, event: &Event) {
        let done = event.when.map(|when| when.done).filter(|_| event.code != NOT_FOUND);
        self.status = done.or(self.status);
        self.answered(event);
    }

    /// Notes any response.
    pub fn answered(&mut self, event: &Event) {
        if event.has_server_error() {
            self.server_error = event.when.map(|when| when.done).or(self.server_error);
        }
    }

    /// Ends a sync.
    pub fn sync_ended(&mut self) {
        if let Some(given_up) = &mut self.namespace {
            given_up.same_sync = false;
        }
    }

    /// Returns `true` if a creation was refused because the namespace is being deleted.
    #[must_use]
    pub fn has_no_namespace(&self) -> bool {
        self.namespace.is_some()
    }

    /// Judges a creation in a namespace that was being deleted shortly before. A restart excuses it; returns a
    /// warning if only a silence is a sign of the restart.
    pub fn judge_retry(&self, event: &Event, settings: &Settings, findings: &mut Findings) -> Option<String> {
        let (given_up, when) = self.namespace.zip(event.when)?;
        if given_up.same_sync {
            return None;
        }
        let passed = (when.received - given_up.when) / SECOND;
        let sign = settings.restart_since(event, given_up.when);
        let excused = judge_retry(passed, sign.admits(), findings);
        let lacks = sign.lacks().filter(|_| excused)?;
        Some(format!(
            "PC-12: a creation is retried after {passed} s. Only a restart of the controller explains it, and {lacks}"
        ))
    }
}

/// Number of refused writes to pods in one sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Deletions and finalizer removals.
    pub deletions: u32,
    /// Deletions that found no pod.
    pub deletions_of_nothing: u32,
    /// Creations.
    pub creations: u32,
    /// Creations that were refused because the namespace is being deleted.
    pub without_namespace: u32,
    /// Finalizer removals that found no pod.
    pub removals_without_effect: u32,
    /// Deletions and finalizer removals that were handled, and whose response was lost.
    pub unheard: u32,
}

/// A refused write to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedWrite {
    /// A deletion or a finalizer removal (TC-08).
    Deletion,
    /// A deletion with response 404.
    DeletionOfNothing,
    /// A finalizer removal with response 404.
    RemovalWithoutEffect,
    /// A deletion or a finalizer removal whose response was lost (TC-08).
    Unheard,
    /// A creation (PC-13).
    Creation,
    /// A creation in a namespace that is being deleted (PC-12).
    CreationWithoutNamespace,
}

impl Refused {
    /// Adds a refused write.
    pub fn add(&mut self, what: RefusedWrite) {
        match what {
            RefusedWrite::Deletion => self.deletions += 1,
            RefusedWrite::DeletionOfNothing => self.deletions_of_nothing += 1,
            RefusedWrite::RemovalWithoutEffect => self.removals_without_effect += 1,
            RefusedWrite::Unheard => self.unheard += 1,
            RefusedWrite::Creation => self.creations += 1,
            RefusedWrite::CreationWithoutNamespace => {
                self.creations += 1;
                self.without_namespace += 1;
            }
        }
    }

    /// H2, H3, or H4, if refused writes that 1.36 counts as made explain every error.
    #[must_use]
    pub fn misreport(self, broken: &[Broken]) -> Option<Req> {
        let explained = |broken: &Broken| {
            let excess = broken.excess()?;
            let by = |count: u32, off: i64| off > 0 && off <= i64::from(count);
            match broken.req {
                Req::PC01 => by(self.without_namespace, excess).then_some(Req::H2),
                Req::PC03 => by(self.deletions, excess.saturating_neg()).then_some(Req::H3),
                Req::PC02 => by(self.deletions_of_nothing, excess).then_some(Req::H4),
                _ => None,
            }
        };
        let labels: Option<Vec<Req>> = broken.iter().map(explained).collect();
        labels?.first().copied()
    }
}
