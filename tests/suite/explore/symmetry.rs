//! Symmetry reduction, compared with all states that differ only in names.

use std::collections::{HashMap, HashSet};

use jobcheck_explorer::check::{Bounds, Outcome, explore, symmetry_is_sound};
use jobcheck_explorer::compact::{Identity, Renaming};
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference as algorithm;
use jobcheck_explorer::scopes::{all, initial};
use jobcheck_explorer::world::{JobState, World};
use jobcheck_tests::scopes::states;

use crate::check::{MISSING_GUARDS, broken, scope, small};

fn renamings(job_state: &JobState) -> Vec<Renaming> {
    Renaming::all(job_state.ghost.pods.len())
}

/// All states that differ from this one only in names.
fn orbit(world: &World, scope: &Scope) -> Vec<World> {
    let mut images = vec![world.clone()];
    for job in 0..world.job_states.len() {
        let renamed = |image: &World| {
            let rename = |renaming: Renaming| {
                let mut image = image.clone();
                image.job_states[job] = renaming.job_state(&image.job_states[job]);
                image
            };
            renamings(&image.job_states[job]).into_iter().map(rename).collect::<Vec<_>>()
        };
        images = images.iter().flat_map(renamed).collect();
    }
    if scope.jobs.len() == 2 && scope.jobs[0] == scope.jobs[1] {
        let identities = Identity::of_all(&initial(scope));
        let swapped = |image: &World| {
            let job_states = vec![
                identities[0].job_state(&image.job_states[1]),
                identities[1].job_state(&image.job_states[0]),
            ];
            World { job_states, ..image.clone() }
        };
        images.extend(images.iter().map(swapped).collect::<Vec<_>>());
    }
    images
}

fn orbits(worlds: &[World], scope: &Scope) -> usize {
    let mut orbit_of: HashMap<&World, usize> = HashMap::new();
    let known: HashSet<&World> = worlds.iter().collect();
    let mut count = 0;
    for world in worlds {
        if orbit_of.contains_key(world) {
            continue;
        }
        for image in orbit(world, scope) {
            if let Some(image) = known.get(&image) {
                orbit_of.insert(image, count);
            }
        }
        count += 1;
    }
    count
}

#[test]
fn there_are_as_many_representatives_as_orbits() {
    let mut compared = 0;
    for scope in small(3_000) {
        let name = scope.name;
        let worlds = states(&scope, usize::MAX);
        assert_eq!(worlds.len(), explore(&scope, &Bounds::none(1)).states, "{name}");
        let reduced = explore(&scope, &Bounds { symmetry: true, ..Bounds::none(1) });
        assert_eq!(reduced.states, orbits(&worlds, &scope), "{name}");
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}

#[test]
fn the_algorithm_has_as_many_representatives_as_orbits() {
    let mut compared = 0;
    for scope in algorithm::one_fault() {
        let name = scope.name;
        let bounds = Bounds { symmetry: true, partial_order: true, ..Bounds::none(2) };
        let few = Bounds { max_states: Some(2_000), ..bounds.clone() };
        if !matches!(explore(&scope, &few).outcome, Outcome::Holds) {
            continue;
        }
        let scope = with_lazy_caches(Some(scope));
        let worlds = states(&scope, usize::MAX);
        assert_eq!(explore(&scope, &bounds).states, orbits(&worlds, &scope), "{name}");
        compared += worlds.len();
    }
    assert!(compared > 10_000, "{compared}");
}

fn with_lazy_caches(scope: Option<Scope>) -> Scope {
    scope.unwrap().with_algorithm(|algorithm| algorithm.lazy_caches = true)
}

/// A renamed state has the renamed steps, and breaks the same properties.
#[test]
fn steps_and_properties_do_not_depend_on_names() {
    let mut compared = 0;
    for scope in all().into_iter().chain(algorithm::all()).filter(symmetry_is_sound) {
        let some = states(&scope, 500);
        for world in some.iter().skip(some.len() % 17).step_by(17) {
            compared += compare(world, &scope);
        }
    }
    assert!(compared > 2_000, "{compared}");
}

/// The same in deep states of the scopes with all faults, and with each known defect.
#[test]
fn steps_and_properties_do_not_depend_on_names_on_random_walks() {
    // A refusal may concern a certain pod.
    let alike = |scope: &Scope| scope.refused.iter().all(|refusal| refusal.pod().is_none());
    let mutations = MUTANTS.iter().map(Mutant::scope).filter(alike);
    let mut compared = 0;
    for scope in algorithm::all_faults().into_iter().chain(algorithm::large()).chain(mutations) {
        let scope = with_lazy_caches(Some(scope));
        for seed in 0..12 {
            for world in walk(&scope, seed).iter().skip(seed % 3).step_by(3) {
                compared += compare(world, &scope);
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// The states of a random walk.
fn walk(scope: &Scope, seed: usize) -> Vec<World> {
    let mut worlds = vec![initial(scope)];
    let mut random = seed as u64;
    for _ in 0..45 {
        let world = &worlds[worlds.len() - 1];
        let steps = world.enabled(scope);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Some(step) = steps.get((random >> 33) as usize % steps.len().max(1)) else { break };
        worlds.push(world.apply(step, scope));
    }
    worlds
}

fn compare(world: &World, scope: &Scope) -> usize {
    let after = |world: &World| -> Vec<World> {
        world.enabled(scope).iter().map(|step| world.apply(step, scope)).collect()
    };
    let plain = after(world);
    let renamings = renamings(&world.job_states[0]);
    for renaming in &renamings {
        let rename = |world: &World| {
            let mut renamed = world.clone();
            renamed.job_states[0] = renaming.job_state(&world.job_states[0]);
            renamed
        };
        let there = rename(world);
        let expected: HashSet<World> = plain.iter().map(rename).collect();
        let found: HashSet<World> = after(&there).into_iter().collect();
        assert_eq!(found, expected, "{}: {world:?} as {renaming:?}", scope.name);
        for property in PROPERTIES {
            let broken = |world: &World| (property.broken)(&world.job_states[0]).is_some();
            assert_eq!(broken(&there), broken(world), "{}", property.name);
        }
    }
    renamings.len()
}

/// This includes the rows whose guards name a requirement by the first of several pods. In their scopes no
/// two pods fail at the same time.
#[test]
fn symmetry_does_not_change_the_depth_of_a_missing_guard() {
    for (without, name, property, _) in MISSING_GUARDS {
        let scope = without.iter().fold(scope(name), |scope, req| scope.without(*req));
        let steps = |symmetry: bool| broken(&scope, *property, symmetry).map(|found| found.path.len());
        assert_eq!(steps(true), steps(false), "{name} without {without:?}");
    }
}

#[test]
fn threads_do_not_change_the_representatives() {
    for name in ["replace-failed-indexes", "deadline", "two-jobs"] {
        let reduced =
            |threads: usize| explore(&scope(name), &Bounds { symmetry: true, ..Bounds::none(threads) });
        let (one, three) = (reduced(1), reduced(3));
        assert!(matches!((&one.outcome, &three.outcome), (Outcome::Holds, Outcome::Holds)));
        let contents = |it: &jobcheck_explorer::check::Exploration| {
            (it.states, it.generated, it.depth, it.layers.clone(), it.steps.clone(), it.reached.clone())
        };
        assert_eq!(contents(&one), contents(&three), "{name}");
    }
}

#[test]
fn symmetry_is_refused_if_a_guard_names_the_first_of_several_pods() {
    use jobcheck_spec::Req;
    assert!(symmetry_is_sound(&scope("backoff-delay")));
    assert!(!symmetry_is_sound(&scope("backoff-delay").without(Req::BO01)));
}
