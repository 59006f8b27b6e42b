//! Scopes as models of the checker [stateright](https://docs.rs/stateright), with the feature `stateright`.
//!
//! Its breadth-first, depth-first and on-demand checkers run on them, and so does its web interface.
//!
//! ```
//! use jobcheck_model::Scope;
//! use jobcheck_model::stateright::ScopeModel;
//! use stateright::{Checker, Model};
//!
//! let checker = ScopeModel::of_the_algorithm(&Scope::non_indexed(1)).checker().spawn_bfs().join();
//! checker.assert_properties();
//! ```
//!
//! # Differences from this crate's own search
//!
//! stateright compares states by a 64-bit hash, counts depth from 1, and its counterexamples need not be the shortest. A
//! search that a bound cuts looks like one that is complete. This crate's own search has none of these limits.

use jobcheck_explorer::properties::{DEADLOCK, PROPERTIES, deadlock};
use jobcheck_explorer::scope::{Algorithm, Scope as Explored};
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use stateright::{Model, Property};

use crate::explore::Explore;
use crate::scope::Scope;

/// A scope with a subject, as a model.
pub struct ScopeModel {
    /// The scope.
    pub scope: Explored,
}

impl ScopeModel {
    /// The scope with the subject of a check, in every interleaving.
    ///
    /// # Panics
    ///
    /// The check has no subject.
    #[must_use]
    pub fn of(check: &Explore, scope: &Scope) -> ScopeModel {
        ScopeModel::unreduced(check.explored(scope))
    }

    /// The scope with the reference algorithm.
    #[must_use]
    pub fn of_the_algorithm(scope: &Scope) -> ScopeModel {
        ScopeModel::unreduced(scope.run_by(Algorithm::reference()))
    }

    /// A scope of the explorer, without its reductions.
    #[must_use]
    pub fn unreduced(scope: Explored) -> ScopeModel {
        ScopeModel { scope: scope.with_algorithm(|algorithm| algorithm.lazy_caches = false) }
    }

    fn breaks(&self, number: usize, world: &World) -> bool {
        let property = &PROPERTIES[number];
        let asked = !self.scope.not_checked.contains(&property.req);
        asked && world.job_states.iter().any(|job_state| (property.broken)(job_state).is_some())
    }
}

impl Model for ScopeModel {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![initial(&self.scope)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        actions.extend(world.enabled(&self.scope));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        Some(world.apply(&step, &self.scope))
    }

    /// One property for all of [`PROPERTIES`], and one for deadlocks.
    fn properties(&self) -> Vec<Property<ScopeModel>> {
        vec![
            Property::always("every property holds", |model: &ScopeModel, world: &World| {
                (0..PROPERTIES.len()).all(|number| !model.breaks(number, world))
            }),
            Property::always(DEADLOCK, |model: &ScopeModel, world: &World| {
                deadlock(world, &world.enabled(&model.scope), &model.scope).is_none()
            }),
        ]
    }
}
