//! The shell around the decisions: watches, queues, clients, leases, and what a process shows of itself.

pub mod answer;
pub mod client;
pub mod events;
pub mod fence;
pub mod gates;
pub mod go_duration;
pub mod http;
pub mod jitter;
pub mod lease;
pub mod metrics;
pub mod own_writes;
pub mod prometheus_text;
pub mod queue;
pub mod rate_limit;
pub mod reflector;
pub mod retry;
pub mod store;
pub mod trace;
pub mod wire;
