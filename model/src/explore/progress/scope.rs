//! The graph of a scope, unreduced: every world, and every step between two of them.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;

use super::graph::{Builder, Edge, Graph, Incomplete, Label, Node};
use super::lasso::Lasso;
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;
use crate::world::World;

/// All worlds of a scope, numbered breadth first; the initial one is 0.
///
/// # Caveats
///
/// Worlds are told apart by a hash of 64 bits, and not kept.
pub struct ScopeGraph {
    /// The graph.
    pub graph: Graph,
    numbers: FxHashMap<u64, Node>,
}

/// A [`Lasso`] as steps of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The steps from the initial world to the first world of the cycle.
    pub prefix: Vec<Step>,
    /// The steps from there back to it; none if nothing happens any more.
    pub cycle: Vec<Step>,
}

impl ScopeGraph {
    /// Looks at every world of a scope, at most so many.
    ///
    /// `label` says which action a step takes; it must say the same each time, and actions that are fair each for
    /// itself need labels of their own. `look` is shown each world, in the order of their numbers, with what can
    /// happen there: that is where predicates are evaluated.
    ///
    /// # Errors
    ///
    /// Where there are more worlds.
    pub fn explore(
        scope: &Scope,
        label: &mut dyn FnMut(&Step) -> Label,
        look: &mut dyn FnMut(Node, &World, &[Step]),
        max_states: usize,
    ) -> Result<ScopeGraph, Incomplete> {
        let first = initial(scope);
        let mut numbers = FxHashMap::default();
        numbers.insert(fingerprint(&first), 0);
        let mut queue = VecDeque::from([first]);
        let mut builder = Builder::new();
        builder.initial(0);
        let mut edges = Vec::new();
        for number in 0..Node::try_from(max_states).unwrap_or(Node::MAX) {
            let Some(world) = queue.pop_front() else { break };
            let steps = world.enabled(scope);
            look(number, &world, &steps);
            for step in &steps {
                let next = world.apply(step, scope);
                // Too many to number are more than the limit, which `finish` sees.
                let fresh = Node::try_from(numbers.len()).unwrap_or(Node::MAX);
                let to = *numbers.entry(fingerprint(&next)).or_insert(fresh);
                if to == fresh {
                    queue.push_back(next);
                }
                edges.push((label(step), to));
            }
            builder.node(edges.drain(..));
        }
        Ok(ScopeGraph { graph: builder.finish()?, numbers })
    }

    /// The steps along a lasso of this graph, for the same scope and labels.
    ///
    /// # Panics
    ///
    /// If the lasso belongs to another graph.
    pub fn steps(&self, scope: &Scope, label: &mut dyn FnMut(&Step) -> Label, lasso: &Lasso) -> Round {
        let mut world = initial(scope);
        let mut along = |edges: &[Edge]| {
            let mut steps = Vec::new();
            for edge in edges {
                let (step, next) = self.step(&world, scope, label, *edge);
                steps.push(step);
                world = next;
            }
            steps
        };
        let prefix = along(&lasso.prefix);
        Round { prefix, cycle: along(&lasso.cycle) }
    }

    fn step(
        &self,
        world: &World,
        scope: &Scope,
        label: &mut dyn FnMut(&Step) -> Label,
        edge: Edge,
    ) -> (Step, World) {
        let mut steps = world.enabled(scope).into_iter().filter(|step| label(step) == edge.label);
        steps
            .find_map(|step| {
                let next = world.apply(&step, scope);
                (self.numbers.get(&fingerprint(&next)) == Some(&edge.to)).then_some((step, next))
            })
            .expect("each edge of the graph is a step of the scope")
    }
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
