//! Judges recorded traces against the specification.

pub mod report;
pub mod validate;
