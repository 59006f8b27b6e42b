//! A whole story: the head, the way, and what is broken at its end.

use super::head::head;
use super::{Line, lines};
use crate::counterexample::Counterexample;
use crate::ghost::GhostHistory;
use crate::properties::{EVERY_WRITE_IS_ADMITTED, NOTHING_IS_REFUSED, PROPERTIES};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::world::World;
use jobcheck_spec::catalogue::Req;

/// What is said before the round that goes on for ever.
pub const CYCLE_FOLLOWS: &str = "and from here on again and again, for ever:";

/// What is said where nothing goes on.
pub const NOTHING_FOLLOWS: &str = "and no event or timer will wake anyone";

/// A counterexample, told.
#[derive(Clone, Debug)]
pub struct Narrative {
    /// The Jobs, and the world that they are in.
    pub head: Vec<String>,
    /// The steps.
    pub lines: Vec<Line>,
    /// [`Counterexample::cycle_start`].
    pub cycle_start: Option<usize>,
    /// What is broken.
    pub end: String,
    /// The requirement that was looked for: what lines say of others is said as a thing besides.
    pub asked: Option<Req>,
}

impl Narrative {
    /// Tells what was found in a scope, with the requirement that was looked for, where there is one.
    #[must_use]
    pub fn of(scope: &Scope, found: &Counterexample, asked: Option<Req>) -> Narrative {
        let lines = lines(scope, &found.path);
        Narrative { head: head(scope), lines, cycle_start: found.cycle_start, end: end(scope, found), asked }
    }

    /// Whether nothing goes on where it ends.
    #[must_use]
    pub fn stutters(&self) -> bool {
        self.cycle_start == Some(self.lines.len())
    }
}

fn end(scope: &Scope, found: &Counterexample) -> String {
    match cause(scope, found) {
        Some(req) if is_of_a_write(found) => format!("broken, {req}: {}", req.entry().sentence),
        Some(req) => format!("broken, {req}: {}: {}", found.property, found.why),
        None => format!("broken: {}: {}", found.property, found.why),
    }
}

fn is_of_a_write(found: &Counterexample) -> bool {
    let req = found.number.map(|number| PROPERTIES[number].req);
    req == Some(EVERY_WRITE_IS_ADMITTED.req) || req == Some(NOTHING_IS_REFUSED.req)
}

/// The requirement behind what is broken: of a write that is not admitted or refused, the one that it broke.
#[must_use]
pub fn cause(scope: &Scope, found: &Counterexample) -> Option<Req> {
    let Some(number) = found.number else { return found.req };
    let req = PROPERTIES[number].req;
    let ghost = |of: fn(&GhostHistory) -> Option<Req>| {
        let world: World = found.path.iter().fold(initial(scope), |world, step| world.apply(step, scope));
        world.job_states.iter().find_map(|job_state| of(&job_state.ghost))
    };
    match req {
        _ if req == EVERY_WRITE_IS_ADMITTED.req => ghost(|ghost| ghost.objection),
        _ if req == NOTHING_IS_REFUSED.req => ghost(|ghost| ghost.refused),
        _ => Some(req),
    }
}
