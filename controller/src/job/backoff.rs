//! Delays after failures (family BO): when a pod ended, what is remembered, how long is left.

use std::collections::BTreeSet;
use std::time::Duration;

use super::observed::{BackoffRecord, ContainerFacts, ContainerKind, PodFacts, Settings};
use super::view::{Verdict, View};
use crate::values::Time;

/// When a pod ended, by the first of these that is known: the latest end of its containers, if all regular ones and all
/// sidecars have ended; when it stopped being ready; when its deletion was asked for; when it was created (BO-07).
#[must_use]
pub fn finish_time(pod: &PodFacts) -> Time {
    containers_ended(&pod.containers)
        .or_else(|| stopped_being_ready(pod))
        .or_else(|| pod.deletion.map(|it| it.at.minus_seconds(it.grace_seconds)))
        .or(pod.created)
        .unwrap_or_default()
}

/// Init containers that run to their end do so before the pod does; they are not asked.
fn containers_ended(containers: &[ContainerFacts]) -> Option<Time> {
    let ends = containers.iter().filter(|it| it.kind != ContainerKind::Init);
    let times: Option<Vec<Time>> = ends.map(|it| it.terminated.and_then(|it| it.finished_at)).collect();
    times?.into_iter().max()
}

fn stopped_being_ready(pod: &PodFacts) -> Option<Time> {
    let ready = pod.conditions.iter().find(|it| &*it.kind == "Ready")?;
    (&*ready.status == "False").then_some(ready.last_transition)?
}

/// The record with the pods that have ended and are not in it yet (BO-03).
///
/// What is new is known by UID, not by the lists of the status: a write whose answer was lost loses no failure (BO-05),
/// and after a restart the failures that are listed and not counted yet are taken in again. Ignored failures count
/// (BO-04).
#[must_use]
pub fn updated(record: &BackoffRecord, view: &View) -> BackoffRecord {
    let ended = view.pods.iter().filter(|it| it.holds && it.countable() && it.verdict != Verdict::Alive);
    let (mut seen, mut failures, mut latest_success) = (BTreeSet::new(), Vec::new(), None);
    for pod in ended {
        seen.insert(pod.facts.uid.clone());
        if record.seen.contains(&pod.facts.uid) {
            continue;
        }
        match pod.verdict {
            Verdict::Succeeded => latest_success = latest_success.max(Some(finish_time(pod.facts))),
            Verdict::Failed => failures.push(finish_time(pod.facts)),
            Verdict::Alive => {}
        }
    }
    // A success ends the row of failures; those that ended after it begin the next one.
    let before = if latest_success.is_some() { 0 } else { record.failures };
    failures.retain(|failure| Some(*failure) > latest_success);
    let last_before = if latest_success.is_some() { None } else { record.last_failure };
    BackoffRecord {
        failures: before.saturating_add(u32::try_from(failures.len()).unwrap_or(u32::MAX)),
        last_failure: failures.into_iter().max().or(last_before),
        seen,
    }
}

/// What is left of the delay for the whole Job (BO-01).
#[must_use]
pub fn remaining(record: &BackoffRecord, now: Time, settings: &Settings) -> Duration {
    record.last_failure.map_or(Duration::ZERO, |last| left(record.failures, last, now, settings))
}

/// What is left of the delay after the given number of failures, of which the last one ended at `last` (BO-01, BO-10).
#[must_use]
pub fn left(failures: u32, last: Time, now: Time, settings: &Settings) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
    // 2^31 times any delay is longer than the longest one.
    let factor = 1_u32 << doublings.min(31);
    let delay = settings.pod_failure_backoff.saturating_mul(factor).min(settings.pod_failure_backoff_max);
    delay.saturating_sub(last.until(now))
}
