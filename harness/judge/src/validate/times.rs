//! Times in conditions, by the API conventions.
//!
//! | time | convention |
//! | --- | --- |
//! | `lastTransitionTime` | the last change of the condition's status |
//! | `completionTime` | the time at which `Complete` was prepared (TC-05), hence after `SuccessCriteriaMet` |
//!
//! No requirement states the first one, so a difference is a warning only.

use jobcheck_spec::Time;
use jobcheck_spec::job::{Condition, ConditionKind, JobStatus};

use super::clock::TOLERANCE;
use super::event::Event;
use super::track::Track;

/// Lower bound for the time of the stored version of the Job.
pub fn written(track: &Track) -> Option<Time> {
    track.written.map(|micros| Time(micros.div_euclid(1_000_000)))
}

/// Warns of a time that changes without a transition, and of a transition at another time than the write. A mirror may
/// copy an earlier time.
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
    advice.into_iter().for_each(|text| track.warn(event, text));
}

fn early_completion(old: &JobStatus, new: &JobStatus) -> Option<String> {
    let completion = new.completion_time.filter(|_| old.completion_time.is_none())?;
    let decided = old.condition(&ConditionKind::SuccessCriteriaMet)?.last_transition_time?;
    (completion.plus(TOLERANCE) < decided).then(|| {
        format!(
            "TC-05: completionTime is {completion}, but Complete was prepared no earlier than SuccessCriteriaMet at \
             {decided}"
        )
    })
}

/// With several conditions of one type, nothing shows which became which.
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
                "lastTransitionTime of {kind} is not set, but readers of the condition rely on it (TT-02)"
            )
        });
    };
    if let Some(stored) = stays.and_then(|before| before.last_transition_time) {
        return (stored != found).then(|| {
            format!(
                "by the API conventions lastTransitionTime changes only with the status, but that of {kind} moves from \
                 {stored} to {found}"
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
            "by the API conventions lastTransitionTime is the time of the transition, but that of {kind} is {found}, \
             and the write was made at {now}"
        )
    })
}
