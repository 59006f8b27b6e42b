//! Times of conditions, as the API conventions have them.
//!
//! No requirement says when a condition's `lastTransitionTime` changes; the conventions of the Kubernetes API do:
//! it is the last time at which the status of the condition changed. So what departs from that is a warning.
//!
//! `completionTime` is the instant at which `Complete` was prepared (TC-05), which is after `SuccessCriteriaMet` was there:
//! an older one is a warning, too.

use jobcheck_spec::Time;
use jobcheck_spec::job::{Condition, ConditionKind, JobStatus};

use super::clock::TOLERANCE;
use super::event::Event;
use super::track::Track;

/// When the stored version of the Job was written, at the earliest.
pub fn written(track: &Track) -> Option<Time> {
    track.written.map(|micros| Time(micros.div_euclid(1_000_000)))
}

/// Warns of a time that moves without a transition, and of a transition at another time than now. A mirror may
/// copy a time of the past.
pub fn advise(track: &mut Track, event: &Event, old: &JobStatus, new: &JobStatus) {
    let since = written(track).filter(|_| track.executor);
    let until = event.latest();
    let advice: Vec<String> = new
        .conditions
        .iter()
        .filter(|condition| is_only(condition, old) && is_only(condition, new))
        .filter_map(|condition| departure(old.condition(&condition.kind), condition, since, until))
        .chain(early_completion(old, new).filter(|_| track.executor))
        .collect();
    track.warnings.extend(advice.into_iter().map(|text| (event.place, text)));
}

fn early_completion(old: &JobStatus, new: &JobStatus) -> Option<String> {
    let completion = new.completion_time.filter(|_| old.completion_time.is_none())?;
    let decided = old.condition(&ConditionKind::SuccessCriteriaMet)?.last_transition_time?;
    (completion.plus(TOLERANCE) < decided).then(|| {
        format!(
            "TC-05: completionTime is when Complete was prepared, which was not before SuccessCriteriaMet of {decided}: it is \
             {completion}"
        )
    })
}

/// Of several entries of a type it cannot be told which became which.
fn is_only(condition: &Condition, status: &JobStatus) -> bool {
    status.conditions.iter().filter(|other| other.kind == condition.kind).count() <= 1
}

fn departure(
    before: Option<&Condition>,
    after: &Condition,
    since: Option<Time>,
    until: Option<Time>,
) -> Option<String> {
    let kind = after.kind.as_str();
    let stays = before.filter(|before| before.status == after.status);
    let Some(found) = after.last_transition_time else {
        return stays.is_none().then(|| {
            format!(
                "lastTransitionTime of {kind} is not set: who waits for the condition relies on it (TT-02)"
            )
        });
    };
    if let Some(stored) = stays.and_then(|before| before.last_transition_time) {
        return (stored != found).then(|| {
            format!(
                "the API conventions let lastTransitionTime change with the status alone: that of {kind} moves \
                 from {stored} to {found}"
            )
        });
    }
    if stays.is_some() {
        return None;
    }
    let early = since.filter(|since| found.plus(TOLERANCE) < *since);
    let late = until.filter(|until| until.plus(TOLERANCE) < found);
    early.or(late).map(|now| {
        format!(
            "by the API conventions lastTransitionTime is the time of the transition: that of {kind} is {found}, \
             and the write is of {now}"
        )
    })
}
