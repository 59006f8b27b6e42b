//! The graphs of the scopes can be built and checked, and their lassos can be described as steps. These tests
//! do not check the progress of the specification.

use super::{Builder, Edge, Fairness, Graph, Label, Lasso, Property, check};
use crate::check::{Bounds, Outcome, explore, visit};
use crate::scope::Scope;
use crate::scopes::{initial, named};
use crate::step::{Step, StepKind};
use crate::world::World;

fn kind(step: &Step) -> Label {
    step.kind() as Label
}

/// The graph of a scope, its states without steps, and the steps of each edge.
struct Explored {
    graph: Graph,
    ends: Vec<bool>,
    steps: Vec<(Edge, Step)>,
}

fn explored(scope: &Scope) -> Explored {
    let (mut ends, mut steps, mut builder) = (Vec::new(), Vec::new(), Builder::new());
    builder.initial(0);
    let found = visit(scope, &Bounds::none(1), &|_| true, &mut |_, worlds| {
        assert_eq!(worlds.world(0), initial(scope));
        for from in 0..worlds.count() {
            let leaving = worlds.leaving(from);
            ends.push(leaving.is_empty());
            builder.node(leaving.iter().map(|(step, to)| (kind(step), *to)));
            let edge = |(step, to): &(std::sync::Arc<Step>, u32)| {
                (Edge { from, label: kind(step), to: *to }, Step::clone(step))
            };
            steps.extend(leaving.iter().map(edge));
        }
    });
    assert!(matches!(found.outcome, Outcome::Holds));
    Explored { graph: builder.finish().unwrap(), ends, steps }
}

/// Follows a lasso. Returns true if its cycle returns to its start.
fn returns(scope: &Scope, explored: &Explored, lasso: &Lasso) -> bool {
    let walk = |world: World, edges: &[Edge]| {
        edges.iter().fold(world, |world, edge| {
            let (_, step) = explored.steps.iter().find(|(other, _)| other == edge).unwrap();
            assert!(world.enabled(scope).contains(step));
            world.apply(step, scope)
        })
    };
    let cycle_start = walk(initial(scope), &lasso.prefix);
    walk(cycle_start.clone(), &lasso.cycle) == cycle_start
}

#[test]
fn scopes_are_built_whole_and_come_to_an_end_if_every_step_is_fair() {
    let fair: Vec<Fairness> = Fairness::weak_each(StepKind::ALL.iter().map(|kind| *kind as Label));
    for name in ["non-indexed", "ttl", "stale-job", "two-jobs", "suspend"] {
        let scope = named(name).unwrap();
        let explored = explored(&scope);
        let Explored { graph, ends, .. } = &explored;
        assert_eq!(graph.nodes(), explore(&scope, &Bounds::none(1)).states, "{name}");
        let end = |node: u32| ends[node as usize];
        assert_eq!(check(graph, &fair, &Property::Eventually(&end)), Ok(()), "{name}");
        let idle = check(graph, &[], &Property::Eventually(&end)).unwrap_err();
        assert_eq!((idle.prefix.len(), idle.stutters()), (0, true), "{name}");
        let lasso = check(graph, &fair, &Property::Eventually(&|_| false)).unwrap_err();
        assert!(returns(&scope, &explored, &lasso), "{name}");
        assert!(end(lasso.cycle_start()) && !lasso.prefix.is_empty(), "{name}");
    }
}
