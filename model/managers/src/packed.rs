//! States as the numbers of their parts, because an exploration stores many.

use jobcheck_explorer::compact::table::{Id, Known, Table};

use crate::flat::Instant;
use crate::history::History;
use crate::scope::Budget;
use crate::world::{Copied, Local, Manager, WORKERS, Worker, World};

/// A state. Its parts are in [`Tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed {
    local: Id,
    workers: [Id; WORKERS],
    cached: Id,
    copies: [Id; WORKERS],
    left: Id,
    history: Id,
    now: Instant,
    incarnation: u8,
    awaited: [bool; WORKERS],
}

/// The parts of all states.
#[derive(Debug)]
pub struct Tables {
    locals: Table<Option<Option<Local>>>,
    workers: Table<Worker>,
    copies: Table<Option<Option<Copied>>>,
    budgets: Table<Budget>,
    histories: Table<History>,
}

/// The parts that a thread knows.
#[derive(Debug)]
pub struct Parts {
    locals: Known<Option<Option<Local>>>,
    workers: Known<Worker>,
    copies: Known<Option<Option<Copied>>>,
    budgets: Known<Budget>,
    histories: Known<History>,
}

impl Tables {
    /// Empty tables.
    #[must_use]
    pub fn new() -> Tables {
        Tables {
            locals: Table::new(),
            workers: Table::new(),
            copies: Table::new(),
            budgets: Table::new(),
            histories: Table::new(),
        }
    }

    /// The number of parts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locals.len() + self.workers.len() + self.copies.len() + self.budgets.len() + self.histories.len()
    }

    /// Returns true if there is no part.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a state.
    pub fn pack(&self, parts: &mut Parts, world: &World) -> Packed {
        let World { now, local, incarnation, workers, manager, left, history } = world;
        let worker = |worker: usize, parts: &mut Parts| parts.workers.id_of(&self.workers, workers[worker]);
        let copy =
            |worker: usize, parts: &mut Parts| parts.copies.id_of(&self.copies, manager.copies[worker]);
        Packed {
            local: parts.locals.id_of(&self.locals, Some(*local)),
            workers: std::array::from_fn(|number| worker(number, parts)),
            cached: parts.locals.id_of(&self.locals, manager.local),
            copies: std::array::from_fn(|number| copy(number, parts)),
            left: parts.budgets.id_of(&self.budgets, *left),
            history: parts.histories.id_of(&self.histories, *history),
            now: *now,
            incarnation: *incarnation,
            awaited: manager.awaited,
        }
    }

    /// The state with these numbers.
    pub fn unpack(&self, parts: &mut Parts, packed: &Packed) -> World {
        World {
            now: packed.now,
            local: parts.locals.part(&self.locals, packed.local).flatten(),
            incarnation: packed.incarnation,
            workers: packed.workers.map(|id| **parts.workers.part(&self.workers, id)),
            manager: Manager {
                local: **parts.locals.part(&self.locals, packed.cached),
                copies: packed.copies.map(|id| **parts.copies.part(&self.copies, id)),
                awaited: packed.awaited,
            },
            left: **parts.budgets.part(&self.budgets, packed.left),
            history: **parts.histories.part(&self.histories, packed.history),
        }
    }
}

impl Default for Tables {
    fn default() -> Tables {
        Tables::new()
    }
}

impl Parts {
    /// A thread that knows nothing yet.
    #[must_use]
    pub fn new() -> Parts {
        Parts {
            locals: Known::new(),
            workers: Known::new(),
            copies: Known::new(),
            budgets: Known::new(),
            histories: Known::new(),
        }
    }
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::new()
    }
}
