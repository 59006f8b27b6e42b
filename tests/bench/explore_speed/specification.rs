//! The specification as a model of stateright.

use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use stateright::{Model, Property};

/// The specification in a scope.
pub struct Specification(pub Scope);

impl Model for Specification {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![initial(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        actions.extend(world.enabled(&self.0));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        Some(world.apply(&step, &self.0))
    }

    fn properties(&self) -> Vec<Property<Specification>> {
        vec![Property::always("every property", |_: &Specification, world: &World| {
            let holds = |job_state| PROPERTIES.iter().all(|property| (property.broken)(job_state).is_none());
            world.job_states.iter().all(holds)
        })]
    }
}
