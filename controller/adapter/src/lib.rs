//! The shipped controllers' decisions in the environment of the model.
//!
//! The model explores a [`Decisions`]: its decisions as functions. [`CONTROLLER`] is `plan` of the crate
//! `jobcheck-controller`. Here facts are copied from the model to what `plan` reads ([`facts`]), the calls of the shipped
//! enactment are answered by the model ([`mod@enact`]), and what it remembers is kept in the model's state ([`mod@sync`]).
//! Nothing is decided here.
//!
//! # What is taken for granted of the runtime
//!
//! - It plans no Job whose caches do not show its own writes (SY-03): the model starts no sync then, and so
//!   `caches_show_own_writes` is always true.
//! - It keeps the memory of a plan from the planning on, adds answers to it, and drops it with the Job (SY-09).
//! - Before it releases a pod whose Job its cache does not hold, it asks the API server for that Job (FT-21).
//!
//! # What is another way here
//!
//! The order of the calls and what answers do is the shipped code's own. Where the model is coarser:
//!
//! - The GET before adoptions (FT-24) is one with each of them: the Job cannot change between the two. A late request of a
//!   dead process is the one adoption that follows such a change.
//! - That the namespace goes is remembered from the start of the sync on, by the runtime from the answer on (PC-12). Both
//!   remember it for 300 s, longer than any scope lasts.
//! - Each failed request is one without a certain answer, after which the caches show what is stored.
//! - The runtime leaves settled pods out of what `plan` is shown; that it makes no difference is a property of `plan`
//!   (`pods_that_are_settled_change_nothing`).
//!
//! # What `plan` is not shown
//!
//! The pods of the model run one container, their deletion has no grace, and `resourceVersion` is the same text
//! everywhere: preconditions on it are the model's business.

pub mod enact;
pub mod facts;
pub mod mutations;
pub mod names;
pub mod order;
pub mod orphan;
pub mod sync;
pub mod ttl;

use jobcheck_explorer::process::decisions::Decisions;
use jobcheck_explorer::scope::Scope;

/// The decisions of the shipped controllers.
pub const CONTROLLER: Decisions = Decisions {
    name: "controller",
    writes_first: true,
    // It takes equals in the order of their UIDs, which the environment chooses ([`order`]).
    reads_uids: false,
    sync: sync::sync,
    orphan: orphan::decide,
    ttl: ttl::decide,
    explain: sync::explain,
};

/// The scope with the shipped controllers in the place of the reference algorithm.
#[must_use]
pub fn of_the_controller(scope: Scope) -> Scope {
    scope.with_algorithm(|algorithm| algorithm.decisions = CONTROLLER)
}
