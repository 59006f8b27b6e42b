//! Which violations are documented deviations of the built-in (judging.md 1).
//!
//! A deviation is KNOWN by an exact pattern: the occasion that leads the built-in there must be in the trace. A
//! write that is wrong in any other way is a plain violation. The patterns:
//!
//! | id | a write is the deviation if |
//! | --- | --- |
//! | S-01 | `Complete` lacks no more successes than there are pods that were listed as failed and ended Succeeded; of the decision before it, if reading those pods as successes explains all of the write |
//! | S-02 | the same reading explains all of it; of a refused write, if each index in both texts has a pod that failed and one that succeeded |
//! | S-03 | the matching pod is in the list, and a deletion was refused in this sync or created pods are unseen; a watch must show another active pod |
//! | S-04 | the interim write leaves a `startTime` absent that was absent; or the terminal one is refused for that alone |
//! | S-05 | the pod was adopted when it had terminated, or after it had been counted |
//! | S-07 | the write is refused for UIDs that are listed as succeeded and whose pods show Failed now; of what the sync did before, if counting those pods as failures explains all of it |
//! | S-08 | some view that explains everything before lacks the active pod |
//! | S-09 | the write is refused for `ready` alone, which exceeds `active` by no more than the removals of a finalizer that found no pod |
//! | S-12 | one interim condition with status True is appended to a list whose first of that type is not True |
//! | S-25 | the pod held the finalizer when it was adopted, and had no owner; its first release after that |
//! | BO-02 | before 1.36: `active` is 0 and nothing else is wrong, in a view in which pods are wanted and the delay of a failure runs; or the write is refused for `ready` alone, which is right in such a view (its other counters are not compared) |
//! | H1 | pods that terminate changed as often as pods were to be deleted, before the last deletion, and a view that lacks deletions of earlier syncs explains the release; the deletion that follows it |
//! | H2 | `active` exceeds the truth by creations that were refused because the namespace is being deleted; in a watch it is the number of pods that were wanted, and the Job gets no pod any more |
//! | H3 | `ready` falls short by deletions that were refused |
//! | H4 | `terminating` exceeds the truth by deletions that found no pod |
//! | J-01 | nothing but `active`, `ready` and `terminating` is wrong, and a view that lacks deletions of earlier syncs explains all of the write |
//! | J-02 | the lists were full, a removal was refused since, and the write adds one UID at most |
//! | J-03 | the UID was listed when the PATCH that releases its pod was answered with 404 |
//! | J-04 | the released pod has not ended, and the first rule that its condition DisruptionTarget matches ignores it |
//! | J-05 | the pod of the UID lost its owner, and nothing has shown it without the finalizer |
//! | J-06 | every pod that keeps its finalizer appeared after the Job's last change, which finished it, and is not being deleted |
//! | J-07 | of the Job of this name before, the manager created a pod when this Job was there, and this Job has none |
//! | J-08 | the trace says that the manager listed the Jobs when another had this name, and nothing that it had done or seen tells that the former was gone; of the former, no pod that keeps its finalizer changed since while it was being deleted; the other one gets no pods before the delay of the former is over |
//! | J-09 | the trace says that the manager listed the pods when one that the process had created was being deleted, and a view that explains all so far lacks it; nothing was created since, and nothing happened to the Job after the expectation had expired |
//! | TC-09 | the terminal condition is an entry that was not True, turned in its place; it was not the manager who had set it |

use jobcheck_spec::apiserver::{RuleSet, validate_status_update};
use jobcheck_spec::guards::counting::added;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::{ConditionKind, ConditionStatus, Job, JobStatus};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::{Broken, Findings, Req, Uid};

use super::event::Event;
use super::setbacks::Refused;
use super::track::Track;
use super::verdict::Violation;

/// Remembers pods that are listed as failed and have ended well (S-01).
pub fn note_flips(track: &mut Track, listed: &JobStatus) {
    let pods = &track.history.stored;
    let ended_well = |uid: &&_| pods.get(**uid).is_some_and(|pod| pod.phase == Phase::Succeeded);
    let flipped: Vec<_> = listed.uncounted_failed().iter().filter(ended_well).copied().collect();
    track.counted.flipped.extend(flipped);
}

/// Whether a write sets a terminal condition to something else than True (TC-09).
pub fn denies_the_end(before: &JobStatus, after: &JobStatus) -> bool {
    let is_denied = |status: &JobStatus, kind: &ConditionKind| {
        status.conditions.iter().any(|it| it.kind == *kind && it.status != ConditionStatus::True)
    };
    let ends = [ConditionKind::Complete, ConditionKind::Failed];
    ends.iter().any(|kind| is_denied(after, kind) && !is_denied(before, kind))
}

/// Takes the label from the deviations of an accepted status write whose occasion is missing.
pub fn check_labels(track: &Track, after: &Job, findings: &mut Findings) {
    for broken in &mut findings.broken {
        let has_occasion = match broken.known {
            Some(Req::S01) => lacks_only_flips(track, after),
            Some(Req::S08) => {
                let late = |pod: &Pod| track.history.gains_after(track.frontier.earliest(), pod.uid);
                track.history.stored.iter().filter(|pod| pod.is_active()).all(late)
            }
            Some(Req::TC09) => !track.occasions.denied_itself,
            _ => true,
        };
        broken.known = broken.known.filter(|_| has_occasion);
    }
}

/// J-03: a manager that counts a pod again does not know that the pod was released, by itself or by others. Where the
/// log shows a release of its own before the one that found no pod, it never got that answer.
pub fn unhear_counted_twice(track: &mut Track, listed: &JobStatus, findings: &Findings) {
    if !findings.broken.iter().any(|broken| broken.known == Some(Req::J03)) {
        return;
    }
    let twice = |uid: &&Uid| track.counted.counted.contains(*uid) && track.counted.vanished.contains(*uid);
    let twice: Vec<Uid> =
        listed.uncounted_failed().iter().chain(listed.uncounted_succeeded()).filter(twice).copied().collect();
    for uid in twice {
        track.history.unhear_release(uid);
    }
}

/// J-02: lists that are full grow by the first new pod that each sync meets, once removals were refused.
pub fn check_full_lists(track: &mut Track, before: &Job, after: &Job, cap: usize, findings: &mut Findings) {
    let (old, new) = (&before.status, &after.status);
    let enter = added(old.uncounted_succeeded(), new.uncounted_succeeded()).count()
        + added(old.uncounted_failed(), new.uncounted_failed()).count();
    let was_full = old.recorded() >= cap && track.is_built_in();
    let has_occasion = was_full && track.setbacks.listed_at_refusal >= cap && enter <= 1;
    for broken in findings.broken.iter_mut().filter(|it| it.req == Req::SC05 && has_occasion) {
        broken.req = Req::J02;
        broken.known = Some(Req::J02);
    }
    if new.recorded() < cap {
        track.setbacks.listed_at_refusal = 0;
    }
}

fn lacks_only_flips(track: &Track, after: &Job) -> bool {
    let wanted = i64::from(after.spec.completions.unwrap_or(1));
    let missing = wanted - i64::from(after.status.succeeded);
    missing <= i64::try_from(track.counted.flipped.len()).unwrap_or(i64::MAX)
}

/// Whether the built-in has its occasion to release the pod of a FailJob match undecided (S-03). A watch shows
/// neither refusals nor whose write it is: there a pod that is left active hints at the refused deletion.
pub fn drops_fail_job(track: &Track, event: &Event, status: &JobStatus, pod: &Pod) -> bool {
    let others_left = || track.history.stored.iter().any(|other| other.is_active() && other.uid != pod.uid);
    let refused = if event.actor.is_none() { others_left() } else { track.refused.deletions > 0 };
    status.is_recorded(pod.uid) && (refused || track.awaits_pods())
}

/// Which documented deviation leads to a refused status write; none where another rule is broken as well.
/// `refused` is what else was refused in the same sync.
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
            (excess <= i64::from(refused.releases_of_nothing)).then_some(Req::S09)
        }
        _ => None,
    }
}

/// Whether the numbers grow by the pods that the lists lose, and the successes of an Indexed Job are its completed indexes.
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
    // SS-36, SS-32 and SP-11 are no reasons for a refusal.
    let alone =
        |broken: &Broken| broken.req == rule || matches!(broken.req, Req::SS36 | Req::SS32 | Req::SP11);
    findings.broken.iter().all(alone).then_some(rule)
}

/// S-02: each index in both texts has a pod that failed and one that succeeded, as some view shows them.
fn overlaps_by_both(track: &Track, stored: &Job, new: &JobStatus) -> bool {
    let completions = stored.spec.completion_count();
    let (completed, failed) = (new.completed(completions), new.failed_set(completions));
    let was_completed = stored.status.completed(completions);
    let was_failed = stored.status.failed_set(completions);
    let replaces = stored.spec.replaces_only_failed();
    let has = |index: Index, holds: &dyn Fn(&Pod) -> bool| {
        let from = track.frontier.earliest();
        track.history.states_since(from).any(|pod| pod.index == Some(index) && holds(pod))
    };
    completed.iter().filter(|index| failed.contains(*index)).all(|index| {
        let succeeded = was_completed.contains(index) || has(index, &|pod| pod.phase == Phase::Succeeded);
        let lost = was_failed.contains(index)
            || has(index, &|pod| pod.has_failed(replaces) || stored.status.is_recorded(pod.uid));
        succeeded && lost
    })
}

/// S-07: every UID in both lists was listed as succeeded, and its pod shows Failed.
fn flips_listed_success(track: &Track, old: &JobStatus, new: &JobStatus) -> bool {
    let mut both =
        new.uncounted_failed().iter().filter(|uid| new.uncounted_succeeded().contains(uid)).peekable();
    let shows_failed = |uid| track.history.stored.get(uid).is_some_and(|pod| pod.phase == Phase::Failed);
    both.peek().is_some() && both.all(|uid| old.uncounted_succeeded().contains(uid) && shows_failed(*uid))
}

/// H2 in a watch, which shows no refusals, is told by its value: the number of pods that were wanted.
pub fn check_watched_h2(track: &mut Track, event: &Event, after: &Job) {
    let is_wanted = track.is_built_in() && pods_wanted(after) == Some(i64::from(after.status.active));
    if event.actor.is_none() && !is_wanted {
        unlabel_h2(&mut track.violations, |it| it.place == event.place);
    }
}

/// How many pods a Job wants that may want any: it is not decided, nor suspended, nor deleted, and without completions
/// nothing has succeeded yet (PC-05).
fn pods_wanted(job: &Job) -> Option<i64> {
    let (spec, status) = (&job.spec, &job.status);
    if status.is_decided() || status.is_finished() || spec.is_suspended() || job.deleting {
        return None;
    }
    let listed = if spec.is_indexed() { 0 } else { status.uncounted_succeeded().len() };
    let succeeded = i64::from(status.succeeded) + i64::try_from(listed).unwrap_or(i64::MAX);
    let failed = status.failed_set(spec.completion_count()).len();
    let parallelism = i64::from(spec.parallelism_count());
    let missing = match spec.completions {
        Some(wanted) => i64::from(wanted) - succeeded - i64::from(failed),
        None if succeeded > 0 => return None,
        None => parallelism,
    };
    Some(missing.clamp(0, parallelism))
}

/// H2 in a watch, whose violations these are: before the last birth in its namespace that was not being deleted.
pub fn unlabel_watched_h2(violations: &mut [Violation], birth: u64) {
    unlabel_h2(violations, |it| it.done.is_none() && it.order < birth);
}

fn unlabel_h2(violations: &mut [Violation], which: impl Fn(&Violation) -> bool) {
    for violation in violations.iter_mut().filter(|it| it.known() == Some(Req::H2) && which(it)) {
        violation.broken.known = None;
        violation.broken.req = Req::PC01;
    }
}
