//! Compares random graphs with an enumeration of all sets of steps that a behaviour can take infinitely
//! often.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::verify::{is_step, verify};
use super::{Edge, Fairness, Node, Problem, Wanted};

/// The largest number of node pairs with a step between them. The enumeration visits all subsets of these
/// pairs.
const MOST_STEPS: usize = 11;

/// Nodes as bits.
type Nodes = u8;

/// The nodes that a behaviour visits infinitely often, and its steps there.
struct Tail {
    nodes: Nodes,
    steps: Vec<(Node, Node)>,
}

fn bit(node: Node) -> Nodes {
    1 << node
}

fn holds(nodes: Nodes, node: Node) -> bool {
    nodes & bit(node) != 0
}

fn bits(set: &BTreeSet<Node>) -> Nodes {
    set.iter().fold(0, |bits, node| bits | bit(*node))
}

fn steps(problem: &Problem) -> Vec<(Node, Node)> {
    let pairs: BTreeSet<(Node, Node)> = problem.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    pairs.into_iter().filter(|(from, to)| from != to).collect()
}

/// All tails of the graph, reachable or not, fair or not.
fn tails(problem: &Problem) -> Vec<Tail> {
    let all = steps(problem);
    let mut tails: Vec<Tail> =
        (0..problem.nodes).map(|node| Tail { nodes: bit(node), steps: vec![] }).collect();
    for subset in 1u32..1 << all.len() {
        let chosen = all.iter().enumerate().filter(|(number, _)| subset >> number & 1 == 1);
        let steps: Vec<(Node, Node)> = chosen.map(|(_, step)| *step).collect();
        let nodes = steps.iter().fold(0, |nodes, (from, to)| nodes | bit(*from) | bit(*to));
        let everywhere = |node: Node| reachable(&steps, bit(node), Nodes::MAX) == nodes;
        if (0..problem.nodes).filter(|node| holds(nodes, *node)).all(everywhere) {
            tails.push(Tail { nodes, steps });
        }
    }
    tails
}

/// The nodes that are reachable from these nodes by steps within the others.
fn reachable(steps: &[(Node, Node)], from: Nodes, within: Nodes) -> Nodes {
    let mut reached = from & within;
    loop {
        let next = steps
            .iter()
            .filter(|(from, _)| holds(reached, *from))
            .fold(reached, |reached, (_, to)| reached | bit(*to) & within);
        if next == reached {
            return reached;
        }
        reached = next;
    }
}

fn is_fair(problem: &Problem, tail: &Tail) -> bool {
    problem.fairness.iter().all(|assumption| {
        let (Fairness::Weak(labels) | Fairness::Strong(labels)) = assumption;
        let enabled = |node: Node| (0..problem.nodes).any(|to| is_step(problem, labels, node, to));
        let mut nodes = (0..problem.nodes).filter(|node| holds(tail.nodes, *node));
        tail.steps.iter().any(|(from, to)| is_step(problem, labels, *from, *to))
            || match assumption {
                Fairness::Weak(_) => nodes.any(|node| !enabled(node)),
                Fairness::Strong(_) => nodes.all(|node| !enabled(node)),
            }
    })
}

/// The smallest number of steps into a tail such that the property breaks. Returns `None` if it cannot break.
fn distance(problem: &Problem, tail: &Tail) -> Option<usize> {
    let first = problem.initial.iter().fold(0, |nodes, node| nodes | bit(*node));
    // The nodes after which other nodes must be avoided.
    let (after, avoided) = match &problem.wanted {
        Wanted::Eventually(goal) => (None, bits(goal)),
        Wanted::AlwaysEventually(goal) => (Some(Nodes::MAX), bits(goal)),
        Wanted::LeadsTo(p, q) => (Some(bits(p)), bits(q)),
        Wanted::EventuallyAlways(goal) if tail.nodes & !bits(goal) == 0 => return None,
        Wanted::EventuallyAlways(_) => (None, 0),
    };
    if tail.nodes & avoided != 0 {
        return None;
    }
    let steps = steps(problem);
    let one_on = |nodes: Nodes| {
        steps.iter().filter(|(from, _)| holds(nodes, *from)).fold(0, |next, (_, to)| next | bit(*to))
    };
    let (mut before, mut inside) = (first, after.unwrap_or(first) & first & !avoided);
    for distance in 0..=2 * problem.nodes as usize {
        if inside & tail.nodes != 0 {
            return Some(distance);
        }
        before = one_on(before);
        inside = (one_on(inside) | after.map_or(0, |after| after & before)) & !avoided;
    }
    None
}

/// The length of the shortest prefix of a fair behaviour that breaks the property.
fn shortest_prefix(problem: &Problem) -> Option<usize> {
    let fair = tails(problem).into_iter().filter(|tail| is_fair(problem, tail));
    fair.filter_map(|tail| distance(problem, &tail)).min()
}

fn some_fairness() -> impl Strategy<Value = Vec<Fairness>> {
    // Four actions or classes of actions. Each one is weakly fair, strongly fair, or unfair.
    let classes: Vec<Vec<Vec<u16>>> = vec![
        vec![vec![0], vec![1], vec![2], vec![3]],
        vec![vec![0, 1], vec![2], vec![3]],
        vec![vec![0, 1], vec![1, 2], vec![0]],
        vec![vec![0, 1, 2, 3]],
    ];
    (prop::sample::select(classes), prop::collection::vec(0..3u8, 4)).prop_map(|(classes, kinds)| {
        let assumption = |(labels, kind): (Vec<u16>, u8)| match kind {
            0 => None,
            1 => Some(Fairness::Weak(labels)),
            _ => Some(Fairness::Strong(labels)),
        };
        classes.into_iter().zip(kinds).filter_map(assumption).collect()
    })
}

fn some_wanted(nodes: u32) -> impl Strategy<Value = Wanted> {
    let some_set = move || prop::collection::btree_set(0..nodes, 0..=nodes as usize / 2);
    prop_oneof![
        some_set().prop_map(Wanted::Eventually),
        some_set().prop_map(Wanted::AlwaysEventually),
        some_set().prop_map(Wanted::EventuallyAlways),
        (some_set(), some_set()).prop_map(|(p, q)| Wanted::LeadsTo(p, q)),
    ]
}

fn some_task() -> impl Strategy<Value = Problem> {
    (1..=6u32).prop_flat_map(|nodes| {
        let edge = (0..nodes, 0..4u16, 0..nodes).prop_map(|(from, label, to)| Edge { from, label, to });
        let edges = prop::collection::vec(edge, 0..=MOST_STEPS + 3);
        let initial = prop::collection::vec(0..nodes, 1..=2);
        (initial, edges, some_fairness(), some_wanted(nodes)).prop_map(
            move |(initial, edges, fairness, wanted)| Problem { nodes, initial, edges, fairness, wanted },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_are_judged_as_by_enumeration(problem in some_task()) {
        prop_assume!(steps(&problem).len() <= MOST_STEPS);
        match (problem.check(), shortest_prefix(&problem)) {
            (Ok(()), None) => {}
            (Err(lasso), Some(shortest)) => {
                prop_assert_eq!(verify(&problem, &lasso), Ok(()));
                prop_assert_eq!(lasso.prefix.len(), shortest, "{:?}", lasso);
            }
            (checked, expected) => prop_assert!(false, "{:?}, and the shortest is {:?}", checked, expected),
        }
    }
}
