//! Fair cycles: closed walks that satisfy every assumption.

use rustc_hash::FxHashMap;

use super::check::Property;
use super::constraints::Constraints;
use super::graph::{Edge, Graph, Node};

/// Walks within a strongly connected part of the graph that satisfies every assumption.
pub(super) struct Walker<'a> {
    pub(super) graph: &'a Graph,
    pub(super) constraints: &'a Constraints<'a>,
    pub(super) property: &'a Property<'a>,
    /// Returns true if a node belongs to the part.
    pub(super) within: &'a dyn Fn(Node) -> bool,
}

/// A task that a walk must do before it may return.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Visit a node that the tail must visit infinitely often.
    Recur,
    /// Take the action of this assumption.
    Take(usize),
    /// Take the action, or visit a node in which it is disabled.
    TakeOrMiss(usize),
}

impl Walker<'_> {
    /// A cycle from a node of the part. It is empty if a behaviour may stay in the node forever.
    ///
    /// A strongly fair action need not be taken if no node of the cycle enables it. A first cycle shows which
    /// actions have to be taken.
    pub(super) fn cycle(&self, start: Node) -> Vec<Edge> {
        let mut tasks = vec![Task::Recur];
        tasks.extend(self.constraints.weak().map(Task::TakeOrMiss));
        loop {
            let cycle = self.walk(start, tasks.clone());
            let missed: Vec<Task> = self
                .constraints
                .strong()
                .filter(|number| self.is_missed(*number, start, &cycle))
                .map(Task::Take)
                .collect();
            if missed.is_empty() {
                return cycle;
            }
            tasks.extend(missed);
        }
    }

    /// Returns true if the action of an assumption is enabled in a node of the cycle but never taken.
    fn is_missed(&self, number: usize, start: Node, cycle: &[Edge]) -> bool {
        let takes = |edge: &Edge| self.constraints.of(edge.label).contains(&number);
        let enabled = |node: Node| self.constraints.is_enabled(self.graph, number, node);
        !cycle.iter().any(takes) && (enabled(start) || cycle.iter().any(|edge| enabled(edge.to)))
    }

    /// Goes to the nearest node for a task until all tasks are done, and then returns to the start.
    fn walk(&self, start: Node, mut tasks: Vec<Task>) -> Vec<Edge> {
        tasks.retain(|task| !self.is_done_in(*task, start));
        let mut cycle: Vec<Edge> = Vec::new();
        let mut here = start;
        while !tasks.is_empty() {
            let path = self.nearest(here, |edge| tasks.iter().any(|task| self.is_done_by(*task, edge)));
            tasks.retain(|task| !path.iter().any(|edge| self.is_done_by(*task, *edge)));
            here = path.last().map_or(here, |edge| edge.to);
            cycle.extend(path);
        }
        if here != start {
            cycle.extend(self.nearest(here, |edge| edge.to == start));
        }
        cycle
    }

    fn is_done_by(&self, task: Task, edge: Edge) -> bool {
        let taken = match task {
            Task::Recur => false,
            Task::Take(number) | Task::TakeOrMiss(number) => {
                self.constraints.of(edge.label).contains(&number)
            }
        };
        taken || self.is_done_in(task, edge.to)
    }

    fn is_done_in(&self, task: Task, node: Node) -> bool {
        match task {
            Task::Recur => self.property.recurs(node),
            Task::Take(_) => false,
            Task::TakeOrMiss(number) => !self.constraints.is_enabled(self.graph, number, node),
        }
    }

    /// A shortest path within the part that ends with a wanted edge.
    fn nearest(&self, here: Node, wanted: impl Fn(Edge) -> bool) -> Vec<Edge> {
        let mut reached_by: FxHashMap<Node, Edge> = FxHashMap::default();
        let mut queue = vec![here];
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for edge in self.graph.leaving(node).filter(|edge| (self.within)(edge.to)) {
                if wanted(edge) {
                    return path_back(&reached_by, here, edge);
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

/// The path from a node to the last edge, read back along the edges by which nodes were first reached.
fn path_back(reached_by: &FxHashMap<Node, Edge>, here: Node, last: Edge) -> Vec<Edge> {
    let mut path = vec![last];
    let mut node = last.from;
    while node != here {
        let edge = reached_by[&node];
        path.push(edge);
        node = edge.from;
    }
    path.reverse();
    path
}
