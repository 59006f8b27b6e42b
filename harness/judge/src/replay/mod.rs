//! Replays recorded inputs: reads them, feeds the [`Validator`](crate::validate::Validator), and builds a
//! [`ReplayReport`](crate::report::ReplayReport).
//!
//! | item | task |
//! | --- | --- |
//! | [`mod@group`] | decides which inputs are parts of one trace |
//! | [`judge_clusters`] | the same for a manager and its workers |
//! | [`judge`] | reads and judges the traces, with the options in [`Judging`] |
//! | [`Assumption`], [`Subject`], [`rules`] | the API server and the controller that are assumed |

mod assume;
mod ends;
mod group;
mod judging;
mod stages;

pub use crate::clusters::Clusters;
pub use assume::{Assumption, Subject, consistent, milliseconds, rules};
pub(crate) use ends::End;
pub use group::{Grouping, group, group_until};
pub use jobcheck_spec::guards::sums::FailsWhen;
pub use judging::{Judging, ShowProgress, judge, judge_clusters};

/// Number of records between two calls of a progress function.
pub(crate) const PROGRESS_EVERY: u32 = 512;
