//! Times in the conditions of managers that write status alone, by the API conventions.
//!
//! `lastTransitionTime` is the time of the last change of the condition's status. Those managers may copy an earlier time,
//! and no requirement binds them, so that a difference is a warning only. TC-15 binds executors.

use jobcheck_spec::Time;
use jobcheck_spec::guards::times::TOLERANCE;
use jobcheck_spec::job::{Condition, JobStatus};

use super::event::Event;
use super::track::Track;

/// Lower bound for the time of the stored version of the Job.
pub fn written(track: &Track) -> Option<Time> {
    track.times.written.map(|micros| Time(micros.div_euclid(1_000_000)))
}

/// Warns of a time that changes without a transition, and of a transition that is later than the write.
pub fn advise(track: &mut Track, event: &Event, old: &JobStatus, new: &JobStatus) {
    let until = event.latest();
    let advice: Vec<String> = new
        .conditions
        .iter()
        .filter(|condition| is_only(condition, old) && is_only(condition, new))
        .filter_map(|condition| departure(old.condition(&condition.kind), condition, until))
        .collect();
    advice.into_iter().for_each(|text| track.warn(event, text));
}

/// With several conditions of one type, nothing shows which became which.
fn is_only(condition: &Condition, status: &JobStatus) -> bool {
    status.conditions.iter().filter(|other| other.kind == condition.kind).count() <= 1
}

fn departure(before: Option<&Condition>, after: &Condition, until: Option<Time>) -> Option<String> {
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
    until.filter(|until| until.plus(TOLERANCE) < found).map(|now| {
        format!(
            "by the API conventions lastTransitionTime is the time of the transition, but that of {kind} is {found}, \
             and the write was made at {now}"
        )
    })
}
