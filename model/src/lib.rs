//! The specification of the Kubernetes Job and TTL-after-finished controllers.
//!
//! It is a relation: which writes are allowed in a state. [`guards`] has one module for each kind of write;
//! a guard reads a [`view::View`] where a requirement is about a decision, and what etcd held where it is about
//! the truth. [`apiserver`] is what kube-apiserver accepts. [`catalogue`] lists every requirement once.
//!
//! The same guards judge recorded traces (crate `jobcheck-harness`) and bound the exploration of small scopes:
//! [`world`] is the state of a cluster, [`step`] what may happen in it, [`properties`] what must hold for ever,
//! and [`mod@check`] the search.

pub mod algorithm;
pub mod apiserver;
pub mod backoff;
pub mod catalogue;
pub mod check;
pub mod constants;
pub mod env;
pub mod explore;
pub mod failure_policy;
pub mod gates;
pub mod guards;
pub mod incarnation;
pub mod indexes;
pub mod job;
pub mod manager;
pub mod mutants;
pub mod past;
pub mod pod;
pub mod pods;
pub mod progress;
pub mod properties;
pub mod requirement;
pub mod scope;
pub mod scopes;
pub mod script;
pub mod step;
pub mod subject;
pub mod time;
pub mod ttl;
pub mod uid;
pub mod view;
mod words;
pub mod world;

pub use catalogue::{CATALOGUE, Req};
pub use indexes::{Index, IndexSet};
pub use requirement::{Binds, Broken, Findings, Judged, Level, Requirement, Said};
pub use time::Time;
pub use uid::Uid;
