//! Scenarios: what happens to Jobs, step by step, and what is expected of who manages them.
//!
//! A scenario is one text for every target: the model explores every interleaving of it ([`model`]); other targets will
//! run it, word for word, on real processes. `docs/reference/scenario-format.md` tells the format, and
//! `docs/reference/schemas/scenario.schema.json` its grammar.
//!
//! # Guarantees
//!
//! What is not understood is refused, with its line and what to write instead; what a target cannot express is an error
//! of that target, never left out.

mod claims;
mod defects;
mod deviations;
mod export;
mod expressible;
mod failure_code;
mod format;
pub mod model;
mod read;
pub mod render;
mod requests;
pub mod runtime;
mod script;
mod spec;
mod steps;
mod subject;
mod values;

pub use claims::{Claims, PodClaims};
pub use defects::export_defect;
pub use deviations::{Deviation, Expected, Shown};
pub use export::{About, ExportError, export};
pub use failure_code::FailureCode;
pub use format::{
    ApiServer, ApiVersion, Bounds, Controller, JobEntry, Kind, PodBefore, Scenario, TtlControllerEntry,
    Watches,
};
pub use read::{ScenarioError, read, write};
pub use spec::SpecExcerpt;
pub use steps::{
    ControllerName, Crash, Denial, Edit, Failure, HeldRequest, JobDeletion, Leader, Mirror, Nothing, Outcome,
    PodDeletion, PodTarget, Propagation, Report, Request, Resignation, Resource, Rollout, Step, Verb, Watch,
    Watched,
};
pub use values::{Condition, Gate, Id, Phase, Quantity, Span, TargetName};
