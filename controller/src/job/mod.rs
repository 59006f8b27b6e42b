//! The Job controller: facts ([`observed`]), what to do ([`command`]), and the decision between them ([`mod@plan`]).

pub mod command;
pub mod creation;
pub mod observed;
pub mod orphan;
pub mod plan;
