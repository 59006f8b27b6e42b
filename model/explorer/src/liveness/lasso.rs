//! An infinite behaviour of a finite graph.

use super::graph::{Edge, Node};

/// A behaviour that goes along a prefix and then round a cycle for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The initial node in which it starts.
    pub start: Node,
    /// The steps to the first node of the cycle.
    pub prefix: Vec<Edge>,
    /// The steps from that node back to it; none if the behaviour stays in that node for ever.
    pub cycle: Vec<Edge>,
}

impl Lasso {
    /// The node in which the cycle starts and ends.
    #[must_use]
    pub fn cycle_start(&self) -> Node {
        self.prefix.last().map_or(self.start, |edge| edge.to)
    }

    /// Returns true if nothing happens any more at its end.
    #[must_use]
    pub fn stutters(&self) -> bool {
        self.cycle.is_empty()
    }
}
