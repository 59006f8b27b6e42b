//! The headline invariants follow from the contract, and from no smaller one.

use jobcheck_explorer::engine::Limits;
use jobcheck_managers::check::Exploration;
use jobcheck_managers::contract::{Rules, Step, explore_contract, scopes};
use jobcheck_spec::catalogue::Req;

/// For each headline invariant, the rules without which it is broken. Those of the API server demand the same as the
/// contract, so that both are left out.
const NEEDED: [(&[Req], Req); 5] = [
    (&[Req::MR03], Req::MR30),
    (&[Req::MR11, Req::SS12, Req::SS18], Req::TC04),
    (&[Req::SS13], Req::TC04),
    (&[Req::TC05, Req::SS24, Req::SS25, Req::SS26], Req::TC05),
    (&[Req::MR08, Req::SS22, Req::SS08, Req::TC06, Req::SS23], Req::TC06),
];

fn explored(rules: &Rules) -> Exploration<Step> {
    explore_contract(rules, &Limits { max_states: Some(400_000), ..Limits::none(2) })
}

/// The other default scopes are explored by the tests of the command line.
#[test]
fn the_headline_invariants_follow_from_the_contract() {
    let it = explored(&Rules::whole(scopes().swap_remove(0)));
    assert!(it.holds(), "{} states, {:?}", it.states, it.outcome);
}

#[test]
fn each_headline_invariant_needs_a_rule() {
    let scope = scopes().swap_remove(0);
    for (without, expected) in NEEDED {
        let it = explored(&Rules::without(scope.clone(), without));
        assert_eq!(it.found().map(|found| found.req), Some(expected), "{without:?}");
    }
}
