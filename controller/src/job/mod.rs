//! The Job controller: pure decisions, and the requests that carry them out.
//!
//! | module | content |
//! | --- | --- |
//! | [`observed`], [`memory`] | the input of a decision: facts about the Job and its pods, and the in-memory state |
//! | [`mod@plan`] | the decision; calls the modules below in the order of the KEPs |
//! | [`view`], [`conditions`], [`indexes`], [`per_index`] | classification: pods, conditions, completion indexes |
//! | [`mod@termination`], [`pod_failure_policy`], [`success_policy`] | how a Job terminates |
//! | [`accounting`], [`status`], [`report`] | records, finalizer removals, and counters; the two status writes; their events and metrics |
//! | [`mod@scale`], [`mod@creation`], [`deletion`], [`backoff`] | the number of pods; which are created and deleted, and when |
//! | [`command`] | the output of a decision: a plan |
//! | [`enactment`], [`mod@call`] | the execution of a plan, call by call |
//! | [`orphan`] | the decision about pods without an unfinished Job |
//! | [`observe`], [`requests`] | the conversion from API objects to facts, and from calls to requests |
//! | [`settled`] | pods that a sync need not read |

pub mod accounting;
pub mod backoff;
pub mod call;
pub mod command;
pub mod conditions;
pub mod creation;
pub mod deletion;
pub mod enactment;
pub mod indexes;
pub mod memory;
pub mod observe;
pub mod observed;
pub mod orphan;
pub mod per_index;
pub mod plan;
pub mod pod_failure_policy;
pub mod report;
pub mod requests;
pub mod scale;
pub mod settled;
pub mod status;
pub mod success_policy;
pub mod termination;
pub mod view;

#[cfg(test)]
mod tests;
