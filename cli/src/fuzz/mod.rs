//! `jobcheck fuzz`: random scenarios with the shipped controllers.

mod args;
mod generated;
mod real;
mod report;

use std::hash::{BuildHasher, RandomState};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anstream::eprintln;
use anyhow::Context;
use jobcheck_cluster::Version;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_judge::report::Exit;
use jobcheck_sim::fuzz::{Draft, DraftResult, Failure};
use jobcheck_spec::Req;

use self::args::Format;
pub use self::args::FuzzArgs;
use crate::args::Global;
use crate::check;

/// So many failures end the search: each is shrunk, which takes its time.
const MOST_FOUND: usize = 5;

/// What the runs came to.
#[derive(Default)]
struct Sums {
    runs: u64,
    requests: usize,
    refused: Vec<String>,
    unjudged: Vec<Unjudged>,
    found: Vec<Found>,
}

/// A run that is wrong.
struct Found {
    seed: u64,
    /// The defect that the controllers had.
    mutant: Option<&'static Mutant>,
    /// The version that was asked for.
    version: Option<Version>,
    requirement: Option<Req>,
    why: String,
    /// Steps of the draft.
    steps: usize,
    /// The shortest that is wrong in the same way, and the seed of its run.
    shortest: (Draft, u64),
    trace: Vec<u8>,
}

/// A run that cannot be judged.
struct Unjudged {
    seed: u64,
    /// Why; it names the seed.
    why: String,
    draft: Draft,
    trace: Vec<u8>,
}

impl Sums {
    fn take(&mut self, seed: u64, draft: &Draft, ran: DraftResult, args: &FuzzArgs) {
        self.runs += 1;
        match ran {
            DraftResult::Held { requests } => self.requests += requests,
            DraftResult::Unjudged { why, trace } => {
                self.unjudged.push(Unjudged { seed, why, draft: draft.clone(), trace });
            }
            DraftResult::Refused(why) => self.refused.push(format!("seed {seed}: {why}")),
            DraftResult::Wrong(wrong) => {
                let Failure { requirement, why, trace } = *wrong;
                let shortest = draft.shrunk(requirement, args.version().rules(), seed, &args.mutations());
                let mutant = args.mutant;
                self.found.push(Found {
                    seed,
                    mutant,
                    version: args.kubernetes,
                    requirement,
                    why,
                    steps: draft.steps(),
                    shortest,
                    trace,
                });
            }
        }
    }

    fn exit(&self) -> Exit {
        match () {
            () if !self.found.is_empty() => Exit::Violates,
            () if self.runs == 0 || !self.unjudged.is_empty() || !self.refused.is_empty() => {
                Exit::Inconclusive
            }
            () => Exit::Conforms,
        }
    }
}

/// Runs random scenarios, prints what they come to, and returns that.
pub fn run(args: &FuzzArgs, global: &Global) -> Exit {
    if let Some(why) = args.mutant.and_then(check::not_in_the_plan) {
        eprintln!("error: {why}");
        return Exit::Unreadable;
    }
    if let Some(why) = args.objection() {
        eprintln!("error: {why}");
        return Exit::Unreadable;
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    if let Some(scopes) = &args.generated {
        return generated::run(args, scopes, seed, global);
    }
    if args.target.is_real() {
        return real::run(args, seed, global);
    }
    let begun = Instant::now();
    let mut sums = search(args, seed, begun, global);
    sums.found.sort_by_key(|found| found.seed);
    let whole = report::whole(&sums, args, seed, begun.elapsed());
    let rendered = match args.output {
        Format::Text => Ok(report::text(&sums, seed, begun.elapsed())),
        Format::Json => check::to_json(&whole),
        Format::Yaml => check::to_yaml(&whole),
    };
    let exit = check::print(rendered, sums.exit());
    let Some(directory) = &args.save else { return exit };
    let found = sums.found.iter().map(|it| (it.seed, it.text(), &it.trace));
    let unjudged = sums.unjudged.iter().map(|it| (it.seed, it.text(), &it.trace));
    let kept =
        found.chain(unjudged).try_for_each(|(seed, scenario, trace)| keep(directory, seed, &scenario, trace));
    match kept {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::Environment
        }
    }
}

/// Seeds one after the other, taken by threads, until time or number is over, or enough is found.
fn search(args: &FuzzArgs, seed: u64, begun: Instant, global: &Global) -> Sums {
    let next = AtomicU64::new(0);
    let mutations = args.mutations();
    let sums = Mutex::new(Sums::default());
    let is_over =
        |number: u64| args.runs.is_some_and(|runs| number >= runs) || begun.elapsed() >= args.budget();
    let progress = check::Progress::new(!global.quiet, 1);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if is_over(number) {
                return;
            }
            let seed = seed.wrapping_add(number);
            let draft = Draft::of(seed, args.menu());
            let ran = draft.run(args.version().rules(), seed, &mutations);
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            sums.take(seed, &draft, ran, args);
            if sums.runs.is_multiple_of(64) {
                progress.say(&format!("{} runs, {} found", sums.runs, sums.found.len()));
            }
            if sums.found.len() >= MOST_FOUND {
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
    sums.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the scenario, of what is wrong the shortest, and the trace of what was found first.
fn keep(directory: &Path, seed: u64, scenario: &str, trace: &[u8]) -> anyhow::Result<()> {
    let put = |name: String, bytes: &[u8]| {
        let file = directory.join(name);
        std::fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("note: {} is written", file.display());
        anyhow::Ok(())
    };
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    put(format!("fuzz-{seed}.yaml"), scenario.as_bytes())?;
    put(format!("fuzz-{seed}.jsonl"), trace)
}

impl Unjudged {
    fn text(&self) -> String {
        let about = format!("cannot be judged on sim, with seed {}", self.seed);
        self.draft.text(&format!("fuzz-{}", self.seed), &about)
    }
}

impl Found {
    /// The shortest scenario.
    fn text(&self) -> String {
        let what = self
            .requirement
            .map_or("the controllers do not come to rest".to_owned(), |req| format!("breaks {req}"));
        let (draft, seed) = &self.shortest;
        let version =
            self.version.map(|version| format!(", --kubernetes {}", version.minor())).unwrap_or_default();
        let defect = self.mutant.map(|mutant| format!(" and --mutant {}", mutant.id)).unwrap_or_default();
        draft.text(
            &format!("fuzz-{}", self.seed),
            &format!("{what} on sim, with seed {seed}{version}{defect}"),
        )
    }
}
