//! The safety properties: what holds in every reachable state.
//!
//! A property is stated over what really happened ([`crate::ghost`]). It never reads what a guard reads.
//!
//! Each property names its requirement and has a premise: a situation in which the property could be broken.
//! A property whose premise no state satisfies shows nothing, so an exploration reports it.

mod counting;
mod deadlock;
mod ending;
mod gates;
mod indexes;
mod misbehaviour;
mod pods;
mod quiescence;
mod recreation;
mod server;

pub use deadlock::{DEADLOCK, deadlock};
pub use quiescence::{SCENARIO_COMPLETES, Unmet, unmet};
pub use server::{EVERY_WRITE_IS_ADMITTED, NOTHING_IS_REFUSED};

use crate::scope::Scope;
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;

/// A predicate that holds in every reachable state.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The requirement that it checks. No two properties have the same one.
    pub req: Req,
    /// The property as a sentence.
    pub name: &'static str,
    /// True if it applies only to Jobs that processes manage.
    pub needs_processes: bool,
    /// Describes how a Job breaks the property. Returns `None` if the Job satisfies it.
    pub broken: fn(&JobState) -> Option<String>,
    /// Returns true if the Job is in a situation in which the property could be broken.
    pub premise: fn(&Situation<'_>) -> bool,
}

/// The Job and the state that a premise is about.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The state.
    pub world: &'a World,
    /// The Job.
    pub job_state: &'a JobState,
    /// The bounds of the exploration.
    pub scope: &'a Scope,
}

/// All safety properties. The first three are those for which Job controllers are best known.
pub const PROPERTIES: &[Property] = &[
    counting::COUNTED_ONCE,
    ending::NOTHING_TERMINATES_AT_THE_END,
    ending::COMPLETION_TIME_ONLY_WITH_COMPLETE,
    counting::FIRST_RECORD_STANDS,
    counting::NO_POD_IS_LOST,
    counting::WANTED_PODS_STAY_COUNTABLE,
    counting::RECORDED_SUCCESSES_ARE_REAL,
    counting::RECORDED_FAILURES_ARE_REAL,
    counting::IGNORED_FAILURES_DO_NOT_COUNT,
    counting::COUNTERS_ARE_THE_COUNTED_PODS,
    ending::END_REPEATS_THE_DECISION,
    ending::DECISION_COMES_EARLIER,
    ending::DECISION_STAYS,
    ending::NO_END_OVER_A_TRACKED_POD,
    ending::NO_WRITE_AFTER_THE_END,
    ending::COMPLETE_MEANS_ENOUGH_SUCCESSES,
    ending::LIMIT_WAS_EXCEEDED,
    ending::FAIL_JOB_HAS_A_POD,
    ending::SUCCESS_POLICY_HAS_ITS_INDEXES,
    ending::DEADLINE_HAD_PASSED,
    pods::NO_POD_AFTER_THE_DECISION,
    pods::ACTIVE_WITHIN_PARALLELISM,
    pods::NO_MORE_PODS_THAN_NEEDED,
    pods::REPLACEMENT_WAITS,
    pods::ONE_ACTIVE_POD_FOR_EACH_INDEX,
    pods::INDEX_IS_FREE_BEFORE_IT_IS_REUSED,
    pods::NO_POD_WHILE_SUSPENDED,
    pods::DELAY_AFTER_A_FAILURE,
    indexes::COMPLETED_INDEXES_ARE_EARNED,
    indexes::SUCCEEDED_IS_THE_NUMBER_OF_INDEXES,
    indexes::NO_INDEX_IN_BOTH_TEXTS,
    indexes::FAILED_INDEXES_HAD_THEIR_RETRIES,
    indexes::FAILED_INDEX_IS_NOT_RETRIED,
    indexes::FAILURE_COUNT_IS_CARRIED_ON,
    indexes::COMPLETE_HAS_NO_FAILED_INDEX,
    indexes::TOO_MANY_FAILED_INDEXES,
    indexes::NO_INDEX_BEYOND_COMPLETIONS,
    server::EVERY_WRITE_IS_ADMITTED,
    server::NOTHING_IS_REFUSED,
    server::START_TIME_STAYS,
    server::NO_START_TIME_WHILE_SUSPENDED,
    server::EXPIRED_JOBS_ONLY,
    server::TTL_HAD_PASSED,
    gates::NO_TERMINATING_WITHOUT_ITS_GATE,
    gates::NO_INTERIM_WITHOUT_ITS_GATES,
    gates::NO_FAILED_INDEXES_WITHOUT_THEIR_GATE,
    gates::EXTERNAL_JOBS_ARE_LEFT_ALONE,
    gates::ONE_MANAGER_WRITES,
    recreation::NO_DELAY_IS_INHERITED,
    misbehaviour::NO_TERMINATED_POD_IS_DELETED,
    misbehaviour::DECISION_IS_STORED_AT_ONCE,
    misbehaviour::FAILED_POD_STAYS_FOR_ITS_REPLACEMENT,
    misbehaviour::AN_INDEX_IS_LEFT_TO_ITSELF,
    misbehaviour::DELAY_OF_AN_INDEX_SURVIVES,
    misbehaviour::NO_FUTILE_CREATION,
];
