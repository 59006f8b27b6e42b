//! The shipped Job and TTL-after-finished controllers, in the form `observe → plan → enact`.
//!
//! - **observe** copies facts from the caches.
//! - **plan** decides. [`job::plan::plan`], [`job::orphan::plan`], and [`ttl::plan::plan`] are pure functions from facts to
//!   commands. They read no clock, make no call, and know no type of the API. jobcheck explores them exhaustively.
//! - **enact** executes a plan call by call ([`job::enactment`]).
//!
//! This crate has no client and no thread. `jobcheck controller` runs both controllers with the crate
//! `jobcheck-controller-runtime`. The decisions can be used alone:
//!
//! ```
//! use jobcheck_controller::job::command::Command;
//! use jobcheck_controller::job::memory::Memory;
//! use jobcheck_controller::job::observe;
//! use jobcheck_controller::job::observed::{Observed, Settings};
//! use jobcheck_controller::job::plan::plan;
//! use jobcheck_controller::values::Time;
//!
//! let job: k8s_openapi::api::batch::v1::Job = serde_json::from_value(serde_json::json!({
//!     "metadata": { "namespace": "default", "name": "sum", "uid": "a1", "resourceVersion": "7" },
//!     "spec": { "parallelism": 2, "completions": 4, "template": {} },
//! }))?;
//!
//! let plan = plan(&Observed {
//!     job: &observe::job(&job)?,
//!     pods: &[],
//!     memory: &Memory::default(),
//!     caches_show_own_writes: true,
//!     now: Time::from_seconds(1_000_000),
//!     settings: &Settings::default(),
//! });
//!
//! // A new Job: the first status is written, then two pods are created.
//! let commands: Vec<&Command> = plan.commands().collect();
//! let [Command::WriteStatus(write), Command::CreatePods(creation)] = &commands[..] else {
//!     panic!("unexpected commands: {commands:?}");
//! };
//! assert_eq!(write.after.start_time, Some(Time::from_seconds(1_000_000)));
//! assert_eq!(creation.pods.len(), 2);
//! assert_eq!(plan.decisions[0].requirement, "PC-08");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | content |
//! | --- | --- |
//! | [`job`] | the Job controller: facts, decision, plan, enactment, requests |
//! | [`ttl`] | the TTL-after-finished controller |
//! | [`answer`], [`values`] | responses of the API server, and small values |
//!
//! `docs/guide/controller.md` describes the way from an event to a write, and `docs/reference/differences.md` the differences from the built-in
//! controllers. Ids such as PC-08 name requirements (`docs/reference/requirements`) and known deviations
//! (`docs/reference/deviations.md`).

pub mod answer;
pub mod job;
pub mod ttl;
pub mod values;
