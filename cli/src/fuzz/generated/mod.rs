//! `jobcheck fuzz --generated`: paths of the model's scopes, replayed on the shipped controllers.

mod report;

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use jobcheck_explorer::scope::Scope;
use jobcheck_judge::report::Exit;
use jobcheck_sim::paths::{Rig, Walked, scopes, walk};

use super::args::{Format, FuzzArgs};
use crate::args::Global;
use crate::check;
use crate::save::{Saved, save};

/// Steps that a thread is taken to make in a second, before any were made.
const GUESS: f64 = 5_000.0;
/// Steps that a scope gets, however little time is left.
const LEAST: usize = 300;

/// What all scopes came to.
struct Sums {
    runs: Vec<Run>,
    /// Scopes for which no time was left.
    not_begun: Vec<&'static str>,
    seed: u64,
    elapsed: Duration,
}

/// What a scope came to.
struct Run {
    scope: Scope,
    walked: Walked,
    elapsed: Duration,
}

impl Sums {
    fn exit(&self) -> Exit {
        match () {
            () if self.runs.iter().any(|run| run.walked.difference.is_some()) => Exit::Violates,
            () if !self.not_begun.is_empty() || self.runs.is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Replays paths, prints what they come to, and returns that.
pub fn run(args: &FuzzArgs, names: &[String], seed: u64, global: &Global) -> Exit {
    let all = scopes();
    if let Some(name) = names.iter().find(|name| all.iter().all(|scope| scope.name != *name)) {
        eprintln!("error: {}", check::unknown(name));
        return Exit::Unreadable;
    }
    let wanted = |scope: &Scope| names.is_empty() || names.iter().any(|name| name == scope.name);
    let sums = match replay(all.into_iter().filter(wanted).collect(), args, seed, global) {
        Ok(sums) => sums,
        Err(why) => {
            eprintln!("error: {why}");
            return Exit::Internal;
        }
    };
    let rendered = match args.output {
        Format::Text => Ok(report::text(&sums, args.mutant, global)),
        Format::Json => check::to_json(&report::whole(&sums, args.mutant)),
        Format::Yaml => check::to_yaml(&report::whole(&sums, args.mutant)),
    };
    let exit = check::print(rendered, sums.exit());
    match &args.save {
        Some(directory) if !keep(directory, &sums) => Exit::Environment,
        Some(_) | None => exit,
    }
}

/// Walks through the scopes, taken by threads one after the other.
fn replay(scopes: Vec<Scope>, args: &FuzzArgs, seed: u64, global: &Global) -> Result<Sums, String> {
    let begun = Instant::now();
    let end = begun.checked_add(args.budget());
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    let pace = Pace { end, threads: args.threads(), most: args.steps, made: Mutex::default() };
    let count = scopes.len();
    let queue = Mutex::new(scopes.into_iter().enumerate());
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let progress = check::Progress::new(!global.quiet, count);
    let one = |(place, scope): (usize, Scope)| {
        if is_over() {
            return (place, Ok(Err(scope.name)));
        }
        progress.begin(scope.name);
        let rig = Rig::with(args.mutations());
        let most = pace.share(count - place);
        let started = Instant::now();
        let walked = walk(&scope, seed, most, rig, &is_over);
        let elapsed = started.elapsed();
        progress.end(scope.name);
        let run = walked.map(|walked| {
            pace.note(walked.steps, elapsed);
            Ok(Run { scope, walked, elapsed })
        });
        (place, run)
    };
    let work = || std::iter::from_fn(take).map(one).collect::<Vec<_>>();
    let mut results = thread::scope(|all| {
        let workers: Vec<_> = (0..args.threads()).map(|_| all.spawn(work)).collect();
        let done = workers.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    progress.finish();
    results.sort_by_key(|(place, _)| *place);
    let mut sums = Sums { runs: Vec::new(), not_begun: Vec::new(), seed, elapsed: Duration::ZERO };
    for (_, result) in results {
        match result? {
            Ok(run) => sums.runs.push(run),
            Err(name) => sums.not_begun.push(name),
        }
    }
    sums.elapsed = begun.elapsed();
    Ok(sums)
}

/// How many steps fit into the time.
struct Pace {
    end: Option<Instant>,
    threads: usize,
    most: Option<u64>,
    /// Steps so far, and the seconds that they took.
    made: Mutex<(usize, f64)>,
}

impl Pace {
    /// The steps of the next scope, of which so many are left.
    fn share(&self, left: usize) -> usize {
        if let Some(most) = self.most {
            return usize::try_from(most).unwrap_or(usize::MAX);
        }
        let Some(end) = self.end else { return usize::MAX };
        let (steps, seconds) = *self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = if seconds < 0.1 { GUESS } else { steps as f64 / seconds };
        let rest = end.saturating_duration_since(Instant::now()).as_secs_f64();
        let fits = rest * rate * self.threads as f64 / left.max(self.threads) as f64;
        (fits as usize).max(LEAST)
    }

    fn note(&self, steps: usize, elapsed: Duration) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made = (made.0 + steps, made.1 + elapsed.as_secs_f64());
    }
}

/// Writes the path of each difference as a native trace.
fn keep(directory: &Path, sums: &Sums) -> bool {
    let found = sums.runs.iter().filter_map(|run| {
        let difference = run.walked.difference.as_ref()?;
        let (scope, path, why) = (&run.scope, &difference.path[..], &difference.why[..]);
        Some(Saved { name: scope.name, scope, path, requirement: None, why })
    });
    save(directory, found)
}
