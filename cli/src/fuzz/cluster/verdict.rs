//! The verdict on a run.

use std::collections::BTreeSet;

use jobcheck_judge::report::Exit;
use jobcheck_live::Outcome;
use jobcheck_sim::fuzz::is_idle;
use jobcheck_spec::Req;

/// The verdict on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No requirement is broken.
    Conforms,
    /// The run shows these known deviations of the built-in controllers only.
    Known(BTreeSet<Req>),
    /// A requirement is broken.
    Violates {
        /// The requirement; `None` for advice.
        requirement: Option<Req>,
        /// The evidence.
        why: String,
    },
    /// There is no verdict.
    Inconclusive {
        /// The reason.
        why: String,
    },
}

/// The verdict on a run.
pub fn verdict(outcome: &Outcome) -> Verdict {
    let violations = || outcome.report.jobs.iter().flat_map(|job| &job.violations);
    let why = || outcome.found().map_or_else(|| "no reason is known".to_owned(), |found| found.why);
    if let Some(plain) = violations().find(|it| it.known.is_none()) {
        return Verdict::Violates { requirement: plain.requirement.map(|id| id.0), why: why() };
    }
    let known: BTreeSet<Req> = violations().filter_map(|it| it.known).map(|id| id.0).collect();
    match outcome.exit() {
        _ if !known.is_empty() => Verdict::Known(known),
        Exit::Conforms => Verdict::Conforms,
        // A Job that was deleted before its controller wrote anything has nothing to judge.
        _ if outcome.unmet.is_none() && is_idle(&outcome.report) => Verdict::Conforms,
        _ => Verdict::Inconclusive { why: why() },
    }
}

impl Verdict {
    /// Returns whether both runs break the same requirement.
    pub fn is_like(&self, other: &Verdict) -> bool {
        match (self, other) {
            (Verdict::Violates { requirement: one, .. }, Verdict::Violates { requirement: other, .. }) => {
                one == other
            }
            _ => self == other,
        }
    }

    /// The predicate of a sentence about the run.
    pub fn predicate(&self) -> String {
        match self {
            Verdict::Conforms => "conforms".to_owned(),
            Verdict::Known(ids) => {
                let ids: Vec<&str> = ids.iter().map(|id| id.id()).collect();
                format!("shows {}, which are KNOWN", ids.join(", "))
            }
            Verdict::Violates { requirement, .. } => {
                format!("breaks {}", requirement.map_or("advice", Req::id))
            }
            Verdict::Inconclusive { .. } => "is inconclusive".to_owned(),
        }
    }
}
