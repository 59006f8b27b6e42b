//! Progress: whether something happens at last, in every fair behaviour of a finite graph.
//!
//! # Semantics
//!
//! A [`Graph`] is the TLA+ specification `Init /\ [][Next]_n /\ F` over one variable `n`, the node: `Init` names
//! the initial nodes, `Next` is the disjunction of the actions, an action is the set of the edges with its label,
//! and `F` is the conjunction of the assumptions ([`Fairness`]). [`check`] says whether that specification
//! implies a [`Property`], as TLC does.
//!
//! - *Stuttering.* Every behaviour may stay where it is at any time, and for ever if no assumption is against it:
//!   that is how one ends in a node without edges, or in one that only unfair actions leave. A loop at one node
//!   changes nothing, is a stuttering step, and so neither takes nor enables an action (`<<A>>_n`).
//! - *Weak fairness* `WF_n(A)`: `A` is taken again and again, or is disabled again and again.
//! - *Strong fairness* `SF_n(A)`: `A` is taken again and again, or is disabled for ever from some moment on.
//! - *Enabled* is what the whole graph says. A search that looks at a part of it asks the whole all the same.
//!
//! # How
//!
//! A behaviour that breaks a property has a tail: the nodes that it visits again and again are strongly connected,
//! lie where the property forbids to stay for ever, and keep every assumption. [`check`] looks for such sets among
//! the strongly connected components of the forbidden part. A component where a weakly fair action is enabled
//! everywhere and never taken has none. One where a strongly fair action is enabled and never taken is searched
//! again without the nodes that enable it, since a part of an unfair component can be fair. What remains is
//! walked: the [`Lasso`] is a behaviour, not a list of nodes.
//!
//! # Caveats
//!
//! Nodes must be states, not classes of them: a quotient by symmetry forgets which pod it was that an assumption
//! is about, and a partial order reduction leaves out steps that an assumption asks for.

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
