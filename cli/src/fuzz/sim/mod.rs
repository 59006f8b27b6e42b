//! Random scenarios with the shipped controllers on the embedded API server.

mod report;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jobcheck_explorer::mutants::Mutant;
use jobcheck_judge::report::Exit;
use jobcheck_sim::fuzz::{self, Draft, DraftResult};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::Version;

use super::FuzzArgs;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::{memory, output};

/// The number of failures that ends the search. Each is shortened, which takes time.
const MOST_FAILURES: usize = 5;

/// The number of runs between two looks at the memory.
const LOOK_EVERY: u64 = 16;

/// The results of all runs.
struct Tally {
    /// The seed of the first run.
    seed: u64,
    runs: u64,
    requests: usize,
    /// The runs whose Job the API server has refused.
    refused: Vec<String>,
    unjudged: Vec<Unjudged>,
    failures: Vec<Failure>,
    /// The reason why the search ended early.
    ended: Option<String>,
    elapsed: Duration,
}

/// A run that breaks a requirement.
struct Failure {
    seed: u64,
    /// The defect of the controllers.
    mutant: Option<&'static Mutant>,
    /// The version that was asked for.
    version: Option<Version>,
    requirement: Option<Req>,
    why: String,
    /// The number of steps of the scenario.
    steps: usize,
    /// The shortest scenario that breaks the same requirement, and the seed of its run.
    shortest: (Draft, u64),
    trace: Vec<u8>,
}

/// A run without a verdict.
struct Unjudged {
    seed: u64,
    /// The reason, with the seed.
    why: String,
    draft: Draft,
    trace: Vec<u8>,
}

impl Tally {
    fn new(seed: u64) -> Tally {
        Tally {
            seed,
            runs: 0,
            requests: 0,
            refused: Vec::new(),
            unjudged: Vec::new(),
            failures: Vec::new(),
            ended: None,
            elapsed: Duration::ZERO,
        }
    }

    fn add(&mut self, seed: u64, draft: &Draft, ran: DraftResult, args: &FuzzArgs) {
        self.runs += 1;
        match ran {
            DraftResult::Held { requests } => self.requests += requests,
            DraftResult::Unjudged { why, trace } => {
                self.unjudged.push(Unjudged { seed, why, draft: draft.clone(), trace });
            }
            DraftResult::Refused(why) => self.refused.push(format!("seed {seed}: {why}")),
            DraftResult::Wrong(wrong) => self.failures.push(Failure::of(seed, draft, *wrong, args)),
        }
    }

    /// Returns whether there are runs, and all of them have a verdict.
    fn has_verdicts(&self) -> bool {
        self.runs > 0 && self.unjudged.is_empty() && self.refused.is_empty()
    }

    fn exit(&self) -> Exit {
        match () {
            () if !self.failures.is_empty() => Exit::Violates,
            () if !self.has_verdicts() || self.ended.is_some() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

impl Failure {
    fn of(seed: u64, draft: &Draft, wrong: fuzz::Failure, args: &FuzzArgs) -> Failure {
        let fuzz::Failure { requirement, why, trace } = wrong;
        let shortest = draft.shrunk(requirement, args.version().rules(), seed, &args.mutations());
        let (mutant, version) = (args.mutant, args.kubernetes);
        Failure { seed, mutant, version, requirement, why, steps: draft.steps(), shortest, trace }
    }

    /// The shortest scenario, for `jobcheck run`.
    fn scenario(&self) -> String {
        let broken = self
            .requirement
            .map_or("the controllers do not become quiescent".to_owned(), |req| format!("breaks {req}"));
        let (draft, seed) = &self.shortest;
        let version = self.version.map(|version| format!(", --kubernetes {}", version.minor()));
        let defect = self.mutant.map(|mutant| format!(" and --mutant {}", mutant.id));
        let (version, defect) = (version.unwrap_or_default(), defect.unwrap_or_default());
        let about = format!("{broken} on sim, with seed {seed}{version}{defect}");
        draft.text(&format!("fuzz-{}", self.seed), &about)
    }
}

impl Unjudged {
    /// The scenario, for `jobcheck run`.
    fn scenario(&self) -> String {
        let about = format!("has no verdict on sim, with seed {}", self.seed);
        self.draft.text(&format!("fuzz-{}", self.seed), &about)
    }
}

/// Runs random scenarios, and prints the report. Returns the exit code.
pub fn run(args: &FuzzArgs, seed: u64, global: &Global) -> Exit {
    let tally = search(args, seed, global);
    let rendered = args.output.render(|| report::text(&tally, args), || report::whole(&tally, args));
    let exit = output::print_report(rendered, args.output, tally.exit());
    let Some(folder) = args.folder() else { return exit };
    let failures = tally.failures.iter().map(|it| (it.seed, it.scenario(), &it.trace));
    let unjudged = tally.unjudged.iter().map(|it| (it.seed, it.scenario(), &it.trace));
    let written = failures
        .chain(unjudged)
        .try_for_each(|(seed, scenario, trace)| super::write(folder, seed, &scenario, trace));
    match written {
        Ok(()) => exit,
        Err(error) => {
            output::error(format!("{error:#}"));
            Exit::Environment
        }
    }
}

/// Runs one seed after the other on several threads, until time or number is used up, or enough failures are found.
fn search(args: &FuzzArgs, seed: u64, global: &Global) -> Tally {
    let begun = Instant::now();
    let interrupt = Interrupt::listen();
    let next = AtomicU64::new(0);
    let mutations = args.mutations();
    let tally = Mutex::new(Tally::new(seed));
    let (most, is_full) = (memory::limit(args.max_memory), AtomicBool::new(false));
    let is_over = |number: u64| {
        if number.is_multiple_of(LOOK_EVERY) && memory::is_above(most) {
            is_full.store(true, Ordering::Relaxed);
        }
        let is_last = args.runs.is_some_and(|runs| args.position(number) >= runs);
        is_last || is_full.load(Ordering::Relaxed) || begun.elapsed() >= args.budget() || interrupt.is_set()
    };
    let progress = Progress::new(!global.quiet, 1);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if is_over(number) {
                return;
            }
            let seed = seed.wrapping_add(args.position(number));
            let draft = Draft::of(seed, args.menu());
            let ran = draft.run(args.version().rules(), seed, &mutations);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(seed, &draft, ran, args);
            if tally.runs.is_multiple_of(64) {
                progress.show_message(&format!("{} runs, {} failures", tally.runs, tally.failures.len()));
            }
            if tally.failures.len() >= MOST_FAILURES {
                next.store(u64::MAX >> 1, Ordering::Relaxed);
                return;
            }
        }
    };
    thread::scope(|all| {
        let workers: Vec<_> = (0..args.threads()).map(|_| all.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    progress.finish();
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by_key(|failure| failure.seed);
    tally.ended = match () {
        () if interrupt.is_set() => Some("interrupted".to_owned()),
        () if is_full.into_inner() => most.map(memory::reached),
        () => None,
    };
    tally.elapsed = begun.elapsed();
    tally
}
