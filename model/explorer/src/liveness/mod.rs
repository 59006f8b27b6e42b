//! Liveness: properties of all fair behaviours of a finite graph.
//!
//! # Semantics
//!
//! A [`Graph`] is the TLA+ specification `Init /\ [][Next]_n /\ F` over one variable `n`, the node. `Init`
//! contains the initial nodes. An action is the set of the edges with its label, and `Next` is the
//! disjunction of the actions. `F` is the conjunction of the assumptions ([`Fairness`]). [`check()`] decides
//! whether this specification implies a [`Property`], as TLC does.
//!
//! - *Stuttering.* A behaviour may stay in a node at any time, and forever if the assumptions allow it. A
//!   behaviour ends in this way in a node without edges, or in a node that only unfair actions leave. A loop
//!   at a node is a stuttering step: it neither takes nor enables an action (`<<A>>_n`).
//! - *Weak fairness* `WF_n(A)`: `A` is taken infinitely often, or is disabled infinitely often.
//! - *Strong fairness* `SF_n(A)`: `A` is taken infinitely often, or is disabled forever after some point.
//! - *Enabled* refers to the whole graph, even if a search is restricted to a part of it.
//!
//! # Method
//!
//! A behaviour that breaks a property has a tail: the nodes that it visits infinitely often. These nodes are
//! strongly connected, the property forbids to stay in them, and they satisfy every assumption. [`check()`]
//! searches for such sets among the strongly connected components of the forbidden nodes.
//!
//! If a component enables a weakly fair action in every node and never takes it, it contains no such set. If
//! it enables a strongly fair action and never takes it, a part of it can still be fair. It is searched again
//! without the nodes that enable the action. In a component that remains, a cycle is constructed. The
//! resulting [`Lasso`] is a behaviour, not only a list of nodes.
//!
//! # Caveats
//!
//! Nodes must be states, not classes of states. A quotient by symmetry does not show which pod an assumption
//! is about. A partial-order reduction omits steps that an assumption may require.

mod check;
mod constraints;
mod cycle;
mod fair;
mod graph;
mod lasso;
mod reach;

pub use check::{Predicate, Property, check};
pub use constraints::Fairness;
pub use graph::{Builder, Edge, Graph, Incomplete, Label, Node};
pub use lasso::Lasso;

#[cfg(test)]
mod tests;
