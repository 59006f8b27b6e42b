//! The Job controller: facts ([`observed`]), what to do ([`command`]), and the decision between them ([`mod@plan`]).
//!
//! The decision is cut by subject: [`view`] classifies, [`per_index`] knows indexes, [`mod@fate`] how the Job ends,
//! [`accounting`] what is recorded, released and counted, [`scale`] how many pods there should be, [`status`] what the
//! status says then, [`report`] what is told about it. [`enactment`] carries it out, [`mod@call`] by call; [`orphan`] is about
//! pods that have lost their Job.

pub mod accounting;
pub mod backoff;
pub mod call;
pub mod command;
pub mod conditions;
pub mod creation;
pub mod deletion;
pub mod enactment;
pub mod indexes;
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
