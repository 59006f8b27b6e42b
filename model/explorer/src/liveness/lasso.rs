//! An infinite behaviour of a finite graph.

use super::graph::{Edge, Node};

/// A behaviour that consists of a prefix and a cycle that repeats forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The initial node.
    pub start: Node,
    /// The steps to the first node of the cycle.
    pub prefix: Vec<Edge>,
    /// The steps of the cycle. It is empty if the behaviour stays in one node forever.
    pub cycle: Vec<Edge>,
}

impl Lasso {
    /// The node in which the cycle starts and ends.
    #[must_use]
    pub fn cycle_start(&self) -> Node {
        self.prefix.last().map_or(self.start, |edge| edge.to)
    }

    /// Returns true if the behaviour stays in one node forever.
    #[must_use]
    pub fn stutters(&self) -> bool {
        self.cycle.is_empty()
    }
}
