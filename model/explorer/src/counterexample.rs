//! Counterexamples: a broken property, and a path that breaks it.

use crate::properties::{DEADLOCK, PROPERTIES, SCENARIO_COMPLETES, deadlock, unmet};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;
use jobcheck_spec::catalogue::Req;

/// A broken property, with a path that breaks it.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The name of the property.
    pub property: &'static str,
    /// The number of the property in [`PROPERTIES`]; `None` for a deadlock, for a scenario, and for progress.
    pub number: Option<usize>,
    /// The requirement that the property states, if it states one.
    pub req: Option<Req>,
    /// The failure, as a sentence without a full stop.
    pub why: String,
    /// The steps from the initial state; for progress, the prefix and then the cycle of a lasso.
    pub path: Vec<Step>,
    /// For progress ([`crate::progress`]), the number of steps before the cycle. If it is the length of the path, the
    /// cycle is empty: no step need happen any more. `None` for all other properties.
    pub cycle_start: Option<usize>,
}

impl Counterexample {
    /// The counterexample for a property that this path breaks; `None` is a deadlock, or the property of a scenario.
    ///
    /// The path is replayed step by step, so that a counterexample always shows a behaviour that really exists.
    ///
    /// # Panics
    ///
    /// The property holds in the last state of the path.
    #[must_use]
    pub fn at_the_end_of(scope: &Scope, number: Option<usize>, path: Vec<Step>) -> Counterexample {
        let world = path.iter().fold(initial(scope), |world, step| world.apply(step, scope));
        let (property, req, why) = match number {
            Some(number) => {
                let property = &PROPERTIES[number];
                let why = world.job_states.iter().find_map(|job_state| (property.broken)(job_state));
                (property.name, Some(property.req), why)
            }
            None => {
                let steps = world.enabled(scope);
                match &scope.script {
                    None => (DEADLOCK, None, deadlock(&world, &steps, scope)),
                    Some(script) => {
                        let found = unmet(script, &world, &steps, scope);
                        let req = found.as_ref().and_then(|found| found.requirement);
                        (SCENARIO_COMPLETES, req, found.map(|found| found.why))
                    }
                }
            }
        };
        let why = why.expect("a property that the search found broken is broken when the path is replayed");
        Counterexample { property, number, req, why, path, cycle_start: None }
    }
}
