//! Walking round a fair part, so that every assumption is kept on the way.

use rustc_hash::FxHashMap;

use super::check::Property;
use super::constraints::Constraints;
use super::graph::{Edge, Graph, Node};

/// Walks round a strongly connected part that keeps every assumption.
pub(super) struct Walker<'a> {
    pub(super) graph: &'a Graph,
    pub(super) constraints: &'a Constraints<'a>,
    pub(super) property: &'a Property<'a>,
    /// True if a node belongs to the part.
    pub(super) within: &'a dyn Fn(Node) -> bool,
}

/// What a walk has to do before it may return.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errand {
    /// Visit a node that the tail must visit again and again.
    Recur,
    /// Take the action of this assumption.
    Take(usize),
    /// Take it, or visit a node where it is disabled.
    TakeOrMiss(usize),
}

impl Walker<'_> {
    /// A cycle from a node of the part; no steps at all if a behaviour may stay there for ever.
    ///
    /// A strongly fair action need not be taken on a cycle that nowhere enables it: that one has to be taken is
    /// seen only when a cycle is there.
    pub(super) fn cycle(&self, start: Node) -> Vec<Edge> {
        let mut errands = vec![Errand::Recur];
        errands.extend(self.constraints.weak().map(Errand::TakeOrMiss));
        loop {
            let cycle = self.walk(start, errands.clone());
            let missed: Vec<Errand> = self
                .constraints
                .strong()
                .filter(|number| self.is_missed(*number, start, &cycle))
                .map(Errand::Take)
                .collect();
            if missed.is_empty() {
                return cycle;
            }
            errands.extend(missed);
        }
    }

    /// Returns true if the action of an assumption is enabled somewhere on a cycle and never taken.
    fn is_missed(&self, number: usize, start: Node, cycle: &[Edge]) -> bool {
        let takes = |edge: &Edge| self.constraints.of(edge.label).contains(&number);
        let enabled = |node: Node| self.constraints.is_enabled(self.graph, number, node);
        !cycle.iter().any(takes) && (enabled(start) || cycle.iter().any(|edge| enabled(edge.to)))
    }

    /// Goes where the nearest errand can be done, until all are, and returns.
    fn walk(&self, start: Node, mut errands: Vec<Errand>) -> Vec<Edge> {
        errands.retain(|errand| !self.is_done_in(*errand, start));
        let mut cycle: Vec<Edge> = Vec::new();
        let mut here = start;
        while !errands.is_empty() {
            let way = self.nearest(here, |edge| errands.iter().any(|errand| self.is_done_by(*errand, edge)));
            errands.retain(|errand| !way.iter().any(|edge| self.is_done_by(*errand, *edge)));
            here = way.last().map_or(here, |edge| edge.to);
            cycle.extend(way);
        }
        if here != start {
            cycle.extend(self.nearest(here, |edge| edge.to == start));
        }
        cycle
    }

    fn is_done_by(&self, errand: Errand, edge: Edge) -> bool {
        let taken = match errand {
            Errand::Recur => false,
            Errand::Take(number) | Errand::TakeOrMiss(number) => {
                self.constraints.of(edge.label).contains(&number)
            }
        };
        taken || self.is_done_in(errand, edge.to)
    }

    fn is_done_in(&self, errand: Errand, node: Node) -> bool {
        match errand {
            Errand::Recur => self.property.recurs(node),
            Errand::Take(_) => false,
            Errand::TakeOrMiss(number) => !self.constraints.is_enabled(self.graph, number, node),
        }
    }

    /// A shortest way within the part that ends with a wanted edge.
    fn nearest(&self, here: Node, wanted: impl Fn(Edge) -> bool) -> Vec<Edge> {
        let mut reached_by: FxHashMap<Node, Edge> = FxHashMap::default();
        let mut queue = vec![here];
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for edge in self.graph.leaving(node).filter(|edge| (self.within)(edge.to)) {
                if wanted(edge) {
                    return way_back(&reached_by, here, edge);
                }
                if edge.to != here && !reached_by.contains_key(&edge.to) {
                    reached_by.insert(edge.to, edge);
                    queue.push(edge.to);
                }
            }
        }
        unreachable!("a fair part is strongly connected, and holds what each assumption asks for")
    }
}

/// The way from a node along the edges by which others were reached first, up to and including the last edge.
fn way_back(reached_by: &FxHashMap<Node, Edge>, here: Node, last: Edge) -> Vec<Edge> {
    let mut way = vec![last];
    let mut node = last.from;
    while node != here {
        let edge = reached_by[&node];
        way.push(edge);
        node = edge.from;
    }
    way.reverse();
    way
}
