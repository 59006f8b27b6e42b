//! What one rule says of one write.

use crate::catalogue::Req;
use crate::requirement::{Broken, Findings, Operand};

/// The answer of a rule.
pub(super) enum Outcome {
    /// The rule is silent: its premise is not met.
    NotAsked,
    /// The rule is kept.
    Holds,
    /// The rule is broken.
    Breaks {
        /// The field.
        what: &'static str,
        /// What would have been accepted.
        expected: Operand,
        /// What was written.
        found: Operand,
    },
}

impl Outcome {
    /// Builds the two sides only if the rule is broken: most writes break none.
    pub(super) fn of<E: Into<Operand>, F: Into<Operand>>(
        holds: bool,
        what: &'static str,
        sides: impl FnOnce() -> (E, F),
    ) -> Outcome {
        if holds {
            return Outcome::Holds;
        }
        let (expected, found) = sides();
        Outcome::breaks(what, expected, found)
    }

    /// A broken rule.
    pub(super) fn breaks(
        what: &'static str,
        expected: impl Into<Operand>,
        found: impl Into<Operand>,
    ) -> Outcome {
        Outcome::Breaks { what, expected: expected.into(), found: found.into() }
    }

    /// The first broken one of several parts; kept if one of them was asked.
    pub(super) fn all(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
        let mut answer = Outcome::NotAsked;
        for part in parts {
            match part {
                Outcome::NotAsked => {}
                Outcome::Holds => answer = Outcome::Holds,
                Outcome::Breaks { .. } => return part,
            }
        }
        answer
    }

    /// Notes the answer; returns whether the rule is not broken.
    pub(super) fn report(self, req: Req, findings: &mut Findings) -> bool {
        match self {
            Outcome::NotAsked => true,
            Outcome::Holds => {
                findings.premise(req);
                true
            }
            Outcome::Breaks { what, expected, found } => findings.require(req, false, what, expected, found),
        }
    }

    /// The reason for a refusal, if the rule is broken.
    pub(super) fn refusal(self, req: Req) -> Option<Broken> {
        match self {
            Outcome::NotAsked | Outcome::Holds => None,
            Outcome::Breaks { what, expected, found } => {
                Some(Broken { req, what, expected, found, known: None })
            }
        }
    }
}
