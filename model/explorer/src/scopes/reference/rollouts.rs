//! Scopes in which a process of the algorithm with other feature gates takes over.

use super::run_by_the_algorithm;
use crate::scope::Scope;
use crate::scopes::gates::{gates, without_interim_conditions};

/// The scope of the specification, the scope for safety, and the scope for progress.
const NAMES: &[(&str, &str, &str)] = &[
    ("gates/pod-replacement-policy", "rollout/pod-replacement-policy", "progress/rollout-replacement"),
    ("gates/pod-failure-policy", "rollout/pod-failure-policy", "progress/rollout-failure-policy"),
    ("gates/backoff-limit-per-index", "rollout/backoff-limit-per-index", "progress/rollout-per-index"),
    ("gates/success-policy", "rollout/success-policy", "progress/rollout-success-policy"),
    ("gates/managed-by", "rollout/managed-by", "progress/rollout-managed-by"),
    ("gates/beside-another-manager", "rollout/beside-another-manager", "progress/beside-another-manager"),
    ("gates/without-delay", "rollout/without-delay", "progress/rollout-without-delay"),
    ("gates/delay-in-turns", "rollout/delay-in-turns", "progress/rollout-delay-in-turns"),
];

/// The scopes for safety. Both caches lag by one.
#[must_use]
pub fn rollouts() -> Vec<Scope> {
    named(|(_, rollout, _)| *rollout)
}

/// The scopes for progress.
#[must_use]
pub fn progress_of_rollouts() -> Vec<Scope> {
    named(|(_, _, progress)| progress)
}

fn named(name: fn(&(&'static str, &'static str, &'static str)) -> &'static str) -> Vec<Scope> {
    let bases = [gates(), without_interim_conditions()].concat();
    let names = |base: &Scope| NAMES.iter().find(|(gates, ..)| *gates == base.name).map(name);
    let ours = |base: Scope| Some(run_by_the_algorithm(Scope { name: names(&base)?, ..base }, 1));
    bases.into_iter().filter_map(ours).collect()
}
