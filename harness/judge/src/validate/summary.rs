//! The result of a validation.

use std::collections::BTreeSet;

use jobcheck_spec::{Req, Uid};

use super::actor::Actors;
use super::unlisted::Unlisted;
use super::verdict::{JobVerdict, Outcome};
use super::wanted::Others;
use crate::replay::End;

/// The result of a validation.
#[derive(Debug)]
pub struct Summary {
    /// The verdict on each Job: first the ended ones in order, then the others by name.
    pub jobs: Vec<JobVerdict>,
    /// The Jobs whose verdicts are counted only.
    pub unlisted: Unlisted,
    /// The judged requirements, with the number of Jobs that met the premise.
    pub premises: Vec<(Req, u64)>,
    /// Number of writes on which a guard was evaluated.
    pub judged: u64,
    /// Number of events.
    pub events: u64,
    /// The trace shows actors and refusals.
    pub has_actors: bool,
    /// Number of requests whose response is hidden by the audit level.
    pub hidden: u64,
    /// Reasons why the trace as a whole is inconclusive.
    pub doubts: Vec<String>,
    /// The last time in the trace, in microseconds.
    pub last: Option<i64>,
    /// The Jobs that are not reported.
    pub others: Others,
    /// The Jobs of which a write is missing, or may have been stored without a success.
    pub doubtful: BTreeSet<Uid>,
    /// The trace itself shows that a write of some Job or pod is missing. Others may be missing, too.
    pub has_hole: bool,
    /// The senders of the requests, by their [`super::actor::ActorId`].
    pub actors: Actors,
}

impl Summary {
    /// Withdraws violations behind the end of an input, while others continue.
    pub(crate) fn withdraw_behind(&mut self, end: &End) {
        let mut is_needed = false;
        for job in &mut self.jobs {
            is_needed |= job.withdraw(&end.reason, &|violation, resting| end.concerns(violation, resting));
        }
        if is_needed {
            self.doubts.push(end.reason.clone());
        }
    }

    /// The verdict on the trace.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let listed = self.jobs.iter().map(|job| job.outcome).max();
        let worst = listed.max(self.unlisted.worst()).unwrap_or(Outcome::Inconclusive);
        if worst == Outcome::Conforms && (self.judged == 0 || !self.doubts.is_empty()) {
            return Outcome::Inconclusive;
        }
        worst
    }

    /// Makes the trace and all its Jobs inconclusive, because rows may be missing anywhere in an input. They may explain
    /// each violation and each warning, so that these are withdrawn.
    pub fn lacks_rows(&mut self, reason: &str) {
        self.doubts.push(reason.to_owned());
        self.unlisted.doubt(reason);
        for job in &mut self.jobs {
            job.lacks_rows(reason);
        }
    }
}

impl JobVerdict {
    fn lacks_rows(&mut self, reason: &str) {
        self.outcome = Outcome::Inconclusive;
        self.doubts.push(match self.violations.len() {
            0 => reason.to_owned(),
            1 => format!("{reason}, which may explain a violation"),
            lost => format!("{reason}, which may explain {lost} violations"),
        });
        // With `--strict`, warnings and reservations would count as violations.
        self.doubts.extend(self.reservations.drain(..).map(|note| note.text));
        self.warnings.clear();
        self.violations.clear();
        self.contradictions.clear();
    }
}
