//! The findings about a Job so far.

use jobcheck_spec::Findings;
use serde::{Deserialize, Serialize};

use super::verdict::{Note, Violation};

/// Maximum number of reported violations of a Job. The first is the verdict.
const VIOLATIONS_KEPT: usize = 20;
/// Maximum number of reasons about single writes.
const RESERVATIONS_KEPT: usize = 5;

/// The results so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Number of writes on which a guard was evaluated.
    pub judged: u64,
    /// Requirements whose premise was met.
    #[serde(with = "premises")]
    pub premises: Findings,
    /// The violations. A Job with violations is never parked.
    #[serde(skip)]
    pub violations: Vec<Violation>,
    /// Violations, unless a kubelet has removed pods unseen ([`super::hidden_kubelets`]).
    #[serde(skip)]
    pub withheld: Vec<Violation>,
    /// Reasons why the verdict is inconclusive.
    pub doubts: Vec<String>,
    /// Writes that only an assumption without a sign explains. They make the verdict inconclusive.
    pub reservations: Vec<Note>,
    /// Broken recommendations.
    pub warnings: Vec<Note>,
}

impl Results {
    /// Returns `true` if another violation is kept.
    #[must_use]
    pub fn takes_more(&self) -> bool {
        self.violations.len() + self.withheld.len() < VIOLATIONS_KEPT
    }

    /// Adds a reason about one write, which makes the verdict inconclusive.
    pub fn reserve(&mut self, note: Note) {
        let is_known = self.reservations.iter().any(|known| known.text == note.text);
        if self.reservations.len() < RESERVATIONS_KEPT && !is_known {
            self.reservations.push(note);
        }
    }
}

/// Findings of which only the premises are kept.
mod premises {
    use jobcheck_spec::{Findings, Req};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(findings: &Findings, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(findings.premises().collect::<Vec<Req>>())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Findings, D::Error> {
        let mut findings = Findings::new();
        Vec::<Req>::deserialize(deserializer)?.into_iter().for_each(|req| findings.premise(req));
        Ok(findings)
    }
}
