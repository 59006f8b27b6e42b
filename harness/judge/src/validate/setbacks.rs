//! What went wrong for a Job's manager: refused writes to its pods, and an API server that failed.

use jobcheck_spec::{Broken, Findings, Operand, Req};

use super::event::Event;
use super::settings::{RestartSign, Settings};

/// How long a creation in a namespace that is being deleted is not tried again (PC-12), in microseconds.
const GIVES_UP_FOR: i64 = 300_000_000;
/// The answer to a write to an object that is not there.
const NOT_FOUND: u16 = 404;
/// The refusal of the API server where the namespace is being deleted.
const TERMINATING_NAMESPACE: &str = "because it is being terminated";

/// What a refused creation was, by the message of the refusal.
#[must_use]
pub fn refused_creation(message: &str) -> RefusedWrite {
    if message.contains(TERMINATING_NAMESPACE) {
        RefusedWrite::CreationWithoutNamespace
    } else {
        RefusedWrite::Creation
    }
}

/// When something last went wrong, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setbacks {
    /// A creation was refused.
    pub creation: Option<i64>,
    /// The removal of a finalizer, or a deletion, was refused.
    pub release: Option<i64>,
    /// The API server answered with an error of its own.
    pub server_error: Option<i64>,
    /// A status write of the manager was refused: what it would have done waits for the next one.
    pub status: Option<i64>,
    /// Creations that may have been committed although the answer was a server error.
    pub lost_creations: u32,
    /// How many UIDs were listed when the removal of a finalizer was last refused; 0 once there was room again (J-02).
    pub listed_at_refusal: usize,
    namespace: Option<GivenUp>,
}

/// A creation was refused because the namespace is being deleted.
#[derive(Clone, Copy, Debug)]
struct GivenUp {
    when: i64,
    /// Whether the sync goes on: its other creations are part of the same attempt.
    same_sync: bool,
}

impl Setbacks {
    /// A creation of a pod was refused.
    pub fn creation_refused(&mut self, event: &Event, message: &str) {
        let Some(when) = event.when.map(|when| when.done) else { return };
        self.creation = Some(when);
        if event.code >= 500 {
            self.lost_creations += 1;
        }
        if message.contains(TERMINATING_NAMESPACE) {
            self.namespace.get_or_insert(GivenUp { when, same_sync: true }).when = when;
        }
        self.answered(event);
    }

    /// Another write to a pod was refused, while so many UIDs were listed.
    pub fn pod_write_refused(&mut self, event: &Event, listed: usize) {
        self.listed_at_refusal = listed;
        self.release = event.when.map(|when| when.done).or(self.release);
        self.answered(event);
    }

    /// A status write of the manager was refused. Of a Job that is not there none is to be tried again.
    pub fn status_refused(&mut self, event: &Event) {
        let done = event.when.map(|when| when.done).filter(|_| event.code != NOT_FOUND);
        self.status = done.or(self.status);
        self.answered(event);
    }

    /// Any request was answered.
    pub fn answered(&mut self, event: &Event) {
        if event.code >= 500 {
            self.server_error = event.when.map(|when| when.done).or(self.server_error);
        }
    }

    /// A sync has come to an end.
    pub fn sync_ended(&mut self) {
        if let Some(given_up) = &mut self.namespace {
            given_up.same_sync = false;
        }
    }

    /// Whether creations wait for nothing any more: the namespace goes.
    #[must_use]
    pub fn has_no_namespace(&self) -> bool {
        self.namespace.is_some()
    }

    /// PC-12: a creation, refused or not, in a namespace that was being deleted a short while ago. A restart
    /// forgets it; returns the warning where nothing but a silence hints at one.
    pub fn judge_retry(&self, event: &Event, settings: &Settings, findings: &mut Findings) -> Option<String> {
        let (given_up, when) = self.namespace.zip(event.when)?;
        if given_up.same_sync {
            return None;
        }
        let passed = when.received - given_up.when;
        let sign =
            settings.restart_sign(event, Some(jobcheck_spec::Time(given_up.when.div_euclid(1_000_000) + 1)));
        let early = passed < GIVES_UP_FOR;
        let expected = "none for 300 s after the refusal: the namespace is being deleted";
        let found = || Operand::Text(format!("after {} s", passed / 1_000_000));
        findings.require(Req::PC12, !early || sign.admits(), "creation of a pod", expected, found());
        let silent = early && sign == RestartSign::Silence;
        silent.then(|| {
            format!(
                "PC-12: a creation is tried again after {} s; only a restart explains it",
                passed / 1_000_000
            )
        })
    }
}

/// Writes to pods that were refused in one sync.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refused {
    /// Deletions, and removals of a finalizer.
    pub deletions: u32,
    /// Deletions that found no pod.
    pub deletions_of_nothing: u32,
    /// Creations.
    pub creations: u32,
    /// Creations, because the namespace is being deleted.
    pub without_namespace: u32,
    /// Removals of a finalizer that found no pod.
    pub releases_of_nothing: u32,
    /// Deletions, and removals of a finalizer, that were handled, and whose answer was lost.
    pub unheard: u32,
}

/// A refused write to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedWrite {
    /// TC-08.
    Deletion,
    /// Answered with 404.
    DeletionOfNothing,
    /// Answered with 404.
    ReleaseOfNothing,
    /// TC-08: a deletion, or what comes before it, was handled, and its answer was lost.
    Unheard,
    /// PC-13.
    Creation,
    /// PC-12.
    CreationWithoutNamespace,
}

impl Refused {
    /// One more.
    pub fn add(&mut self, what: RefusedWrite) {
        match what {
            RefusedWrite::Deletion => self.deletions += 1,
            RefusedWrite::DeletionOfNothing => self.deletions_of_nothing += 1,
            RefusedWrite::ReleaseOfNothing => self.releases_of_nothing += 1,
            RefusedWrite::Unheard => self.unheard += 1,
            RefusedWrite::Creation => self.creations += 1,
            RefusedWrite::CreationWithoutNamespace => {
                self.creations += 1;
                self.without_namespace += 1;
            }
        }
    }

    /// H2, H3, H4: refused writes that 1.36 reports as if they had been made, if that is all that is wrong and
    /// there were enough of them.
    #[must_use]
    pub fn misreport(self, broken: &[Broken]) -> Option<Req> {
        let explained = |broken: &Broken| {
            let (Operand::Number(expected), Operand::Number(found)) = (&broken.expected, &broken.found)
            else {
                return None;
            };
            let by = |count: u32, off: i64| off > 0 && off <= i64::from(count);
            match broken.req {
                Req::PC01 => by(self.without_namespace, found - expected).then_some(Req::H2),
                Req::PC03 => by(self.deletions, expected - found).then_some(Req::H3),
                Req::PC02 => by(self.deletions_of_nothing, found - expected).then_some(Req::H4),
                _ => None,
            }
        };
        let labels: Option<Vec<Req>> = broken.iter().map(explained).collect();
        labels?.first().copied()
    }
}
