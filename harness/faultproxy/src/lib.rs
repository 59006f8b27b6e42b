//! A fault proxy: a reverse proxy between a controller and an API server that injects faults on request.
//!
//! A test starts a [`FaultProxy`], passes the kubeconfig of its [`Handle`] to the controller, and adds [`Rules`]:
//!
//! ```no_run
//! use jobcheck_faultproxy::{FaultProxy, Handling, Match, Refusal, Rules, Verb};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::default();
//! let proxy = FaultProxy::of(kube::Config::infer().await?).decided_by(rules.clone()).start().await?;
//! std::fs::write("kubeconfig", proxy.kubeconfig()?)?;
//!
//! // The second status write of a Job fails with 409. It never reaches the API server.
//! let status = Match { verb: Some(Verb::Update), kind: Some("jobs/status".to_owned()), ..Match::default() };
//! rules.push(status, 1, 1, |_| Handling::Refuse(Refusal::Conflict));
//! # Ok(())
//! # }
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | the proxy and the handle of a running one | [`FaultProxy`], [`Handle`] |
//! | the attributes of a request, as an API server derives them | [`RequestInfo`] |
//! | the handling of a request: refuse, cut, lose the response, hold | [`Handling`] |
//! | the decision: rules, or a trait for other code | [`Rules`], [`Decider`] |
//! | watches that are held, coalesced, ended, or expired | [`Handle::hold`], [`Handle::release`], [`Handle::cut`] |
//!
//! # Guarantees
//!
//! - Requests and responses without a fault pass unchanged, with two exceptions. Each request gets an `Audit-ID`
//!   ([`RequestInfo::id`]), by which it is found in the audit log. Watches request JSON, whatever the client accepts.
//! - A request that is refused or cut never reaches the API server. A request that is held, or whose response is lost,
//!   reaches it also if its sender has disconnected.
//! - The order of events within a watch is kept. Bookmarks wait like other events, so that no client learns of a version
//!   whose events it lacks. A LIST is never held, and neither are the initial events of a watch that begins with them.
//!
//! # Caveats
//!
//! Watches of metadata alone, as garbage collectors use them, are never held. Bodies in protobuf are forwarded, but not
//! decoded. A client with the token of [`Handle::kubeconfig`] acts as the account of the upstream configuration.

mod error;
mod forward;
mod handling;
mod proxy;
mod request;
mod rules;
mod upstream;
mod watch;

pub use error::Error;
pub use handling::{Handling, HeldRequest, Hold, Refusal, hold};
pub use proxy::{FaultProxy, Handle};
pub use request::{RequestInfo, Verb};
pub use rules::{ActiveRule, Decider, Decision, Match, Rules};
pub use watch::{Cut, Delivery, Watched};
