//! The scopes of the reference algorithm: those of the specification, with stale caches and faults.

mod namespaces;
mod recreation;
mod refusals;
mod rollouts;
mod ttl;

pub use namespaces::progress_of_namespaces;
pub use recreation::{progress_of_recreation, recreation};
pub use refusals::refusals;
pub use rollouts::{progress_of_rollouts, rollouts};
pub use ttl::{both, empty, one_pod, ttl};

use crate::process::steps::Faults;
use crate::scope::{Algorithm, Scope, Subject};
use crate::scopes;
use crate::scopes::progress::progress;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobSpec;

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
    ("stale-caches/backoff-deletion", "backoff-deletion"),
    ("stale-caches/per-index-deletion", "per-index-deletion"),
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
    ("stale-caches/eviction", "eviction"),
    ("stale-caches/eviction-of-an-index", "eviction-of-an-index"),
    ("stale-caches/lost-node", "lost-node"),
    ("stale-caches/lost-node-patient", "lost-node-patient"),
    ("stale-caches/force-delete", "force-delete"),
    ("stale-caches/orphaning", "orphaning"),
    ("stale-caches/adoption", "adoption"),
    ("stale-caches/lost-owner", "lost-owner"),
    ("stale-caches/relabelled-pod", "relabelled-pod"),
    ("stale-caches/legacy-pods", "legacy-pods"),
    ("stale-caches/edited-limits", "edited-limits"),
    ("stale-caches/unscheduled", "unscheduled"),
    ("stale-caches/unscheduled-patient", "unscheduled-patient"),
    ("stale-caches/edited-policy", "edited-policy"),
    ("stale-caches/reverted-policy", "reverted-policy"),
    ("stale-caches/edited-failed-indexes", "edited-failed-indexes"),
    ("stale-caches/suspend-deadline", "suspend-deadline"),
    ("stale-caches/suspend-patient", "suspend-patient"),
    ("stale-caches/suspend-per-index", "suspend-per-index"),
    ("stale-caches/elastic-per-index", "elastic-per-index"),
    ("stale-caches/parallelism", "parallelism"),
    ("stale-caches/on-failure", "on-failure"),
    ("stale-caches/success-policy-deletion", "success-policy-deletion"),
    ("stale-caches/indexed-parallelism", "indexed-parallelism"),
    ("stale-caches/removed-deadline", "removed-deadline"),
    ("stale-caches/unready-pods", "unready-pods"),
    ("stale-caches/second-deletion", "second-deletion"),
    ("stale-caches/second-deletion-orphaning", "second-deletion-orphaning"),
    ("stale-caches/denied-condition", "denied-condition"),
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
    ("failed-request/force-delete", "force-delete"),
    ("failed-request/adoption", "adoption"),
    ("failed-request/lost-owner", "lost-owner"),
    ("failed-request/relabelled-pod", "relabelled-pod"),
    ("failed-request/unscheduled-patient", "unscheduled-patient"),
    ("failed-request/suspend-patient", "suspend-patient"),
    ("failed-request/elastic-per-index", "elastic-per-index"),
];

/// One response is lost, and both caches lag by one.
const LOST_RESPONSE: &[(&str, &str)] = &[
    ("lost-answer/backoff-limit", "backoff-limit"),
    ("lost-answer/fail-index", "fail-index"),
    ("lost-answer/adoption", "adoption"),
];

/// The process crashes between two requests, and both caches lag by one.
const CRASH: &[(&str, &str)] = &[
    ("crash/non-indexed", "non-indexed"),
    ("crash/indexed", "indexed"),
    ("crash/backoff-limit", "backoff-limit"),
    ("crash/fail-job", "fail-job"),
    ("crash/per-index", "per-index"),
    ("crash/per-index-delay", "per-index-delay"),
];

/// The process crashes, its last request may still be handled, and both caches lag by one.
const DELAYED_REQUEST: &[(&str, &str)] = &[("late-request/backoff-limit", "backoff-limit")];

/// Two processes lead for a while, and their caches lag by one.
const TWO_LEADERS: &[(&str, &str)] = &[
    ("two-leaders/non-indexed", "non-indexed"),
    ("two-leaders/indexed", "indexed"),
    ("two-leaders/backoff-limit", "backoff-limit"),
    ("two-leaders/fail-job", "fail-job"),
    ("two-leaders/success-policy", "success-policy"),
    ("two-leaders/per-index", "per-index"),
    ("two-leaders/suspend", "suspend"),
];

/// All kinds of faults, and as many pods as in the scope of the specification.
const LARGE: &[(&str, &str)] = &[
    ("large/non-indexed", "non-indexed"),
    ("large/deleted-pods", "deleted-pods"),
    ("large/ready-pods", "ready-pods"),
    ("large/indexed", "indexed"),
    ("large/indexed-deletion", "indexed-deletion"),
    ("large/backoff-delay", "backoff-delay"),
    ("large/replace-failed", "replace-failed"),
    ("large/replace-failed-indexes", "replace-failed-indexes"),
    ("large/replace-terminating", "replace-terminating"),
    ("large/max-failed-indexes", "max-failed-indexes"),
    ("large/per-index", "per-index"),
    ("large/suspend", "suspend"),
    ("large/elastic", "elastic"),
    ("large/ttl", "ttl"),
    ("large/two-jobs", "two-jobs"),
];

/// Scopes in which two processes lead for a while. No specification can allow this (SY-01); the scopes show
/// the consequences.
#[must_use]
pub fn two_leaders() -> Vec<Scope> {
    let faults = Faults { second_leaders: 1, ..Faults::default() };
    family(TWO_LEADERS, 1, faults, false).map(|scope| Scope { pods: 3, ..scope }).collect()
}

/// SY-01: the requirements that need a single leader. Two leaders may count a pod twice, or once as succeeded
/// and once as failed, and may finish a Job for that reason.
pub const NEEDS_ONE_LEADER: &[Req] = &[Req::FT02, Req::FT13, Req::BO12, Req::S01];

/// The requirements that are not checked with two leaders. They are [`NEEDS_ONE_LEADER`], the basis of each
/// write (SY-10), and the properties of plans. Only one of two leaders planned a pod that is created then,
/// and the ghost history leaves such a pod out.
const NOT_CHECKED_WITH_TWO_LEADERS: &[Req] = &[
    Req::FT02,
    Req::FT13,
    Req::BO12,
    Req::S01,
    Req::SY10,
    Req::FT14,
    Req::FT16,
    Req::PC04,
    Req::PC08,
    Req::PC18,
    Req::RP11,
    Req::RP12,
    Req::TC04,
    Req::TC14,
    Req::BI02,
    Req::BI15,
    Req::BI16,
];

/// Smaller versions of these scopes, for the requirements that hold with two leaders.
const SAFE_WITH_TWO_LEADERS: &[(&str, &str)] = &[
    ("two-leaders-safe/non-indexed", "non-indexed"),
    ("two-leaders-safe/indexed", "indexed"),
    ("two-leaders-safe/per-index", "per-index"),
];

/// Scopes with two leaders that check the requirements that do not depend on who created a pod.
#[must_use]
pub fn safe_with_two_leaders() -> Vec<Scope> {
    let faults = Faults { second_leaders: 1, ..Faults::default() };
    let one_pod_at_a_time = |scope: Scope| {
        let jobs = scope.jobs.iter().map(one_at_a_time).collect();
        Scope { pods: 2, jobs, not_checked: NOT_CHECKED_WITH_TWO_LEADERS, ..scope }
    };
    family(SAFE_WITH_TWO_LEADERS, 1, faults, false).map(one_pod_at_a_time).collect()
}

/// The process crashes once, its last request may still be handled, another request fails, and both caches
/// lag by two.
const ALL_FAULTS: &[(&str, &str)] = &[
    ("all-faults/non-indexed", "non-indexed"),
    ("all-faults/full-lists", "full-lists"),
    ("all-faults/work-queue", "work-queue"),
    ("all-faults/indexed", "indexed"),
    ("all-faults/backoff-limit", "backoff-limit"),
    ("all-faults/replace-failed", "replace-failed"),
    ("all-faults/replace-failed-indexes", "replace-failed-indexes"),
    ("all-faults/fail-job", "fail-job"),
    ("all-faults/ignored-failures", "ignored-failures"),
    ("all-faults/success-policy", "success-policy"),
    ("all-faults/per-index", "per-index"),
    ("all-faults/fail-index", "fail-index"),
    ("all-faults/suspend", "suspend"),
    ("all-faults/deadline", "deadline"),
    ("all-faults/ttl", "ttl"),
    ("all-faults/two-jobs", "two-jobs"),
];

/// More such scopes, with fewer pods or actions (see [`smaller`]).
const SMALLER: &[(&str, &str)] = &[
    ("all-faults/failed-indexes", "max-failed-indexes"),
    ("all-faults/one-ready", "ready-pods"),
    ("all-faults/one-terminating", "replace-terminating"),
];

/// More such scopes, with at least ten million states each.
const MORE_FAULTS: &[(&str, &str)] = &[
    ("all-faults/deleted-pods", "deleted-pods"),
    ("all-faults/ready-pods", "ready-pods"),
    ("all-faults/indexed-deletion", "indexed-deletion"),
    ("all-faults/backoff-delay", "backoff-delay"),
    ("all-faults/replace-terminating", "replace-terminating"),
    ("all-faults/max-failed-indexes", "max-failed-indexes"),
    ("all-faults/elastic", "elastic"),
];

/// The phase of a succeeded pod may change to `Failed`.
fn flips_of(name: &'static str, indexed_name: &'static str) -> [Scope; 2] {
    let about = "two completions; the phase of a succeeded pod may change to Failed";
    let spec = JobSpec { backoff_limit: Some(1), ..scopes::many(2, 2) };
    let base = Scope { flips: true, ..scopes::scope(name, about, spec, 3) };
    let about = "two indexes; the phase of a succeeded pod may change to Failed";
    let spec = JobSpec { backoff_limit: Some(1), ..scopes::many_indexes(2, 2) };
    let indexed = Scope { flips: true, ..scopes::scope(indexed_name, about, spec, 3) };
    [base, indexed]
}

/// The same, with a lag of two in both caches or with one failed request.
fn flips() -> [Scope; 4] {
    let [base, indexed] = flips_of("stale-caches/flips", "stale-caches/flips-indexed");
    let faults = Faults { failures: 1, ..Faults::default() };
    let fails = |name, base: &Scope| Scope { name, faults, ..run_by_the_algorithm(base.clone(), 1) };
    let failed = fails("failed-request/flips", &base);
    let failed_indexed = fails("failed-request/flips-indexed", &indexed);
    [run_by_the_algorithm(base, 2), failed, run_by_the_algorithm(indexed, 2), failed_indexed]
}

/// The two scopes for progress.
pub(super) fn progress_of_flips() -> [Scope; 2] {
    flips_of("progress/flips", "progress/flips-indexed").map(|scope| run_by_the_algorithm(scope, 1))
}

/// All scopes of the reference algorithm.
#[must_use]
pub fn all() -> Vec<Scope> {
    let small = [one_fault(), ttl(), recreation(), rollouts(), progress()].concat();
    [small, all_faults(), large(), two_leaders(), safe_with_two_leaders()].concat()
}

/// Small scopes with one kind of fault each.
#[must_use]
pub fn one_fault() -> Vec<Scope> {
    let none = Faults::default();
    let stale = family(STALE_CACHES, 2, none, false);
    let failed = family(FAILED_REQUEST, 1, Faults { failures: 1, ..none }, false);
    let lost = family(LOST_RESPONSE, 1, Faults { losses: 1, ..none }, false);
    let crash = family(CRASH, 1, Faults { crashes: 1, ..none }, false);
    let delayed = family(DELAYED_REQUEST, 1, Faults { crashes: 1, ..none }, true);
    stale
        .chain(failed)
        .chain(lost)
        .chain(crash)
        .chain(delayed)
        .chain(flips())
        .chain(namespaces::namespaces())
        .collect()
}

/// Scopes with all kinds of faults but lost responses.
#[must_use]
pub fn all_faults() -> Vec<Scope> {
    everything_wrong(ALL_FAULTS).chain(smaller()).collect()
}

/// Versions of scopes that would be too large with all faults. They have no user who deletes pods, or one pod
/// at a time.
fn smaller() -> impl Iterator<Item = Scope> {
    everything_wrong(SMALLER).map(|scope| match scope.name {
        "all-faults/failed-indexes" => Scope {
            about: "backoffLimitPerIndex 0 and maxFailedIndexes 0: the first failed index fails the Job",
            user: Vec::new(),
            ..scope
        },
        _ => Scope { jobs: scope.jobs.iter().map(one_at_a_time).collect(), ..scope },
    })
}

fn one_at_a_time(spec: &JobSpec) -> JobSpec {
    JobSpec { parallelism: Some(1), ..spec.clone() }
}

fn everything_wrong(names: &'static [(&str, &str)]) -> impl Iterator<Item = Scope> {
    let faults = Faults { crashes: 1, failures: 1, ..Faults::default() };
    family(names, 2, faults, true).map(|scope| Scope { pods: scope.pods.min(3), ..scope })
}

/// The largest of these scopes, and scopes with a lost response and more pods.
#[must_use]
pub fn large() -> Vec<Scope> {
    let faults = Faults { crashes: 1, failures: 1, losses: 1, ..Faults::default() };
    everything_wrong(MORE_FAULTS).chain(family(LARGE, 2, faults, true)).collect()
}

pub(super) fn family(
    names: &'static [(&str, &str)],
    lag: usize,
    faults: Faults,
    delayed_requests: bool,
) -> impl Iterator<Item = Scope> {
    names.iter().filter_map(move |(name, base)| {
        let base = scopes::named(base)?;
        Some(Scope { name, faults, delayed_requests, ..run_by_the_algorithm(base, lag) })
    })
}

/// The scope with one process of the reference algorithm as manager, whose caches lag by `lag`.
#[must_use]
pub fn run_by_the_algorithm(scope: Scope, lag: usize) -> Scope {
    Scope { subject: Subject::Algorithm(Algorithm::reference()), lag, job_lag: lag, ..scope }
}
