//! The report of a conformance run: its data, its result, and the folder in which it is handed on.
//!
//! The report has the shape of the Gateway API's `ConformanceReport`. It adds the digests of scenarios and traces, and the
//! options of the judge, so that a reader can judge the evidence again. Reports that
//! others have written are read with [`read()`]: every part that follows from another is computed again.
//!
//! | module | content |
//! | --- | --- |
//! | [`types`] | the report |
//! | [`result`](mod@result) | what follows from the outcomes: results, statistics, the exit code |
//! | [`read`](mod@read) | reads reports, and rejects those that contradict themselves |
//! | [`folder`] | the folder of a report: its files, and the digests of its traces |
//! | [`digest`] | SHA-256 of texts and files |
//! | `cases` | the scenarios as cases of JUnit |
//! | [`profile`] | the scenarios of a profile, and the objections to a report that has others |
//! | [`judge`], [`verify`](mod@verify) | judges the traces of a scenario, and holds the outcomes against them |
//! | `claims`, `clusters` | holds the circumstances and the clusters of the run against the traces |
//! | `ends` | holds a pass against the end of its traces |
//! | [`runs`] | the runs of a scenario, folded into one outcome |
//! | `rendered` | holds the other files against the report |
//! | [`diff`](mod@diff), [`merge`](mod@merge) | what changed between two reports; one report of several shards |
//! | [`github`] | a step summary, and annotations |
//! | [`page`], [`junit`], [`forms`] | the report as HTML, as JUnit XML, as JSON and YAML |
//! | [`text`] | the escapes of all text that reaches a terminal |
//!
//! `docs/reference/report-format.md` describes the format for its readers.

mod cases;
mod claims;
mod clusters;
pub mod diff;
pub mod digest;
mod ends;
pub mod folder;
pub mod forms;
pub mod github;
pub mod judge;
pub mod junit;
pub mod merge;
pub mod page;
pub mod profile;
pub mod read;
mod rendered;
pub mod result;
pub mod runs;
pub mod text;
pub mod types;
pub mod verify;

pub use folder::Folder;
pub use read::read;
pub use types::{ConformanceReport, Run, Scenario};
