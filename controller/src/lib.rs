//! Job and TTL-after-finished controllers.
//!
//! `observe → plan → enact`: [`job::plan`](job::plan::plan) and [`ttl::plan`](ttl::plan::plan) are pure functions from
//! facts to commands. They read no clock, make no call and know no Kubernetes type. `runtime` (a feature, on by default)
//! is the shell around them.

pub mod answer;
pub mod job;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod ttl;
pub mod values;
