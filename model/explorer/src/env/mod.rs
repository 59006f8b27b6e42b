//! The environment: everything that happens to Jobs and pods without a controller under judgement.
//!
//! One file for each actor; in each, `enabled` says what it can do, and `apply` what comes of it.

pub mod caches;
pub mod clock;
pub mod collector;
pub mod crashes;
pub mod disruption;
pub mod kubelet;
pub mod refusals;
pub mod rollouts;
pub mod user;
