//! Which nodes a fair behaviour can visit again and again.

use super::check::Property;
use super::constraints::{Constraints, Tally};
use super::graph::{Graph, Node};

/// A node that belongs to no part.
const NONE: u32 = 0;

/// The largest strongly connected sets of nodes that a fair tail can visit again and again.
pub(super) struct FairParts {
    /// The part of each node.
    part: Vec<u32>,
}

impl FairParts {
    /// Looks for them among the nodes of the tail.
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

    /// The part that a node belongs to.
    pub(super) fn of(&self, node: Node) -> Option<u32> {
        Some(self.part[node as usize]).filter(|part| *part != NONE)
    }
}

/// What becomes of a strongly connected component.
enum ComponentKind {
    /// A fair behaviour can visit all of it again and again.
    Fair,
    /// No part of it is fair.
    Dropped,
    /// Only what is left of it can be.
    Refined(Vec<Node>),
}

/// Tarjan's algorithm without recursion, on one region after the other.
struct Search<'a> {
    graph: &'a Graph,
    constraints: &'a Constraints<'a>,
    property: &'a Property<'a>,
    /// The region that a node is in; then its component, if that is fair.
    part: Vec<u32>,
    last_part: u32,
    /// The order in which the nodes of the region were found, from 1.
    found: Vec<u32>,
    /// The earliest found node that a node is known to reach, among those whose component is not complete.
    lowest: Vec<u32>,
    last_found: u32,
    /// The nodes that were found and whose component is not complete.
    stack: Vec<Node>,
    /// Regions that are still to be divided.
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
            // The number of a node of a complete component is no longer that of the region.
            if self.part[node as usize] == number && self.found[node as usize] == 0 {
                self.descend(node, number);
            }
        }
    }

    /// Finds every component that a node of the region reaches.
    fn descend(&mut self, root: Node, region: u32) {
        let mut way = vec![(root, self.find(root))];
        while let Some((node, edges)) = way.last_mut() {
            let node = *node;
            let Some(edge) = edges.next() else {
                way.pop();
                if let Some((parent, _)) = way.last() {
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
                0 => way.push((to, self.find(to))),
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

    /// The component of a node is complete: it is the top of the stack, from the node on.
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

    /// Decides about a component that has a number of its own.
    ///
    /// One node is a component like any other: a behaviour can stutter there. As no step within it takes an
    /// action, it is fair only if the assumptions allow that.
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
