//! Creation of pods: the Job wants pods, there is room for one more, the index is free, and the delay has passed.
//!
//! | question about a creation | requirements | decided by |
//! | --- | --- | --- |
//! | Does the Job want pods? | TC-07, BO-15, FT-19, SU-01, SU-09, PC-27, TC-01 | a view |
//! | Is there room for one more pod? | PC-04, PC-05, RP-03 | a view, with the sync's own creations and deletions |
//! | Is the index free, and one of the lowest? | PC-17, PC-18, RP-12, BI-04 | the same |
//! | Has the delay after failures passed? | BO-01, BO-04, BO-10, RP-10 | a view, and the times of the pods |
//! | Has the namespace refused a creation before? | PC-12 | the time since the refusal |
//! | Does the pod continue the failure counts of its index? | BI-02 | a view |

use crate::catalogue::Req;
use crate::guards::decision::{Reason, Tally, decide};
use crate::guards::diagnosis;
use crate::indexes::Index;
use crate::job::{ConditionKind, ConditionStatus};
use crate::pod::{Pod, PolicyMatch};
use crate::requirement::{Findings, Operand};
use crate::time::Time;
use crate::view::View;

/// Seconds for which a creation in a namespace that is being deleted is not tried again (PC-12).
pub const REFUSAL_LASTS: i64 = 300;

/// Judges the creation of `pod` against the view before the creation.
pub fn judge_creation(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    if !judge_job_wants_pods(view, findings) {
        return;
    }
    let tally = Tally::of(view);
    if let Some(reason) = decide(view, &tally).filter(|reason| *reason != Reason::CompletionsReached) {
        // SU-09: with a deadline of 0 s the Job fails before its first pod.
        let req = if view.spec().active_deadline_seconds == Some(0) { Req::SU09 } else { Req::TC01 };
        findings.require(req, false, "reason to finish before the creation", "none", reason.as_str());
    }
    let room = judge_room(view, &tally, findings);
    if view.spec().is_indexed() {
        judge_index(view, pod, &tally, room, findings);
    }
    if view.spec().backoff_limit_per_index.is_some() && view.spec().is_indexed() {
        judge_per_index(view, pod, &tally, findings);
    } else {
        judge_global_backoff(view, pod, findings);
    }
}

/// TC-07, FT-19, SU-01, PC-27: the Job is not decided, not being deleted, and not suspended. The cache shows all pods
/// that the process created before.
///
/// Returns whether the Job wants pods. A broken PC-27 does not end the judgement, because PC-27 is internal to a
/// process.
fn judge_job_wants_pods(view: &View<'_>, findings: &mut Findings) -> bool {
    let what = "creation of a pod";
    let job = view.job;
    let req = if limit_was_raised(view) { Req::BO15 } else { Req::TC07 };
    let (expected, found) = ("a Job without an interim condition", "a Job that is decided");
    let undecided = findings.require(req, !job.status.is_decided(), what, expected, found);
    let (expected, found) = ("a Job that is not being deleted", "a Job that is being deleted");
    let exists = findings.require(Req::FT19, !job.deleting, what, expected, found);
    let (expected, found) = ("a Job that is not suspended", "a suspended Job");
    let running = findings.require(Req::SU01, !job.spec.is_suspended(), what, expected, found);
    let (expected, found) = ("a Pod cache with every pod created before", "a Pod cache that lacks some");
    findings.require(Req::PC27, view.expectations_met, what, expected, found);
    undecided && exists && running
}

/// BO-15: the Job fails because of `backoffLimit`, and its failures do not exceed the present limit any more.
fn limit_was_raised(view: &View<'_>) -> bool {
    let status = &view.job.status;
    let exceeded = status.condition(&ConditionKind::FailureTarget).is_some_and(|condition| {
        condition.status == ConditionStatus::True
            && *condition.reason == *Reason::BackoffLimitExceeded.as_str()
    });
    exceeded && view.spec().backoff_limit.is_some_and(|limit| view.failed() <= i64::from(limit))
}

/// The number of pods that should be active (PC-04, PC-05).
#[must_use]
pub fn want_active(view: &View<'_>, tally: &Tally) -> i64 {
    let parallelism = i64::from(view.spec().parallelism_count());
    match view.spec().completions {
        None if tally.succeeded > 0 => i64::from(view.cache.sums().active),
        None => parallelism,
        Some(completions) => (i64::from(completions) - tally.succeeded).clamp(0, parallelism),
    }
}

/// PC-04, PC-05, RP-03: there is room for one more pod. Returns the number of pods that there is room for.
fn judge_room(view: &View<'_>, tally: &Tally, findings: &mut Findings) -> i64 {
    let want = want_active(view, tally);
    let active = i64::from(view.post.sums().active);
    let req = if view.spec().completions.is_none() && tally.succeeded > 0 { Req::PC05 } else { Req::PC04 };
    let fits = findings.require(
        req,
        active < want,
        "active pods before the creation",
        Operand::lazy(|| format!("fewer than {want}")),
        active,
    );
    if !view.spec().replaces_only_failed() {
        return want - active;
    }
    let held = active + i64::from(view.post.sums().terminating);
    if fits {
        findings.require(
            Req::RP03.diagnosed_by(|| diagnosis::of_crowding(view, held, want)),
            held < want,
            "active and terminating pods before the creation",
            Operand::lazy(|| format!("fewer than {want}")),
            held,
        );
    }
    want - held
}

/// PC-17, PC-18, RP-12, BI-04: the index is below `completions`, needs a pod, and is one of the lowest that do.
fn judge_index(view: &View<'_>, pod: &Pod, tally: &Tally, room: i64, findings: &mut Findings) {
    let what = "completion index of the created pod";
    let completions = view.spec().completion_count();
    let Some(index) = pod.valid_index(completions) else {
        let found = pod.index.map_or(Operand::Words("none"), Operand::from);
        findings.require(Req::PC17, false, what, "an index below completions", found);
        return;
    };
    let failed = tally.failed_indexes.as_ref().is_some_and(|set| set.contains(index));
    findings.require(Req::BI04, !failed, what, "an index that has not failed", index);
    findings.require(
        Req::PC18,
        !tally.completed.contains(index),
        what,
        "an index that is not completed",
        index,
    );
    let used = view.post.index_use(index);
    findings.require(Req::PC18, used.active == 0, what, "an index without an active pod", index);
    if view.spec().replaces_only_failed() {
        findings.require(Req::RP12, used.terminating == 0, what, "an index without a terminating pod", index);
    }
    let lower = (0..index).filter(|lower| needs_pod(view, *lower, tally)).take(at_least_one(room)).count();
    findings.require(
        Req::PC18,
        i64::try_from(lower).is_ok_and(|lower| lower < room.max(1)),
        what,
        "one of the lowest indexes that need a pod",
        index,
    );
}

fn at_least_one(room: i64) -> usize {
    usize::try_from(room.max(1)).unwrap_or(1)
}

/// Returns whether an index needs a pod: it is neither in use, nor completed, nor failed.
fn needs_pod(view: &View<'_>, index: Index, tally: &Tally) -> bool {
    let used = view.post.index_use(index);
    let held = view.spec().replaces_only_failed() && used.terminating > 0;
    let failed = tally.failed_indexes.as_ref().is_some_and(|set| set.contains(index));
    used.active == 0 && !held && !failed && !tally.completed.contains(index)
}

/// BO-01: no pod is created before the delay after the latest failures has passed.
fn judge_global_backoff(view: &View<'_>, pod: &Pod, findings: &mut Findings) {
    let Some(last) = view.backoff.last_failure.filter(|_| view.backoff.failures > 0) else { return };
    let delay = view.constants.backoff_ms(view.backoff.failures);
    judge_delay(Req::BO01, view, pod, last, delay, findings);
}

fn judge_delay(req: Req, view: &View<'_>, pod: &Pod, last: Time, delay_ms: i64, findings: &mut Findings) {
    // Both times are truncated to seconds, so that a part of a second does not show.
    let (elapsed, delay) = (latest_creation(view, pod).since(last), delay_ms / 1000);
    // The failure has the time of a node.
    let has_passed = elapsed + view.clocks.missing_of(delay) >= delay;
    findings.require(
        if has_passed { req } else { of_early_creation(req, view, last) },
        has_passed,
        "delay between the last failure and the creation",
        Operand::lazy(|| format!("{delay} s or more")),
        Operand::lazy(|| format!("at most {elapsed} s")),
    );
}

/// The requirement to report for a creation before the end of a delay.
///
/// It is BO-04 if the failures were ignored, RP-10 if the failed pod was deleted, else `req`.
/// A wrong finish time (BO-07) looks like a delay that is too short, and is not reported by itself.
fn of_early_creation(req: Req, view: &View<'_>, last: Time) -> Req {
    let mut ends =
        view.cache.iter().filter(|pod| view.has_failed(pod) && pod.finish_time() == last).peekable();
    let Some(first) = ends.peek().copied() else { return req };
    match () {
        () if req == Req::BO01 && ends.all(Pod::is_ignored) => Req::BO04,
        () if first.deleting => Req::RP10,
        () => req,
    }
}

/// The latest time at which the pod was created. `creationTimestamp` is truncated, and may be up to 1 s too early
/// (BO-09).
fn latest_creation(view: &View<'_>, pod: &Pod) -> Time {
    let by_object = pod.created.plus(1);
    view.latest.map_or(by_object, |latest| latest.min(by_object))
}

/// PC-12: no pod is created for 300 s after a refusal because the namespace is being deleted.
///
/// `passed` are the seconds since the refusal in an earlier sync. `is_forgotten` is true if the process may have been
/// restarted since, which loses its memory. Returns whether only that admits the creation.
///
/// The explorer asks it about a controller that remembers the time of the refusal. The reference algorithm, like 1.36,
/// only keeps an unmet expectation; a property covers it.
pub fn judge_retry(passed: i64, is_forgotten: bool, findings: &mut Findings) -> bool {
    let early = passed < REFUSAL_LASTS;
    let expected = "none for 300 s after the refusal: the namespace is being deleted";
    let found = Operand::lazy(|| format!("after {passed} s"));
    findings.require(Req::PC12, !early || is_forgotten, "creation of a pod", expected, found);
    early && is_forgotten
}

/// BI-02, BO-10: the pod continues the failure counts of its index, and the delay of its index has passed.
fn judge_per_index(view: &View<'_>, pod: &Pod, tally: &Tally, findings: &mut Findings) {
    let predecessors: Vec<&Pod> = predecessors(view, pod, tally);
    let count = |pod: &Pod| (pod.failure_count, pod.ignored_failure_count);
    let expected: Vec<(u32, u32)> = if predecessors.is_empty() {
        vec![(0, 0)]
    } else {
        predecessors.iter().map(|pod| next_count(pod)).collect()
    };
    findings.require(
        Req::BI02,
        expected.contains(&count(pod)),
        "failure count and ignored failure count of the created pod",
        Operand::lazy(|| format!("{} and {}", expected[0].0, expected[0].1)),
        Operand::lazy(|| format!("{} and {}", pod.failure_count, pod.ignored_failure_count)),
    );
    if let Some(last) = predecessors.first() {
        let failures = last.failure_count.saturating_add(last.ignored_failure_count).saturating_add(1);
        let earliest = predecessors.iter().map(|pod| pod.finish_time()).min().unwrap_or_default();
        judge_delay(Req::BO10, view, pod, earliest, view.constants.backoff_ms(failures), findings);
    }
}

/// The failed pods of the index that the new pod may replace: those with the finalizer and the highest failure count
/// (BI-08). There may be several if they tie.
fn predecessors<'a>(view: &View<'a>, pod: &Pod, tally: &Tally) -> Vec<&'a Pod> {
    let rank = |pod: &Pod| pod.failure_count.saturating_add(pod.ignored_failure_count);
    let failed: Vec<&Pod> = view
        .cache
        .unaccounted()
        .filter(|other| other.index == pod.index && view.has_failed(other))
        .filter(|other| other.index.is_none_or(|index| !tally.completed.contains(index)))
        .collect();
    let highest = failed.iter().map(|pod| rank(pod)).max().unwrap_or(0);
    failed.into_iter().filter(|pod| rank(pod) == highest).collect()
}

/// The failure count and the ignored failure count of a replacement of this pod (BI-02).
fn next_count(pod: &Pod) -> (u32, u32) {
    use crate::job::FailureAction;
    match &pod.policy {
        PolicyMatch::Action(FailureAction::Ignore) => {
            (pod.failure_count, pod.ignored_failure_count.saturating_add(1))
        }
        PolicyMatch::Action(
            FailureAction::Count | FailureAction::FailIndex | FailureAction::FailJob | FailureAction::Unknown,
        )
        | PolicyMatch::FailJob(_)
        | PolicyMatch::None => (pod.failure_count.saturating_add(1), pod.ignored_failure_count),
    }
}
