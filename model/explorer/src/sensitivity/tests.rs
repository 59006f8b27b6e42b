use super::*;
use crate::scopes::named;

/// Each search stops in the scope of its row. `examples/sensitivity.rs` searches all scopes.
#[test]
fn a_property_breaks_without_each_needed_guard() {
    let found: Vec<Needed> = NEEDED
        .iter()
        .map(|(req, name, _, _)| {
            let scope = named(name).unwrap_or_else(|| panic!("there is no scope {name}"));
            match search(&scope, &[*req], usize::MAX).1.outcome {
                Outcome::Broken(broken) => (*req, *name, broken.req, broken.path.len()),
                outcome => panic!("{req} in {name}: {outcome:?}"),
            }
        })
        .collect();
    assert_eq!(found, NEEDED);
}

#[test]
fn no_guard_is_in_two_tables_or_twice_in_one() {
    let mut reqs: Vec<Req> =
        NEEDED.iter().map(|row| row.0).chain(REDUNDANT.iter().map(|row| row.0)).collect();
    reqs.sort_unstable();
    let count = reqs.len();
    reqs.dedup();
    assert_eq!(reqs.len(), count);
}

/// A redundant guard must not rest on another one.
#[test]
fn the_rules_that_stand_in_for_a_redundant_guard_are_needed() {
    for (req, because) in REDUNDANT {
        for other in because.others() {
            assert!(NEEDED.iter().any(|row| row.0 == *other), "{req}: {other} is not needed");
        }
    }
}
