//! The report of a replay, as data.
//!
//! A [`ReplayReport`] is made by [`judge`](crate::replay::judge). Its JSON is a stable format with a schema,
//! `docs/reference/schemas/report.schema.json`. The command line makes text and JUnit from the same value.
//!
//! | item | content |
//! | --- | --- |
//! | [`ReplayReport`] | verdicts on all traces and Jobs |
//! | [`Finding`] | one violation with its evidence |
//! | [`Exit`] | the exit code that a verdict leads to |
//! | [`deviation`] | a known deviation of the built-in controller, with a workaround |
//! | [`find`], [`aliases`] | requirements by the ids that people use |

mod build;
mod finding;
mod help;
mod id;
mod list;
mod since;
mod types;

pub(crate) use build::{JudgedTrace, Read, Selection, build};
pub use help::{DEVIATIONS, Deviation, deviation};
pub use id::{ALIASES, Id, UnknownId, aliases, find, find_with_issues, with_aliases};
pub use list::List;
pub use since::Since;
pub use types::{
    API_VERSION, BrokenGuard, Exit, Finding, InputError, InputReport, JobReport, Life, Line, Pending,
    PodFate, PodName, ReplayReport, Requirements, Sender, TraceReport, View,
};
