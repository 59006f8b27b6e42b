//! The projection: from objects as the API writes them to the types of the model (the abstraction function).
//!
//! Guarantees: fields that no requirement names are skipped, whatever they hold; `null` reads as absent, as
//! it does for Kubernetes; a named field of a wrong type is a [`ProjectError`] and never a panic.
//!
//! Each file shows the table of the fields that it maps.

mod birth;
mod cache;
mod digest;
mod error;
mod essentials;
#[cfg(test)]
mod fixtures;
mod job;
mod metadata;
mod pod;
mod spec;
mod template;
#[cfg(test)]
mod tests;
mod time;
mod wire;

pub use birth::{ContainerBirth, EnvSource, PodBirth};
pub use error::ProjectError;
pub use job::JobObject;
pub use metadata::{OwnerRef, PartialMetadata};
pub use pod::PodObject;
pub use time::parse_time;

use std::sync::Arc;

use cache::{TextCache, Texts};
use jobcheck_spec::job::{JobSpec, Template};

/// Projects objects; remembers texts, specifications and templates that it has seen, so that the versions of
/// one object share them.
///
/// Guarantees: what is remembered changes the cost of an answer, never the answer, and is bounded.
#[derive(Debug, Default)]
pub struct Projector {
    texts: Texts,
    specs: TextCache<Arc<JobSpec>>,
    templates: TextCache<Template>,
}

impl Projector {
    /// A projector that remembers nothing.
    #[must_use]
    pub fn new() -> Projector {
        Projector::default()
    }
}
