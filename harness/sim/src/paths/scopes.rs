//! The scopes from which paths are generated.

use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::process::steps::Faults;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::named;
use jobcheck_explorer::scopes::progress::progress;
use jobcheck_explorer::scopes::reference::{
    all_faults, one_fault, recreation, rollouts, run_by_the_algorithm, ttl, two_leaders,
};

/// Returns every default scope of `jobcheck check --subject controller`, those with two leaders, and some for steps
/// that no other scope has.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    let checked = [one_fault(), ttl(), recreation(), rollouts(), progress(), all_faults()].concat();
    let all = checked.into_iter().chain(two_leaders()).chain(own());
    all.map(of_the_controller).collect()
}

/// The scopes for steps that no other scope has.
fn own() -> Vec<Scope> {
    let none = Faults::default();
    let faulty = Faults { losses: 1, failures: 1, ..none };
    let denials = vec![UserAction::DenyFailureTarget, UserAction::DenyFailed];
    let all = [
        of(
            "generated/relabelled-pod",
            "requests that release a pod fail, or their responses are lost",
            "relabelled-pod",
            faulty,
            None,
        ),
        of(
            "generated/namespace",
            "the namespace is deleted at any time",
            "non-indexed",
            none,
            Some(vec![UserAction::DeleteNamespace]),
        ),
        of(
            "generated/denied-condition",
            "the user sets conditions to False",
            "backoff-limit",
            none,
            Some(denials),
        ),
    ];
    all.into_iter().flatten().collect()
}

fn of(
    name: &'static str,
    about: &'static str,
    base: &str,
    faults: Faults,
    user: Option<Vec<UserAction>>,
) -> Option<Scope> {
    let base = run_by_the_algorithm(named(base)?, 1);
    Some(Scope { name, about, faults, user: user.unwrap_or_else(|| base.user.clone()), ..base })
}
