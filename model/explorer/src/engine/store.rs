//! The reached states, each once, with the state before it.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// A set of states, numbered in the order in which they were added.
///
/// It is an open hash table. Each slot has half of a hash and the number of a state, so that most different
/// states are skipped without being read. Equality decides.
#[derive(Debug)]
pub struct Store<T> {
    states: Vec<T>,
    parents: Vec<u32>,
    slots: Vec<u64>,
}

const EMPTY: u64 = u64::MAX;

/// The largest number of states.
pub const MOST: usize = u32::MAX as usize - 1;

/// The half of a hash that a slot contains.
#[derive(Clone, Copy, Debug)]
pub struct Tag(u32);

impl Tag {
    /// The tag of a state.
    pub fn of<T: Hash>(state: &T) -> Tag {
        let mut hasher = FxHasher::default();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Tag(u32::try_from(mixed >> 32).unwrap_or_default())
    }
}

impl<T: Eq> Store<T> {
    /// An empty set.
    #[must_use]
    pub fn new() -> Store<T> {
        Store { states: Vec::new(), parents: Vec::new(), slots: vec![EMPTY; 1024] }
    }

    /// The number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The state with this number.
    #[must_use]
    pub fn state(&self, number: u32) -> &T {
        &self.states[number as usize]
    }

    /// All states, by number.
    pub fn states(&self) -> impl Iterator<Item = (u32, &T)> {
        (0u32..).zip(&self.states)
    }

    /// The number of the state before this one. An initial state returns its own number.
    #[must_use]
    pub fn parent(&self, number: u32) -> u32 {
        self.parents[number as usize]
    }

    /// The bytes that the set uses, with reserved space.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<T>() + self.parents.capacity() * 4 + self.slots.capacity() * 8
    }

    /// The number of an equal state.
    pub fn number_of(&self, tag: Tag, state: &T) -> Option<u32> {
        self.find(tag, state).ok()
    }

    /// Adds a state, with the state before it, or `None` for an initial state. Returns true if it is new.
    pub fn add(&mut self, tag: Tag, state: T, parent: Option<u32>) -> bool {
        let Err(slot) = self.find(tag, &state) else { return false };
        let number = u32::try_from(self.states.len()).unwrap_or(u32::MAX);
        self.slots[slot] = u64::from(tag.0) << 32 | u64::from(number);
        make_room(&mut self.states);
        make_room(&mut self.parents);
        self.states.push(state);
        self.parents.push(parent.unwrap_or(number));
        if self.states.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        true
    }

    /// The number of an equal state, or the slot for a new one.
    fn find(&self, tag: Tag, state: &T) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = tag.0 as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == EMPTY {
                return Err(slot);
            }
            let number = (entry & 0xffff_ffff) as usize;
            if entry >> 32 == u64::from(tag.0) && self.states[number] == *state {
                return Ok(u32::try_from(number).unwrap_or(u32::MAX));
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mut slots = vec![EMPTY; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for entry in self.slots.iter().filter(|entry| **entry != EMPTY) {
            let mut slot = (entry >> 32) as usize & mask;
            while slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = *entry;
        }
        self.slots = slots;
    }
}

/// Grows the list by a quarter. Doubling would leave half of a large list empty.
fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(1024));
    }
}

impl<T: Eq> Default for Store<T> {
    fn default() -> Store<T> {
        Store::new()
    }
}
