//! The result of one API server rule on one write.

use crate::catalogue::Req;
use crate::requirement::{Broken, Findings, Operand};

/// The result of a rule.
pub(super) enum Outcome {
    /// The premise of the rule is not met.
    NotApplicable,
    /// The write satisfies the rule.
    Holds,
    /// The write breaks the rule.
    Breaks {
        /// The path of the field.
        what: &'static str,
        /// A value that the rule accepts.
        expected: Operand,
        /// The value in the write.
        found: Operand,
    },
}

impl Outcome {
    /// [`Outcome::Holds`], or [`Outcome::Breaks`] with the expected and the found value, which are computed only then.
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

    /// The result of a rule with several parts: the first broken part, else [`Outcome::Holds`] if some part holds.
    pub(super) fn all(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
        let mut outcome = Outcome::NotApplicable;
        for part in parts {
            match part {
                Outcome::NotApplicable => {}
                Outcome::Holds => outcome = Outcome::Holds,
                Outcome::Breaks { .. } => return part,
            }
        }
        outcome
    }

    /// Records the result for a requirement, and returns whether the rule is not broken.
    pub(super) fn report(self, req: Req, findings: &mut Findings) -> bool {
        match self {
            Outcome::NotApplicable => true,
            Outcome::Holds => {
                findings.premise(req);
                true
            }
            Outcome::Breaks { what, expected, found } => findings.require(req, false, what, expected, found),
        }
    }

    /// The reason for a refusal; `None` if the rule is not broken.
    pub(super) fn refusal(self, req: Req) -> Option<Broken> {
        match self {
            Outcome::NotApplicable | Outcome::Holds => None,
            Outcome::Breaks { what, expected, found } => {
                Some(Broken { req, what, expected, found, known: None })
            }
        }
    }
}
