//! That the graphs of the scopes can be built, checked, and told as steps. What progress the specification makes
//! is not asked here.

use super::{Fairness, Incomplete, Label, Lasso, Property, ScopeGraph, check};
use crate::check::{Bounds, explore};
use crate::scope::Scope;
use crate::scopes::{initial, named};
use crate::step::{Step, StepKind};

fn kind(step: &Step) -> Label {
    step.kind() as Label
}

/// The graph of a scope, and in which of its worlds nothing can happen.
fn explored(scope: &Scope) -> (ScopeGraph, Vec<bool>) {
    let mut ends = Vec::new();
    let look = &mut |_, _: &_, steps: &[Step]| ends.push(steps.is_empty());
    let graph = ScopeGraph::explore(scope, &mut kind, look, usize::MAX).unwrap();
    (graph, ends)
}

/// Walks along a lasso, and says whether its cycle comes back.
fn returns(scope: &Scope, graph: &ScopeGraph, lasso: &Lasso) -> bool {
    let round = graph.steps(scope, &mut kind, lasso);
    let walk = |world, steps: &[Step]| {
        steps.iter().fold(world, |world: crate::world::World, step| {
            assert!(world.enabled(scope).contains(step));
            world.apply(step, scope)
        })
    };
    let turn = walk(initial(scope), &round.prefix);
    walk(turn.clone(), &round.cycle) == turn
}

#[test]
fn scopes_are_built_whole_and_come_to_an_end_if_every_step_is_fair() {
    let fair: Vec<Fairness> = Fairness::weak_each(StepKind::ALL.map(|kind| kind as Label));
    for name in ["non-indexed", "ttl", "stale-job", "two-jobs", "suspend"] {
        let scope = named(name).unwrap();
        let (graph, ends) = explored(&scope);
        assert_eq!(graph.graph.nodes(), explore(&scope, &Bounds::none(1)).states, "{name}");
        let end = |node: u32| ends[node as usize];
        assert_eq!(check(&graph.graph, &fair, &Property::Eventually(&end)), Ok(()), "{name}");
        let idle = check(&graph.graph, &[], &Property::Eventually(&end)).unwrap_err();
        assert_eq!((idle.prefix.len(), idle.stutters()), (0, true), "{name}");
        let lasso = check(&graph.graph, &fair, &Property::Eventually(&|_| false)).unwrap_err();
        assert!(returns(&scope, &graph, &lasso), "{name}");
        assert!(end(lasso.turn()) && !lasso.prefix.is_empty(), "{name}");
    }
}

#[test]
fn a_search_that_is_cut_gives_no_graph() {
    let scope = named("two-jobs").unwrap();
    let cut = ScopeGraph::explore(&scope, &mut kind, &mut |_, _, _| {}, 100);
    assert!(matches!(cut, Err(Incomplete::Node(_))));
}
