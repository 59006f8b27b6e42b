//! Replays recorded inputs: reads them, feeds the [`Validator`](crate::validate::Validator), and builds a
//! [`ReplayReport`](crate::report::ReplayReport).
//!
//! | item | task |
//! | --- | --- |
//! | [`mod@group`] | decides which inputs are parts of one trace |
//! | [`judge`] | reads and judges the traces, with the options in [`Judging`] |
//! | [`Assumption`], [`Subject`], [`rules`] | the API server and the controller that are assumed |

mod assume;
mod group;
mod judging;

pub use assume::{Assumption, Subject, consistent, milliseconds, rules};
pub use group::{Grouping, group};
pub use judging::{Judging, judge};

/// Number of records between two calls of a progress function.
const PROGRESS_EVERY: u32 = 512;
