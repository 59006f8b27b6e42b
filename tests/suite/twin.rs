//! The twin in TLA+ (`model/tla`): both sides meet the same pinned counts.

use std::fs;

use jobcheck_model::check::{Bounds, Outcome, explore};
use jobcheck_model::scopes::{all, named};
use jobcheck_tests::corpus::root;

/// A line of `model/tla/counts.txt`: scope, different worlds, steps, and steps to the farthest world.
fn pinned() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("model/tla/counts.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn scopes_have_the_sizes_that_the_twin_finds() {
    let found: Vec<Vec<String>> = pinned()
        .iter()
        .map(|line| {
            let scope = named(&line[0]).unwrap_or_else(|| panic!("there is no scope {}", line[0]));
            let found = explore(&scope, &Bounds::none(1));
            assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
            let steps = found.generated;
            vec![line[0].clone(), found.states.to_string(), steps.to_string(), found.depth.to_string()]
        })
        .collect();
    assert_eq!(found, pinned());
}

#[test]
fn the_twin_has_every_scope() {
    let names: Vec<String> = pinned().into_iter().map(|mut line| line.swap_remove(0)).collect();
    assert_eq!(names, all().iter().map(|scope| scope.name).collect::<Vec<_>>());
}
