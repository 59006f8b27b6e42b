//! The specification of the Kubernetes Job and TTL-after-finished controllers.
//!
//! It is a relation: which writes are allowed in a state. [`guards`] has one module for each kind of write;
//! a guard reads a [`view::View`] where a requirement is about a decision, and what etcd held where it is about
//! the truth. [`apiserver`] is what kube-apiserver accepts. [`catalogue`] lists every requirement once.

pub mod apiserver;
pub mod backoff;
pub mod catalogue;
pub mod constants;
pub mod failure_policy;
pub mod gates;
pub mod guards;
pub mod incarnation;
pub mod indexes;
pub mod job;
pub mod pod;
pub mod pods;
pub mod requirement;
pub mod time;
pub mod uid;
pub mod view;
pub mod words;

pub use catalogue::{CATALOGUE, Req};
pub use indexes::{Index, IndexSet};
pub use requirement::{Binds, Broken, Findings, Judged, Level, Operand, Requirement};
pub use time::Time;
pub use uid::Uid;
