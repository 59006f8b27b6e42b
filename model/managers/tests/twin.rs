//! The world of the mirror protocol in TLA+ (`model/tla/managers`): the explorer finds the same pinned counts as TLC.

use jobcheck_managers::check::explore_scope;
use jobcheck_managers::scope::{Budget, Scope, all, plain};

/// The lines of `model/tla/managers/counts.txt`: scope, states, steps, and steps to the farthest state.
fn pinned() -> Vec<Vec<String>> {
    let text = include_str!("../../tla/managers/counts.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The default scopes.
fn defaults() -> impl Iterator<Item = Scope> {
    all().into_iter().map(|scope| Scope { progress: false, ..scope })
}

fn small(name: &'static str, most: Budget) -> Scope {
    Scope { name, pods: 1, most, progress: false, ..plain() }
}

/// A scope without pods.
fn bare(name: &'static str, most: Budget) -> Scope {
    Scope { pods: 0, ..small(name, most) }
}

/// Small scopes, and combinations that no default scope has.
fn combined() -> Vec<Scope> {
    let none = Budget::default();
    let again = Budget { deletions: 1, recreations: 1, ..none };
    let away = Budget { disconnections: 1, ..none };
    let faults = Budget { disconnections: 1, crashes: 1, ..none };
    let two = |scope: Scope| Scope { workers: 2, ..scope };
    let expiring = |scope: Scope| Scope { ttl: true, ..scope };
    let sized = |size, pods, scope: Scope| Scope { size, pods, ..scope };
    let lagging = |scope: Scope| Scope { lags_own_writes: true, ..scope };
    vec![
        small("managers/small", none),
        small("managers/small-crash", Budget { crashes: 1, ..none }),
        small("managers/small-away", away),
        small("managers/small-deletion", Budget { deletions: 1, ..none }),
        small("managers/small-recreation", again),
        expiring(small("managers/small-ttl", none)),
        two(small("managers/small-workers", none)),
        sized((2, 1), 2, small("managers/completions", none)),
        sized((2, 1), 2, small("managers/completions-lost-copy", Budget { copy_deletions: 1, ..none })),
        sized((2, 2), 3, small("managers/parallelism", none)),
        bare("managers/bare-suspend", Budget { suspends: 2, ..none }),
        lagging(bare("managers/bare-suspend-faults", Budget { suspends: 2, ..faults })),
        two(bare("managers/bare-eviction", Budget { evictions: 1, ..none })),
        two(bare("managers/bare-eviction-suspend", Budget { evictions: 1, suspends: 2, ..none })),
        two(bare("managers/bare-eviction-faults", Budget { evictions: 1, ..faults })),
        two(bare("managers/bare-stranger", Budget { evictions: 1, strangers: 1, ..none })),
        bare("managers/bare-recreation", again),
        bare("managers/bare-recreation-away", Budget { disconnections: 1, ..again }),
        bare("managers/bare-recreation-crash", Budget { crashes: 1, ..again }),
        bare("managers/bare-recreation-suspend", Budget { suspends: 1, ..again }),
        expiring(bare("managers/bare-ttl-away", away)),
        expiring(bare("managers/bare-ttl-faults", Budget { recreations: 1, copy_deletions: 1, ..faults })),
    ]
}

#[test]
fn scopes_have_the_sizes_that_tlc_finds() {
    let found: Vec<Vec<String>> = defaults()
        .chain(combined())
        .map(|scope| {
            let found = explore_scope(&scope, 2, None);
            assert!(found.holds(), "{}: {:?}", scope.name, found.outcome);
            let steps = found.generated;
            vec![scope.name.to_owned(), found.states.to_string(), steps.to_string(), found.depth.to_string()]
        })
        .collect();
    assert_eq!(found, pinned());
}
