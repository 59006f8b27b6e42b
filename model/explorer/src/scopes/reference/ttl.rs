//! Scopes in which an algorithm also deletes expired Jobs. The TTL-after-finished controller has a cache and
//! a queue, and sends GET and DELETE requests. It runs next to the Job controller and the garbage collector.

use crate::env::user::{SpecEdit, UserAction};
use crate::process::steps::Faults;
use crate::scope::{Algorithm, Scope, Subject, TtlSubject};
use crate::scopes::{many, scope};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::job::JobSpec;

/// All scopes of this module.
#[must_use]
pub fn ttl() -> Vec<Scope> {
    vec![
        edit(),
        clock(
            "ttl/fast-clock",
            "the clock of the TTL-after-finished controller is 1 s ahead; a user changes the TTL",
            1,
        ),
        clock(
            "ttl/slow-clock",
            "the clock of the TTL-after-finished controller is 1 s behind; a user changes the TTL",
            -1,
        ),
        removed(),
        deleted(),
        orphaned(),
        owner_gone(),
        recreated(),
        suspended(),
        held(),
        external(),
        faults(),
        pods(),
        delayed_pod(),
        everything(),
    ]
}

/// A Job that needs no pods. It finishes at once.
#[must_use]
pub fn empty(ttl: i32) -> JobSpec {
    JobSpec { ttl_seconds_after_finished: Some(ttl), ..many(0, 1) }
}

/// A Job with one pod.
#[must_use]
pub fn one_pod(ttl: i32) -> JobSpec {
    JobSpec { ttl_seconds_after_finished: Some(ttl), ..many(1, 1) }
}

/// The scope with a Job controller and a TTL-after-finished controller, whose clock is `ahead` seconds fast.
#[must_use]
pub fn both(scope: Scope, ahead: i64) -> Scope {
    let ttl = TtlSubject::Controller { clock_ahead: ahead };
    Scope { subject: Subject::Algorithm(Algorithm { ttl, ..Algorithm::reference() }), ..scope }
}

/// A scope of both controllers that lasts `ticks` seconds, with these actions of the user.
fn timed(name: &'static str, about: &'static str, spec: JobSpec, ticks: i64, user: &[UserAction]) -> Scope {
    both(Scope { ticks, user: user.to_vec(), ..scope(name, about, spec, 2) }, 0)
}

fn edit() -> Scope {
    let about = "a user changes the TTL from 1 s to 2 s at any time";
    timed("ttl/edit", about, empty(1), 4, &[UserAction::Edit(SpecEdit::SetTtl(Some(2)))])
}

fn clock(name: &'static str, about: &'static str, ahead: i64) -> Scope {
    both(timed(name, about, empty(1), 4, &[UserAction::Edit(SpecEdit::SetTtl(Some(2)))]), ahead)
}

fn removed() -> Scope {
    let about = "a user removes the TTL of 1 s at any time";
    timed("ttl/removed", about, empty(1), 3, &[UserAction::Edit(SpecEdit::SetTtl(None))])
}

fn orphaned() -> Scope {
    let about = "a user deletes the finished Job with propagation Orphan while the TTL-after-finished controller deletes it too";
    timed("ttl/orphaned", about, one_pod(0), 1, &[UserAction::DeleteFinished(Propagation::Orphan)])
}

fn deleted() -> Scope {
    let about = "a user deletes the finished Job in the foreground while the TTL-after-finished controller deletes it too";
    timed("ttl/deleted", about, one_pod(0), 1, &[UserAction::DeleteFinished(Propagation::Foreground)])
}

fn owner_gone() -> Scope {
    let about = "a user deletes the owner of the Job at any time; the garbage collector deletes the Job";
    timed("ttl/owner-gone", about, one_pod(1), 2, &[UserAction::DeleteOwner])
}

fn recreated() -> Scope {
    let about = "a user deletes the owner of the Job and creates a Job of the same name";
    timed("ttl/recreated", about, empty(1), 3, &[UserAction::DeleteOwner, UserAction::Recreate])
}

fn suspended() -> Scope {
    let about = "a user suspends and resumes the Job, which has a TTL";
    timed("ttl/suspended", about, one_pod(0), 1, &[UserAction::SUSPEND, UserAction::RESUME])
}

/// TT-09: the Job is deleted once, and a finalizer of the user's own keeps it until the user removes it.
fn held() -> Scope {
    let about = "a finalizer of the user's own holds the Job, which has expired, until the user removes it";
    timed("ttl/held", about, one_pod(0), 1, &[UserAction::HoldJob, UserAction::ReleaseJob])
}

/// MB-07, MB-09.
fn external() -> Scope {
    let about = "another manager reports the start and the failure of the Job; the TTL controller deletes it";
    let spec = JobSpec { managed_by: Some("example.com/mirror".into()), ..one_pod(1) };
    let reports = [UserAction::MirrorStarts, UserAction::MirrorAnnounces, UserAction::MirrorFinishes];
    timed("ttl/external", about, spec, 3, &reports)
}

fn faults() -> Scope {
    let about = "one request fails, one response is lost, and either controller crashes";
    let faults = Faults { failures: 1, losses: 1, crashes: 1, ..Faults::default() };
    Scope { faults, ..timed("ttl/faults", about, empty(1), 3, &[]) }
}

fn pods() -> Scope {
    let about = "a Job with one pod; the Pod cache lags by two events";
    let spec = JobSpec { backoff_limit: Some(1), ..one_pod(1) };
    Scope { lag: 2, ..timed("ttl/pods", about, spec, 2, &[]) }
}

fn delayed_pod() -> Scope {
    let about =
        "a delayed request of a crashed process creates a pod when the Job has finished and may be deleted";
    let faults = Faults { crashes: 1, ..Faults::default() };
    Scope { faults, delayed_requests: true, pods: 3, ..both(scope("ttl/late-pod", about, one_pod(0), 3), 0) }
}

fn everything() -> Scope {
    let about = "a fast clock, a changed TTL, a recreated Job, and one fault of each kind";
    let user = [UserAction::Edit(SpecEdit::SetTtl(Some(2))), UserAction::DeleteOwner, UserAction::Recreate];
    let faults = Faults { failures: 1, losses: 1, crashes: 1, ..Faults::default() };
    Scope { faults, ..both(timed("ttl/everything", about, empty(1), 2, &user), 1) }
}
