//! Scopes in which the TTL controller is an algorithm, too: a cache, a queue, a GET and a DELETE, beside the Job
//! controller and the garbage collector.

use crate::env::user::{SpecEdit, UserAction};
use crate::process::steps::Faults;
use crate::scope::{Algorithm, Scope, Subject, TtlSubject};
use crate::scopes::{many, scope};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::job::JobSpec;

/// All of them.
#[must_use]
pub fn ttl() -> Vec<Scope> {
    vec![
        edit(),
        clock("ttl/fast-clock", "the TTL controller's clock is 1 s ahead, and the TTL is edited", 1),
        clock("ttl/slow-clock", "the TTL controller's clock is 1 s behind, and the TTL is edited", -1),
        removed(),
        deleted(),
        orphaned(),
        owner_gone(),
        recreated(),
        suspended(),
        faults(),
        pods(),
        late_pod(),
        everything(),
    ]
}

/// A Job without pods: what counts is that it ends.
#[must_use]
pub fn empty(ttl: i32) -> JobSpec {
    JobSpec { ttl_seconds_after_finished: Some(ttl), ..many(0, 1) }
}

/// A Job with one pod.
#[must_use]
pub fn one_pod(ttl: i32) -> JobSpec {
    JobSpec { ttl_seconds_after_finished: Some(ttl), ..many(1, 1) }
}

/// The Job controller and the TTL controller as algorithms; the clock of the latter is `ahead`.
#[must_use]
pub fn both(scope: Scope, ahead: i64) -> Scope {
    let ttl = TtlSubject::Controller { clock_ahead: ahead };
    Scope { subject: Subject::Algorithm(Algorithm { ttl, ..Algorithm::reference() }), ..scope }
}

/// Every step of the two controllers by `ticks` seconds, on what the user does.
fn timed(name: &'static str, about: &'static str, spec: JobSpec, ticks: i64, user: &[UserAction]) -> Scope {
    both(Scope { ticks, user: user.to_vec(), ..scope(name, about, spec, 2) }, 0)
}

fn edit() -> Scope {
    let about = "the TTL of 1 s is set to 2 s, at any time";
    timed("ttl/edit", about, empty(1), 4, &[UserAction::Edit(SpecEdit::SetTtl(Some(2)))])
}

fn clock(name: &'static str, about: &'static str, ahead: i64) -> Scope {
    both(timed(name, about, empty(1), 4, &[UserAction::Edit(SpecEdit::SetTtl(Some(2)))]), ahead)
}

fn removed() -> Scope {
    let about = "the TTL of 1 s is removed, at any time";
    timed("ttl/removed", about, empty(1), 3, &[UserAction::Edit(SpecEdit::SetTtl(None))])
}

fn orphaned() -> Scope {
    let about = "the user deletes the finished Job so that its pods stay, beside the TTL controller";
    timed("ttl/orphaned", about, one_pod(0), 1, &[UserAction::DeleteFinished(Propagation::Orphan)])
}

fn deleted() -> Scope {
    let about = "the user deletes the finished Job in the foreground, beside the TTL controller";
    timed("ttl/deleted", about, one_pod(0), 1, &[UserAction::DeleteFinished(Propagation::Foreground)])
}

fn owner_gone() -> Scope {
    let about = "the owner of the Job goes, and the Job is collected, finished or not, expired or not";
    timed("ttl/owner-gone", about, one_pod(1), 2, &[UserAction::DeleteOwner])
}

fn recreated() -> Scope {
    let about = "the owner of the Job goes, and a Job of the same name is created";
    timed("ttl/recreated", about, empty(1), 3, &[UserAction::DeleteOwner, UserAction::Recreate])
}

fn suspended() -> Scope {
    let about = "the Job is suspended and resumed";
    timed("ttl/suspended", about, one_pod(0), 1, &[UserAction::SUSPEND, UserAction::RESUME])
}

fn faults() -> Scope {
    let about = "a request fails, an answer is lost, and either controller dies";
    let faults = Faults { failures: 1, losses: 1, crashes: 1, ..Faults::default() };
    Scope { faults, ..timed("ttl/faults", about, empty(1), 3, &[]) }
}

fn pods() -> Scope {
    let about = "the Job has a pod, of which the Pod cache shows nothing in time";
    let spec = JobSpec { backoff_limit: Some(1), ..one_pod(1) };
    Scope { lag: 2, ..timed("ttl/pods", about, spec, 2, &[]) }
}

fn late_pod() -> Scope {
    let about = "a dead process creates a pod when the Job has finished, and may be deleted";
    let faults = Faults { crashes: 1, ..Faults::default() };
    Scope { faults, delayed_requests: true, pods: 3, ..both(scope("ttl/late-pod", about, one_pod(0), 3), 0) }
}

fn everything() -> Scope {
    let about = "a fast clock, an edit, another Job of the name, and a fault of each kind";
    let user = [UserAction::Edit(SpecEdit::SetTtl(Some(2))), UserAction::DeleteOwner, UserAction::Recreate];
    let faults = Faults { failures: 1, losses: 1, crashes: 1, ..Faults::default() };
    Scope { faults, ..both(timed("ttl/everything", about, empty(1), 2, &user), 1) }
}
