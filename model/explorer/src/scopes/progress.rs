//! The scopes in which progress is checked ([`crate::progress`]). They are small, because the check uses no
//! reduction.

use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::reference::{
    family, progress_of_flips, progress_of_namespaces, progress_of_recreation, progress_of_rollouts, refusals,
};

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
    ("progress/unscheduled", "unscheduled"),
    ("progress/unscheduled-patient", "unscheduled-patient"),
    ("progress/edited-failed-indexes", "edited-failed-indexes"),
    ("progress/suspend-deadline", "suspend-deadline"),
    ("progress/suspend-patient", "suspend-patient"),
    ("progress/suspend-per-index", "suspend-per-index"),
    ("progress/elastic-per-index", "elastic-per-index"),
    ("progress/parallelism", "parallelism"),
    ("progress/on-failure", "on-failure"),
    ("progress/success-policy-deletion", "success-policy-deletion"),
    ("progress/replace-terminating", "replace-terminating"),
    ("progress/backoff-deletion", "backoff-deletion"),
    ("progress/per-index-deletion", "per-index-deletion"),
    ("progress/edited-limits", "edited-limits"),
    ("progress/edited-policy", "edited-policy"),
    ("progress/reverted-policy", "reverted-policy"),
    ("progress/eviction", "eviction"),
    ("progress/eviction-of-an-index", "eviction-of-an-index"),
    ("progress/lost-node", "lost-node"),
    ("progress/lost-node-patient", "lost-node-patient"),
    ("progress/out-of-service", "out-of-service"),
    ("progress/edited-template", "edited-template"),
    ("progress/force-delete", "force-delete"),
    ("progress/orphaning", "orphaning"),
    ("progress/adoption", "adoption"),
    ("progress/lost-owner", "lost-owner"),
    ("progress/relabelled-pod", "relabelled-pod"),
    ("progress/legacy-pods", "legacy-pods"),
    ("progress/indexed-parallelism", "indexed-parallelism"),
    ("progress/removed-deadline", "removed-deadline"),
    ("progress/unready-pods", "unready-pods"),
    ("progress/endless-pods", "endless-pods"),
    ("progress/second-deletion", "second-deletion"),
    ("progress/second-deletion-orphaning", "second-deletion-orphaning"),
    ("progress/denied-condition", "denied-condition"),
];

/// One request fails, and both caches lag by one.
const FAILED_REQUEST: &[(&str, &str)] = &[
    ("progress-failed-request/non-indexed", "non-indexed"),
    ("progress-failed-request/full-lists", "full-lists"),
    ("progress-failed-request/indexed", "indexed"),
    ("progress-failed-request/backoff-limit", "backoff-limit"),
    ("progress-failed-request/per-index", "per-index"),
    ("progress-failed-request/fail-index", "fail-index"),
    ("progress-failed-request/deadline", "deadline"),
    ("progress-failed-request/ttl", "ttl"),
];

/// One response is lost, and both caches lag by one.
const LOST_RESPONSE: &[(&str, &str)] = &[("progress-lost-answer/backoff-limit", "backoff-limit")];

/// One response is lost, and no cache lags.
const LOST_RESPONSE_WITHOUT_LAG: &[(&str, &str)] = &[
    ("progress-lost-answer/non-indexed", "non-indexed"),
    ("progress-lost-answer/indexed", "indexed"),
    ("progress-lost-answer/fail-job", "fail-job"),
    ("progress-lost-answer/per-index", "per-index"),
    ("progress-lost-answer/suspend", "suspend"),
    ("progress-lost-answer/deadline", "deadline"),
    ("progress-lost-answer/ttl", "ttl"),
    ("progress-lost-answer/relabelled-pod", "relabelled-pod"),
];

/// The process crashes between two requests, and both caches lag by one.
const CRASH: &[(&str, &str)] = &[
    ("progress-crash/non-indexed", "non-indexed"),
    ("progress-crash/full-lists", "full-lists"),
    ("progress-crash/indexed", "indexed"),
    ("progress-crash/backoff-limit", "backoff-limit"),
    ("progress-crash/success-policy", "success-policy"),
    ("progress-crash/per-index", "per-index"),
    ("progress-crash/fail-index", "fail-index"),
    ("progress-crash/deadline", "deadline"),
];

/// The process crashes, its last request may still be handled, and both caches lag by one.
const DELAYED_REQUEST: &[(&str, &str)] = &[("progress-late-request/backoff-limit", "backoff-limit")];

/// The same without lag, with at most two pods.
const DELAYED_REQUEST_WITHOUT_LAG: &[(&str, &str)] = &[
    ("progress-late-request/non-indexed", "non-indexed"),
    ("progress-late-request/indexed", "indexed"),
    ("progress-late-request/per-index", "per-index"),
];

/// A user deletes the Job, which has one pod. Both caches lag by one.
const DELETION: &[(&str, &str)] = &[("progress/job-deletion", "job-deletion")];

/// All scopes of this module. Scopes with faults have at most three pods.
#[must_use]
pub fn progress() -> Vec<Scope> {
    let none = Faults::default();
    let (fails, loses, dies) =
        (Faults { failures: 1, ..none }, Faults { losses: 1, ..none }, Faults { crashes: 1, ..none });
    let deleted = family(DELETION, 1, none, false).map(|scope| Scope { pods: 1, ..scope });
    let faulty = family(FAILED_REQUEST, 1, fails, false)
        .chain(family(LOST_RESPONSE, 1, loses, false))
        .chain(family(LOST_RESPONSE_WITHOUT_LAG, 0, loses, false))
        .chain(family(CRASH, 1, dies, false))
        .chain(family(DELAYED_REQUEST, 1, dies, true))
        .chain(family(DELAYED_REQUEST_WITHOUT_LAG, 0, dies, true).map(|scope| Scope { pods: 2, ..scope }));
    let faulty = faulty.map(|scope| Scope { pods: scope.pods.min(3), ..scope });
    let all = family(WITHOUT_FAULTS, 1, none, false).chain(deleted).chain(faulty);
    let all = all
        .chain(progress_of_namespaces())
        .chain(progress_of_flips())
        .chain(progress_of_rollouts())
        .chain(refusals())
        .map(|scope| Scope { progress: true, ..scope });
    all.chain(progress_of_recreation()).collect()
}
