//! Something that is broken, and the way there.

use crate::properties::{DEADLOCK, PROPERTIES, deadlock};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::script::{AT_REST, shortfall};
use crate::step::Step;
use jobcheck_spec::catalogue::Req;

/// Something that is broken.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Which property, in words.
    pub property: &'static str,
    /// Number of the property in [`PROPERTIES`]; `None` for a standstill, and for progress.
    pub number: Option<usize>,
    /// The requirement that states it, if one does.
    pub req: Option<Req>,
    /// What is wrong.
    pub why: String,
    /// The steps that lead there.
    pub path: Vec<Step>,
    /// Where it is progress that is missing ([`crate::progress`]): so many of the steps lead to a world to which the rest
    /// of them lead back, for ever. Without a rest nothing need happen any more.
    pub turn: Option<usize>,
}

impl Counterexample {
    /// What is wrong with a property where these steps lead. They are taken one by one, so that what is told has
    /// been seen to happen.
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
                        let found = shortfall(script, &world, &steps, scope);
                        let req = found.as_ref().and_then(|found| found.requirement);
                        (AT_REST, req, found.map(|found| found.why))
                    }
                }
            }
        };
        let why = why.expect("what is broken in a world is broken where the way to it leads");
        Counterexample { property, number, req, why, path, turn: None }
    }
}
