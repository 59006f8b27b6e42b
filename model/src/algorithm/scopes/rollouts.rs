//! Scopes in which a process of the algorithm takes over with other feature gates.

use super::run_by_the_algorithm;
use crate::scope::Scope;
use crate::scopes::gates::{gates, without_interim_conditions};

/// All of them, with both caches one event behind.
#[must_use]
pub fn rollouts() -> Vec<Scope> {
    let scopes = [gates(), without_interim_conditions()].concat();
    scopes
        .into_iter()
        .map(|scope| run_by_the_algorithm(Scope { name: renamed(scope.name), ..scope }, 1))
        .collect()
}

fn renamed(name: &'static str) -> &'static str {
    const NAMES: &[(&str, &str)] = &[
        ("gates/pod-replacement-policy", "rollout/pod-replacement-policy"),
        ("gates/pod-failure-policy", "rollout/pod-failure-policy"),
        ("gates/backoff-limit-per-index", "rollout/backoff-limit-per-index"),
        ("gates/success-policy", "rollout/success-policy"),
        ("gates/managed-by", "rollout/managed-by"),
        ("gates/beside-another-manager", "rollout/beside-another-manager"),
        ("gates/without-delay", "rollout/without-delay"),
        ("gates/delay-in-turns", "rollout/delay-in-turns"),
    ];
    NAMES.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to)
}
