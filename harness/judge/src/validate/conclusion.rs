//! The verdict on one Job, from everything that its track has gathered.

use super::track::Track;
use super::verdict::{JobVerdict, Outcome, Owed};

impl Track {
    /// Partly judged is not conforms: the reason, if the Job was first seen in mid-life and counts or decisions were
    /// left to judge.
    fn first_seen_late(&self) -> Option<String> {
        let runs_pods = self.executor || !self.history.stored.is_empty();
        let is_partly_judged = self.in_mid_life && runs_pods && self.doubts.is_empty();
        is_partly_judged.then(|| {
            "in part: the trace does not show the creation of the Job. The rules of the API server are judged; counts \
             and decisions are not. Record from before the Job is created"
                .to_owned()
        })
    }

    /// The verdict on the Job.
    #[must_use]
    pub fn verdict(mut self, owed: Vec<Owed>) -> JobVerdict {
        self.doubts.extend(self.first_seen_late());
        self.name_texts();
        let contradictions = self.contradicted_counts();
        let (last, holding) = (self.last_event(), self.holding());
        let outcome = match () {
            () if !self.violations.is_empty() => Outcome::Violates,
            () if !self.doubts.is_empty() || !self.reservations.is_empty() => Outcome::Inconclusive,
            () if self.judged == 0 => Outcome::Inconclusive,
            () => Outcome::Conforms,
        };
        JobVerdict {
            job: format!("{}/{}", self.namespace, self.name),
            uid: self.uid.to_string(),
            managed_by: self.managed_by.map(|manager| manager.to_string()),
            profile: match (self.executor, self.in_mid_life) {
                (true, false) => "executor",
                (false, false) => "mirror",
                (true, true) => "executor, from mid-life on",
                (false, true) => "mirror, from mid-life on",
            },
            outcome,
            contradictions,
            holding,
            life: self.life.take(),
            last,
            judged: self.judged,
            violations: self.violations,
            doubts: self.doubts,
            reservations: self.reservations,
            warnings: self.warnings,
            owed,
        }
    }
}
