//! The guards: which writes a Job or TTL controller may make.
//!
//! One function for each kind of write, made of named guards; each guard cites the requirement it decides.
//! A guard takes a [`crate::view::View`] where the requirement is about a decision, and what etcd held where
//! it is about the truth (judging.md 1).

pub mod adoption;
pub mod backlog;
pub mod contract;
pub mod counting;
pub mod creation;
pub mod decision;
pub mod deletion;
pub mod diagnosis;
pub mod finalizer_removal;
pub mod status;
pub mod suspend;
pub mod ttl;
pub mod without_interim;
