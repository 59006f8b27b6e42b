//! The report of a replay: what `jobcheck replay` prints, as data.
//!
//! [`judge`] reads inputs and judges them; a [`ReplayReport`] is the answer. Its JSON is a stable format,
//! described by `docs/reference/schemas/report.schema.json`; text and JUnit are made from the same value.

mod assume;
mod build;
mod duration;
mod group;
mod id;
mod judge;
mod types;

pub use self::duration::milliseconds;
pub use assume::{Assumption, Subject, consistent, rules};
pub use group::{Grouping, group};
pub use id::{ALIASES, Id, aliases, find};
pub use judge::{Judging, judge};
pub use types::{
    API_VERSION, BrokenGuard, Exit, Finding, InputError, InputReport, JobReport, Line, Pending, ReplayReport,
    Requirements, TraceReport, View,
};
