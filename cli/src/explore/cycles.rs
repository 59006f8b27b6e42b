//! Counterexamples to progress: a path to a cycle, or to a quiescent state in which a Job is unfinished.

use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, cause};
use jobcheck_explorer::progress::PROGRESS;
use jobcheck_explorer::scope::Scope;
use serde_json::{Value, json};

/// A counterexample to progress, as paths of the page.
pub struct Cycle {
    /// The steps before the cycle, or to the quiescent state.
    prefix: Vec<usize>,
    /// The steps of the cycle; empty at quiescence.
    cycle: Vec<usize>,
    /// The property that the cycle breaks.
    broken: Value,
}

impl Cycle {
    /// The counterexample, if it is one to progress. `path` is the whole of it.
    pub fn of(scope: &Scope, found: &Counterexample, path: &[usize]) -> Option<Cycle> {
        let (prefix, cycle) = path.split_at_checked(found.cycle_start?)?;
        let requirement = cause(scope, found).map(|req| req.id());
        let broken = json!({ "requirement": requirement, "property": PROGRESS, "why": found.why });
        Some(Cycle { prefix: prefix.to_vec(), cycle: cycle.to_vec(), broken })
    }

    /// The number of steps that a path has taken along the cycle, any number of times. `None` if the path has not reached
    /// the cycle, or has left it.
    fn steps_in_cycle(&self, path: &[usize]) -> Option<usize> {
        let rest = path.strip_prefix(self.prefix.as_slice())?;
        let is_possible = rest.len() <= self.cycle.len() || !self.cycle.is_empty();
        let follows = rest.iter().zip(self.cycle.iter().cycle()).all(|(step, next)| step == next);
        (is_possible && follows).then_some(rest.len())
    }

    /// The property that is broken at the end of a path.
    pub fn broken(&self, path: &[usize]) -> Option<&Value> {
        self.steps_in_cycle(path).map(|_| &self.broken)
    }

    /// The mark of the page in a path that has reached the cycle: the number of steps before it, and its text.
    pub fn mark(&self, path: &[usize]) -> Option<Value> {
        self.steps_in_cycle(path)?;
        let words = if self.cycle.is_empty() { NOTHING_FOLLOWS } else { CYCLE_FOLLOWS };
        Some(json!({ "after": self.prefix.len(), "words": words }))
    }

    /// Returns whether a step continues the cycle.
    pub fn continues(&self, path: &[usize], step: usize) -> bool {
        let taken = self.steps_in_cycle(path);
        taken.is_some_and(|taken| self.cycle.iter().cycle().nth(taken) == Some(&step))
    }
}
