//! Checks a Kubernetes Job controller of yours in `cargo test`.
//!
//! You write a controller that creates pods for Jobs, or one that mirrors the status of a Job from another cluster. This
//! crate runs its decisions in every behaviour of a small cluster: caches lag, requests fail, the process crashes, users
//! suspend and delete. The specification of Kubernetes' Job controller judges each write. A failed check names the
//! requirement and prints the shortest story that leads there.
//!
//! There is no cluster, no client, no macro, and nothing asynchronous.
//!
//! # A controller that creates pods
//!
//! Implement [`Subject`], of which one method is required, or pass a closure.
//!
//! ```
//! use jobcheck_model::{Api, NewPod, Scope, Seen, Stop, explore};
//!
//! /// Creates pods, and never looks at those that have ended.
//! fn sync(seen: &Seen, api: &mut Api) -> Result<(), Stop> {
//!     let Some(job) = seen.job() else { return Ok(()) };
//!     if seen.pods().filter(|pod| pod.is_active()).count() == 0 && !job.status.is_finished() {
//!         api.create_pod(NewPod::new())?;
//!     }
//!     Ok(())
//! }
//!
//! let failure = explore().scope(Scope::non_indexed(1)).subject(sync).run().expect_err("it is wrong");
//! println!("{failure}");
//! assert!(failure.replay.is_some());
//! ```
//!
//! In a test, [`Explore::check`] panics with that text. `examples/executor.rs` is a whole controller.
//!
//! # What is read, and what is written
//!
//! | type | content |
//! | --- | --- |
//! | [`Seen`] | the Job and its pods as the caches show them, and the time |
//! | [`Job`], [`JobSpec`], [`JobStatus`], [`Condition`] | a Job, with the names of the API in snake case |
//! | [`Pod`], [`Phase`] | a pod, reduced to what a Job controller may decide from |
//! | [`Api`], [`NewPod`] | the requests: create, delete, adopt and release pods, remove finalizers, write the status |
//!
//! Your controller has types of its own, such as those of `k8s-openapi`. Keep its decisions in a function, and let `sync`
//! translate: [`Job`] and [`Pod`] to your input, your output to calls of the [`Api`].
//!
//! # A manager that mirrors a status
//!
//! Implement [`Mirror`], or pass a closure, and check it with [`explore_mirror`]. `examples/small_mirror.rs` is one.
//!
//! # Scopes, time, and replays
//!
//! A [`Scope`] has a Job and its troubles. The default scopes take seconds. Set `JOBCHECK_SCOPE=wide` for more of
//! everything, such as in a nightly run. A failure ends with a line such as
//! `JOBCHECK_REPLAY=non-indexed-1:0.3.1 cargo test`. It takes that story alone, and then whatever is left to check.
//!
//! A check that can show nothing fails. That is so if a bound cuts the search. It is so, too, if the reference algorithm
//! meets the premise of a requirement in a scope, and your controller never does.
//!
//! Dependencies are not optimised in a test build. Checks are much faster with this in your `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 2
//! ```
//!
//! # Stability
//!
//! This crate follows semantic versioning. [`Job`], [`Pod`] and the other types of the specification gain fields with
//! Kubernetes: read them, and do not build them with a literal.

mod api;
mod explore;
mod failure;
pub mod mirror;
mod replay;
mod scope;
#[cfg(feature = "stateright")]
pub mod stateright;
mod subject;
#[cfg(test)]
mod tests;

pub use api::{Api, NewPod, Request};
pub use explore::{Explorations, Explore, REPLAY, Report, SCOPE, explore};
pub use failure::{Failure, FailureKind};
pub use jobcheck_explorer::process::decisions::{
    OrphanDecision, OrphanRead, Owner, Precondition, TtlDecision, TtlRead,
};
pub use jobcheck_explorer::process::io::{Answer, Stop};
pub use jobcheck_spec::catalogue::Req;
pub use jobcheck_spec::indexes::IndexSet;
pub use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, Uncounted};
pub use jobcheck_spec::pod::{Phase, Pod};
pub use jobcheck_spec::time::Time;
pub use jobcheck_spec::uid::Uid;
pub use mirror::{ExploreMirror, Mirror, MirrorScope, Views, explore_mirror};
pub use scope::Scope;
pub use subject::{Seen, Subject};
