//! The nodes that the tail of a counterexample can reach, and shortest paths to them.

use super::check::Property;
use super::graph::{Edge, Graph, Node};

/// The nodes that behaviours reach, breadth first, before their tail and in it.
pub(super) struct Reach {
    /// The way in which each node was first reached before the tail: the number of an edge, or one of the
    /// marks below.
    before: Vec<u32>,
    /// The same in the tail.
    tail: Vec<u32>,
    /// The reached nodes, nearest first.
    order: Vec<Place>,
}

/// The mark of a node that was not reached.
const NOT: u32 = u32::MAX;
/// The mark of an initial node.
const FIRST: u32 = u32::MAX - 1;
/// The mark of a node in which the tail starts.
const ENTERED: u32 = u32::MAX - 2;

/// A node, before the tail or in it.
#[derive(Clone, Copy)]
struct Place(u32);

impl Place {
    const TAIL: u32 = 1 << 31;

    fn before(node: Node) -> Place {
        Place(node)
    }

    fn in_tail(node: Node) -> Place {
        Place(node | Place::TAIL)
    }

    fn is_in_tail(self) -> bool {
        self.0 & Place::TAIL != 0
    }

    fn node(self) -> Node {
        self.0 & !Place::TAIL
    }
}

impl Reach {
    pub(super) fn search(graph: &Graph, property: &Property<'_>) -> Reach {
        let nothing = vec![NOT; graph.nodes()];
        let mut reach = Reach { before: nothing.clone(), tail: nothing, order: Vec::new() };
        for node in graph.initial() {
            reach.discover_before(property, *node, FIRST);
        }
        let mut next = 0;
        while let Some(&place) = reach.order.get(next) {
            next += 1;
            for edge in graph.numbers(place.node()) {
                if place.is_in_tail() {
                    reach.discover_in_tail(property, graph.target(edge), edge);
                } else {
                    reach.discover_before(property, graph.target(edge), edge);
                }
            }
        }
        reach
    }

    fn discover_before(&mut self, property: &Property<'_>, node: Node, from: u32) {
        if self.before[node as usize] != NOT {
            return;
        }
        self.before[node as usize] = from;
        if property.has_late_tails() {
            self.order.push(Place::before(node));
        }
        // Nodes before the tail are visited first, so this is the shortest path into the tail.
        if property.starts_tail(node, from == FIRST) {
            self.discover_in_tail(property, node, ENTERED);
        }
    }

    fn discover_in_tail(&mut self, property: &Property<'_>, node: Node, from: u32) {
        if self.tail[node as usize] == NOT && property.allows_in_tail(node) {
            self.tail[node as usize] = from;
            self.order.push(Place::in_tail(node));
        }
    }

    /// The nodes that a tail can reach, nearest first.
    pub(super) fn tail(&self) -> impl Iterator<Item = Node> + '_ {
        self.order.iter().filter(|place| place.is_in_tail()).map(|place| place.node())
    }

    /// A shortest path to a node in the tail, and the initial node where it starts.
    pub(super) fn path(&self, graph: &Graph, mut node: Node) -> (Node, Vec<Edge>) {
        let mut edges = Vec::new();
        let mut from = &self.tail;
        loop {
            match from[node as usize] {
                ENTERED => from = &self.before,
                FIRST | NOT => break,
                number => {
                    let edge = graph.edge(number);
                    node = edge.from;
                    edges.push(edge);
                }
            }
        }
        edges.reverse();
        (node, edges)
    }
}
