//! Judges recorded traces against the specification.

pub mod project;
pub mod validate;
