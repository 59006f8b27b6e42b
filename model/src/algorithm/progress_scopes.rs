//! The scopes in which Jobs are asked to get somewhere ([`crate::progress`]): small ones, for nothing is reduced there.

use super::scopes::family;
use super::steps::Faults;
use crate::scope::Scope;

/// Both caches lag by one.
const WITHOUT_FAULTS: &[(&str, &str)] = &[
    ("progress/non-indexed", "non-indexed"),
    ("progress/deleted-pods", "deleted-pods"),
    ("progress/full-lists", "full-lists"),
    ("progress/ready-pods", "ready-pods"),
    ("progress/work-queue", "work-queue"),
    ("progress/indexed", "indexed"),
    ("progress/indexed-deletion", "indexed-deletion"),
    ("progress/backoff-limit", "backoff-limit"),
    ("progress/backoff-delay", "backoff-delay"),
    ("progress/replace-failed", "replace-failed"),
    ("progress/replace-failed-indexes", "replace-failed-indexes"),
    ("progress/fail-job", "fail-job"),
    ("progress/ignored-failures", "ignored-failures"),
    ("progress/success-policy", "success-policy"),
    ("progress/per-index", "per-index"),
    ("progress/fail-index", "fail-index"),
    ("progress/max-failed-indexes", "max-failed-indexes"),
    ("progress/suspend", "suspend"),
    ("progress/deadline", "deadline"),
    ("progress/elastic", "elastic"),
    ("progress/ttl", "ttl"),
    ("progress/two-jobs", "two-jobs"),
];

/// One request fails, and both caches lag by one.
const FAILED_REQUEST: &[(&str, &str)] = &[
    ("progress-failed-request/non-indexed", "non-indexed"),
    ("progress-failed-request/full-lists", "full-lists"),
    ("progress-failed-request/indexed", "indexed"),
    ("progress-failed-request/backoff-limit", "backoff-limit"),
    ("progress-failed-request/fail-job", "fail-job"),
    ("progress-failed-request/success-policy", "success-policy"),
    ("progress-failed-request/per-index", "per-index"),
    ("progress-failed-request/fail-index", "fail-index"),
    ("progress-failed-request/deadline", "deadline"),
    ("progress-failed-request/ttl", "ttl"),
];

/// The answer to one request is lost, and both caches lag by one.
const LOST_ANSWER: &[(&str, &str)] = &[("progress-lost-answer/backoff-limit", "backoff-limit")];

/// The process dies between two requests, and both caches lag by one.
const CRASH: &[(&str, &str)] = &[
    ("progress-crash/non-indexed", "non-indexed"),
    ("progress-crash/full-lists", "full-lists"),
    ("progress-crash/indexed", "indexed"),
    ("progress-crash/backoff-limit", "backoff-limit"),
    ("progress-crash/fail-job", "fail-job"),
    ("progress-crash/success-policy", "success-policy"),
    ("progress-crash/per-index", "per-index"),
    ("progress-crash/fail-index", "fail-index"),
    ("progress-crash/deadline", "deadline"),
    ("progress-crash/ttl", "ttl"),
];

/// The process dies, its request may still be handled, and both caches lag by one.
const LATE_REQUEST: &[(&str, &str)] = &[("progress-late-request/backoff-limit", "backoff-limit")];

/// Jobs that are deleted, with two pods at most; both caches lag by one.
const DELETION: &[(&str, &str)] = &[("progress/job-deletion", "job-deletion")];

/// All of them.
#[must_use]
pub fn progress() -> Vec<Scope> {
    let none = Faults::default();
    let healthy = family(WITHOUT_FAULTS, 1, none, false);
    let deleted = family(DELETION, 1, none, false).map(|scope| Scope { pods: 1, ..scope });
    let failed = family(FAILED_REQUEST, 1, Faults { failures: 1, ..none }, false);
    let lost = family(LOST_ANSWER, 1, Faults { losses: 1, ..none }, false);
    let crash = family(CRASH, 1, Faults { crashes: 1, ..none }, false);
    let late = family(LATE_REQUEST, 1, Faults { crashes: 1, ..none }, true);
    let all = healthy.chain(deleted).chain(failed).chain(lost).chain(crash).chain(late);
    all.map(|scope| Scope { progress: true, ..scope }).collect()
}
