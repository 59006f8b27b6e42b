//! The breadth-first search.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::store::{MOST, Store, Tag};
use super::{Coverage, Cut, End, Limits, Progress, Run, System};

/// The number of states between two checks of the limits. The result depends on it, so it must not depend on
/// the number of threads.
const BATCH: usize = 8192;

/// The number of states that a thread takes at once.
const CHUNK: usize = 128;

/// Searches until a property is broken, a limit is reached, or every state was visited.
pub fn explore<S: System>(system: &S, limits: &Limits<'_>) -> Run<S> {
    let mut search = Search::new(system, limits);
    let end = search.all_layers();
    Run {
        end,
        store: search.store,
        generated: search.sums.generated,
        depth: search.depth,
        layers: search.layers,
        coverage: search.sums.coverage,
        scratches: search.scratches,
    }
}

struct Search<'a, S: System> {
    system: &'a S,
    limits: &'a Limits<'a>,
    store: Store<S::State>,
    scratches: Vec<S::Scratch>,
    /// States below this number were visited.
    looked: usize,
    depth: usize,
    layers: Vec<usize>,
    sums: Sums,
}

/// The counters of a search.
struct Sums {
    generated: u64,
    coverage: Vec<Coverage>,
    /// The broken state with the lowest number.
    broken: Option<(u32, usize)>,
}

impl Sums {
    fn new(kinds: usize) -> Sums {
        Sums { generated: 0, coverage: vec![Coverage::default(); kinds], broken: None }
    }

    fn absorb(&mut self, other: &Sums) {
        self.generated += other.generated;
        for (mine, theirs) in self.coverage.iter_mut().zip(&other.coverage) {
            mine.taken += theirs.taken;
            mine.fresh += theirs.fresh;
        }
        self.broken = [self.broken, other.broken].into_iter().flatten().min();
    }
}

/// A state that was reached and may be new.
struct Reached<T> {
    tag: Tag,
    parent: u32,
    kind: usize,
    state: T,
}

impl<'a, S: System> Search<'a, S> {
    fn new(system: &'a S, limits: &'a Limits<'a>) -> Search<'a, S> {
        let mut scratches: Vec<S::Scratch> = (0..limits.threads.max(1)).map(|_| system.scratch()).collect();
        let mut store = Store::new();
        let mut sums = Sums::new(S::KINDS);
        for state in system.initial(&mut scratches[0]) {
            let state = system.representative(&mut scratches[0], state);
            store.add(Tag::of(&state), state, None);
            sums.generated += 1;
        }
        Search { system, limits, store, scratches, looked: 0, depth: 0, layers: Vec::new(), sums }
    }

    fn all_layers(&mut self) -> End {
        while self.looked < self.store.len() {
            let layer_end = self.store.len();
            self.layers.push(layer_end - self.looked);
            while self.looked < layer_end {
                if let Some(end) = self.batch(layer_end) {
                    return end;
                }
            }
            self.depth += usize::from(self.store.len() > layer_end);
        }
        End::Exhausted
    }

    fn batch(&mut self, layer_end: usize) -> Option<End> {
        let most = self.limits.max_states.unwrap_or(usize::MAX);
        let (from, known) = (self.looked, self.store.len());
        let to = (from + BATCH).min(layer_end).min(most);
        if to == from || known > MOST - (1 << 28) {
            return Some(End::Cut(Cut::States));
        }
        if self.uses_too_much() {
            return Some(End::Cut(Cut::Memory));
        }
        let whole = if self.scratches.len() == 1 || to - from <= CHUNK {
            self.alone(from, to)
        } else {
            self.together(from, to)
        };
        if !whole {
            return Some(End::Cut(Cut::Time));
        }
        self.looked = to;
        self.report(to - from, self.store.len() - known);
        self.sums.broken.map(|(state, property)| End::Broken { property, state })
    }

    fn uses_too_much(&self) -> bool {
        let Some(most) = self.limits.max_memory else { return false };
        (self.limits.memory)().unwrap_or(self.store.bytes() as u64) > most
    }

    fn report(&self, looked: usize, fresh: usize) {
        let frontier = self.store.len() - self.looked;
        let estimate =
            (fresh < looked).then(|| self.store.len() + frontier * fresh / (looked - fresh).max(1));
        let progress = Progress { states: self.store.len(), frontier, depth: self.depth, estimate };
        (self.limits.progress)(&progress);
    }

    /// Visits a batch in this thread. Returns false if the search must stop.
    fn alone(&mut self, from: usize, to: usize) -> bool {
        let Search { system, limits, store, scratches, sums, .. } = self;
        let mut worker = Worker::new(*system, &mut scratches[0]);
        for number in from..to {
            if number % CHUNK == 0 && (limits.stop)() {
                return false;
            }
            worker.look_at(store, number, |_, _| true);
            add_all(store, &mut worker.reached, &mut worker.sums);
        }
        sums.absorb(&worker.sums);
        true
    }

    /// Visits a batch with all threads. The reached states are added in the order of the states before them.
    fn together(&mut self, from: usize, to: usize) -> bool {
        let Search { system, limits, store, scratches, sums, .. } = self;
        let (system, seen) = (*system, &*store);
        let (next, stopped) = (AtomicUsize::new(from), AtomicBool::new(false));
        let work = |scratch: &mut S::Scratch| {
            let mut worker = Worker::new(system, scratch);
            let mut chunks = Vec::new();
            loop {
                let begin = next.fetch_add(CHUNK, Ordering::Relaxed);
                if begin >= to || stopped.load(Ordering::Relaxed) {
                    return (chunks, worker.sums);
                }
                if (limits.stop)() {
                    stopped.store(true, Ordering::Relaxed);
                }
                for number in begin..(begin + CHUNK).min(to) {
                    worker.look_at(seen, number, |tag, state| seen.number_of(tag, state).is_none());
                }
                chunks.push((begin, std::mem::take(&mut worker.reached)));
            }
        };
        let mut chunks = Vec::new();
        thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> =
                scratches.iter_mut().map(|scratch| scope.spawn(move || work(scratch))).collect();
            for thread in threads {
                let (part, counted) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                chunks.extend(part);
                sums.absorb(&counted);
            }
        });
        if stopped.load(Ordering::Relaxed) {
            return false;
        }
        chunks.sort_unstable_by_key(|(begin, _)| *begin);
        for (_, mut reached) in chunks {
            add_all(store, &mut reached, sums);
        }
        true
    }
}

/// Adds the new states.
fn add_all<T: Eq>(store: &mut Store<T>, reached: &mut Vec<Reached<T>>, sums: &mut Sums) {
    for it in reached.drain(..) {
        sums.coverage[it.kind].fresh += u64::from(store.add(it.tag, it.state, Some(it.parent)));
    }
}

/// One thread of a search.
struct Worker<'a, S: System> {
    system: &'a S,
    scratch: &'a mut S::Scratch,
    steps: Vec<S::Step>,
    reached: Vec<Reached<S::State>>,
    sums: Sums,
}

impl<'a, S: System> Worker<'a, S> {
    fn new(system: &'a S, scratch: &'a mut S::Scratch) -> Worker<'a, S> {
        Worker { system, scratch, steps: Vec::new(), reached: Vec::new(), sums: Sums::new(S::KINDS) }
    }

    /// Visits a state. Sends the states after it that `may_be_new`.
    fn look_at(
        &mut self,
        store: &Store<S::State>,
        number: usize,
        may_be_new: impl Fn(Tag, &S::State) -> bool,
    ) {
        let parent = u32::try_from(number).unwrap_or(u32::MAX);
        let state = store.state(parent);
        self.steps.clear();
        self.system.steps(self.scratch, state, &mut self.steps);
        if let Some(property) = self.system.look(self.scratch, state, &self.steps) {
            let found = (parent, property);
            self.sums.broken = Some(self.sums.broken.map_or(found, |other| other.min(found)));
        }
        for step in &self.steps {
            let next = self.system.apply(self.scratch, state, step);
            let next = self.system.representative(self.scratch, next);
            let (tag, kind) = (Tag::of(&next), self.system.kind(step));
            self.sums.generated += 1;
            self.sums.coverage[kind].taken += 1;
            if may_be_new(tag, &next) {
                self.reached.push(Reached { tag, parent, kind, state: next });
            }
        }
    }
}
