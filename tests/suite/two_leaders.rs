//! Two processes that lead for a while (SY-01): the consequences, and the requirements that still hold.

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

/// SY-01: two leaders may count a pod twice, although each write is right for the process that makes it. The
/// second leader's Job cache shows that the pod was counted, and its Pod cache still shows the finalizer.
#[test]
fn two_leaders_may_count_a_pod_twice() {
    let scope = all().into_iter().find(|scope| scope.name == "two-leaders/backoff-limit").unwrap();
    let found = explore(&scope, &Bounds { partial_order: true, ..Bounds::none(1) });
    let Outcome::Broken(found) = found.outcome else { panic!("{:?}", found.outcome) };
    assert!(found.why.ends_with("broke FT-02"), "{found:?}");
    let actions: Vec<String> = lines(&scope, &found.path).iter().map(|line| line.what.clone()).collect();
    assert!(actions.iter().any(|line| line.starts_with("loses its lease")), "{actions:#?}");
    assert!(actions.last().unwrap().ends_with("uncounted.failed +pod 1"), "{actions:#?}");
}

#[test]
fn the_other_requirements_hold_with_two_leaders() {
    let scope = safe("two-leaders-safe/per-index");
    let found = explore(&scope, &reduced());
    assert!(matches!(found.outcome, Outcome::Holds), "{:?}", found.outcome);
    assert_eq!((found.states, found.depth), (173_275, 28));
}

/// Two leaders break each requirement that is excluded for this reason.
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
