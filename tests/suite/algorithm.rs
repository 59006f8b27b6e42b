//! Explores the reference algorithm: sizes and verdicts. The tests of the mutants explore it with mutations.

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::scopes::reference::{all_faults, one_fault};

/// For each scope, the number of states with both reductions, and the number of steps to the farthest state.
/// A change of these numbers is a change of the algorithm, of the environment, or of a bound. Explain it in
/// the commit.
pub const SIZES: &[(&str, usize, usize)] = &[
    ("stale-caches/non-indexed", 545, 25),
    ("stale-caches/deleted-pods", 9213, 22),
    ("stale-caches/full-lists", 815, 27),
    ("stale-caches/ready-pods", 3245, 23),
    ("stale-caches/work-queue", 520, 25),
    ("stale-caches/indexed", 1574, 25),
    ("stale-caches/indexed-deletion", 6060, 21),
    ("stale-caches/backoff-limit", 95, 24),
    ("stale-caches/backoff-delay", 5155, 28),
    ("stale-caches/backoff-deletion", 47854, 31),
    ("stale-caches/per-index-deletion", 105186, 31),
    ("stale-caches/replace-failed", 4600, 27),
    ("stale-caches/replace-failed-indexes", 14353, 27),
    ("stale-caches/replace-terminating", 10984, 27),
    ("stale-caches/fail-job", 1474, 25),
    ("stale-caches/ignored-failures", 1693, 26),
    ("stale-caches/success-policy", 1913, 25),
    ("stale-caches/per-index", 4282, 24),
    ("stale-caches/fail-index", 1175, 27),
    ("stale-caches/max-failed-indexes", 7057, 21),
    ("stale-caches/suspend", 10596, 26),
    ("stale-caches/deadline", 2876, 25),
    ("stale-caches/elastic", 33161, 29),
    ("stale-caches/ttl", 8482, 23),
    ("stale-caches/two-jobs", 561, 24),
    ("stale-caches/eviction", 17394, 26),
    ("stale-caches/eviction-of-an-index", 28798, 29),
    ("stale-caches/lost-node", 5113, 27),
    ("stale-caches/lost-node-patient", 9803, 27),
    ("stale-caches/force-delete", 14872, 25),
    ("stale-caches/orphaning", 60242, 28),
    ("stale-caches/adoption", 507, 26),
    ("stale-caches/lost-owner", 2924, 29),
    ("stale-caches/relabelled-pod", 12017, 30),
    ("stale-caches/legacy-pods", 948, 20),
    ("stale-caches/edited-limits", 13402, 25),
    ("stale-caches/unscheduled", 34396, 30),
    ("stale-caches/unscheduled-patient", 674, 22),
    ("stale-caches/edited-policy", 6402, 25),
    ("stale-caches/reverted-policy", 10828, 26),
    ("stale-caches/edited-failed-indexes", 898, 22),
    ("stale-caches/suspend-deadline", 73952, 29),
    ("stale-caches/suspend-patient", 1896, 23),
    ("stale-caches/suspend-per-index", 73212, 34),
    ("stale-caches/elastic-per-index", 21822, 28),
    ("stale-caches/parallelism", 27296, 30),
    ("stale-caches/on-failure", 1578, 26),
    ("stale-caches/success-policy-deletion", 46240, 27),
    ("stale-caches/indexed-parallelism", 105729, 28),
    ("stale-caches/removed-deadline", 5012, 21),
    ("stale-caches/unready-pods", 8470, 23),
    ("stale-caches/second-deletion", 1122171, 25),
    ("stale-caches/second-deletion-orphaning", 178535, 33),
    ("stale-caches/denied-condition", 393, 14),
    ("failed-request/non-indexed", 2389, 26),
    ("failed-request/indexed", 7393, 26),
    ("failed-request/full-lists", 3313, 29),
    ("failed-request/backoff-limit", 453, 24),
    ("failed-request/fail-job", 6668, 26),
    ("failed-request/success-policy", 9600, 27),
    ("failed-request/per-index", 12753, 23),
    ("failed-request/fail-index", 4151, 27),
    ("failed-request/suspend", 31287, 25),
    ("failed-request/deadline", 12881, 26),
    ("failed-request/ttl", 16030, 22),
    ("failed-request/force-delete", 46181, 27),
    ("failed-request/adoption", 1646, 25),
    ("failed-request/lost-owner", 8009, 29),
    ("failed-request/relabelled-pod", 32324, 29),
    ("failed-request/unscheduled-patient", 2198, 21),
    ("failed-request/suspend-patient", 5567, 23),
    ("failed-request/elastic-per-index", 54253, 28),
    ("lost-answer/backoff-limit", 5722, 33),
    ("lost-answer/fail-index", 56496, 33),
    ("lost-answer/adoption", 8029, 29),
    ("crash/non-indexed", 2418, 25),
    ("crash/indexed", 7368, 25),
    ("crash/backoff-limit", 441, 24),
    ("crash/fail-job", 6665, 25),
    ("crash/per-index", 16237, 25),
    ("crash/per-index-delay", 4007, 21),
    ("late-request/backoff-limit", 10026, 33),
    ("stale-caches/flips", 3792, 28),
    ("failed-request/flips", 14684, 28),
    ("stale-caches/flips-indexed", 11859, 28),
    ("failed-request/flips-indexed", 49994, 30),
    ("stale-caches/terminating-namespace", 4160, 28),
    ("stale-caches/terminating-namespace-per-index", 7458, 26),
    ("failed-request/terminating-namespace", 8877, 26),
    ("crash/terminating-namespace", 8762, 26),
];

/// The reductions that `jobcheck check` uses.
fn reduced() -> Bounds {
    Bounds { partial_order: true, symmetry: true, ..Bounds::none(2) }
}

#[test]
fn the_algorithm_satisfies_every_property_and_the_sizes_are_pinned() {
    let mut sizes = Vec::new();
    for scope in one_fault() {
        let found = explore(&scope, &reduced());
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states, found.depth));
    }
    assert_eq!(sizes, SIZES);
}

/// One crash, one delayed request, one failed request, and a lag of two in both caches, in the smallest of
/// these scopes.
#[test]
fn with_all_faults_at_once_every_property_holds() {
    for (name, states, depth) in ALL_FAULTS {
        let scope = all_faults().into_iter().find(|scope| scope.name == *name).unwrap();
        let found = explore(&scope, &reduced());
        assert!(matches!(found.outcome, Outcome::Holds), "{name}: {:?}", found.outcome);
        assert_eq!((found.states, found.depth), (*states, *depth), "{name}");
    }
}

const ALL_FAULTS: &[(&str, usize, usize)] = &[("all-faults/backoff-limit", 43654, 29)];
