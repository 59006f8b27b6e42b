//! The parameters of a process.

use crate::mutations::Mutations;
use crate::process::decisions::Decisions;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;

/// The parameters of a process, which are the same for all of its syncs.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The decisions of the subject.
    pub decisions: &'a dyn Decisions,
    /// The mutations of the subject.
    pub mutations: &'a Mutations,
    /// The constants of the controller.
    pub constants: &'a Constants,
    /// The feature gates of the process.
    pub gates: Gates,
    /// True if pods carry times.
    pub has_delays: bool,
    /// The exit codes of failing containers.
    pub exit_codes: &'a [i32],
}
