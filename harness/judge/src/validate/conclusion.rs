//! The verdict on one Job, from everything that its track has gathered.

use super::mirror::Profile;
use super::track::Track;
use super::verdict::{JobVerdict, Outcome, Owed};

impl Track {
    /// Partly judged is not conforms: the reason, if the Job was first seen in mid-life and counts or decisions were
    /// left to judge.
    fn first_seen_late(&self) -> Option<String> {
        let runs_pods = self.manager.executor || !self.history.stored.is_empty();
        let is_partly_judged = self.coverage.in_mid_life && runs_pods && self.results.doubts.is_empty();
        is_partly_judged.then(|| {
            "in part: the trace does not show the creation of the Job. The rules of the API server are judged; counts \
             and decisions are not. Record from before the Job is created"
                .to_owned()
        })
    }

    /// The verdict on the Job.
    #[must_use]
    pub fn verdict(mut self, owed: Vec<Owed>) -> JobVerdict {
        self.settle_at_the_end();
        self.settle_hidden_kubelets();
        self.results.doubts.extend(self.first_seen_late());
        self.name_texts();
        let profile = self.profile();
        let contradictions = self.contradicted_counts();
        let (last, holding) = (self.times.last_event(), self.holding());
        let outcome = match () {
            () if !self.results.violations.is_empty() => Outcome::Violates,
            () if !self.results.doubts.is_empty() || !self.results.reservations.is_empty() => {
                Outcome::Inconclusive
            }
            () if self.results.judged == 0 => Outcome::Inconclusive,
            () => Outcome::Conforms,
        };
        JobVerdict {
            job: format!("{}/{}", self.id.namespace, self.id.name),
            uid: self.id.uid.to_string(),
            managed_by: self.id.managed_by.map(|manager| manager.to_string()),
            profile: match (profile, self.coverage.in_mid_life) {
                (profile, false) => profile.name(),
                (Profile::Executor, true) => "executor, from mid-life on",
                (Profile::Mirror, true) => "mirror, from mid-life on",
                (Profile::Aggregate, true) => "aggregate, from mid-life on",
            },
            outcome,
            contradictions,
            holding,
            life: self.account.life.take(),
            last,
            judged: self.results.judged,
            violations: self.results.violations,
            doubts: self.results.doubts,
            reservations: self.results.reservations,
            warnings: self.results.warnings,
            owed,
        }
    }
}
