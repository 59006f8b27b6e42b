//! The choices of the caller of a validation.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::time::CLOCK_SKEW;

use super::actor::Role;
use super::mirror::Profile;
use super::unlisted::Reported;
use super::unlogged::Log;

/// Number of finished Jobs that are not parked: about as many as have late events.
const AT_HAND: usize = 256;

/// Options of a validation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules of the API server.
    pub rules: RuleSet,
    /// The constants of the Job controller.
    pub constants: Constants,
    /// The feature gates of its first process.
    pub gates: Gates,
    /// The users that play a role, from `--actor ROLE=USER`.
    pub actors: Vec<(Role, String)>,
    /// The part that is kept for the report.
    pub reported: Reported,
    /// Times at which the Job controller restarted, in microseconds.
    pub restarted: Vec<i64>,
    /// The audit log that the trace is, or is a part of.
    pub log: Log,
    /// The kind of the managers of Jobs without `spec.managedBy`, if the user says it.
    pub profile: Option<Profile>,
    /// Seconds by which the clocks of two clusters may differ (MR-04).
    pub skew: i64,
    /// Number of finished Jobs that are not parked ([`super::tracks`]). The verdicts do not depend on it.
    pub finished_at_hand: usize,
    /// Ends each search for an explanation once it is true.
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rules: RuleSet::V1_36,
            constants: Constants::V1_36,
            gates: Gates::ON,
            actors: Vec::new(),
            reported: Reported { keeps_story: true, ..Reported::default() },
            restarted: Vec::new(),
            log: Log::Alone,
            profile: None,
            skew: CLOCK_SKEW,
            finished_at_hand: AT_HAND,
            stop: Arc::default(),
        }
    }
}
