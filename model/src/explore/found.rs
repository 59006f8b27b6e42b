//! Something that is broken, and the way there.

use crate::properties::{PROPERTIES, STANDSTILL, standstill};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;

/// Something that is broken.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which property, in words.
    pub property: &'static str,
    /// Number of the property in [`PROPERTIES`]; `None` for a standstill.
    pub number: Option<usize>,
    /// What is wrong.
    pub why: String,
    /// The steps that lead there.
    pub path: Vec<Step>,
}

impl Found {
    /// What is wrong with a property where these steps lead. They are taken one by one, so that what is told has
    /// been seen to happen.
    #[must_use]
    pub fn at_the_end_of(scope: &Scope, number: Option<usize>, path: Vec<Step>) -> Found {
        let world = path.iter().fold(initial(scope), |world, step| world.apply(step, scope));
        let (property, why) = match number {
            Some(number) => {
                let property = &PROPERTIES[number];
                (property.name, world.lives.iter().find_map(|life| (property.broken)(life)))
            }
            None => (STANDSTILL, standstill(&world, &world.enabled(scope), scope)),
        };
        let why = why.expect("what is broken in a world is broken where the way to it leads");
        Found { property, number, why, path }
    }
}
