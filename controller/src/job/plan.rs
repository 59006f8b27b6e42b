//! The decision for one Job: from facts to commands.

use super::command::Plan;
use super::observed::Observed;

/// What to do for a Job now.
///
/// Deterministic, and the same for every order of the pods.
#[must_use]
pub fn plan(observed: &Observed) -> Plan {
    Plan { memory: observed.memory.clone(), ..Plan::default() }
}
