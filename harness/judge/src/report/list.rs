//! The Jobs that a report lists.

use super::types::JobReport;
use crate::validate::Outcome;

/// The Jobs that a report lists. It counts the others, so that the memory for a log of weeks is bounded.
///
/// A Job whose life is explained is listed in each case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum List {
    /// All Jobs.
    #[default]
    All,
    /// Those that do not conform, and those with warnings, or with counts that the pods contradict.
    Findings,
    /// Those that violate.
    Violations,
}

impl List {
    /// Returns `true` if the Job is listed.
    pub(super) fn has(self, job: &JobReport) -> bool {
        let is_noted = !job.warnings.is_empty() || !job.contradictions.is_empty();
        job.life.is_some()
            || match self {
                List::All => true,
                List::Findings => is_noted || job.verdict != Outcome::Conforms,
                List::Violations => job.verdict == Outcome::Violates,
            }
    }
}
