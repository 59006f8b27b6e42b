//! Explores scopes side by side, and reports what was found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobcheck_explorer::check::{Bounds, Exploration, Outcome, explore, symmetry_is_sound};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::StepKind;
use jobcheck_judge::report::Exit;
use jobcheck_judge::threads::on_threads;

use super::args::{CheckArgs, PartialOrder, Size, Symmetry};
use super::rows::Rows;
use super::subject::{Subject, has_controllers};
use super::text;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::progress::Progress;

/// The exploration of one scope.
pub struct Run {
    /// The scope.
    pub scope: Scope,
    /// The result.
    pub exploration: Exploration,
    /// The time that it took.
    pub elapsed: Duration,
}

impl Run {
    /// The counterexample, if a property is broken.
    pub fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }
}

/// The explorations of one call.
pub struct Report {
    /// The scopes that were explored, in order.
    pub runs: Vec<Run>,
    /// The scopes for which no time was left.
    pub not_run: Vec<&'static str>,
    /// True if the user has ended the search.
    pub is_interrupted: bool,
    /// True if every scope was chosen, so that every premise must be reached.
    pub is_complete: bool,
    /// True if each kind of step must be taken. Only the default size with all subjects has all kinds.
    pub takes_every_step: bool,
    /// The time that all explorations took.
    pub elapsed: Duration,
}

impl Report {
    /// Returns whether a property is broken in a scope.
    pub fn is_broken(&self) -> bool {
        self.runs.iter().any(|run| run.found().is_some())
    }

    /// Returns whether a scope was not explored to its end.
    pub fn is_unfinished(&self) -> bool {
        let is_cut = |run: &Run| matches!(run.exploration.outcome, Outcome::NotFinished(_));
        !self.not_run.is_empty() || self.runs.iter().any(is_cut)
    }

    /// The number of scopes in which the premise of a property was reached.
    pub fn reached(&self, property: usize) -> usize {
        self.runs.iter().filter(|run| run.exploration.reached[property]).count()
    }

    /// The number of steps of a kind.
    pub fn taken(&self, kind: StepKind) -> u64 {
        self.runs.iter().map(|run| run.exploration.steps[kind as usize].taken).sum()
    }

    /// The properties whose premise no scope has reached. They pass only a search that need not reach it.
    pub fn untested(&self) -> Vec<usize> {
        if !self.is_complete || self.is_unfinished() {
            return Vec::new();
        }
        let with_controllers = self.runs.iter().any(|run| has_controllers(&run.scope));
        let with_specification = self.runs.iter().any(|run| !has_controllers(&run.scope));
        let is_concerned = |property: &usize| {
            let of_an_algorithm = PROPERTIES[*property].needs_processes;
            if of_an_algorithm { with_controllers } else { with_specification }
        };
        (0..PROPERTIES.len()).filter(is_concerned).filter(|property| self.reached(*property) == 0).collect()
    }

    /// The number of scopes in which every Job was shown to finish.
    pub fn with_progress(&self) -> usize {
        let is_shown = |run: &&Run| run.exploration.quiescent_states.is_some() && run.found().is_none();
        self.runs.iter().filter(is_shown).count()
    }

    /// The kinds of steps that were never possible. One of these means that a scope or the specification is wrong.
    pub fn never_taken(&self) -> Vec<StepKind> {
        if !self.takes_every_step || self.is_unfinished() || self.is_broken() {
            return Vec::new();
        }
        StepKind::outside_scripts().filter(|kind| self.taken(*kind) == 0).collect()
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match () {
            () if self.is_broken() || !self.never_taken().is_empty() => Exit::Violates,
            () if self.runs.is_empty() || self.is_unfinished() || !self.untested().is_empty() => {
                Exit::Inconclusive
            }
            () => Exit::Conforms,
        }
    }
}

/// Explores scopes side by side: one on each thread, or a single one on several threads.
pub fn explore_all(
    scopes: Vec<Scope>,
    args: &CheckArgs,
    global: &Global,
    interrupt: &Interrupt,
    rows: Option<&Rows>,
) -> Report {
    let start = Instant::now();
    let stop = interrupt.or_after(args.budget.map(|budget| start + budget));
    let progress = Arc::new(Progress::new(!global.quiet, scopes.len()));
    // The limit on memory is one of the process: scopes share it only if they are explored one after the other.
    let at_once = if args.max_memory.is_some() { 1 } else { args.threads().min(scopes.len()).max(1) };
    let threads = args.threads() / at_once;
    let explored = |scope: Scope| {
        if stop() {
            return Err(scope.name);
        }
        let begun = Instant::now();
        progress.begin(scope.name);
        let limits =
            Bounds { progress: shown(&progress, scope.name), ..bounds(args, threads, &scope, &stop) };
        let exploration = explore(&scope, &limits);
        progress.end(scope.name);
        Ok(Run { scope, exploration, elapsed: begun.elapsed() })
    };
    let print = |position: usize, result: Result<Run, &'static str>| {
        if let Some(rows) = rows {
            rows.put(position, text::row(result.as_ref().map_err(|name| *name), interrupt), &progress);
        }
        result
    };
    let results = on_threads(at_once, scopes, &|position, scope| print(position, explored(scope)));
    progress.finish();
    let (mut runs, mut not_run) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(run) => runs.push(run),
            Err(scope) => not_run.push(scope),
        }
    }
    let is_complete =
        args.scopes.is_empty() && args.shard.is_none() && args.mutant.is_none() && args.size != Size::Large;
    Report {
        runs,
        not_run,
        is_interrupted: interrupt.is_set(),
        is_complete,
        takes_every_step: is_complete && args.size == Size::Default && args.subject == Subject::All,
        elapsed: start.elapsed(),
    }
}

/// A function that ends a search by returning true.
type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// The limits of the exploration of a scope, and its reductions.
pub fn bounds(args: &CheckArgs, threads: usize, scope: &Scope, stop: &Stop) -> Bounds {
    Bounds {
        max_states: args.max_states,
        max_memory: args.max_memory,
        symmetry: args.symmetry != Symmetry::Off && symmetry_is_sound(scope),
        partial_order: args.partial_order == PartialOrder::On,
        ..measured(threads, stop)
    }
}

/// Limits that know the memory of the process, and end when `stop` returns true.
pub fn measured(threads: usize, stop: &Stop) -> Bounds {
    Bounds { memory: Arc::new(memory::used), stop: Arc::clone(stop), ..Bounds::none(threads) }
}

fn shown(
    progress: &Arc<Progress>,
    scope: &'static str,
) -> Arc<dyn Fn(&jobcheck_explorer::check::Progress) + Send + Sync> {
    let progress = Arc::clone(progress);
    Arc::new(move |so_far| progress.show(scope, so_far))
}
