//! A finite graph whose edges are labelled with actions.

use std::fmt;
use std::ops::Range;

/// The number of a state.
pub type Node = u32;

/// The number of an action.
pub type Label = u16;

/// Larger edge numbers have other meanings ([`super::reach`]).
const MOST_EDGES: usize = u32::MAX as usize - 8;

/// The highest bit of a node distinguishes the parts of a behaviour ([`super::reach`]).
const MOST_NODES: usize = 1 << 31;

/// A step from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The node before the step.
    pub from: Node,
    /// The action of the step.
    pub label: Label,
    /// The node after the step.
    pub to: Node,
}

/// A finite graph with initial nodes and labelled edges.
///
/// It takes six bytes for each edge and four for each node.
#[derive(Clone, Debug)]
pub struct Graph {
    initial: Vec<Node>,
    /// The first edge of each node, and then the number of edges.
    first: Vec<u32>,
    labels: Vec<Label>,
    targets: Vec<Node>,
}

/// A graph under construction. Nodes are added in the order in which an exploration visits them.
#[derive(Clone, Debug)]
pub struct Builder(Graph);

/// The reason why a graph cannot be checked. An incomplete graph never passes a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// An edge leads to this node, but the node was not added: the search was cut.
    Node(Node),
    /// The graph has more nodes or edges than the numbers allow.
    TooLarge,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incomplete::Node(node) => write!(f, "node {node} was never looked at"),
            Incomplete::TooLarge => f.write_str("the graph is too large"),
        }
    }
}

impl std::error::Error for Incomplete {}

impl Default for Builder {
    fn default() -> Builder {
        Builder(Graph { initial: Vec::new(), first: vec![0], labels: Vec::new(), targets: Vec::new() })
    }
}

impl Builder {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Declares an initial node.
    pub fn initial(&mut self, node: Node) {
        self.0.initial.push(node);
    }

    /// Adds the next node with all its edges: first node 0, then node 1, and so on.
    ///
    /// An edge from the node to itself is a stuttering step, and is not stored.
    pub fn node(&mut self, edges: impl IntoIterator<Item = (Label, Node)>) {
        let graph = &mut self.0;
        let node = graph.nodes();
        for (label, to) in edges.into_iter().filter(|(_, to)| *to as usize != node) {
            graph.labels.push(label);
            graph.targets.push(to);
        }
        // `finish` refuses a graph with more edges than `u32` can number.
        graph.first.push(u32::try_from(graph.targets.len()).unwrap_or(u32::MAX));
    }

    /// The finished graph.
    ///
    /// # Errors
    ///
    /// Returns an error if an edge leads to a node that was not added, or if the graph is too large.
    pub fn finish(self) -> Result<Graph, Incomplete> {
        let graph = self.0;
        if graph.nodes() > MOST_NODES || graph.targets.len() > MOST_EDGES {
            return Err(Incomplete::TooLarge);
        }
        let named = graph.initial.iter().chain(&graph.targets);
        match named.copied().find(|node| *node as usize >= graph.nodes()) {
            Some(node) => Err(Incomplete::Node(node)),
            None => Ok(graph),
        }
    }
}

impl Graph {
    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The number of edges, without loops at a single node.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The initial nodes.
    #[must_use]
    pub fn initial(&self) -> &[Node] {
        &self.initial
    }

    /// The edges that leave a node.
    pub fn leaving(&self, node: Node) -> impl Iterator<Item = Edge> + '_ {
        self.numbers(node).map(move |number| self.ending_at(node, number))
    }

    /// The numbers of the edges that leave a node.
    pub(super) fn numbers(&self, node: Node) -> Range<u32> {
        self.first[node as usize]..self.first[node as usize + 1]
    }

    /// The node after an edge.
    pub(super) fn target(&self, number: u32) -> Node {
        self.targets[number as usize]
    }

    /// The action of an edge.
    pub(super) fn label(&self, number: u32) -> Label {
        self.labels[number as usize]
    }

    /// The edge with this number.
    pub(super) fn edge(&self, number: u32) -> Edge {
        // Nodes without edges have the same offset as the next node. The last node with this offset has the
        // edge.
        let from = self.first.partition_point(|first| *first <= number) - 1;
        self.ending_at(Node::try_from(from).unwrap_or(Node::MAX), number)
    }

    fn ending_at(&self, from: Node, number: u32) -> Edge {
        Edge { from, label: self.label(number), to: self.target(number) }
    }
}
