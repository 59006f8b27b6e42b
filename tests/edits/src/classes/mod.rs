//! The classes of edits, by what they change.

mod answers;
mod births;
mod conditions;
mod counters;
mod environment;
mod evidence;
mod insert;
pub mod lists;
mod logs;
pub mod merging;
mod order;
mod refusals;
mod requests;
mod specs;
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
    order::classes(&mut all);
    merging::classes(&mut all);
    requests::classes(&mut all);
    specs::classes(&mut all);
    refusals::classes(&mut all);
    evidence::classes(&mut all);
    environment::classes(&mut all);
    logs::classes(&mut all);
    answers::classes(&mut all);
    all
}
