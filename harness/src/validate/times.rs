//! Times of conditions, as the API conventions have them.
//!
//! No requirement says when a condition's `lastTransitionTime` changes; the conventions of the Kubernetes API do:
//! it is the last time at which the status of the condition changed. So what departs from that is a warning.
//! How long before `Complete` a `completionTime` may lie is said nowhere: TC-05 bounds it from above alone.

use jobcheck_model::Time;
use jobcheck_model::job::{Condition, JobStatus};

use super::event::Event;
use super::track::Track;

/// Times are cut to whole seconds, and those of the API server and of a controller are of two clocks.
const TOLERANCE: i64 = 1;

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
        .collect();
    track.warnings.extend(advice.into_iter().map(|text| (event.place, text)));
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
    let found = after.last_transition_time?;
    let stays = before.filter(|before| before.status == after.status);
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
