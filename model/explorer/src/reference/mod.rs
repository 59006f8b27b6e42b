//! The reference algorithm: the Job and TTL-after-finished controllers that the KEPs describe, one API call at a time.
//!
//! The specification states which writes are admitted. The reference algorithm is one way to choose among them, in the
//! order of steps of the built-in controller, and without its defects. It shows that the specification can be
//! implemented, and it is the base of the known defects ([`crate::mutants`]).
//!
//! It decides by what a sync reads ([`Read`](crate::process::read::Read)), and shares no decision with
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

use crate::process::decisions::Decisions;
use crate::scope::Algorithm;

/// The decisions of the reference algorithm.
pub const REFERENCE: Decisions = Decisions {
    name: "algorithm",
    writes_first: false,
    reads_uids: false,
    sync: sync::sync,
    orphan: orphan::decide,
    ttl: ttl::decide,
    explain: explain::decision,
};

impl Algorithm {
    /// The reference algorithm without mutations.
    #[must_use]
    pub fn reference() -> Algorithm {
        Algorithm::of(REFERENCE)
    }
}
