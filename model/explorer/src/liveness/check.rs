//! The properties, and the search for a fair behaviour that breaks one.

use super::constraints::{Constraints, Fairness};
use super::cycle::Walker;
use super::fair::FairParts;
use super::graph::{Graph, Node};
use super::lasso::Lasso;
use super::reach::Reach;

/// A predicate on nodes.
pub type Predicate<'a> = &'a dyn Fn(Node) -> bool;

/// What every fair behaviour must do.
#[derive(Clone, Copy)]
pub enum Property<'a> {
    /// `<>goal`: it visits a goal once; what comes afterwards does not matter.
    Eventually(Predicate<'a>),
    /// `[]<>goal`: from every reachable node on it visits a goal, be it that it leaves it again.
    AlwaysEventually(Predicate<'a>),
    /// `<>[]goal`: from some moment on it visits nothing but goals.
    EventuallyAlways(Predicate<'a>),
    /// `p ~> q`, that is `[](p => <>q)`: after each node with `p`, or in it, there is one with `q`.
    LeadsTo(Predicate<'a>, Predicate<'a>),
}

/// A behaviour breaks a property if from some moment on, its tail, it stays where it must not stay for ever. These
/// say when the tail may start, where it may go, and what it must visit again and again.
impl Property<'_> {
    /// Returns true if the tail may start in this node; `first` says that the behaviour does.
    pub(super) fn starts_tail(&self, node: Node, first: bool) -> bool {
        match self {
            Property::Eventually(_) | Property::EventuallyAlways(_) => first,
            Property::AlwaysEventually(_) => true,
            Property::LeadsTo(p, _) => p(node),
        }
    }

    /// Returns true if the tail may start anywhere but in the first node.
    pub(super) fn has_late_tails(&self) -> bool {
        match self {
            Property::Eventually(_) | Property::EventuallyAlways(_) => false,
            Property::AlwaysEventually(_) | Property::LeadsTo(..) => true,
        }
    }

    /// Returns true if the tail may visit this node.
    pub(super) fn allows_in_tail(&self, node: Node) -> bool {
        match self {
            Property::Eventually(goal) | Property::AlwaysEventually(goal) | Property::LeadsTo(_, goal) => {
                !goal(node)
            }
            // Goals may be visited again and again, if only something else is, too.
            Property::EventuallyAlways(_) => true,
        }
    }

    /// Returns true if this is one of the nodes of which the tail must visit some again and again.
    pub(super) fn recurs(&self, node: Node) -> bool {
        match self {
            Property::Eventually(_) | Property::AlwaysEventually(_) | Property::LeadsTo(..) => true,
            Property::EventuallyAlways(goal) => !goal(node),
        }
    }
}

/// Returns true if every behaviour of the graph that keeps the assumptions has the property.
///
/// # Guarantees
///
/// The answer is exact, cycles included, see [`super`]. It depends on the order of nodes and edges only in which
/// of several lassos is told. No prefix to a fair cycle is shorter than the one that is told; its cycle is short,
/// not the shortest.
///
/// # Errors
///
/// A fair behaviour that breaks the property.
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
