//! The classes of edits, by what they change.

mod births;
mod conditions;
mod counters;
pub mod lists;
mod times;

use crate::class::Class;

/// All classes, in the order of the table.
#[must_use]
pub fn all() -> Vec<Class> {
    let mut all = Vec::new();
    counters::classes(&mut all);
    lists::classes(&mut all);
    times::classes(&mut all);
    conditions::classes(&mut all);
    births::classes(&mut all);
    all
}
