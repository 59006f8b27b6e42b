//! Scenarios: the events that happen to Jobs, step by step, and the expected behaviour of their managers.
//!
//! A scenario is one text for every target. The model explores every interleaving of it ([`model`]). Other targets run it
//! on the simulator or on real processes.
//!
//! ```
//! use jobcheck_explorer::check::Bounds;
//! use jobcheck_scenario::{model, read};
//!
//! let scenario = read(
//!     "
//! apiVersion: jobcheck.dev/v1
//! kind: Scenario
//! name: one-success
//! about: A Job with one pod completes.
//! jobs:
//! - name: job
//!   spec: {completions: 1}
//! steps:
//! - succeed: {pod: 1}
//! expect:
//! - conditions: [Complete]
//!   succeeded: 1
//! ",
//! )
//! .unwrap();
//! let run = model::run(&scenario, None, &Bounds::none(1)).unwrap();
//! assert!(run.holds());
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | the format | [`Scenario`], [`Step`], [`Claims`] |
//! | parsing and writing | [`read()`], [`write()`] |
//! | the target `model` | [`model`] |
//! | code that the other targets share | [`runtime`] |
//! | a counterexample as a scenario | [`export()`], [`export_defect`] |
//! | a path of the model as a native trace | [`render`] |
//!
//! `docs/reference/scenario-format.md` describes the format, and `docs/reference/schemas/scenario.schema.json` is its
//! schema.
//!
//! # Guarantees
//!
//! An unknown or invalid part of a scenario is an error with its line and a hint. A step that a target cannot express is an
//! error of that target, and is never ignored.

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
mod size;
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
    ApiServer, ApiVersion, Bounds, Controller, JobEntry, JobMetadata, Kind, PodBefore, Scenario,
    TtlControllerEntry, Watches,
};
pub use read::{ScenarioError, read, write};
pub use spec::SpecExcerpt;
pub use steps::{
    ControllerName, Crash, Denial, Edit, Failure, HeldRequest, JobDeletion, Leader, Mirror, Nothing, Outcome,
    PodDeletion, PodTarget, Propagation, Report, Request, Resignation, Resource, Rollout, SchedulingEdit,
    Step, TemplateEdit, TemplateMetadata, Verb, Watch, Watched,
};
pub use values::{Condition, Gate, Id, Phase, Quantity, Span, TargetName};
