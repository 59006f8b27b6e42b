//! What the syncs of a process depend on besides what they read.

use crate::mutations::Mutations;
use crate::process::decisions::Decisions;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;

/// What does not change between the syncs of a process.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Whose decisions they are.
    pub decisions: &'a Decisions,
    /// Departures from the algorithm.
    pub mutations: &'a Mutations,
    /// The numbers that it was started with.
    pub constants: &'a Constants,
    /// The feature gates that it was started with.
    pub gates: Gates,
    /// Whether pods carry times.
    pub has_delays: bool,
    /// The codes with which failing containers exit.
    pub exit_codes: &'a [i32],
}
