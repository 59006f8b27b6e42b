//! The scopes of the reference algorithm: those of the specification, with stale caches and faults.

use super::steps::Faults;
use super::switches::Switches;
use crate::job::JobSpec;
use crate::scope::{Algorithm, Scope};
use crate::scopes;

/// Both caches lag by two.
const STALE_CACHES: &[(&str, &str)] = &[
    ("stale-caches/non-indexed", "non-indexed"),
    ("stale-caches/deleted-pods", "deleted-pods"),
    ("stale-caches/full-lists", "full-lists"),
    ("stale-caches/ready-pods", "ready-pods"),
    ("stale-caches/work-queue", "work-queue"),
    ("stale-caches/indexed", "indexed"),
    ("stale-caches/indexed-deletion", "indexed-deletion"),
    ("stale-caches/backoff-limit", "backoff-limit"),
    ("stale-caches/backoff-delay", "backoff-delay"),
    ("stale-caches/replace-failed", "replace-failed"),
    ("stale-caches/replace-failed-indexes", "replace-failed-indexes"),
    ("stale-caches/replace-terminating", "replace-terminating"),
    ("stale-caches/fail-job", "fail-job"),
    ("stale-caches/ignored-failures", "ignored-failures"),
    ("stale-caches/success-policy", "success-policy"),
    ("stale-caches/per-index", "per-index"),
    ("stale-caches/fail-index", "fail-index"),
    ("stale-caches/max-failed-indexes", "max-failed-indexes"),
    ("stale-caches/suspend", "suspend"),
    ("stale-caches/deadline", "deadline"),
    ("stale-caches/elastic", "elastic"),
    ("stale-caches/ttl", "ttl"),
    ("stale-caches/two-jobs", "two-jobs"),
];

/// One request fails, and both caches lag by one.
const FAILED_REQUEST: &[(&str, &str)] = &[
    ("failed-request/non-indexed", "non-indexed"),
    ("failed-request/indexed", "indexed"),
    ("failed-request/full-lists", "full-lists"),
    ("failed-request/backoff-limit", "backoff-limit"),
    ("failed-request/fail-job", "fail-job"),
    ("failed-request/success-policy", "success-policy"),
    ("failed-request/per-index", "per-index"),
    ("failed-request/fail-index", "fail-index"),
    ("failed-request/suspend", "suspend"),
    ("failed-request/deadline", "deadline"),
    ("failed-request/ttl", "ttl"),
];

/// The answer to one request is lost, and both caches lag by one.
const LOST_ANSWER: &[(&str, &str)] =
    &[("lost-answer/backoff-limit", "backoff-limit"), ("lost-answer/fail-index", "fail-index")];

/// The process dies between two requests, and both caches lag by one.
const CRASH: &[(&str, &str)] = &[
    ("crash/non-indexed", "non-indexed"),
    ("crash/indexed", "indexed"),
    ("crash/backoff-limit", "backoff-limit"),
    ("crash/fail-job", "fail-job"),
    ("crash/per-index", "per-index"),
];

/// The process dies, its request may still be handled, and both caches lag by one.
const LATE_REQUEST: &[(&str, &str)] = &[("late-request/backoff-limit", "backoff-limit")];

/// The kubelet takes successes back, while both caches lag by two, or while one request fails.
///
/// Not of an Indexed Job: its successes are recorded by their index alone, so that the guard of FT-03 does not know one
/// that was taken back after the cache had shown it.
fn flips() -> [Scope; 2] {
    let about = "two completions; the kubelet takes successes back";
    let spec = JobSpec { backoff_limit: Some(1), ..scopes::many(2, 2) };
    let base = Scope { flips: true, ..scopes::scope("stale-caches/flips", about, spec, 3) };
    let faults = Faults { failures: 1, ..Faults::default() };
    let failed = Scope { name: "failed-request/flips", faults, ..run_by_the_algorithm(base.clone(), 1) };
    [run_by_the_algorithm(base, 2), failed]
}

/// All scopes of the algorithm.
#[must_use]
pub fn all() -> Vec<Scope> {
    let none = Faults::default();
    let stale = family(STALE_CACHES, 2, none, false);
    let failed = family(FAILED_REQUEST, 1, Faults { failures: 1, ..none }, false);
    let lost = family(LOST_ANSWER, 1, Faults { losses: 1, ..none }, false);
    let crash = family(CRASH, 1, Faults { crashes: 1, ..none }, false);
    let late = family(LATE_REQUEST, 1, Faults { crashes: 1, ..none }, true);
    stale.chain(failed).chain(lost).chain(crash).chain(late).chain(flips()).collect()
}

fn family(
    names: &'static [(&str, &str)],
    lag: usize,
    faults: Faults,
    late_requests: bool,
) -> impl Iterator<Item = Scope> {
    names.iter().filter_map(move |(name, base)| {
        let base = scopes::named(base)?;
        Some(Scope { name, faults, late_requests, ..run_by_the_algorithm(base, lag) })
    })
}

/// A scope whose Jobs one process of the algorithm manages, both caches of which lag.
#[must_use]
pub fn run_by_the_algorithm(scope: Scope, lag: usize) -> Scope {
    let algorithm =
        Algorithm { processes: 1, switches: Switches::default(), job_lag: lag, lazy_caches: false };
    Scope { algorithm, lag, job_lag: false, ..scope }
}
