//! An embedded API server: kube-apiserver 1.36 in memory, for Jobs, Pods, Events, Leases, Namespaces, Nodes, and
//! ServiceAccounts.
//!
//! It serves tests, simulations, and local clusters that need no etcd. Requests are plain data, and time is a
//! parameter, so a test controls both:
//!
//! ```
//! use jobcheck_apiserver::request::{Request, Verb};
//! use jobcheck_apiserver::resource::Resource;
//! use jobcheck_apiserver::{Config, Server};
//! use serde_json::json;
//!
//! let now = "2026-01-01T00:00:00Z".parse().unwrap();
//! let mut server = Server::new(Config::default(), now);
//!
//! let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]});
//! let job = json!({"metadata": {"name": "pi"}, "spec": {"completions": 3, "template": {"spec": pod}}});
//! let create = Request::new(Resource::Jobs, Some("default"), None, Verb::Create(job));
//!
//! // The stored Job has the defaults and the generated fields of kube-apiserver.
//! let stored = server.handle(now, &create).object().unwrap();
//! assert_eq!(stored["spec"]["backoffLimit"], 6);
//! assert_eq!(stored["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
//!
//! // A second Job of the same name is refused in kube-apiserver's words.
//! let refused = server.handle(now, &create).outcome.unwrap_err();
//! assert_eq!((refused.code, refused.message.as_str()), (409, "jobs.batch \"pi\" already exists"));
//! ```
//!
//! | part | module |
//! | --- | --- |
//! | the contents of etcd: revisions, history, compaction | [`store`] |
//! | requests and responses as plain data | [`request`], [`error`], [`resource`] |
//! | the server: verbs, watches, rules | [`server`], [`watch`], [`selector`] |
//! | garbage collector, pod garbage collector, namespace controller: methods that do one round | [`Server`] |
//! | a kubelet for tests | [`kubelet`] |
//! | HTTP, in the same process or on a socket (feature `http`, on by default) | [`mod@http`] |
//! | faults and audit events | [`faults`], [`audit`] |
//!
//! The rules of Jobs are those of the specification (`jobcheck_spec::apiserver`). The server is a function of its
//! configuration, the requests, and their times: it reads no clock and no randomness.
//!
//! `docs/reference/apiserver.md` lists the differences from kube-apiserver.

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
mod weight;

pub use server::{Config, Server};
pub use store::exchange_texts;
