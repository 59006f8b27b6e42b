//! Judges recorded traces against the specification.

pub mod replay;
pub mod report;
pub mod validate;
