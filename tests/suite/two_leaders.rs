//! Two processes that lead for a while (SY-01): what comes of it, and what holds all the same.

use jobcheck_explorer::check::{Bounds, Outcome, explore, explore_for};
use jobcheck_explorer::narrative::lines;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference::{NEEDS_ONE_LEADER, all, safe_with_two_leaders};

fn reduced() -> Bounds {
    Bounds { partial_order: true, symmetry: true, ..Bounds::none(1) }
}

fn safe(name: &str) -> Scope {
    safe_with_two_leaders().into_iter().find(|scope| scope.name == name).unwrap()
}

/// Why there must not be two: each write is right by what its process has seen, the status is
/// compared and set, and still a pod is counted twice. The second leader knows the Job in which the pod was counted, and
/// a Pod cache in which it has its finalizer.
#[test]
fn of_two_leaders_one_counts_a_pod_that_the_other_has_counted() {
    let scope = all().into_iter().find(|scope| scope.name == "two-leaders/backoff-limit").unwrap();
    let found = explore(&scope, &Bounds { partial_order: true, ..Bounds::none(1) });
    let Outcome::Broken(found) = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(found.why.ends_with("broke FT-02"), "{found:?}");
    let told: Vec<String> = lines(&scope, &found.path).iter().map(|line| line.what.clone()).collect();
    assert!(told.iter().any(|line| line.starts_with("loses its lease")), "{told:#?}");
    assert!(told.last().unwrap().ends_with("uncounted.failed +pod 1"), "{told:#?}");
}

#[test]
fn whatever_does_not_need_one_leader_holds_all_the_same() {
    let scope = safe("two-leaders-safe/per-index");
    let found = explore(&scope, &reduced());
    assert!(matches!(found.outcome, Outcome::Holds), "{:?}", found.outcome);
    assert_eq!((found.states, found.depth), (173_275, 28));
}

/// What is left out is left out for a reason: two leaders break each of them.
#[test]
fn each_requirement_that_needs_one_leader_is_broken_by_two() {
    let scope = Scope { not_checked: &[], ..safe("two-leaders-safe/non-indexed") };
    for req in NEEDS_ONE_LEADER {
        let number = PROPERTIES.iter().position(|property| property.req == *req);
        let found = explore_for(&scope, &reduced(), &|asked| asked == number);
        let Outcome::Broken(broken) = &found.outcome else { panic!("{req:?}: {:?}", found.outcome) };
        assert_eq!(broken.number, number, "{req:?}");
    }
}
