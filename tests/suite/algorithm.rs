//! Exploring the reference algorithm: sizes and verdicts. That its departures are noticed is tested with the mutants.

use jobcheck_model::algorithm::scopes::all;
use jobcheck_model::check::{Bounds, Outcome, explore};

/// Different worlds, and steps to the farthest, of each scope. A change here is a change of the algorithm, of the
/// environment, or of a bound: say which in the commit.
const SIZES: &[(&str, usize, usize)] = &[
    ("stale-caches/non-indexed", 3799, 36),
    ("stale-caches/deleted-pods", 36544, 28),
    ("stale-caches/full-lists", 4270, 41),
    ("stale-caches/ready-pods", 14299, 28),
    ("stale-caches/work-queue", 3479, 36),
    ("stale-caches/indexed", 3694, 36),
    ("stale-caches/indexed-deletion", 12417, 28),
    ("stale-caches/backoff-limit", 275, 35),
    ("stale-caches/backoff-delay", 12710, 39),
    ("stale-caches/replace-failed", 34533, 38),
    ("stale-caches/replace-failed-indexes", 33290, 38),
    ("stale-caches/replace-terminating", 92936, 38),
    ("stale-caches/fail-job", 9477, 36),
    ("stale-caches/ignored-failures", 12462, 38),
    ("stale-caches/success-policy", 4143, 36),
    ("stale-caches/per-index", 8795, 37),
    ("stale-caches/fail-index", 2497, 41),
    ("stale-caches/max-failed-indexes", 14389, 28),
    ("stale-caches/suspend", 22393, 37),
    ("stale-caches/deadline", 6438, 36),
    ("stale-caches/elastic", 72502, 41),
    ("stale-caches/ttl", 10992, 30),
    ("stale-caches/two-jobs", 3481, 30),
    ("failed-request/non-indexed", 13498, 32),
    ("failed-request/indexed", 14098, 32),
    ("failed-request/full-lists", 14255, 36),
    ("failed-request/backoff-limit", 952, 31),
    ("failed-request/fail-job", 35262, 32),
    ("failed-request/success-policy", 17272, 34),
    ("failed-request/per-index", 26255, 35),
    ("failed-request/fail-index", 7785, 37),
    ("failed-request/suspend", 57217, 33),
    ("failed-request/deadline", 23106, 32),
    ("failed-request/ttl", 22490, 26),
    ("lost-answer/backoff-limit", 8388, 41),
    ("lost-answer/fail-index", 73636, 42),
    ("crash/non-indexed", 11610, 30),
    ("crash/indexed", 12059, 30),
    ("crash/backoff-limit", 843, 30),
    ("crash/fail-job", 29704, 30),
    ("crash/per-index", 24503, 33),
    ("late-request/backoff-limit", 31646, 42),
    ("stale-caches/flips", 26339, 39),
    ("failed-request/flips", 89633, 34),
];

#[test]
fn every_scope_of_the_algorithm_is_exhausted_at_its_pinned_size() {
    let mut sizes = Vec::new();
    for scope in all() {
        let found = explore(&scope, &Bounds::none(2));
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states, found.depth));
    }
    assert_eq!(sizes, SIZES);
}
