//! Draws inputs, and keeps the pool.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::attempt::{Failure, PATIENCE, attempt};
use crate::change::changed;
use crate::shorten::shortened;
use crate::{Rng, Target};

/// The stack of the thread that reads: that of a main thread.
const STACK: usize = 8 << 20;
/// The most inputs in a pool.
const MOST_INPUTS: usize = 4_000;

/// A search on one target.
pub struct Search {
    target: Target,
    rng: Rng,
    pool: Vec<Vec<u8>>,
    /// The number of seeds that were not tried yet.
    seeds: usize,
    known: BTreeSet<String>,
    failed: BTreeSet<String>,
    /// The number of inputs so far.
    pub tried: u64,
}

/// A failing input.
#[derive(Clone, Debug)]
pub struct Found {
    /// The input.
    pub input: Vec<u8>,
    /// Why it failed.
    pub failure: Failure,
}

impl Search {
    /// A search that the seed decides.
    ///
    /// # Panics
    ///
    /// The seeds of the target cannot be read.
    #[must_use]
    pub fn new(target: Target, seed: u64) -> Search {
        let pool = (target.seeds)();
        let (known, failed) = (BTreeSet::new(), BTreeSet::new());
        Search { target, rng: Rng::seeded(seed), seeds: pool.len(), pool, known, failed, tried: 0 }
    }

    /// The inputs in the pool.
    #[must_use]
    pub fn pool(&self) -> usize {
        self.pool.len()
    }

    /// The number of different signs.
    #[must_use]
    pub fn signs(&self) -> usize {
        self.known.len()
    }

    /// The next input: first each seed as it is, then changed ones.
    fn draw(&mut self) -> Vec<u8> {
        if self.seeds > 0 {
            self.seeds -= 1;
            return self.pool[self.seeds].clone();
        }
        let (one, other) = (self.rng.below(self.pool.len()), self.rng.below(self.pool.len()));
        changed(&self.pool[one], &self.pool[other], &mut self.rng)
    }

    /// Tries one input. Returns it if it fails in a way that is new to this search; it is not shortened. `before` is
    /// called with each input, so that somebody can name it if it never ends.
    pub fn step(&mut self, before: &mut dyn FnMut(&[u8])) -> Option<Found> {
        let input = self.draw();
        self.tried += 1;
        before(&input);
        match attempt(&self.target, &input) {
            Ok(signs) => {
                let known = self.known.len();
                self.known.extend(signs);
                let is_new = self.known.len() > known;
                if is_new && self.tried > 1 && self.pool.len() < MOST_INPUTS {
                    self.pool.push(input);
                }
                None
            }
            Err(failure) => self.failed.insert(failure.kind()).then_some(Found { input, failure }),
        }
    }
}

/// Tries `count` inputs on a thread of their own, and returns the shortened failures, and a line about the search.
///
/// # Errors
///
/// An input did not end: it is returned, and its thread continues.
pub fn bounded(target: Target, seed: u64, count: u64) -> Result<(Vec<Found>, String), Vec<u8>> {
    let current = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&current);
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let mut search = Search::new(target, seed);
        let mut found = Vec::new();
        for _ in 0..count {
            let mut name = |input: &[u8]| *lock(&shown) = input.to_vec();
            if let Some(Found { input, failure }) = search.step(&mut name) {
                found.push(Found { input: shortened(&target, &input, &failure), failure });
            }
            // Nobody listens once an input has taken too long.
            let _ = sender.send(None);
        }
        let line = format!(
            "{:<12} seed {seed}: {} inputs, {} in the pool, {} signs",
            target.name,
            search.tried,
            search.pool(),
            search.signs()
        );
        let _ = sender.send(Some((found, line)));
    };
    let thread = thread::Builder::new().name(target.name.to_owned()).stack_size(STACK).spawn(work);
    if thread.is_err() {
        return Ok((Vec::new(), "no thread can be started".to_owned()));
    }
    loop {
        // An input that fails is shortened, each time within its patience.
        match receiver.recv_timeout(PATIENCE * 6 + Duration::from_secs(60)) {
            Ok(None) => {}
            Ok(Some(done)) => return Ok(done),
            Err(_) => return Err(lock(&current).clone()),
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
