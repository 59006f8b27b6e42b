//! Runs the decisions of the shipped controllers in the explorer.
//!
//! The explorer checks any [`Decisions`]. [`Controller`] has those of the crate `jobcheck-controller`.
//! This crate makes no decisions. It converts types and connects calls:
//!
//! | module | content |
//! |---|---|
//! | [`facts`], [`names`] | the model's objects as the facts that `plan` reads |
//! | [`mod@sync`], [`order`] | one sync, and the order of equal pods |
//! | [`mod@enact`] | the calls of the shipped enactment, with responses of the model |
//! | [`orphan`], [`ttl`] | the orphan path, and the TTL-after-finished controller |
//! | [`mutations`] | known defects in these controllers |
//!
//! ```
//! use jobcheck_adapter::of_the_controller;
//! use jobcheck_explorer::check::{Bounds, explore};
//! use jobcheck_explorer::scopes::{named, reference::run_by_the_algorithm};
//!
//! // Two pods, and caches that lag by one event: the shipped controller satisfies every property.
//! let scope = named("deleted-pods").expect("the scope exists");
//! let scope = of_the_controller(run_by_the_algorithm(scope, 1));
//! assert!(explore(&scope, &Bounds { symmetry: true, partial_order: true, ..Bounds::none(1) }).holds());
//! ```
//!
//! # Assumptions about the runtime
//!
//! - It makes no plan for a Job until its caches show its own writes (SY-03). The model then starts no sync,
//!   so `caches_show_own_writes` is always true.
//! - It stores the memory of a plan when the plan is made, adds responses to it, and drops it with the Job
//!   (SY-09).
//! - Before it removes the finalizer of a pod without a cached Job, it reads that Job from the API server
//!   (FT-21).
//!
//! # Differences from the runtime
//!
//! The order of the calls and the effects of responses are those of the shipped code. The model is coarser in
//! these points:
//!
//! - The GET before an adoption (FT-24) is part of the adoption, so the Job cannot change between the two.
//!   Only a delayed adoption of a crashed process follows such a change.
//! - The process remembers that the namespace is being deleted from the start of the sync. The runtime
//!   remembers it from the response (PC-12). Both remember it for 300 s, longer than any scope lasts.
//! - A failed request has no certain response. Afterwards the caches show what is stored.
//! - The runtime leaves settled pods out of the input of `plan`. A test of `plan` shows that they make no
//!   difference (`pods_that_are_settled_change_nothing`).
//! - Pods have one container and are deleted without a grace period. All objects have the same
//!   `resourceVersion`, because the model checks the preconditions.

pub mod enact;
pub mod facts;
pub mod mutations;
pub mod names;
pub mod order;
pub mod orphan;
pub mod sync;
pub mod ttl;

use std::sync::Arc;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::process::decisions::{Decisions, OrphanDecision, OrphanRead, TtlDecision, TtlRead};
use jobcheck_explorer::process::io::{Io, Stop};
use jobcheck_explorer::process::read::Read;
use jobcheck_explorer::process::settings::Settings;
use jobcheck_explorer::scope::Scope;

/// The shipped controllers.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl Decisions for Controller {
    fn name(&self) -> &'static str {
        "controller"
    }

    fn writes_first(&self) -> bool {
        true
    }

    /// Equal pods are taken in the order of their UIDs, which the environment chooses ([`order`]).
    fn reads_uids(&self) -> bool {
        false
    }

    fn sync(&self, read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop> {
        sync::sync(read, settings, io)
    }

    fn orphan(&self, read: &OrphanRead<'_>, mutations: &Mutations) -> OrphanDecision {
        orphan::decide(read, mutations)
    }

    fn ttl(&self, read: &TtlRead<'_>, mutations: &Mutations) -> TtlDecision {
        ttl::decide(read, mutations)
    }

    fn explain(&self, read: &Read, settings: &Settings<'_>) -> Option<String> {
        sync::explain(read, settings)
    }
}

/// The scope with the shipped controllers instead of the reference algorithm.
#[must_use]
pub fn of_the_controller(scope: Scope) -> Scope {
    scope.with_algorithm(|algorithm| algorithm.decisions = Arc::new(Controller))
}
