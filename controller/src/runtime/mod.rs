//! The shell around the decisions: watches, queues, clients, leases, and what a process shows of itself.

pub mod gates;
pub mod go_duration;
pub mod rate_limit;
