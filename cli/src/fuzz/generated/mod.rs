//! `jobcheck fuzz --generated`: paths through the scopes of the model, replayed with the shipped controllers.

mod report;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::Exit;
use jobcheck_judge::threads::on_threads;
use jobcheck_sim::paths::{Rig, Walked, scopes, walk};

use super::args::FuzzArgs;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::parse::unknown_scope;
use crate::progress::Progress;
use crate::save::{Folder, Saved, save};
use crate::{memory, output};

/// The assumed number of steps per second and thread before any was measured.
const FIRST_RATE: f64 = 5_000.0;
/// The steps that a scope gets if hardly any time is left.
const FEWEST_STEPS: usize = 300;

/// The results of all scopes.
struct Tally {
    runs: Vec<Run>,
    /// The scopes for which no time was left.
    not_begun: Vec<&'static str>,
    /// The limit of memory that ended the walks.
    full: Option<u64>,
    seed: u64,
    elapsed: Duration,
}

/// The result of a scope.
struct Run {
    scope: Scope,
    walked: Walked,
    elapsed: Duration,
}

impl Tally {
    fn exit(&self) -> Exit {
        match () {
            () if self.runs.iter().any(|run| run.walked.difference.is_some()) => Exit::Violates,
            () if !self.not_begun.is_empty() || self.runs.is_empty() || self.full.is_some() => {
                Exit::Inconclusive
            }
            () => Exit::Conforms,
        }
    }
}

/// Replays paths, and prints the report. Returns the exit code.
pub fn run(args: &FuzzArgs, names: &[String], seed: u64, global: &Global) -> Exit {
    let all = scopes();
    if let Some(name) = names.iter().find(|name| all.iter().all(|scope| scope.name != *name)) {
        output::error(unknown_scope(name));
        return Exit::Unreadable;
    }
    let is_chosen = |scope: &Scope| names.is_empty() || names.iter().any(|name| name == scope.name);
    let mut chosen: Vec<Scope> = all.into_iter().filter(is_chosen).collect();
    if let Some(shard) = args.shard {
        chosen = shard.part("scopes", chosen);
    }
    let tally = match replay(chosen, args, seed, global) {
        Ok(tally) => tally,
        Err(why) => {
            output::error(why);
            return Exit::Internal;
        }
    };
    let rendered = args
        .output
        .render(|| report::text(&tally, args.mutant, global), || report::whole(&tally, args.mutant));
    let exit = output::print_report(rendered, args.output, tally.exit());
    match args.folder() {
        Some(folder) if !write(folder, &tally) => Exit::Environment,
        Some(_) | None => exit,
    }
}

/// Walks through the scopes on several threads.
fn replay(scopes: Vec<Scope>, args: &FuzzArgs, seed: u64, global: &Global) -> Result<Tally, String> {
    let begun = Instant::now();
    let end = begun.checked_add(args.budget());
    let (most_memory, is_full) = (memory::limit(args.max_memory), AtomicBool::new(false));
    let is_ended = Interrupt::listen().or_after(end);
    let is_over = || {
        if memory::is_above(most_memory) {
            is_full.store(true, Ordering::Relaxed);
        }
        is_full.load(Ordering::Relaxed) || is_ended()
    };
    let pace = Pace { end, threads: args.threads(), most: args.steps, measured: Mutex::default() };
    let count = scopes.len();
    let progress = Progress::new(!global.quiet, count);
    let one = |position: usize, scope: Scope| {
        if is_over() {
            return Ok(Err(scope.name));
        }
        progress.begin(scope.name);
        let rig = Rig::with(args.mutations());
        let most = pace.share(count - position);
        let started = Instant::now();
        let walked = walk(&scope, seed, most, rig, &is_over);
        let elapsed = started.elapsed();
        progress.end(scope.name);
        walked.map(|walked| {
            pace.measure(walked.steps, elapsed);
            Ok(Run { scope, walked, elapsed })
        })
    };
    let results = on_threads(args.threads(), scopes, &one);
    progress.finish();
    let full = most_memory.filter(|_| is_full.into_inner());
    let mut tally = Tally { runs: Vec::new(), not_begun: Vec::new(), full, seed, elapsed: Duration::ZERO };
    for result in results {
        match result? {
            Ok(run) => tally.runs.push(run),
            Err(name) => tally.not_begun.push(name),
        }
    }
    tally.elapsed = begun.elapsed();
    Ok(tally)
}

/// Divides the time among the scopes.
struct Pace {
    end: Option<Instant>,
    threads: usize,
    most: Option<u64>,
    /// The steps so far, and the seconds that they took.
    measured: Mutex<(usize, f64)>,
}

impl Pace {
    /// The number of steps for the next scope, if `left` scopes are left.
    fn share(&self, left: usize) -> usize {
        if let Some(most) = self.most {
            return usize::try_from(most).unwrap_or(usize::MAX);
        }
        let Some(end) = self.end else { return usize::MAX };
        let (steps, seconds) = *self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = if seconds < 0.1 { FIRST_RATE } else { steps as f64 / seconds };
        let rest = end.saturating_duration_since(Instant::now()).as_secs_f64();
        let share = rest * rate * self.threads as f64 / left.max(self.threads) as f64;
        (share as usize).max(FEWEST_STEPS)
    }

    fn measure(&self, steps: usize, elapsed: Duration) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        *measured = (measured.0 + steps, measured.1 + elapsed.as_secs_f64());
    }
}

/// Writes the path of each difference as a native trace. Returns whether that succeeded.
fn write(folder: Folder<'_>, tally: &Tally) -> bool {
    let found = tally.runs.iter().filter_map(|run| {
        let difference = run.walked.difference.as_ref()?;
        let (scope, path, why) = (&run.scope, &difference.path[..], &difference.why[..]);
        Some(Saved { name: scope.name, scope, path, requirement: None, why })
    });
    save(folder, found)
}
