//! Maps the JSON of Jobs and Pods to the objects of the specification (the abstraction function).
//!
//! ```
//! use jobcheck_projection::Projector;
//!
//! let text = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"sum","resourceVersion":"7"},
//!     "spec":{"completions":3,"template":{}},"status":{"active":2,"ready":null,"newer":"ignored"}}"#;
//! let object = Projector::new().job(text)?;
//! assert_eq!((object.job.spec.completions, object.metadata.resource_version), (Some(3), Some(7)));
//! assert_eq!((object.job.status.active, object.job.status.ready), (2, None));
//!
//! let error = Projector::new().job(r#"{"spec":{"completions":"3"}}"#).unwrap_err();
//! assert!(error.to_string().starts_with("spec.completions: invalid type"));
//! # Ok::<(), jobcheck_projection::ProjectError>(())
//! ```
//!
//! Guarantees:
//!
//! - A field that no requirement names is ignored, whatever its value.
//! - `null` counts as absent, as in Kubernetes.
//! - A named field of a wrong type is a [`ProjectError`], never a panic.
//!
//! Each of the modules `job`, `spec`, `template`, `pod`, `birth`, and `metadata` begins with a table of its
//! fields.

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

pub use error::ProjectError;
pub use job::JobObject;
pub use metadata::Metadata;
pub use pod::PodObject;
pub use time::parse_time;

use std::sync::Arc;

use cache::{Shared, TextCache, Texts};
use jobcheck_spec::job::{JobMetadata, JobSpec, Template};

/// Projects objects. Texts, specifications, and templates are cached, so that all versions of an object share
/// them.
///
/// The cache changes the cost of a result, never the result, and its size is bounded.
#[derive(Debug, Default)]
pub struct Projector {
    texts: Texts,
    specs: TextCache<Arc<JobSpec>>,
    metadata: Shared<JobMetadata>,
    templates: TextCache<Template>,
    /// The specifications of pods that were asked for.
    asked: TextCache<birth::SpecOfBirth>,
}

impl Projector {
    /// A projector with an empty cache.
    #[must_use]
    pub fn new() -> Projector {
        Projector::default()
    }
}
