//! Patterns of the known deviations of the built-in controller (`docs/reference/deviations.md`).
//!
//! A deviation is KNOWN by an exact pattern: the trace must contain the occasion that leads the built-in controller to
//! it. A write that is wrong in any other way is a plain violation.
//!
//! | id | pattern |
//! | --- | --- |
//! | S-01 | `Complete` lacks no more successes than pods that were recorded as failed and succeeded later. For the decision before: counting those pods as successes explains the whole write |
//! | S-02 | the same count explains the whole write. For a refused write: each index in both texts has a failed and a succeeded pod |
//! | S-03 | the matching pod is recorded, and in this sync a deletion was refused, or created pods are not visible yet. A watch must show another active pod |
//! | S-04 | the interim write leaves an absent `startTime` absent, or the terminal write is refused for that alone |
//! | S-05 | the pod was adopted after it had terminated, or after it had been counted |
//! | S-07 | the write is refused for UIDs that are recorded as succeeded and whose pods are Failed now. For the rest of the sync: counting those pods as failures explains the whole write |
//! | S-08 | some view that explains all earlier writes lacks the active pod |
//! | S-09 | the write is refused for `ready` alone, which exceeds `active` by at most the number of finalizer removals that found no pod |
//! | S-12 | one interim condition with status True is appended to a list whose first condition of the type is not True |
//! | S-25 | the adopted pod held the finalizer and had no owner; this is the first finalizer removal after the adoption |
//! | BO-02 | before 1.36: `active` is 0, this is the only error, and in the view pods are wanted and the delay of a failure runs. Or the write is refused for `ready` alone, which is right in such a view (its other counters are not compared) |
//! | FT-22 | the Job is over, each pod that keeps its finalizer has one refused finalizer removal since then, and no other |
//! | H1 | terminating pods changed as often as deletions were requested, before the last deletion, and a view without deletions of earlier syncs explains the finalizer removal; the deletion after it |
//! | H2 | `active` exceeds the truth by creations that were refused because the namespace is being deleted. A watch shows no refusals; there the verdict is inconclusive if every pod is being deleted |
//! | H3 | `ready` is too small by the number of refused deletions |
//! | H4 | `terminating` is too large by the number of deletions that found no pod |
//! | J-01 | only `active`, `ready`, and `terminating` are wrong, and a view without deletions of earlier syncs explains the whole write |
//! | J-02 | the lists were full, a finalizer removal was refused since then, and the write adds at most one UID |
//! | J-03 | the UID was recorded when the PATCH that removes the finalizer got a 404 |
//! | J-04 | the pod has not terminated, and the first rule that matches its condition DisruptionTarget ignores it |
//! | J-05 | the pod of the UID lost its owner, and no event has shown it without the finalizer |
//! | J-06 | every pod that keeps its finalizer appeared after the last change of the Job, which finished it, and is not being deleted |
//! | J-07 | the manager created a pod of the previous Job when this Job existed already, and this Job has no pods |
//! | J-08 | the trace shows that the manager listed Jobs when another Job had the name, and that it had not seen the end of the previous one. No pod of the previous Job that keeps its finalizer changed since while it was being deleted; or the new Job gets no pods before the delay of the previous one has passed |
//! | J-09 | the trace shows that the manager listed pods when a pod that it had created was being deleted, and a view that explains all earlier writes lacks the pod. Nothing was created since, and nothing happened to the Job after the expectation had expired |
//! | J-11 | the Job fails for its deadline alone, whose nanoseconds overflow, and which is over by what remains of them |
//! | TC-09 | the terminal condition replaces an entry that was not True, and that the manager had not set |

use jobcheck_spec::apiserver::{RuleSet, validate_status_update};
use jobcheck_spec::guards::counting::added;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::{ConditionKind, ConditionStatus, Job, JobStatus};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::{Broken, Findings, Req, Uid};
use rustc_hash::FxHashSet;

use super::event::Event;
use super::pod_records::Fact;
use super::setbacks::Refused;
use super::track::Track;

/// Returns `true` if the built-in controller of this minor version may show the deviation. An audit log does not name the
/// patch release, so a deviation that a patch release has ended stays until the next minor version.
pub(super) fn is_possible(rules: &RuleSet, deviation: Req) -> bool {
    let mended = match deviation {
        Req::BO02 => 36,
        Req::FT22 | Req::H3 | Req::J07 => 38,
        _ => return true,
    };
    rules.minor < mended
}

/// Notes pods that are recorded as failed and have succeeded (S-01).
pub fn note_flips(track: &mut Track, listed: &JobStatus) {
    let pods = &track.history.stored;
    let ended_well = |uid: &&_| pods.get(**uid).is_some_and(|pod| pod.phase == Phase::Succeeded);
    let flipped: Vec<_> = listed.uncounted_failed().iter().filter(ended_well).copied().collect();
    flipped.into_iter().for_each(|uid| track.pods.note(uid, Fact::Flipped));
}

/// Returns `true` if a write sets a terminal condition to another status than True (TC-09).
pub fn denies_the_end(before: &JobStatus, after: &JobStatus) -> bool {
    let is_denied = |status: &JobStatus, kind: &ConditionKind| {
        status.conditions.iter().any(|it| it.kind == *kind && it.status != ConditionStatus::True)
    };
    let ends = [ConditionKind::Complete, ConditionKind::Failed];
    ends.iter().any(|kind| is_denied(after, kind) && !is_denied(before, kind))
}

/// Removes the label of a deviation in an accepted status write if its occasion is missing.
pub fn check_labels(track: &Track, after: &Job, findings: &mut Findings) {
    for broken in &mut findings.broken {
        let has_occasion = match broken.known {
            Some(Req::S01) => lacks_only_flips(track, after),
            Some(Req::S08) => {
                let late = |pod: &Pod| track.history.gains_after(track.process.frontier.earliest(), pod.uid);
                track.history.stored.iter().filter(|pod| pod.is_active()).all(late)
            }
            Some(Req::TC09) => !track.occasions.denied_itself,
            _ => true,
        };
        broken.known = broken.known.filter(|_| has_occasion);
    }
}

/// J-03: a manager that counts a pod again does not know about the finalizer removal. If the log shows its own
/// successful removal before the one that found no pod, it never got that response.
pub fn unhear_counted_twice(track: &mut Track, listed: &JobStatus, findings: &Findings) {
    if !findings.broken.iter().any(|broken| broken.known == Some(Req::J03)) {
        return;
    }
    let twice = |uid: &&Uid| track.pods.has(**uid, Fact::Counted) && track.pods.has(**uid, Fact::Vanished);
    let twice: Vec<Uid> =
        listed.uncounted_failed().iter().chain(listed.uncounted_succeeded()).filter(twice).copied().collect();
    for uid in twice {
        track.history.unhear_release(uid);
    }
}

/// J-02: after a refused removal, full lists grow by the first new pod of each sync.
pub fn check_full_lists(track: &mut Track, before: &Job, after: &Job, cap: usize, findings: &mut Findings) {
    let (old, new) = (&before.status, &after.status);
    let enter = added(old.uncounted_succeeded(), new.uncounted_succeeded()).count()
        + added(old.uncounted_failed(), new.uncounted_failed()).count();
    let was_full = old.recorded() >= cap && track.is_built_in();
    let has_occasion = was_full && track.process.setbacks.listed_at_refusal >= cap && enter <= 1;
    for broken in findings.broken.iter_mut().filter(|it| it.req == Req::SC05 && has_occasion) {
        broken.req = Req::J02;
        broken.known = Some(Req::J02);
    }
    if new.recorded() < cap {
        track.process.setbacks.listed_at_refusal = 0;
    }
}

fn lacks_only_flips(track: &Track, after: &Job) -> bool {
    let wanted = i64::from(after.spec.completions.unwrap_or(1));
    let missing = wanted - i64::from(after.status.succeeded);
    missing <= i64::from(track.pods.number(Fact::Flipped))
}

/// Returns `true` if the built-in controller has its occasion to remove the finalizer of a FailJob match undecided
/// (S-03). A watch shows neither refusals nor senders; there another active pod is a sign of the refused deletion.
pub fn drops_fail_job(track: &Track, event: &Event, status: &JobStatus, pod: &Pod) -> bool {
    let others_left = || track.history.stored.iter().any(|other| other.is_active() && other.uid != pod.uid);
    let refused = if event.actor.is_none() { others_left() } else { track.process.refused.deletions > 0 };
    status.is_recorded(pod.uid) && (refused || track.awaits_pods())
}

/// The deviation that leads to a refused status write; `None` if it breaks another rule as well. `refused` contains the
/// other refusals of the sync.
pub fn of_refusal(
    track: &Track,
    rules: &RuleSet,
    stored: &Job,
    attempted: &Job,
    refused: Refused,
) -> Option<Req> {
    let (old, new) = (&stored.status, &attempted.status);
    match sole_rule(rules, stored, attempted)? {
        Req::SS10 => {
            let ends = stored.spec.is_suspended() && old.is_decided() && old.start_time.is_none();
            (ends && new.start_time.is_none() && counts_what_it_drops(stored, new)).then_some(Req::S04)
        }
        Req::SS17 => overlaps_by_both(track, stored, new).then_some(Req::S02),
        Req::SS02 => flips_listed_success(track, old, new).then_some(Req::S07),
        Req::SS19 => {
            let excess = i64::from(new.ready.unwrap_or(0)) - i64::from(new.active);
            (excess <= i64::from(refused.removals_without_effect)).then_some(Req::S09)
        }
        _ => None,
    }
}

/// Returns `true` if the counters grow by the pods that leave the lists, and the successes of an Indexed Job are its
/// completed indexes.
fn counts_what_it_drops(stored: &Job, new: &JobStatus) -> bool {
    let old = &stored.status;
    let fits = |before: &[Uid], after: &[Uid], growth: i32| {
        i64::try_from(added(after, before).count()).is_ok_and(|dropped| dropped == i64::from(growth))
    };
    let failed = fits(old.uncounted_failed(), new.uncounted_failed(), new.failed.saturating_sub(old.failed));
    let growth = new.succeeded.saturating_sub(old.succeeded);
    let succeeded = fits(old.uncounted_succeeded(), new.uncounted_succeeded(), growth);
    let indexes = || i64::from(new.completed(stored.spec.completion_count()).len());
    failed && if stored.spec.is_indexed() { indexes() == i64::from(new.succeeded) } else { succeeded }
}

/// The rule of the API server that a status write breaks, if it breaks no other.
pub fn sole_rule(rules: &RuleSet, stored: &Job, attempted: &Job) -> Option<Req> {
    let mut findings = Findings::new();
    validate_status_update(rules, stored, attempted, &mut findings);
    let rule = findings.broken.first()?.req;
    // SS-36, SS-32, and SP-11 never lead to a refusal.
    let alone =
        |broken: &Broken| broken.req == rule || matches!(broken.req, Req::SS36 | Req::SS32 | Req::SP11);
    findings.broken.iter().all(alone).then_some(rule)
}

/// S-02: returns `true` if each index in both texts has a failed and a succeeded pod in some view.
fn overlaps_by_both(track: &Track, stored: &Job, new: &JobStatus) -> bool {
    let completions = stored.spec.completion_count();
    let (completed, failed) = (new.completed(completions), new.failed_set(completions));
    let was_completed = stored.status.completed(completions);
    let was_failed = stored.status.failed_set(completions);
    let replaces = stored.spec.replaces_only_failed();
    let has = |index: Index, holds: &dyn Fn(&Pod) -> bool| {
        let from = track.process.frontier.earliest();
        track.history.states_since(from).any(|pod| pod.index == Some(index) && holds(pod))
    };
    completed.common(&failed).iter().all(|index| {
        let succeeded = was_completed.contains(index) || has(index, &|pod| pod.phase == Phase::Succeeded);
        let lost = was_failed.contains(index)
            || has(index, &|pod| pod.has_failed(replaces) || stored.status.is_recorded(pod.uid));
        succeeded && lost
    })
}

/// S-07: returns `true` if every UID in both lists was recorded as succeeded and its pod is Failed.
fn flips_listed_success(track: &Track, old: &JobStatus, new: &JobStatus) -> bool {
    let set = |uids: &[Uid]| uids.iter().copied().collect::<FxHashSet<Uid>>();
    let (was_listed, listed) = (set(old.uncounted_succeeded()), set(new.uncounted_succeeded()));
    let mut both = new.uncounted_failed().iter().filter(|uid| listed.contains(uid)).peekable();
    let shows_failed = |uid| track.history.stored.get(uid).is_some_and(|pod| pod.phase == Phase::Failed);
    both.peek().is_some() && both.all(|uid| was_listed.contains(uid) && shows_failed(*uid))
}
