//! The result of a validation.

use jobcheck_spec::Req;

use super::actor::Actors;
use super::unlisted::Unlisted;
use super::verdict::{JobVerdict, Outcome};
use super::wanted::Others;

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
    /// The senders of the requests, by their [`super::actor::ActorId`].
    pub actors: Actors,
}

impl Summary {
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
}
