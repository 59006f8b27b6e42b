//! An API server for tests of Kubernetes controllers, in the process of the test.
//!
//! It serves Jobs, pods, and what controllers need beside them (Events, Leases, Namespaces, Nodes, ServiceAccounts), with
//! the defaults, validation, conflicts, deletions, and watches of kube-apiserver. A kubelet runs pods, and the garbage
//! collectors work. Time is tokio's: in a test with a paused clock, hours take milliseconds.
//!
//! The server is a [`tower::Service`](https://docs.rs/tower), so that any version of `kube` can use it. It records every
//! request, and judges whether your controller did what the specification of Kubernetes' Job controller demands.
//!
//! ```
//! use jobcheck_testserver::{Pods, TestServer};
//! use kube::api::{Api, PostParams};
//! use k8s_openapi::api::batch::v1::Job;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let server = TestServer::builder().seed(7).pods(Pods::Succeed).start();
//!
//! // A client for the test, and one for the controller.
//! let user = kube::Client::new(server.service_of("alice"), "default");
//! let client = kube::Client::new(server.service(), "default");
//!
//! let job = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "pi"},
//!     "spec": {"template": {"spec": {
//!         "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}
//! })).unwrap();
//! let jobs: Api<Job> = Api::default_namespaced(user);
//! jobs.create(&PostParams::default(), &job).await.unwrap();
//!
//! // Here your controller would run, with `client`.
//! # drop(client);
//! let verdict = server.verdict();
//! assert!(!verdict.violates());
//! # }
//! ```
//!
//! | item | content |
//! | --- | --- |
//! | [`TestServer`], [`Builder`] | the server, and its settings |
//! | [`Faults`] | conflicts, errors, lost responses, and lagging watches, by seed |
//! | [`Pods`] | how pods end |
//! | [`Manages`] | the Jobs of the controller under test |
//! | [`Verdict`] | the judgement of the recorded requests |
//!
//! The guide `docs/guide/library.md` has a whole test. `docs/reference/apiserver.md` lists the differences from
//! kube-apiserver.

mod faults;
mod node;
mod recording;
mod server;
mod verdict;

pub use faults::Faults;
pub use jobcheck_apiserver::http::ApiService;
pub use node::{ExitCode, Pods};
pub use server::{Builder, Manages, TestServer, TimedOut};
pub use verdict::Verdict;
