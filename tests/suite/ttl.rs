//! The TTL-after-finished controller next to the Job controller: sizes, verdicts, progress, and early
//! deletions.

use jobcheck_explorer::check::{Bounds, Outcome, explore, graph};
use jobcheck_explorer::env::user::{SpecEdit, UserAction};
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::progress;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference::{both, empty, ttl};
use jobcheck_explorer::step::Step;
use jobcheck_spec::guards::ttl::expiry;

/// For each scope, the number of states, and the number of steps to the farthest state.
const SIZES: &[(&str, usize, usize)] = &[
    ("ttl/edit", 3864, 17),
    ("ttl/fast-clock", 4180, 17),
    ("ttl/slow-clock", 3332, 17),
    ("ttl/removed", 1555, 14),
    ("ttl/deleted", 1354, 18),
    ("ttl/orphaned", 1470, 19),
    ("ttl/owner-gone", 6787, 19),
    ("ttl/recreated", 7308, 22),
    ("ttl/suspended", 37478, 32),
    ("ttl/held", 5444, 25),
    ("ttl/external", 718, 13),
    ("ttl/faults", 7218, 17),
    ("ttl/pods", 6271, 28),
    ("ttl/late-pod", 13934, 27),
    ("ttl/everything", 376518, 28),
];

#[test]
fn the_ttl_controller_satisfies_every_property_and_the_sizes_are_pinned() {
    let mut sizes = Vec::new();
    for scope in ttl() {
        let found = explore(&scope, &Bounds { partial_order: true, ..Bounds::none(2) });
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states, found.depth));
    }
    assert_eq!(sizes, SIZES);
}

/// For each scope, the number of states without reductions.
const UNREDUCED: &[(&str, usize)] = &[
    ("ttl/edit", 3864),
    ("ttl/fast-clock", 4180),
    ("ttl/slow-clock", 3332),
    ("ttl/removed", 1555),
    ("ttl/deleted", 1354),
    ("ttl/orphaned", 1470),
    ("ttl/owner-gone", 6787),
    ("ttl/recreated", 7308),
    ("ttl/suspended", 37478),
    ("ttl/held", 5444),
    ("ttl/external", 718),
    ("ttl/faults", 7218),
    ("ttl/pods", 7238),
    ("ttl/late-pod", 13934),
];

/// TT-14, TT-15, TT-16: in the end the Job does not exist, and every controller is idle.
#[test]
fn an_expired_job_is_finally_deleted() {
    let mut sizes = Vec::new();
    for scope in ttl().into_iter().filter(|scope| scope.name != "ttl/everything") {
        let found = progress::explore(&scope, &Bounds::none(2));
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states));
    }
    assert_eq!(sizes, UNREDUCED);
}

/// TT-16: the garbage collector deletes the Job with its owner, also before it finishes or its TTL passes.
#[test]
fn a_job_is_deleted_with_its_owner_whatever_its_ttl() {
    let scope = ttl().into_iter().find(|scope| scope.name == "ttl/owner-gone").unwrap();
    let (mut unfinished, mut unexpired) = (0, 0);
    let found = graph(&scope, &Bounds::none(1), &mut |_, world, step, _| {
        let Step::User(id, ..) = step else { return };
        let Some(job) = world.job_state(*id).job.as_deref() else { return };
        let gone = world.apply(step, &scope).job_state(*id).job.is_none();
        unfinished += usize::from(gone && !job.status.is_finished());
        unexpired += usize::from(gone && expiry(job).is_some_and(|end| end > world.now));
    });
    assert!(matches!(found.outcome, Outcome::Holds));
    assert!(unfinished > 0 && unexpired > 0, "{unfinished} {unexpired}");
}

/// B06, B49: the Job exists forever. The check of progress and the search for mutants both detect this.
#[test]
fn a_defect_that_keeps_an_expired_job_breaks_progress() {
    for id in ["B06", "B49"] {
        let mutant = Mutant::named(id).unwrap();
        let ownerless = |scope: &Scope| progress::explore_for(scope, &Bounds::none(1), &|_| false).outcome;
        assert!(matches!(ownerless(&mutant.sound_scope()), Outcome::Holds), "{id}");
        assert!(matches!(ownerless(&mutant.scope()), Outcome::Broken(_)), "{id}");
    }
}

/// The earliest and the latest deletion of a Job, in seconds after it expires. The stored TTL and the clock
/// of the API server determine when it expires.
fn deletions(ahead: i64, user: &[UserAction]) -> (i64, i64) {
    let base = ttl().swap_remove(0);
    let scope = both(Scope { jobs: vec![empty(2)], ticks: 5, user: user.to_vec(), ..base }, ahead);
    let mut range: Option<(i64, i64)> = None;
    let found = graph(&scope, &Bounds::none(1), &mut |_, world, step, _| {
        let Step::Ttl(id, TtlStep::Delete(RequestOutcome::Handled)) = step else { return };
        let Some(end) = world.job_state(*id).job.as_deref().and_then(expiry) else { return };
        let late = world.now.since(end);
        let (earliest, latest) = range.unwrap_or((late, late));
        range = Some((earliest.min(late), latest.max(late)));
    });
    assert!(matches!(found.outcome, Outcome::Holds));
    range.unwrap()
}

/// EN-08, B48: a clock that is ahead deletes Jobs earlier by the same time, but never by more. A clock that
/// is behind never deletes a Job early. A TTL that is raised after the GET comes too late (TT-06).
#[test]
fn only_clock_skew_and_late_edits_delete_a_job_early() {
    let raised = [UserAction::Edit(SpecEdit::SetTtl(Some(4)))];
    assert_eq!(deletions(0, &[]).0, 0);
    assert_eq!(deletions(1, &[]).0, -1);
    assert_eq!(deletions(-1, &[]).0, 1);
    assert_eq!(deletions(0, &raised).0, -2);
    assert_eq!(deletions(1, &raised).0, -3);
}
