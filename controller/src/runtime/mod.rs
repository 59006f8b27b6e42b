//! The shell around the decisions: watches, queues, clients, leases, and what a process shows of itself.

pub mod answer;
pub mod client;
pub mod config;
pub mod enact;
pub mod events;
pub mod fence;
pub mod gates;
pub mod handlers;
pub mod http;
pub mod jitter;
pub mod job_sync;
pub mod kept;
pub mod lease;
pub mod memories;
pub mod metrics;
pub mod orphan_sync;
pub mod own_writes;
pub mod permissions;
pub mod prometheus_text;
pub mod proof;
pub mod queue;
pub mod rate_limit;
pub mod reflector;
pub mod rest;
pub mod retry;
pub mod run;
pub mod signals;
pub mod store;
pub mod term;
#[cfg(test)]
pub mod testing;
pub mod trace;
pub mod ttl_sync;
pub mod wire;
pub mod workers;
