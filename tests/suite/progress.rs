//! Defects of progress are detected. The tests of the command line show that every Job finishes, with and without faults
//! (`cli/tests/cli/checkout.rs`).

use jobcheck_explorer::check::{Bounds, Cut, Exploration, Outcome};
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::{Mutation, Mutations};
use jobcheck_explorer::narrative::lines;
use jobcheck_explorer::progress::explore_for;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::progress::progress;
use jobcheck_explorer::scopes::reference::run_by_the_algorithm;
use jobcheck_explorer::scopes::{initial, named};
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;
use jobcheck_spec::job::PodReplacementPolicy;

/// Each fault ends with a restart or a retry. The number of faults is bounded, so they finally stop in every
/// behaviour.
#[test]
fn every_kind_of_fault_occurs_in_some_scope() {
    let scopes = progress();
    let some = |has: fn(&Scope) -> bool| scopes.iter().any(has);
    assert!(some(|it| it.faults.failures > 0) && some(|it| it.faults.losses > 0));
    assert!(some(|it| it.faults.crashes > 0) && some(|it| it.delayed_requests));
}

fn searched(scope: &Scope, bounds: &Bounds) -> Exploration {
    explore_for(scope, bounds, &|_| false)
}

/// L1: a terminating pod of a suspended Job terminates, and the Job finishes.
fn suspended_end() -> Scope {
    let mut scope = run_by_the_algorithm(named("suspend").unwrap(), 0);
    scope.user = vec![UserAction::DeletePod, UserAction::SUSPEND];
    scope.ticks = 0;
    for spec in &mut scope.jobs {
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    }
    scope
}

#[test]
fn a_cycle_can_be_repeated_forever() {
    let scope = suspended_end();
    assert!(matches!(searched(&scope, &Bounds::none(1)).outcome, Outcome::Holds));
    let mutations = Mutations::of(&[Mutation::FinishesSuspendedWithoutStartTime]);
    let wrong = scope.clone().with_mutations(mutations);
    let Outcome::Broken(found) = searched(&wrong, &Bounds::none(2)).outcome else { panic!() };
    let (prefix, cycle) = found.path.split_at(found.cycle_start.unwrap());
    assert!(!cycle.is_empty(), "the write is repeated: {found:?}");
    let walk = |world, steps: &[_]| {
        steps.iter().fold(world, |world: jobcheck_explorer::world::World, step| {
            assert!(world.enabled(&wrong).contains(step));
            world.apply(step, &wrong)
        })
    };
    let entry = walk(initial(&wrong), prefix);
    assert_eq!(walk(entry.clone(), cycle), entry);
}

/// A state that no step leaves is detected like a cycle.
#[test]
fn a_job_without_another_sync_is_found() {
    let mutant = Mutant::named("B35").unwrap();
    let Outcome::Broken(found) = searched(&mutant.scope(), &Bounds::none(1)).outcome else { panic!() };
    assert_eq!((found.req, found.cycle_start), (Some(Req::PC11), Some(found.path.len())), "{found:?}");
    assert!(found.why.starts_with("the Job is not finished"), "{}", found.why);
    assert!(matches!(searched(&mutant.sound_scope(), &Bounds::none(1)).outcome, Outcome::Holds));
}

/// KEP-2307 Deleted Jobs, FT-20: a Job that is deleted with propagation Orphan leaves no pod with the
/// finalizer.
#[test]
fn pods_that_lose_their_job_lose_their_finalizer() {
    let mutant = Mutant::named("B04b").unwrap();
    let lagging = run_by_the_algorithm(mutant.sound_scope(), 1);
    assert!(matches!(searched(&lagging, &Bounds::none(2)).outcome, Outcome::Holds));
    let Outcome::Broken(found) = searched(&mutant.scope(), &Bounds::none(2)).outcome else { panic!() };
    assert!(found.path.iter().any(|step| matches!(step, Step::Collect(..))), "{found:?}");
}

/// These scopes with a lag of one in both caches.
#[test]
fn every_job_finishes_whatever_other_actors_do() {
    for name in
        ["eviction-of-an-index", "lost-node-patient", "force-delete", "adoption", "lost-owner", "legacy-pods"]
    {
        let scope = run_by_the_algorithm(named(name).unwrap(), 1);
        if let Outcome::Broken(found) = searched(&scope, &Bounds::none(2)).outcome {
            panic!("{name}: {}: {:#?}", found.why, lines(&scope, &found.path));
        }
    }
}

#[test]
fn a_check_of_progress_that_reaches_a_limit_proves_nothing() {
    let scope = suspended_end();
    let cut = searched(&scope, &Bounds { max_states: Some(50), ..Bounds::none(1) });
    assert!(matches!(cut.outcome, Outcome::NotFinished(Cut::States)) && cut.quiescent_states.is_none());
    // The limit is reached when all states are in the store.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let stop = move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0;
    let late = searched(&scope, &Bounds { stop: std::sync::Arc::new(stop), ..Bounds::none(1) });
    assert!(matches!(late.outcome, Outcome::NotFinished(Cut::Time)) && late.quiescent_states.is_none());
}
