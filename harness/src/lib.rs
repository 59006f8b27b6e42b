//! Judges recorded traces against the specification.

pub mod project;
pub mod render;
pub mod report;
pub mod scenario;
pub mod validate;
