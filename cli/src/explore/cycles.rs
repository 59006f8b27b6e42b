//! The way to where a Job strays from its end: a round that is made for ever, or a world in which all is at rest.

use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, cause};
use jobcheck_explorer::progress::PROGRESS;
use jobcheck_explorer::scope::Scope;
use serde_json::{Value, json};

/// A counterexample to progress, as the address of the page writes ways.
pub struct Cycle {
    /// The steps to where the round begins, or to where all is at rest.
    prefix: Vec<usize>,
    /// The steps of the round; none where nothing need happen any more.
    round: Vec<usize>,
    /// What is broken there.
    broken: Value,
}

impl Cycle {
    /// What was found, if it is progress that is missing; `way` is the whole of it.
    pub fn of(scope: &Scope, found: &Counterexample, way: &[usize]) -> Option<Cycle> {
        let (prefix, round) = way.split_at_checked(found.cycle_start?)?;
        let requirement = cause(scope, found).map(|req| req.id());
        let broken = json!({ "requirement": requirement, "property": PROGRESS, "why": found.why });
        Some(Cycle { prefix: prefix.to_vec(), round: round.to_vec(), broken })
    }

    /// How far a way has gone round, however often; none where it has not come so far, or has left the round.
    fn steps_round(&self, way: &[usize]) -> Option<usize> {
        let rest = way.strip_prefix(self.prefix.as_slice())?;
        let goes_round = rest.len() <= self.round.len() || !self.round.is_empty();
        let follows = rest.iter().zip(self.round.iter().cycle()).all(|(step, next)| step == next);
        (goes_round && follows).then_some(rest.len())
    }

    /// What is broken at the end of a way.
    pub fn broken(&self, way: &[usize]) -> Option<&Value> {
        self.steps_round(way).map(|_| &self.broken)
    }

    /// What the page marks in a way that has come there: after how many steps, and in what words.
    pub fn mark(&self, way: &[usize]) -> Option<Value> {
        self.steps_round(way)?;
        let words = if self.round.is_empty() { NOTHING_FOLLOWS } else { CYCLE_FOLLOWS };
        Some(json!({ "after": self.prefix.len(), "words": words }))
    }

    /// Whether this step goes on with the round.
    pub fn goes_on(&self, way: &[usize], step: usize) -> bool {
        let gone = self.steps_round(way);
        gone.is_some_and(|gone| self.round.iter().cycle().nth(gone) == Some(&step))
    }
}
