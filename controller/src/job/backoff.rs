//! Delays after pod failures (family BO): the finish time of a pod, the backoff record, and the remaining delay.

use std::collections::BTreeSet;
use std::time::Duration;

use super::memory::BackoffRecord;
use super::observed::{ContainerFacts, ContainerKind, PodFacts, Settings};
use super::view::{PodClass, View};
use crate::values::Time;

/// The finish time of a pod (BO-07): the first known time of this list.
///
/// 1. the latest end of its containers, if all regular containers and all sidecars have terminated
/// 2. the time at which it stopped being ready
/// 3. the time at which its deletion was requested
/// 4. its creation
#[must_use]
pub fn finish_time(pod: &PodFacts) -> Time {
    containers_ended(&pod.containers)
        .or_else(|| stopped_being_ready(pod))
        .or_else(|| pod.deletion.map(|it| it.at.minus_seconds(it.grace_seconds)))
        .or(pod.created)
        .unwrap_or_default()
}

/// Init containers other than sidecars terminate before the regular containers start, so their times do not matter.
fn containers_ended(containers: &[ContainerFacts]) -> Option<Time> {
    let ends = containers.iter().filter(|it| it.kind != ContainerKind::Init);
    let times: Option<Vec<Time>> = ends.map(|it| it.terminated.and_then(|it| it.finished_at)).collect();
    times?.into_iter().max()
}

fn stopped_being_ready(pod: &PodFacts) -> Option<Time> {
    let ready = pod.conditions.iter().find(|it| &*it.kind == "Ready")?;
    (&*ready.status == "False").then_some(ready.last_transition)?
}

/// Returns the record with the newly terminated pods (BO-03).
///
/// The record has the UIDs of its pods and does not depend on the status. A lost response to a status write therefore
/// loses no failure (BO-05). After a restart it includes again the failures that are recorded and not counted yet. Ignored
/// failures count too (BO-04).
#[must_use]
pub fn updated(record: &BackoffRecord, view: &View) -> BackoffRecord {
    let decided =
        view.pods.iter().filter(|it| it.has_finalizer && it.countable() && it.class != PodClass::Undecided);
    let (mut pods, mut failures, mut latest_success) = (BTreeSet::new(), Vec::new(), None);
    for pod in decided {
        pods.insert(pod.facts.uid.clone());
        if record.pods.contains(&pod.facts.uid) {
            continue;
        }
        match pod.class {
            PodClass::Succeeded => latest_success = latest_success.max(Some(finish_time(pod.facts))),
            PodClass::Failed => failures.push(finish_time(pod.facts)),
            PodClass::Undecided => {}
        }
    }
    // A success ends the series of failures. Later failures begin the next one.
    let before = if latest_success.is_some() { 0 } else { record.failures };
    failures.retain(|failure| Some(*failure) > latest_success);
    let last_before = if latest_success.is_some() { None } else { record.last_failure };
    BackoffRecord {
        failures: before.saturating_add(u32::try_from(failures.len()).unwrap_or(u32::MAX)),
        last_failure: failures.into_iter().max().or(last_before),
        pods,
    }
}

/// The remaining delay of the whole Job (BO-01).
#[must_use]
pub fn remaining(record: &BackoffRecord, now: Time, settings: &Settings) -> Duration {
    record.last_failure.map_or(Duration::ZERO, |last| left(record.failures, last, now, settings))
}

/// The remaining delay after a number of failures, the last of which finished at `last` (BO-01, BO-10).
#[must_use]
pub fn left(failures: u32, last: Time, now: Time, settings: &Settings) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
    // The exponent is capped: 2^31 times the first delay exceeds any maximum.
    let factor = 1_u32 << doublings.min(31);
    let delay = settings.pod_failure_backoff.saturating_mul(factor).min(settings.pod_failure_backoff_max);
    delay.saturating_sub(last.until(now))
}
