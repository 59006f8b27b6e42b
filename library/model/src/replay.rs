//! Replay strings: the scope of a story, and the place of each step among those that were enabled.
//!
//! `indexed-2+crashes-1:0.3.1` takes the first enabled step, then the fourth, then the second. A story of progress has the
//! number of steps before its cycle at its end, such as `:0.3.1~2`.

use std::fmt::{self, Display, Formatter};

use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::obligations::Obligation;
use jobcheck_explorer::progress::{PROGRESS, overdue};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope as Explored;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;

use crate::failure::Failure;

/// A story as places among enabled steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replay {
    /// The name of the scope.
    pub(crate) scope: String,
    places: Vec<usize>,
    cycle_start: Option<usize>,
}

impl Replay {
    /// The story of a counterexample.
    pub(crate) fn of(explored: &Explored, found: &Counterexample) -> Replay {
        let explored = as_followed(explored, found.cycle_start.is_some());
        let mut world = initial(&explored);
        let mut places = Vec::new();
        for step in &found.path {
            let enabled = world.enabled(&explored);
            let place = enabled.iter().position(|other| other == step);
            places.push(place.expect("each step of a counterexample is enabled"));
            world = world.apply(step, &explored);
        }
        Replay { scope: explored.name.to_owned(), places, cycle_start: found.cycle_start }
    }

    /// Reads a replay string; `None` if it is none.
    pub(crate) fn read(text: &str) -> Option<Replay> {
        let (scope, story) = text.trim().rsplit_once(':')?;
        let (places, cycle) =
            story.split_once('~').map_or((story, None), |(places, cycle)| (places, Some(cycle)));
        let cycle_start = cycle.map(str::parse).transpose().ok()?;
        let places = places.split('.').filter(|place| !place.is_empty()).map(str::parse);
        let places = places.collect::<Result<_, _>>().ok()?;
        Some(Replay { scope: scope.to_owned(), places, cycle_start })
    }

    /// The failure at the end of the story; `None` if the story cannot be followed any more, or breaks nothing.
    pub(crate) fn follow(&self, explored: &Explored) -> Option<Failure> {
        let followed = as_followed(explored, self.cycle_start.is_some());
        let mut worlds = vec![initial(&followed)];
        let mut path: Vec<Step> = Vec::new();
        for place in &self.places {
            let world = worlds.last()?;
            let step = world.enabled(&followed).into_iter().nth(*place)?;
            let next = world.apply(&step, &followed);
            path.push(step);
            worlds.push(next);
            if let Some(number) = worlds.last().and_then(broken_property) {
                let found = Counterexample::at_the_end_of(&followed, Some(number), path);
                return Some(Failure::broken(explored, &found));
            }
        }
        let cycle_start = self.cycle_start?;
        let last = worlds.last()?;
        // The last state is that before the cycle, so the cycle can still be taken for ever.
        let lacks = (worlds.get(cycle_start) == Some(last)).then(|| overdue(last, &followed))?;
        let Obligation { requirement: req, why } = lacks;
        let cycle_start = Some(cycle_start);
        let found = Counterexample { property: PROGRESS, number: None, req, why, path, cycle_start };
        Some(Failure::broken(&followed, &found))
    }
}

/// Progress is explored without the partial-order reduction.
fn as_followed(explored: &Explored, progress: bool) -> Explored {
    explored.clone().with_algorithm(|algorithm| algorithm.lazy_caches &= !progress)
}

fn broken_property(world: &World) -> Option<usize> {
    let breaks = |number: &usize| {
        world.job_states.iter().any(|job_state| (PROPERTIES[*number].broken)(job_state).is_some())
    };
    (0..PROPERTIES.len()).find(breaks)
}

impl Display for Replay {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self.places.iter().map(usize::to_string).collect();
        write!(formatter, "{}:{}", self.scope, places.join("."))?;
        self.cycle_start.map_or(Ok(()), |start| write!(formatter, "~{start}"))
    }
}
