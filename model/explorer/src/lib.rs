//! The explorer: every behaviour of small scopes, held against properties.
//!
//! [`world`] is the state of a cluster, [`step`] what may happen in it, [`properties`] what must hold for ever,
//! and [`mod@check`] the search.

pub mod alphabet;
pub mod check;
pub mod compact;
pub mod counterexample;
pub mod engine;
pub mod env;
pub mod exploration;
pub mod ghost;
pub mod knowledge;
pub mod liveness;
pub mod mutants;
pub mod mutations;
pub mod narrative;
pub mod obligations;
pub mod process;
pub mod progress;
pub mod properties;
pub mod reference;
pub mod scope;
pub mod scopes;
pub mod script;
pub mod step;
pub mod transition;
pub mod ttl;
pub mod world;
