//! Tests of the decision: one file for each family of requirements, and [`cluster`] for the whole life of a Job.

mod accounting;
mod build;
mod cluster;
mod creation;
mod deletion;
mod enactment;
mod machinery;
mod objects;
mod orphan;
mod per_index;
mod properties;
mod sets;
mod status;
mod stopping;
mod termination;
