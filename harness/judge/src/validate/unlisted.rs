//! The verdicts of a long trace that are counted, and not kept.
//!
//! A log of weeks has millions of Jobs, and hardly any of them is of interest.

use std::collections::BTreeMap;

use serde::Serialize;

use super::verdict::{JobVerdict, Outcome};
use super::wanted::Wanted;

/// Number of different reasons that are kept.
const REASONS: usize = 20;

/// The verdicts that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// All of them.
    #[default]
    All,
    /// Those with a violation, a reason to be inconclusive, a warning, or counts that the pods contradict.
    Findings,
    /// Those with a violation, and with `noted` also those with a warning or a reservation, which then count as one.
    Violations {
        /// Warnings and reservations count.
        noted: bool,
    },
}

impl Kept {
    /// Returns `true` if the verdict is kept. A Job whose life is explained is kept in each case.
    pub(super) fn has(self, job: &JobVerdict) -> bool {
        let is_noted = !job.warnings.is_empty() || !job.reservations.is_empty();
        let is_violated = !job.violations.is_empty();
        job.life.is_some()
            || match self {
                Kept::All => true,
                Kept::Findings => {
                    is_noted || job.outcome != Outcome::Conforms || !job.contradictions.is_empty()
                }
                Kept::Violations { noted } => is_violated || noted && is_noted,
            }
    }
}

/// The part of a validation that is kept for the report.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    /// The Jobs that are reported.
    pub wanted: Wanted,
    /// The Jobs whose lives are reported.
    pub explained: Wanted,
    /// The verdicts that are kept. Those on other Jobs are counted.
    pub kept: Kept,
    /// Adds the preceding lines to each violation, at a cost in time and memory for every Job.
    pub keeps_story: bool,
}

/// The Jobs without a violation that a report counts only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unlisted {
    /// Number of Jobs that conform.
    pub conforming: u64,
    /// Number of Jobs whose verdict is inconclusive.
    pub inconclusive: u64,
    /// The first different reasons for inconclusive verdicts, with the number of Jobs.
    pub doubts: BTreeMap<String, u64>,
}

impl Unlisted {
    /// Counts a verdict that has no violation.
    pub(super) fn add(&mut self, job: &JobVerdict) {
        let reasons = job.doubts.iter().chain(job.reservations.iter().map(|note| &note.text));
        self.count(job.outcome, reasons.map(String::as_str));
    }

    /// Counts a verdict that has no violation, with the reasons if it is inconclusive.
    pub fn count<'a>(&mut self, outcome: Outcome, reasons: impl Iterator<Item = &'a str>) {
        if outcome == Outcome::Conforms {
            self.conforming += 1;
            return;
        }
        self.inconclusive += 1;
        for reason in reasons {
            if let Some(jobs) = self.doubts.get_mut(reason) {
                *jobs += 1;
            } else if self.doubts.len() < REASONS {
                self.doubts.insert(reason.to_owned(), 1);
            }
        }
    }

    /// Makes all Jobs inconclusive, for this reason.
    pub(super) fn doubt(&mut self, reason: &str) {
        let jobs = self.jobs();
        (self.conforming, self.inconclusive) = (0, jobs);
        if jobs > 0 {
            self.doubts.insert(reason.to_owned(), jobs);
        }
    }

    /// Number of Jobs.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.conforming + self.inconclusive
    }

    /// Returns `true` without any Job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs() == 0
    }

    /// The worst verdict; `None` without any Job.
    #[must_use]
    pub fn worst(&self) -> Option<Outcome> {
        let some = |jobs: u64, outcome| (jobs > 0).then_some(outcome);
        some(self.conforming, Outcome::Conforms).max(some(self.inconclusive, Outcome::Inconclusive))
    }

    /// Adds those of another trace.
    pub fn join(&mut self, other: &Unlisted) {
        self.conforming += other.conforming;
        self.inconclusive += other.inconclusive;
        for (reason, jobs) in &other.doubts {
            *self.doubts.entry(reason.clone()).or_default() += jobs;
        }
    }
}
