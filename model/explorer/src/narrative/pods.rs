//! Pods as text: the content of an event, and the changes that a cache lacks.

use super::name;
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::uid::Uid;

/// The content of an event about a pod.
#[must_use]
pub(crate) fn shown(uid: Uid, before: Option<&Pod>, after: Option<&Pod>) -> String {
    let pod = name(uid);
    match (before, after) {
        (None, None) => format!("{pod} appear and disappear"),
        (None, Some(_)) => pod,
        (Some(_), None) => format!("that {pod} no longer exists"),
        (Some(before), Some(after)) => {
            let news = differences(before, after, &SHOWN);
            let news = if news.is_empty() { "unchanged".to_owned() } else { news.join(" and ") };
            format!("{pod} {news}")
        }
    }
}

/// The difference between a cached and a stored pod. Returns `None` if the cache is up to date.
#[must_use]
pub(crate) fn lacking(uid: Uid, cached: Option<&Pod>, stored: Option<&Pod>) -> Option<String> {
    let pod = name(uid);
    match (cached, stored) {
        (None, None) => None,
        (None, Some(_)) => Some(format!("does not show {pod} yet")),
        (Some(cached), None) => {
            let held = if cached.finalizer { ", with the finalizer" } else { "" };
            Some(format!("still shows {pod} ({}{held}), which no longer exists", phase(cached)))
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

/// The texts for each kind of difference. The first text of a pair is for false, the second for true.
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

/// The texts for a new value.
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

/// The texts for an old value, chosen by the new one.
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
    for (old, new, words) in [
        (before.ready && !is_over, after.ready && !is_over, words.ready),
        (before.deleting, after.deleting, words.deleting),
        (before.finalizer, after.finalizer, words.finalizer),
        (before.controlled, after.controlled, words.controlled),
        (before.disrupted, after.disrupted, words.disrupted),
    ] {
        if old != new {
            parts.push(words[usize::from(new)].to_owned());
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
