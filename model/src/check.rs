//! Exploring a scope with stateright; the only file that names it.
//!
//! # Guarantees
//!
//! A scope passes only if every world that was generated was also looked at. What stateright calls done is not
//! asked: a limit, or a property that has been decided, makes it say so too early.
//!
//! # Caveats
//!
//! stateright tells worlds apart by a hash of 64 bits. With several threads its depth is that of the first way
//! that was found to a world, which need not be the shortest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use stateright::{Checker, HasDiscoveries, Model};

use crate::explore::shortest::{Found, search};
use crate::manager::is_held_back;
use crate::properties::{PROPERTIES, Property, Situation, standstill};
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::{Step, StepKind};
use crate::world::World;

/// What limits an exploration.
#[derive(Clone)]
pub struct Bounds {
    /// Worker threads.
    pub threads: usize,
    /// The most worlds that are looked at.
    pub max_states: Option<usize>,
    /// Says when to give up: the model has no clock.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Bounds {
    /// No limit.
    #[must_use]
    pub fn none(threads: usize) -> Bounds {
        Bounds { threads, max_states: None, stop: Arc::new(|| false) }
    }
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Different worlds.
    pub states: usize,
    /// Steps that led to them, to known ones too.
    pub generated: usize,
    /// Steps to the farthest world; with several threads an upper bound.
    pub depth: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// For each of [`PROPERTIES`], whether its premise was reached.
    pub reached: Vec<bool>,
    /// How often each of [`StepKind::ALL`] was possible.
    pub steps: Vec<u64>,
    /// Whether creations were held back by the scope's bound on pods.
    pub pods_bound_reached: bool,
}

/// How an exploration ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Every world was looked at, and every property holds.
    Holds,
    /// A property is broken; one of the shortest ways there.
    Broken(Box<Found>),
    /// A limit was reached: nothing is proved.
    NotFinished,
}

/// Explores a scope.
#[must_use]
pub fn explore(scope: &Scope, bounds: &Bounds) -> Exploration {
    let tracker = Arc::new(Tracker::default());
    let model = Explorer { scope: scope.clone(), bounds: bounds.clone(), tracker: tracker.clone() };
    let checker =
        model.checker().threads(bounds.threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let (states, looked_at) = (checker.unique_state_count(), tracker.looked_at.load(Ordering::SeqCst));
    let outcome = if tracker.broken.load(Ordering::SeqCst) {
        shortest_way(scope)
    } else if tracker.cut.load(Ordering::SeqCst) || states != looked_at {
        Outcome::NotFinished
    } else {
        Outcome::Holds
    };
    let premises = tracker.premises.load(Ordering::SeqCst);
    Exploration {
        states,
        generated: checker.state_count(),
        depth: checker.max_depth().saturating_sub(1),
        outcome,
        reached: (0..PROPERTIES.len()).map(|number| premises >> number & 1 == 1).collect(),
        steps: tracker.steps.iter().map(|count| count.load(Ordering::SeqCst)).collect(),
        pods_bound_reached: tracker.pods_bound_reached.load(Ordering::SeqCst),
    }
}

/// stateright's way to a broken property need not be the shortest, and later ones replace it.
fn shortest_way(scope: &Scope) -> Outcome {
    let found = search(scope, &|_| true, usize::MAX).found;
    Outcome::Broken(Box::new(found.expect("what one search found broken, another finds too")))
}

struct Explorer {
    scope: Scope,
    bounds: Bounds,
    tracker: Arc<Tracker>,
}

/// What is gathered on the way. It decides nothing about which worlds there are.
#[derive(Default)]
struct Tracker {
    looked_at: AtomicUsize,
    cut: AtomicBool,
    broken: AtomicBool,
    premises: AtomicU64,
    steps: [AtomicU64; StepKind::ALL.len()],
    pods_bound_reached: AtomicBool,
}

impl Explorer {
    /// Whether every property holds here. Premises are noted, each until it was reached once.
    fn holds(&self, world: &World) -> bool {
        let reached = self.tracker.premises.load(Ordering::Relaxed);
        let mut fresh = 0;
        let mut holds = true;
        for (number, property) in PROPERTIES.iter().enumerate() {
            holds &= world.lives.iter().all(|life| (property.broken)(life).is_none());
            if reached >> number & 1 == 0 && self.meets_premise(property, world) {
                fresh |= 1 << number;
            }
        }
        if fresh != 0 {
            self.tracker.premises.fetch_or(fresh, Ordering::SeqCst);
        }
        if !holds {
            self.tracker.broken.store(true, Ordering::SeqCst);
        }
        holds
    }

    fn meets_premise(&self, property: &Property, world: &World) -> bool {
        let scope = &self.scope;
        world.lives.iter().any(|life| (property.premise)(&Situation { world, life, scope }))
    }

    /// Whether a limit was reached: then no world has successors any more.
    fn is_cut(&self) -> bool {
        let looked_at = self.tracker.looked_at.fetch_add(1, Ordering::SeqCst);
        let too_many = self.bounds.max_states.is_some_and(|most| looked_at >= most);
        if too_many || (self.bounds.stop)() {
            self.tracker.cut.store(true, Ordering::SeqCst);
        }
        self.tracker.cut.load(Ordering::SeqCst)
    }

    fn note(&self, world: &World, steps: &[Step]) {
        for step in steps {
            self.tracker.steps[step.kind() as usize].fetch_add(1, Ordering::Relaxed);
        }
        if standstill(world, steps, &self.scope).is_some() {
            self.tracker.broken.store(true, Ordering::SeqCst);
        }
        let noted = self.tracker.pods_bound_reached.load(Ordering::Relaxed);
        if !noted && world.numbered().any(|(job, _)| is_held_back(world, job, &self.scope)) {
            self.tracker.pods_bound_reached.store(true, Ordering::Relaxed);
        }
    }
}

impl Model for Explorer {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![initial(&self.scope)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        if self.is_cut() {
            return;
        }
        let steps = world.enabled(&self.scope);
        self.note(world, &steps);
        actions.extend(steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        Some(world.apply(&step, &self.scope))
    }

    fn properties(&self) -> Vec<stateright::Property<Explorer>> {
        vec![stateright::Property::always("every property", Explorer::holds)]
    }
}
