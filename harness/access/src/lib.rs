//! Access to an API server, for the controllers, recordings, and runs on clusters.
//!
//! | part | item |
//! | --- | --- |
//! | the configuration of a client from a kubeconfig, and its address in messages | [`config()`], [`shown_address`] |
//! | the first questions to an API server, which may be overloaded | [`patiently`] |
//! | limits on events of watches and other responses | [`EventLimit`] |
//! | objects of which a single one may be unreadable | [`Readable`] |
//! | versions that the API server refuses | [`refuses_version`] |
//! | texts of errors | [`with_causes`] |
//!
//! # Guarantees
//!
//! - No text of an error quotes a kubeconfig, a token, or the output of a credential plugin.
//! - A cluster on this machine, or one that `NO_PROXY` names, is never reached by the proxy of the environment.
//!
//! # Caveats
//!
//! Proxies are not supported: a cluster that is reached only by one is an error.

mod error;
mod events;
mod kubeconfig;
mod objects;
mod patience;
mod proxy;
mod refusal;

pub use error::with_causes;
pub use events::{
    EventLimit, EventTooLong, LimitedBody, LimitedService, MAX_EVENT, MAX_RESPONSE, ResponseTooLong,
    is_too_long,
};
pub use kubeconfig::{config, shown_address};
pub use objects::{Readable, Unreadable};
pub use patience::{PATIENCE, RESPONSE_TIME, Unanswered, patiently};
pub use refusal::refuses_version;
