//! The reference algorithm: the Job and TTL-after-finished controllers that the KEPs describe, one API call at a time.
//!
//! The specification states which writes are admitted. The reference algorithm is one way to choose among them, in the
//! order of steps of the built-in controller, and without its defects. It shows that the specification can be
//! implemented, and it is the base of the known defects ([`crate::mutants`]).
//!
//! It decides by what a sync reads ([`Read`]), and shares no decision with
//! [`jobcheck_spec::guards`], which judge each of its writes.
//!
//! | file | decides |
//! | --- | --- |
//! | [`sync`] | the order of the steps of a sync |
//! | [`claim`] | which pods to adopt and release |
//! | [`tally`] | how many pods have succeeded, failed, and must be replaced |
//! | [`decide`] | whether a Job succeeds or fails, and for what reason |
//! | [`manage`] | which pods to create and delete |
//! | [`account`] | which UIDs to record and count, which finalizers to remove, when the Job is finished |
//! | [`orphan`] | what happens to a pod that no sync looks at |
//! | [`ttl`] | when to delete a finished Job |
//! | `rules` | which features a specification uses, given the feature gates |
//! | `mutated` | what mutations change; no other file names one |

pub mod account;
pub mod claim;
pub mod decide;
pub(crate) mod explain;
pub mod manage;
mod mutated;
pub mod orphan;
mod rules;
pub mod sync;
pub mod tally;
pub mod ttl;

use std::sync::Arc;

use crate::mutations::Mutations;
use crate::process::decisions::{Decisions, OrphanDecision, OrphanRead, TtlDecision, TtlRead};
use crate::process::io::{Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::scope::Algorithm;

/// The reference algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

impl Decisions for Reference {
    fn name(&self) -> &'static str {
        "algorithm"
    }

    fn writes_first(&self) -> bool {
        false
    }

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
        explain::decision(read, settings)
    }
}

impl Algorithm {
    /// The reference algorithm without mutations.
    #[must_use]
    pub fn reference() -> Algorithm {
        Algorithm::of(Arc::new(Reference))
    }
}
