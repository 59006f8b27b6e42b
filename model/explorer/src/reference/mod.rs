//! The algorithm of the KEPs as a function: one sync after another, one API call at a time.
//!
//! The specification says which writes are allowed; this is one way to choose among them, as requirements.md
//! 0.2 describes the built-in, and right where the built-in is not. It shows that the specification can be
//! implemented, and known defects are made from it ([`switches`]).
//!
//! It decides by what it reads ([`read`]) and shares no decision with [`jobcheck_spec::guards`], which judge every one
//! of its writes.

pub mod account;
pub mod claim;
pub mod decide;
pub(crate) mod explain;
pub mod manage;
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
