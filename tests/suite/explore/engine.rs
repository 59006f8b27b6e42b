//! The search and the random walks.

use jobcheck_explorer::check::{Bounds, Exploration, Outcome, Walking, explore, graph, walk};
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;

use crate::check::{MISSING_GUARDS, scope, whole};

/// The contents of an exploration, without bytes and parts.
fn contents(it: &Exploration) -> String {
    let outcome = match &it.outcome {
        Outcome::Broken(found) => format!("{}: {} by {:?}", found.property, found.why, found.path),
        Outcome::Holds | Outcome::NotFinished(_) => format!("{:?}", it.outcome),
    };
    let sizes = (it.states, it.generated, it.depth, &it.layers, it.pods_bound_reached);
    format!("{sizes:?} {:?} {:?} {outcome}", it.steps, it.reached)
}

#[test]
fn the_number_of_threads_does_not_change_an_exploration() {
    for name in ["indexed", "deadline", "replace-failed", "two-jobs"] {
        let one = contents(&explore(&scope(name), &Bounds::none(1)));
        for threads in [2, 5] {
            assert_eq!(
                contents(&explore(&scope(name), &Bounds::none(threads))),
                one,
                "{name}, {threads} threads"
            );
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_counterexample() {
    for (without, name, _, _) in
        MISSING_GUARDS.iter().filter(|(without, _, _, steps)| without.len() > 1 || *steps > 6)
    {
        let scope = without.iter().fold(scope(name), |scope, req| scope.without(*req));
        let one = contents(&explore(&scope, &Bounds::none(1)));
        assert_eq!(contents(&explore(&scope, &Bounds::none(3))), one, "{name} without {without:?}");
    }
}

#[test]
fn the_graph_has_all_steps_and_starts_at_zero() {
    let scope = scope("ttl");
    let mut edges = Vec::new();
    let whole = graph(&scope, &Bounds::none(1), &mut |from, world, _, to| {
        assert!(from != 0 || *world == initial(&scope));
        edges.push((from, to));
    });
    assert_eq!(edges.len() as u64 + 1, whole.generated);
    let reached = |number: u32| number == 0 || edges.iter().any(|(_, to)| *to == number);
    assert!((0..u32::try_from(whole.states).unwrap()).all(reached));
}

fn walking(walks: u64, seed: u64) -> Walking {
    Walking { walks, depth: 60, seed, stop: std::sync::Arc::new(|| false) }
}

#[test]
fn walks_with_the_same_seed_are_equal_and_stay_in_the_scope() {
    for scope in whole() {
        let name = scope.name;
        let [one, same, other] =
            [(3, 7), (3, 7), (3, 8)].map(|(walks, seed)| walk(&scope, &walking(walks, seed)));
        assert_eq!((&one.last, one.steps), (&same.last, same.steps), "{name}");
        assert!(one.finished && one.found.is_none() && other.found.is_none(), "{name}");
        let mut world = initial(&scope);
        for step in &one.last {
            assert!(world.enabled(&scope).contains(step), "{name}: {step:?}");
            world = world.apply(step, &scope);
        }
    }
}

#[test]
fn a_walk_finds_a_near_counterexample() {
    let scope = scope("non-indexed").without(Req::FT06);
    let met = walk(&scope, &walking(500, 1));
    let found = met.found.unwrap();
    assert!(met.walks < 500 && !found.path.is_empty(), "{}", met.walks);
    assert!(!found.path.contains(&Step::Tick));
}
