//! The liveness properties, and the search for a fair behaviour that breaks one.

use super::constraints::{Constraints, Fairness};
use super::cycle::Walker;
use super::fair::FairParts;
use super::graph::{Graph, Node};
use super::lasso::Lasso;
use super::reach::Reach;

/// A predicate on nodes.
pub type Predicate<'a> = &'a dyn Fn(Node) -> bool;

/// A property of every fair behaviour.
#[derive(Clone, Copy)]
pub enum Property<'a> {
    /// `<>goal`: the behaviour visits a goal at least once.
    Eventually(Predicate<'a>),
    /// `[]<>goal`: after every node of the behaviour, a goal follows.
    AlwaysEventually(Predicate<'a>),
    /// `<>[]goal`: the behaviour finally visits only goals.
    EventuallyAlways(Predicate<'a>),
    /// `p ~> q`, which is `[](p => <>q)`: each node with `p` has `q`, or a later node has.
    LeadsTo(Predicate<'a>, Predicate<'a>),
}

/// A behaviour breaks a property if its tail stays in nodes where it must not stay. These methods define
/// where a tail may start, where it may go, and what it must visit infinitely often.
impl Property<'_> {
    /// Returns true if a tail may start in this node. `first` is true for the first node of a behaviour.
    pub(super) fn starts_tail(&self, node: Node, first: bool) -> bool {
        match self {
            Property::Eventually(_) | Property::EventuallyAlways(_) => first,
            Property::AlwaysEventually(_) => true,
            Property::LeadsTo(p, _) => p(node),
        }
    }

    /// Returns true if a tail may start after the first node.
    pub(super) fn has_late_tails(&self) -> bool {
        match self {
            Property::Eventually(_) | Property::EventuallyAlways(_) => false,
            Property::AlwaysEventually(_) | Property::LeadsTo(..) => true,
        }
    }

    /// Returns true if a tail may visit this node.
    pub(super) fn allows_in_tail(&self, node: Node) -> bool {
        match self {
            Property::Eventually(goal) | Property::AlwaysEventually(goal) | Property::LeadsTo(_, goal) => {
                !goal(node)
            }
            // The tail may also visit goals infinitely often.
            Property::EventuallyAlways(_) => true,
        }
    }

    /// Returns true if the tail must visit this node, or another such node, infinitely often.
    pub(super) fn recurs(&self, node: Node) -> bool {
        match self {
            Property::Eventually(_) | Property::AlwaysEventually(_) | Property::LeadsTo(..) => true,
            Property::EventuallyAlways(goal) => !goal(node),
        }
    }
}

/// Checks that every behaviour of the graph that satisfies the assumptions has the property.
///
/// # Guarantees
///
/// The result is exact, cycles included ([`super`]). The order of nodes and edges determines only which of
/// several lassos is returned. The prefix of this lasso is the shortest one that leads to a fair cycle. Its
/// cycle is short, but not always the shortest.
///
/// # Errors
///
/// Returns a fair behaviour that breaks the property.
pub fn check(graph: &Graph, fairness: &[Fairness], property: &Property<'_>) -> Result<(), Lasso> {
    let constraints = Constraints::new(fairness);
    let reach = Reach::search(graph, property);
    let parts = FairParts::search(graph, &constraints, property, reach.tail().collect());
    let Some(entry) = reach.tail().find(|node| parts.of(*node).is_some()) else {
        return Ok(());
    };
    let (start, prefix) = reach.path(graph, entry);
    let part = parts.of(entry);
    let within = |node: Node| parts.of(node) == part;
    let cycle = Walker { graph, constraints: &constraints, property, within: &within }.cycle(entry);
    Err(Lasso { start, prefix, cycle })
}
