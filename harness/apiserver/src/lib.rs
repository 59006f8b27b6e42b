//! An API server in memory with the semantics of kube-apiserver 1.36, for Jobs, Pods, Events, Leases, Namespaces,
//! Nodes, and ServiceAccounts.
//!
//! | layer | where |
//! | --- | --- |
//! | what etcd holds: revisions, history, compaction | [`store`] |
//! | requests and answers as plain data | [`request`], [`error`] |
//! | the server: verbs, watches, rules | [`server`], [`watch`] |
//! | garbage collection, pod garbage collection, namespaces, a kubelet: steps that are asked for | [`Server`], [`kubelet`] |
//! | over HTTP, in the process or on a socket (feature `http`, on by default) | `http` |
//! | faults and audit events | [`faults`], [`audit`] |
//!
//! The rules of Jobs are those of the specification (`jobcheck_spec::apiserver`). The core is a function of its
//! configuration, the requests, and the times that are passed in: it reads no clock and draws nothing.
//!
//! What is not as upstream is listed in `docs/reference/apiserver.md`.

pub mod audit;
mod collector;
mod create;
mod delete;
pub mod error;
mod events_api;
pub mod faults;
#[cfg(feature = "http")]
pub mod http;
mod identity;
pub mod kubelet;
mod list;
mod names;
mod object;
mod patch;
mod pod_api;
pub mod request;
pub mod resource;
mod rules;
mod schema;
pub mod selector;
pub mod server;
pub mod store;
mod update;
pub mod watch;

pub use server::{Config, Server};
pub use store::exchange_texts;
