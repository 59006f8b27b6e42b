//! Runs the shipped controllers on a cluster: watches, caches, queues, clients, leader election, metrics, and the trace.
//!
//! The decisions are in `jobcheck-controller`. This crate observes the facts for them and executes their plans.
//! `docs/guide/controller.md` describes the way from an event to a write.
//!
//! | module | content |
//! | --- | --- |
//! | [`mod@run`], [`config`], [`http`] | a process: its settings, its HTTP server |
//! | [`lease`], [`fence`], [`term`] | leader election, the fence for writes, one term of leadership |
//! | [`reflector`], [`store`], [`cached`] | LIST and WATCH, a cache with its indexes, the cache entries |
//! | [`handlers`], [`queue`], [`retry`], [`workers`] | from a change to a queued key, and from a key to its sync |
//! | [`own_writes`], [`mod@read_back`], [`memories`] | fresh caches before each sync (SY-03), and the memory about Jobs |
//! | [`job_sync`], [`orphan_sync`], [`ttl_sync`], [`enact`], [`turn`] | the syncs, and the execution of plans |
//! | [`client`], [`rest`], [`failure`], [`rate_limit`], [`request_log`] | the API clients, their requests and responses |
//! | [`events`], [`metrics`], [`prometheus_text`], [`trace`] | outputs |
//! | [`permissions`], [`gates`], [`jitter`] | permission checks, feature gates, random delays |

pub mod cached;
pub mod client;
pub mod config;
pub mod enact;
pub mod events;
pub mod failure;
pub mod fence;
pub mod gates;
pub mod handlers;
pub mod http;
pub mod jitter;
pub mod job_sync;
pub mod lease;
pub mod memories;
pub mod metrics;
pub mod orphan_sync;
pub mod own_writes;
pub mod permissions;
pub mod prometheus_text;
pub mod queue;
pub mod rate_limit;
pub mod read_back;
pub mod reflector;
pub mod request_log;
pub mod rest;
pub mod retry;
pub mod run;
pub mod store;
pub mod term;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod ttl_sync;
pub mod turn;
pub mod workers;
