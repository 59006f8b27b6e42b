//! The environment: every actor that is not a subject of the exploration.
//!
//! Each file contains one actor. Its `enabled` function lists the steps that the actor can take in a state,
//! and its `apply` function takes a step.

pub mod caches;
pub mod clock;
pub mod collector;
pub mod crashes;
pub mod disruption;
pub mod kubelet;
pub mod refusals;
pub mod rollouts;
pub mod user;
