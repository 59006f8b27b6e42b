//! The nodes that a fair behaviour can visit infinitely often.

use super::check::Property;
use super::constraints::{Constraints, Tally};
use super::graph::{Graph, Node};

/// The part of a node that belongs to none.
const NONE: u32 = 0;

/// The largest strongly connected sets of nodes that a fair tail can visit infinitely often.
pub(super) struct FairParts {
    /// The part of each node.
    part: Vec<u32>,
}

impl FairParts {
    /// Searches for the parts among the nodes that tails can reach.
    pub(super) fn search(
        graph: &Graph,
        constraints: &Constraints<'_>,
        property: &Property<'_>,
        tail: Vec<Node>,
    ) -> FairParts {
        let nothing = vec![NONE; graph.nodes()];
        let mut search = Search {
            graph,
            constraints,
            property,
            part: nothing.clone(),
            last_part: NONE,
            found: nothing.clone(),
            lowest: nothing,
            last_found: 0,
            stack: Vec::new(),
            open: vec![tail],
        };
        while let Some(region) = search.open.pop() {
            search.divide(&region);
        }
        FairParts { part: search.part }
    }

    /// The part of a node.
    pub(super) fn of(&self, node: Node) -> Option<u32> {
        Some(self.part[node as usize]).filter(|part| *part != NONE)
    }
}

/// The verdict on a strongly connected component.
enum ComponentKind {
    /// A fair behaviour can visit all of its nodes infinitely often.
    Fair,
    /// No part of it is fair.
    Dropped,
    /// Only a part of these remaining nodes can be fair.
    Refined(Vec<Node>),
}

/// Tarjan's algorithm without recursion, applied to one region after another.
struct Search<'a> {
    graph: &'a Graph,
    constraints: &'a Constraints<'a>,
    property: &'a Property<'a>,
    /// The region of a node, and later its component if that is fair.
    part: Vec<u32>,
    last_part: u32,
    /// The order in which the nodes of the region were found, from 1.
    found: Vec<u32>,
    /// The earliest node that a node reaches, among those whose component is incomplete.
    lowest: Vec<u32>,
    last_found: u32,
    /// The nodes that were found and whose component is incomplete.
    stack: Vec<Node>,
    /// The regions that are not divided yet.
    open: Vec<Vec<Node>>,
}

impl Search<'_> {
    /// Divides a region into its components, and decides about each.
    fn divide(&mut self, region: &[Node]) {
        self.last_part += 1;
        let number = self.last_part;
        self.last_found = 0;
        for &node in region {
            self.part[node as usize] = number;
            self.found[node as usize] = 0;
        }
        for &node in region {
            // A node of a complete component no longer has the number of the region.
            if self.part[node as usize] == number && self.found[node as usize] == 0 {
                self.descend(node, number);
            }
        }
    }

    /// Finds every component that is reachable from a node of the region.
    fn descend(&mut self, root: Node, region: u32) {
        let mut path = vec![(root, self.find(root))];
        while let Some((node, edges)) = path.last_mut() {
            let node = *node;
            let Some(edge) = edges.next() else {
                path.pop();
                if let Some((parent, _)) = path.last() {
                    let reached = self.lowest[node as usize];
                    self.reaches(*parent, reached);
                }
                if self.lowest[node as usize] == self.found[node as usize] {
                    self.complete(node);
                }
                continue;
            };
            let to = self.graph.target(edge);
            if self.part[to as usize] != region {
                continue;
            }
            match self.found[to as usize] {
                0 => path.push((to, self.find(to))),
                earlier => self.reaches(node, earlier),
            }
        }
    }

    fn find(&mut self, node: Node) -> std::ops::Range<u32> {
        self.last_found += 1;
        self.found[node as usize] = self.last_found;
        self.lowest[node as usize] = self.last_found;
        self.stack.push(node);
        self.graph.numbers(node)
    }

    fn reaches(&mut self, node: Node, found: u32) {
        let lowest = &mut self.lowest[node as usize];
        *lowest = found.min(*lowest);
    }

    /// Completes the component of a node: the stack from this node to its top.
    fn complete(&mut self, node: Node) {
        let start = self.stack.iter().rposition(|it| *it == node).expect("a found node is on the stack");
        let component = self.stack.split_off(start);
        self.last_part += 1;
        self.assign(&component, self.last_part);
        match self.decide(&component) {
            ComponentKind::Fair => {}
            ComponentKind::Dropped => self.assign(&component, NONE),
            ComponentKind::Refined(rest) => {
                self.assign(&component, NONE);
                self.open.push(rest);
            }
        }
    }

    fn assign(&mut self, nodes: &[Node], part: u32) {
        for node in nodes {
            self.part[*node as usize] = part;
        }
    }

    /// Decides about a component, which has a number of its own.
    ///
    /// A single node is a component too, because a behaviour can stutter there. It is fair only if the
    /// assumptions allow that no action is taken.
    fn decide(&self, component: &[Node]) -> ComponentKind {
        if !component.iter().any(|node| self.property.recurs(*node)) {
            return ComponentKind::Dropped;
        }
        let own = self.part[component[0] as usize];
        let within = |node: Node| self.part[node as usize] == own;
        let tally = Tally::new(self.graph, self.constraints, component, within);
        let mut weak = self.constraints.weak();
        if weak.any(|it| !tally.taken[it] && tally.enabled_in[it] == component.len()) {
            return ComponentKind::Dropped;
        }
        let missed = |it: &usize| !tally.taken[*it] && tally.enabled_in[*it] > 0;
        let missed: Vec<usize> = self.constraints.strong().filter(missed).collect();
        if missed.is_empty() {
            return ComponentKind::Fair;
        }
        let rest: Vec<Node> =
            component.iter().copied().filter(|node| !self.enables(*node, &missed)).collect();
        if rest.is_empty() { ComponentKind::Dropped } else { ComponentKind::Refined(rest) }
    }

    fn enables(&self, node: Node, assumptions: &[usize]) -> bool {
        assumptions.iter().any(|number| self.constraints.is_enabled(self.graph, *number, node))
    }
}
