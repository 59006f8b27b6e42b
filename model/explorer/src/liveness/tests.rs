//! Compares small graphs with results of TLC, and with an enumeration of all tails.

mod cases;
mod oracle;
mod scopes;
mod verify;

use std::collections::BTreeSet;

use super::*;

/// A graph and a question about it, in a plain form.
#[derive(Clone, Debug)]
struct Problem {
    nodes: u32,
    initial: Vec<Node>,
    edges: Vec<Edge>,
    fairness: Vec<Fairness>,
    wanted: Wanted,
}

/// A [`Property`] whose predicates are sets.
#[derive(Clone, Debug)]
enum Wanted {
    Eventually(BTreeSet<Node>),
    AlwaysEventually(BTreeSet<Node>),
    EventuallyAlways(BTreeSet<Node>),
    LeadsTo(BTreeSet<Node>, BTreeSet<Node>),
}

impl Problem {
    fn graph(&self) -> Graph {
        let mut builder = Builder::new();
        self.initial.iter().for_each(|node| builder.initial(*node));
        for node in 0..self.nodes {
            let own = self.edges.iter().filter(|edge| edge.from == node);
            builder.node(own.map(|edge| (edge.label, edge.to)));
        }
        builder.finish().unwrap()
    }

    fn check(&self) -> Result<(), Lasso> {
        let graph = self.graph();
        let property = |property: Property<'_>| check(&graph, &self.fairness, &property);
        match &self.wanted {
            Wanted::Eventually(goal) => property(Property::Eventually(&|node| goal.contains(&node))),
            Wanted::AlwaysEventually(goal) => {
                property(Property::AlwaysEventually(&|node| goal.contains(&node)))
            }
            Wanted::EventuallyAlways(goal) => {
                property(Property::EventuallyAlways(&|node| goal.contains(&node)))
            }
            Wanted::LeadsTo(p, q) => {
                property(Property::LeadsTo(&|node| p.contains(&node), &|node| q.contains(&node)))
            }
        }
    }
}

/// The edges of a path through these nodes, all with one label.
fn path(nodes: &[Node]) -> Vec<Edge> {
    nodes.windows(2).map(|pair| Edge { from: pair[0], label: 0, to: pair[1] }).collect()
}

fn eventually(nodes: u32, edges: Vec<Edge>, fairness: Vec<Fairness>, goal: Node) -> Problem {
    let wanted = Wanted::Eventually(BTreeSet::from([goal]));
    Problem { nodes, initial: vec![0], edges, fairness, wanted }
}

#[test]
fn the_retry_loop_is_told_as_a_prefix_and_a_cycle() {
    let problem = eventually(4, path(&[0, 1, 2, 1]), Fairness::weak_each([0]), 3);
    let lasso = problem.check().unwrap_err();
    assert_eq!(lasso, Lasso { start: 0, prefix: path(&[0, 1]), cycle: path(&[1, 2, 1]) });
    assert_eq!((lasso.cycle_start(), lasso.stutters()), (1, false));
}

#[test]
fn an_end_is_told_as_a_prefix_and_nothing() {
    let problem = eventually(4, path(&[0, 1, 2]), Fairness::strong_each([0]), 3);
    let lasso = problem.check().unwrap_err();
    assert_eq!(lasso, Lasso { start: 0, prefix: path(&[0, 1, 2]), cycle: Vec::new() });
    assert_eq!((lasso.cycle_start(), lasso.stutters()), (2, true));
}

#[test]
fn a_cycle_takes_every_action_that_it_owes_even_where_a_shorter_one_takes_some() {
    // Each loop at node 0 takes only one of the two actions.
    let mut edges = path(&[0, 1, 0]);
    edges.extend([Edge { from: 0, label: 1, to: 2 }, Edge { from: 2, label: 0, to: 0 }]);
    let problem = eventually(4, edges, Fairness::strong_each([0, 1]), 3);
    let lasso = problem.check().unwrap_err();
    let visited: Vec<Node> = lasso.cycle.iter().map(|edge| edge.to).collect();
    assert!(visited.contains(&2), "{lasso:?}");
    verify::verify(&problem, &lasso).unwrap();
}

#[test]
fn a_strong_action_that_the_cycle_never_enables_is_not_taken_for_its_sake() {
    // Node 2 enables action 1, and lies on no shortest cycle.
    let mut edges = path(&[0, 1, 0]);
    edges.extend([Edge { from: 1, label: 0, to: 2 }, Edge { from: 2, label: 1, to: 0 }]);
    let problem = eventually(4, edges, vec![Fairness::Weak(vec![0]), Fairness::Strong(vec![1])], 3);
    assert_eq!(problem.check().unwrap_err().cycle, path(&[0, 1, 0]));
}

#[test]
fn a_graph_with_a_node_that_was_never_looked_at_is_not_checked() {
    let mut builder = Builder::new();
    builder.initial(0);
    builder.node([(0, 1)]);
    assert_eq!(builder.clone().finish().unwrap_err(), Incomplete::Node(1));
    builder.node([]);
    assert_eq!(builder.finish().unwrap().nodes(), 2);
}

#[test]
fn edges_know_their_nodes_and_loops_at_one_node_are_none() {
    let mut builder = Builder::new();
    builder.node([]);
    builder.node([(7, 0), (8, 1), (9, 3)]);
    builder.node([]);
    builder.node([(5, 2)]);
    let graph = builder.finish().unwrap();
    assert_eq!(graph.edges(), 3);
    for node in 0..4 {
        let known: Vec<Edge> = graph.leaving(node).collect();
        assert_eq!(graph.numbers(node).map(|number| graph.edge(number)).collect::<Vec<_>>(), known);
        assert!(known.iter().all(|edge| edge.from == node));
    }
}

#[test]
fn a_graph_without_behaviours_has_every_property() {
    let mut problem = eventually(2, path(&[0, 1]), Vec::new(), 1);
    problem.initial.clear();
    assert_eq!(problem.check(), Ok(()));
}

#[test]
fn long_ways_need_no_deep_stack() {
    // One descent finds a component of all nodes. It is refined to the nodes before its only exit.
    let last: Node = 300_000;
    let mut edges = path(&(0..=last).collect::<Vec<_>>());
    edges.push(Edge { from: last, label: 0, to: 0 });
    edges.push(Edge { from: last, label: 1, to: last + 1 });
    let mut builder = Builder::new();
    builder.initial(0);
    let mut rest = edges.as_slice();
    for node in 0..=last + 1 {
        let own = rest.iter().take_while(|edge| edge.from == node).count();
        builder.node(rest[..own].iter().map(|edge| (edge.label, edge.to)));
        rest = &rest[own..];
    }
    let graph = builder.finish().unwrap();
    let property = Property::Eventually(&|node| node > last);
    let fair = |strong: bool| {
        let exit = if strong { Fairness::Strong(vec![1]) } else { Fairness::Weak(vec![1]) };
        check(&graph, &[Fairness::Weak(vec![0]), exit], &property)
    };
    assert_eq!(fair(true), Ok(()));
    assert_eq!(fair(false).unwrap_err().cycle.len(), edges.len() - 1);
}
