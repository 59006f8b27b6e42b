//! A fault proxy: it stands between a controller and an API server, and makes what goes wrong on real clusters happen
//! when somebody wants it.
//!
//! | what | where |
//! | --- | --- |
//! | the proxy: its address, its certificate, its end | [`FaultProxy`], [`Handle`] |
//! | what an API server would call the attributes of a request | [`Asked`] |
//! | what becomes of a request: refused, cut, its answer lost, held until later | [`Handling`] |
//! | who decides that: rules, or code of one's own | [`Decider`], [`Rules`] |
//! | watches that stand still, skip, end, or expire | [`Handle::hold`], [`Handle::release`], [`Handle::cut`] |
//!
//! # Guarantees
//!
//! - Where nothing is to go wrong, requests and answers pass as they are, but for this: each request gets an `Audit-ID`
//!   ([`Asked::id`]), by which it is found in the audit log; and watches are asked for in JSON, which can be told apart into
//!   events, whatever the client speaks.
//! - A request that is refused or cut before has never reached the API server. One whose answer is lost, or that was held,
//!   reaches it also when its sender is gone.
//! - The order within a watch stays. Bookmarks wait like the rest, so that a client is never told of a version whose
//!   events it lacks. A LIST is a request and no watch, and so are the initial events of a watch that begins with them:
//!   they show what is stored even while watches stand still.
//!
//! # Caveats
//!
//! Watches of metadata alone, as garbage collectors have them, are never held. Bodies in protobuf are passed on, but not
//! read. Whoever has the token of the [`Handle::kubeconfig`] acts as the account of the upstream configuration.

mod certificate;
mod error;
mod forward;
mod handling;
mod proxy;
mod request;
mod rules;
mod upstream;
mod watch;

pub use error::Error;
pub use handling::{Handling, Held, Late, Refusal, held};
pub use proxy::{FaultProxy, Handle};
pub use request::{Asked, Verb};
pub use rules::{Applied, Decider, Decision, Match, Rules};
pub use watch::{Cut, Delivery, Watched};
