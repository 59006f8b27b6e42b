//! The open obligations of a state. A state without any is settled.

use jobcheck_spec::apiserver::would_refuse_status;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::mirror::agrees_with_suspend;
use jobcheck_spec::requirement::{Broken, Findings};

use crate::flat::{Flat, SUSPENDED};
use crate::history::judge_two_clusters;
use crate::scope::Scope;
use crate::world::{Local, World};

/// The first open obligation that the scope asks for, with its reason.
///
/// A Job whose place on its worker is taken by a Job of somebody else need not end.
#[must_use]
pub fn open_obligation(world: &World, scope: &Scope) -> Option<(Req, String)> {
    let is_allowed = |broken: &Broken| broken.what == "status.startTime" && is_refused_start(world, scope);
    let findings = judge_quiescence(world, scope);
    let found = findings.broken.into_iter().find(|broken| scope.asks(broken.req) && !is_allowed(broken));
    found.map(|broken| (broken.req, broken.to_string()))
}

/// The findings about a state in which nothing more happens.
#[must_use]
pub fn judge_quiescence(world: &World, scope: &Scope) -> Findings {
    let mut findings = Findings::new();
    judge_two_clusters(world, scope, true, &mut findings);
    judge_local(world, scope, &mut findings);
    judge_orphans(world, &mut findings);
    findings
}

/// Returns true if the manager cluster would refuse the `startTime` of a copy that has ended as a suspended Job. MR-20 asks
/// for equality only as far as the rules of the manager cluster allow it.
fn is_refused_start(world: &World, scope: &Scope) -> bool {
    let copy = world.own_copies().next().map(|(_, copy)| copy).filter(|copy| copy.status.is(SUSPENDED));
    world.local.zip(copy).is_some_and(|(local, copy)| {
        let status = Flat { start: copy.status.start, ..local.status }.status();
        would_refuse_status(&scope.rules, &local.job(scope), &local.with_status(scope, status)).is_some()
    })
}

/// The local Job ends unless it is suspended, and a suspended one is quiescent.
fn judge_local(world: &World, scope: &Scope, findings: &mut Findings) {
    let Some(local) = world.local.filter(|local| !local.status.is_finished()) else { return };
    let what = "terminal condition of a decided Job";
    findings.require(Req::MR08, !local.status.is_decided(), what, "one", "none");
    let job = local.job(scope);
    let suspended = if local.suspended { "active 0 and Suspended=True" } else { "no Suspended=True" };
    let may_differ = !local.suspended && has_no_copy(world, local.assigned) || waits_for_copy(world, &local);
    let agrees = agrees_with_suspend(&job) || may_differ;
    findings.require(Req::MR13, agrees, "a Job at quiescence", suspended, "another status");
    let may_wait = local.suspended || has_no_copy(world, local.assigned);
    findings.require(Req::MR21, may_wait, "terminal condition of the Job", "one", "none");
}

/// Returns true if `spec.suspend` has passed on to the copy, whose Job controller has not acted yet. The Job shows what its
/// copy shows.
fn waits_for_copy(world: &World, local: &Local) -> bool {
    let shows_the_same = |status: Flat| {
        status.is(SUSPENDED) == local.status.is(SUSPENDED) && status.active == local.status.active
    };
    let mut copies = world.own_copies();
    copies.any(|(_, copy)| copy.suspended == local.suspended && shows_the_same(copy.status))
}

/// Returns true if a Job of somebody else has taken the place of the copy.
fn has_no_copy(world: &World, assigned: Option<u8>) -> bool {
    let copy = assigned.and_then(|worker| world.workers[usize::from(worker)].copy);
    copy.is_some_and(|copy| copy.of.is_none())
}

/// MR-25: copies of Jobs that are gone are removed.
fn judge_orphans(world: &World, findings: &mut Findings) {
    let copies = world.workers.iter().filter_map(|worker| worker.copy?.of);
    let orphans = copies.filter(|of| !world.is_local(Some(*of))).count();
    findings.require(Req::MR25, orphans == 0, "copies of Jobs that are gone", 0, orphans);
}
