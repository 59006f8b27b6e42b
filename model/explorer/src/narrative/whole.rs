//! A counterexample as text: the head, the steps, and the broken property.

use super::head::head;
use super::{Line, lines};
use crate::counterexample::Counterexample;
use crate::ghost::GhostHistory;
use crate::properties::{EVERY_WRITE_IS_ADMITTED, NOTHING_IS_REFUSED, PROPERTIES};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::world::World;
use jobcheck_spec::catalogue::Req;

/// The line before the cycle of a liveness counterexample.
pub const CYCLE_FOLLOWS: &str = "the following steps repeat forever:";

/// The line after the steps if nothing follows them.
pub const NOTHING_FOLLOWS: &str = "no event or timer triggers another sync";

/// A counterexample as text.
#[derive(Clone, Debug)]
pub struct Narrative {
    /// The Jobs, and the scope.
    pub head: Vec<String>,
    /// The steps.
    pub lines: Vec<Line>,
    /// [`Counterexample::cycle_start`].
    pub cycle_start: Option<usize>,
    /// The broken property.
    pub end: String,
    /// The requirement that the counterexample is about. Lines mention other requirements with "also".
    pub asked: Option<Req>,
}

impl Narrative {
    /// Describes a counterexample of a scope. `asked` is the requirement that it is about, if there is one.
    #[must_use]
    pub fn of(scope: &Scope, found: &Counterexample, asked: Option<Req>) -> Narrative {
        let lines = lines(scope, &found.path);
        Narrative { head: head(scope), lines, cycle_start: found.cycle_start, end: end(scope, found), asked }
    }

    /// Returns true if nothing follows the steps.
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

/// The requirement behind a counterexample. If a write is not admitted or is refused, this is the requirement
/// that the write breaks.
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
