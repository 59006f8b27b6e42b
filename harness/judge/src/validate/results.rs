//! The findings about a Job so far.

use jobcheck_spec::Findings;

use super::verdict::{Note, Violation};

/// Maximum number of reported violations of a Job. The first is the verdict.
const VIOLATIONS_KEPT: usize = 20;
/// Maximum number of reasons about single writes.
const RESERVATIONS_KEPT: usize = 5;

/// The results so far.
#[derive(Debug, Default)]
pub struct Results {
    /// Number of writes on which a guard was evaluated.
    pub judged: u64,
    /// Requirements whose premise was met.
    pub premises: Findings,
    /// The violations.
    pub violations: Vec<Violation>,
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
        self.violations.len() < VIOLATIONS_KEPT
    }

    /// Adds a reason about one write, which makes the verdict inconclusive.
    pub fn reserve(&mut self, note: Note) {
        let is_known = self.reservations.iter().any(|known| known.text == note.text);
        if self.reservations.len() < RESERVATIONS_KEPT && !is_known {
            self.reservations.push(note);
        }
    }
}
