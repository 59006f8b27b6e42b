//! What is remembered of worlds is what would be worked out.

use super::*;
use crate::check::scopes;
use crate::explore::engine::{Limits, explore};
use crate::mutants::MUTANTS;
use crate::scope::Algorithm;

/// The first worlds of every scope, and of the worlds of every mutant, with and without the reductions.
#[test]
fn what_is_remembered_is_what_would_be_worked_out() {
    let mutated = MUTANTS.iter().map(|mutant| mutant.scope());
    for scope in scopes().into_iter().chain(mutated) {
        for lazy_caches in [false, true] {
            let algorithm = Algorithm { lazy_caches, ..scope.algorithm.clone() };
            let scope = Scope { algorithm, ..scope.clone() };
            match scope.jobs.len() {
                1 => doubt::<{ width(1) }>(&scope),
                2 => doubt::<{ width(2) }>(&scope),
                3 => doubt::<{ width(3) }>(&scope),
                _ => doubt::<{ width(4) }>(&scope),
            }
        }
    }
}

fn doubt<const N: usize>(scope: &Scope) {
    let specification = Specification::<N>::new(scope, &|_| true).doubted();
    explore(&specification, &Limits { max_states: Some(800), ..Limits::none(1) });
}
