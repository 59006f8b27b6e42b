//! The targets, with their seeds and their oracles.

mod judge;
mod objects;
mod planted;
mod readers;
mod report;
mod scenario;
mod seeds;
mod server;

pub use planted::planted;

use crate::Target;

/// All targets.
#[must_use]
pub fn all() -> Vec<Target> {
    vec![
        readers::target(),
        judge::traces(),
        judge::clusters(),
        objects::projection(),
        objects::status(),
        objects::texts(),
        server::requests(),
        server::selectors(),
        scenario::target(),
        report::target(),
    ]
}
