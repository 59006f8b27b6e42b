//! A finite graph whose edges are labelled with actions.

use std::fmt;
use std::ops::Range;

/// A state, by its number.
pub type Node = u32;

/// An action, by its number.
pub type Label = u16;

/// Edge numbers from here on have other meanings, see [`super::reach`].
const MOST_EDGES: usize = u32::MAX as usize - 8;

/// The highest bit of a node says where in a behaviour it is, see [`super::reach`].
const MOST_NODES: usize = 1 << 31;

/// A step from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Where it starts.
    pub from: Node,
    /// The action that it takes.
    pub label: Label,
    /// Where it ends.
    pub to: Node,
}

/// A finite graph: initial nodes, and edges labelled with actions.
///
/// It takes six bytes for each edge, and four for each node.
#[derive(Clone, Debug)]
pub struct Graph {
    initial: Vec<Node>,
    /// The first edge of each node, and the number of all edges.
    first: Vec<u32>,
    labels: Vec<Label>,
    targets: Vec<Node>,
}

/// A graph that is being built, in the order in which an exploration looks at its nodes.
#[derive(Clone, Debug)]
pub struct Builder(Graph);

/// Why a graph cannot be checked. None of this is ever a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// A node was named whose edges were never told: the search was cut.
    Node(Node),
    /// There are more nodes or edges than the numbers have room for.
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
    /// A graph without nodes.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Behaviours may start in this node.
    pub fn initial(&mut self, node: Node) {
        self.0.initial.push(node);
    }

    /// Tells all edges of the next node: of node 0 the first time, then of node 1, and so on.
    ///
    /// An edge from the node to itself changes nothing. It is a stuttering step, and is not kept.
    pub fn node(&mut self, edges: impl IntoIterator<Item = (Label, Node)>) {
        let graph = &mut self.0;
        let node = graph.nodes();
        for (label, to) in edges.into_iter().filter(|(_, to)| *to as usize != node) {
            graph.labels.push(label);
            graph.targets.push(to);
        }
        // More edges than `u32` can number are refused by `finish`.
        graph.first.push(u32::try_from(graph.targets.len()).unwrap_or(u32::MAX));
    }

    /// The graph, if it is whole.
    ///
    /// # Errors
    ///
    /// Where a node was named and never told of.
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
    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of edges, loops at one node not among them.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The nodes in which behaviours start.
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

    /// Where an edge ends.
    pub(super) fn target(&self, number: u32) -> Node {
        self.targets[number as usize]
    }

    /// The action of an edge.
    pub(super) fn label(&self, number: u32) -> Label {
        self.labels[number as usize]
    }

    /// The edge of this number.
    pub(super) fn edge(&self, number: u32) -> Edge {
        // Nodes without edges share their offset with the next one; the last of them is the one that has any.
        let from = self.first.partition_point(|first| *first <= number) - 1;
        self.ending_at(Node::try_from(from).unwrap_or(Node::MAX), number)
    }

    fn ending_at(&self, from: Node, number: u32) -> Edge {
        Edge { from, label: self.label(number), to: self.target(number) }
    }
}
