//! Explores a scope: every behaviour, held against the guards, the headline invariants, and progress.
//!
//! # Progress
//!
//! From every reachable state the Job reaches its end, or quiescence if it is suspended or gone. In TLA+ terms this is
//! `[]<>Settled`, decided exactly, with cycles ([`jobcheck_explorer::liveness`]).
//!
//! | fairness | steps |
//! | --- | --- |
//! | strong | each request of the manager that it sends with up-to-date caches, each due write of an executor |
//! | weak | the dispatcher's choice, the return of a worker |
//! | none | other requests, users, evictions, TTLs, faults |

use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_explorer::engine::{Coverage, Cut, End, Limits, Run, System, explore, path_to};
use jobcheck_spec::catalogue::{CATALOGUE, Req};
use jobcheck_spec::requirement::Findings;

use crate::executor::Move;
use crate::obligations::{judge_quiescence, open_obligation};
use crate::packed::{Packed, Parts, Tables};
use crate::progress::{Fair, Settling, check_progress};
use crate::scope::Scope;
use crate::step::{Call, Step};
use crate::world::World;

/// The result of exploring a scope.
#[derive(Clone, Debug)]
pub struct Exploration<S = Step> {
    /// The number of states.
    pub states: usize,
    /// The number of steps taken, plus the initial state.
    pub generated: u64,
    /// The number of steps to the most distant state.
    pub depth: usize,
    /// The number of states at each depth that the search has begun to visit, from 0.
    pub layers: Vec<usize>,
    /// The bytes that the table of states uses, with reserved space. The parts are stored separately.
    pub bytes: usize,
    /// The number of distinct parts of which the states consist.
    pub parts: usize,
    /// For each kind of step, how often it was taken.
    pub steps: Vec<Coverage>,
    /// The requirements whose premise was met.
    pub premises: Vec<Req>,
    /// The number of settled states; `None` if progress was not checked.
    pub settled: Option<usize>,
    /// The outcome.
    pub outcome: Outcome<S>,
}

/// The end of an exploration.
#[derive(Clone, Debug)]
pub enum Outcome<S = Step> {
    /// Every state was visited, and every property holds.
    Holds,
    /// A property is broken.
    Broken(Counterexample<S>),
    /// A limit was reached, so that nothing is proved.
    NotFinished(Cut),
}

/// A behaviour that breaks a property.
#[derive(Clone, Debug)]
pub struct Counterexample<S = Step> {
    /// The requirement.
    pub req: Req,
    /// The failure, as a sentence without a full stop.
    pub why: String,
    /// The steps from the initial state. For progress, these are the prefix and then the cycle.
    pub path: Vec<S>,
    /// The number of steps before the cycle, for progress.
    pub cycle_start: Option<usize>,
}

impl<S> Exploration<S> {
    /// The result of a search. `broken` describes the end of a path to a broken property.
    pub(crate) fn of<T: System<Step = S>>(
        system: &T,
        run: &Run<T>,
        broken: impl FnOnce(usize, Vec<S>) -> Counterexample<S>,
    ) -> Exploration<S> {
        Exploration {
            states: run.store.len(),
            generated: run.generated,
            depth: run.depth,
            layers: run.layers.clone(),
            bytes: run.store.bytes(),
            parts: 0,
            steps: run.coverage.clone(),
            premises: Vec::new(),
            settled: None,
            outcome: match run.end {
                End::Exhausted => Outcome::Holds,
                End::Cut(cut) => Outcome::NotFinished(cut),
                End::Broken { property, state } => {
                    Outcome::Broken(broken(property, path_to(system, run, state)))
                }
            },
        }
    }

    /// Returns true if every state was visited and every property holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Holds)
    }

    /// The counterexample.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample<S>> {
        match &self.outcome {
            Outcome::Broken(found) => Some(found),
            Outcome::Holds | Outcome::NotFinished(_) => None,
        }
    }

    /// The exploration with the steps of its counterexample in words, a line for each.
    #[must_use]
    pub fn in_words(self, words: impl FnOnce(&[S]) -> Vec<String>) -> Exploration<String> {
        let outcome = match self.outcome {
            Outcome::Holds => Outcome::Holds,
            Outcome::Broken(found) => Outcome::Broken(found.in_words(words)),
            Outcome::NotFinished(cut) => Outcome::NotFinished(cut),
        };
        let Exploration { states, generated, depth, layers, bytes, parts, steps, premises, settled, .. } =
            self;
        Exploration { states, generated, depth, layers, bytes, parts, steps, premises, settled, outcome }
    }
}

impl<S> Counterexample<S> {
    /// The counterexample with its steps in words, a line for each.
    #[must_use]
    pub fn in_words(&self, words: impl FnOnce(&[S]) -> Vec<String>) -> Counterexample<String> {
        let (req, why, path) = (self.req, self.why.clone(), words(&self.path));
        Counterexample { req, why, path, cycle_start: self.cycle_start }
    }
}

/// The transition system of a scope.
struct Clusters<'a> {
    scope: &'a Scope,
    tables: Tables,
    /// For each entry of the catalogue, whether its premise was met.
    premises: Vec<AtomicBool>,
}

impl<'a> Clusters<'a> {
    fn new(scope: &'a Scope) -> Clusters<'a> {
        let premises = CATALOGUE.iter().map(|_| AtomicBool::new(false)).collect();
        Clusters { scope, tables: Tables::new(), premises }
    }

    /// Notes the premises of findings.
    fn note(&self, findings: &Findings) {
        for req in findings.premises() {
            self.premises[req as usize].store(true, Ordering::Relaxed);
        }
    }

    /// The requirements whose premise was met.
    fn met(&self) -> Vec<Req> {
        let all = CATALOGUE.iter().zip(&self.premises);
        all.filter(|(_, met)| met.load(Ordering::Relaxed)).map(|(entry, _)| entry.req).collect()
    }
}

impl System for Clusters<'_> {
    type State = Packed;
    type Step = Step;
    type Scratch = Parts;

    const KINDS: usize = Step::KINDS.len();

    fn scratch(&self) -> Parts {
        Parts::new()
    }

    fn initial(&self, parts: &mut Parts) -> Vec<Packed> {
        vec![self.tables.pack(parts, &World::initial(self.scope))]
    }

    fn steps(&self, parts: &mut Parts, state: &Packed, steps: &mut Vec<Step>) {
        let world = self.tables.unpack(parts, state);
        if world.history.broken.is_none() {
            steps.extend(world.enabled(self.scope));
        }
    }

    fn apply(&self, parts: &mut Parts, state: &Packed, step: &Step) -> Packed {
        let (world, judged) = self.tables.unpack(parts, state).judged(step, self.scope);
        self.note(&judged.findings);
        self.note(&judged.advice);
        self.tables.pack(parts, &world)
    }

    fn look(&self, parts: &mut Parts, state: &Packed, _: &[Step]) -> Option<usize> {
        self.tables.unpack(parts, state).history.broken.map(usize::from)
    }

    fn kind(&self, step: &Step) -> usize {
        step.kind()
    }
}

impl Settling for Clusters<'_> {
    type Action = Action;

    fn open_obligation(&self, parts: &mut Parts, state: &Packed) -> Option<(Req, String)> {
        let world = self.tables.unpack(parts, state);
        self.note(&judge_quiescence(&world, self.scope));
        open_obligation(&world, self.scope)
    }

    fn actions(
        &self,
        parts: &mut Parts,
        state: &Packed,
        steps: &mut dyn Iterator<Item = &Step>,
    ) -> Vec<Action> {
        let world = self.tables.unpack(parts, state);
        steps.map(|step| action(step, &world, self.scope)).collect()
    }

    fn fairness(action: Action) -> Fair {
        match action {
            Action::Unfair => Fair::Never,
            Action::Request(_) | Action::Execute(..) => Fair::Strongly,
            Action::Assign | Action::Reconnect(_) => Fair::Weakly,
        }
    }
}

/// Explores a scope with this number of threads, and visits at most this number of states.
#[must_use]
pub fn explore_scope(scope: &Scope, threads: usize, max_states: Option<usize>) -> Exploration {
    explore_within(scope, &Limits { max_states, ..Limits::none(threads) })
}

/// Explores a scope within limits.
#[must_use]
pub fn explore_within(scope: &Scope, limits: &Limits<'_>) -> Exploration {
    let clusters = Clusters::new(scope);
    let run = explore(&clusters, limits);
    let mut exploration = Exploration::of(&clusters, &run, |_, path| broken(scope, path));
    exploration.parts = clusters.tables.len();
    if exploration.holds() && scope.progress {
        check_progress(&clusters, &run, &mut exploration);
    }
    exploration.premises = clusters.met();
    exploration
}

/// The counterexample at the end of a path, which is taken again.
fn broken(scope: &Scope, path: Vec<Step>) -> Counterexample {
    let before =
        path[..path.len() - 1].iter().fold(World::initial(scope), |world, step| world.apply(step, scope));
    let (world, judged) = before.judged(&path[path.len() - 1], scope);
    let req = world.history.broken_requirement().expect("the search ended because a requirement is broken");
    let all = judged.findings.broken.iter().chain(&judged.advice.broken);
    let why = all.clone().find(|it| it.req == req).map_or_else(String::new, ToString::to_string);
    Counterexample { req, why, path, cycle_start: None }
}

/// Steps that share one fairness assumption.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Unfair,
    Request(Call),
    Execute(usize, Move),
    Assign,
    Reconnect(usize),
}

fn action(step: &Step, world: &World, scope: &Scope) -> Action {
    match step {
        // Events arrive: a decision that reads the newest versions comes eventually.
        Step::Request(_, call) if world.due(scope).contains(call) => Action::Request(*call),
        Step::Request(..) => Action::Unfair,
        Step::Execute(worker, it) => {
            let copy = world.workers[*worker].copy;
            let is_due = copy.is_some_and(|copy| it.is_due(&world.task(&copy, scope), &copy.shown()));
            if is_due { Action::Execute(*worker, *it) } else { Action::Unfair }
        }
        Step::Assign(_) => Action::Assign,
        Step::Reconnect(worker) => Action::Reconnect(*worker),
        Step::Evict
        | Step::Suspend(_)
        | Step::Delete
        | Step::Recreate
        | Step::SetCondition
        | Step::DeleteCopy(_)
        | Step::CreateStranger(_)
        | Step::Expire
        | Step::ExpireCopy(_)
        | Step::Disconnect(_)
        | Step::Crash => Action::Unfair,
    }
}
