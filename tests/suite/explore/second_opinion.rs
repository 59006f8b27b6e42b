//! Compares with stateright on the same scopes.
//!
//! stateright distinguishes states by a 64-bit hash, and its depth starts at 1.

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::properties::{PROPERTIES, deadlock};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use stateright::{Checker, Model, Property};

use crate::check::small;

struct Specification(Scope);

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
        vec![Property::always("every property", |model: &Specification, world: &World| {
            let holds = |job_state| PROPERTIES.iter().all(|property| (property.broken)(job_state).is_none());
            let stuck = deadlock(world, &world.enabled(&model.0), &model.0);
            world.job_states.iter().all(holds) && stuck.is_none()
        })]
    }
}

#[test]
fn stateright_finds_the_same_states_and_steps() {
    let mut compared = 0;
    for scope in small(3_000) {
        let name = scope.name;
        compared += 1;
        let ours = explore(&scope, &Bounds::none(1));
        let checker = Specification(scope).checker().spawn_bfs().join();
        assert_eq!(checker.unique_state_count(), ours.states, "{name}");
        assert_eq!(checker.state_count() as u64, ours.generated, "{name}");
        assert_eq!(checker.max_depth(), ours.depth + 1, "{name}");
        assert_eq!(checker.discoveries().len(), 0, "{name}");
        assert!(matches!(ours.outcome, Outcome::Holds), "{name}");
    }
    assert!(compared > 15, "{compared}");
}
