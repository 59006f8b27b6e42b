//! Pods in the words of a story: what an event shows of one, and what a cache lacks.

use super::name;
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::uid::Uid;

/// What an event shows of a pod.
#[must_use]
pub(crate) fn shown(uid: Uid, before: Option<&Pod>, after: Option<&Pod>) -> String {
    let pod = name(uid);
    match (before, after) {
        (None, None) => format!("{pod} come and go"),
        (None, Some(_)) => pod,
        (Some(_), None) => format!("that {pod} is gone"),
        (Some(before), Some(after)) => {
            let news = differences(before, after, &SHOWN);
            let news = if news.is_empty() { "as it was".to_owned() } else { news.join(" and ") };
            format!("{pod} {news}")
        }
    }
}

/// What a cache that shows `cached` lacks of a pod; `None` where it lacks nothing.
#[must_use]
pub(crate) fn lacking(uid: Uid, cached: Option<&Pod>, stored: Option<&Pod>) -> Option<String> {
    let pod = name(uid);
    match (cached, stored) {
        (None, None) => None,
        (None, Some(_)) => Some(format!("does not show {pod} yet")),
        (Some(cached), None) => {
            let held = if cached.finalizer { ", with the finalizer" } else { "" };
            Some(format!("still shows {pod} ({}{held}), which is gone", phase(cached)))
        }
        (Some(cached), Some(stored)) => {
            let lacks = differences(cached, stored, &LACKED);
            if lacks == [LACKED.deleting[1]] {
                return Some(format!("does not show yet that {pod} is being deleted"));
            }
            (!lacks.is_empty()).then(|| format!("still shows {pod} {}", lacks.join(" and ")))
        }
    }
}

/// The words for what differs.
struct Words {
    phase: fn(&Pod, &Pod) -> String,
    finalizer: [&'static str; 2],
    deleting: [&'static str; 2],
    ready: [&'static str; 2],
    controlled: [&'static str; 2],
    disrupted: [&'static str; 2],
    restarted: &'static str,
    relabelled: &'static str,
}

/// Of what is new: where it is false, where it is true.
const SHOWN: Words = Words {
    phase: |_, after| phase(after).to_owned(),
    finalizer: ["without the finalizer", "with the finalizer"],
    deleting: ["not being deleted", "being deleted"],
    ready: ["not ready", "ready"],
    controlled: ["without ownerReference", "with ownerReference"],
    disrupted: ["without DisruptionTarget", "with DisruptionTarget"],
    restarted: "with a container restarted",
    relabelled: "with other labels",
};

/// Of what a cache still shows: where the stored pod has it not, where it has it.
const LACKED: Words = Words {
    phase: |before, _| phase(before).to_owned(),
    finalizer: ["with the finalizer", "without the finalizer"],
    deleting: ["being deleted", "not being deleted"],
    ready: ["ready", "not ready"],
    controlled: ["with ownerReference", "without ownerReference"],
    disrupted: ["with DisruptionTarget", "without DisruptionTarget"],
    restarted: "before its container restarted",
    relabelled: "with its old labels",
};

fn phase(pod: &Pod) -> &'static str {
    match pod.phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
        Phase::Unknown => "Unknown",
    }
}

fn differences(before: &Pod, after: &Pod, words: &Words) -> Vec<String> {
    let mut parts = Vec::new();
    if before.phase != after.phase {
        parts.push((words.phase)(before, after));
    }
    let is_over = after.is_terminated() && before.phase != after.phase;
    for (old, new, said) in [
        (before.ready && !is_over, after.ready && !is_over, words.ready),
        (before.deleting, after.deleting, words.deleting),
        (before.finalizer, after.finalizer, words.finalizer),
        (before.controlled, after.controlled, words.controlled),
        (before.disrupted, after.disrupted, words.disrupted),
    ] {
        if old != new {
            parts.push(said[usize::from(new)].to_owned());
        }
    }
    if before.restarts != after.restarts {
        parts.push(words.restarted.to_owned());
    }
    if before.selected != after.selected {
        parts.push(words.relabelled.to_owned());
    }
    parts
}
