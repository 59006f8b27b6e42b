//! The surplus pods, and the order in which they are deleted (PC-06, PC-09).

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use super::observed::{ContainerFacts, ContainerKind, Phase, PodFacts};
use super::view::{Pod, PodIndex, View, is_ready};
use crate::values::{Time, Uid};

/// The active pods to delete, in the order of deletion; at least `at_least`, if there are so many.
///
/// An Indexed Job first loses the pods without a valid index, and all but one pod of each index.
#[must_use]
pub fn surplus<'a>(view: &View<'a>, at_least: usize) -> Vec<Pod<'a>> {
    let mut pods: Vec<Pod<'a>> = view.active().copied().collect();
    pods.sort_by_cached_key(|pod| preference(pod));
    let kept = kept_for_index(&pods);
    let needless = |pod: &Pod| match pod.index {
        PodIndex::None => false,
        PodIndex::Invalid => true,
        PodIndex::Of(index) => kept.get(&index).is_some_and(|uid| **uid != pod.facts.uid),
    };
    let (mut chosen, rest): (Vec<_>, Vec<_>) = pods.iter().copied().partition(needless);
    let more = at_least.saturating_sub(chosen.len());
    chosen.extend(rest.into_iter().take(more));
    chosen
}

/// For each index, the pod that would be deleted last.
fn kept_for_index<'a>(in_order: &[Pod<'a>]) -> BTreeMap<u32, &'a Uid> {
    in_order.iter().filter_map(|pod| pod.index().map(|index| (index, &pod.facts.uid))).collect()
}

/// The rank of a pod, compared field by field: the smaller one is deleted first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Preference {
    /// A pod without the finalizer is deleted first: it is not counted any more, and may have been chosen before (S-11, H1).
    has_finalizer: bool,
    /// A pod without a node is deleted first.
    scheduled: bool,
    /// A pod in an earlier phase is deleted first.
    progress: u8,
    /// A pod that is not ready is deleted first.
    ready: bool,
    /// The ready pod that became ready last is deleted first.
    ready_since: Latest,
    /// A pod whose containers restarted more often is deleted first.
    restarts: Reverse<i32>,
    /// A pod whose sidecars restarted more often is deleted first.
    sidecar_restarts: Reverse<i32>,
    /// The newest pod is deleted first.
    created: Latest,
    /// The order of pods that are equal otherwise.
    uid: Uid,
}

/// A time, ordered from the latest to the earliest, with unknown times first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latest(Option<Time>);

impl Ord for Latest {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Some(one), Some(another)) => another.cmp(&one),
            (one, another) => one.cmp(&another),
        }
    }
}

impl PartialOrd for Latest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn preference(pod: &Pod) -> Preference {
    let facts = pod.facts;
    Preference {
        has_finalizer: pod.has_finalizer,
        scheduled: facts.scheduled,
        progress: progress(facts.phase),
        ready: is_ready(facts),
        ready_since: Latest(ready_since(facts)),
        restarts: Reverse(most_restarts(facts, ContainerKind::Regular)),
        sidecar_restarts: Reverse(most_restarts(facts, ContainerKind::Sidecar)),
        created: Latest(facts.created),
        uid: facts.uid.clone(),
    }
}

fn progress(phase: Phase) -> u8 {
    match phase {
        Phase::Pending | Phase::Other => 0,
        Phase::Unknown => 1,
        Phase::Running | Phase::Succeeded | Phase::Failed => 2,
    }
}

/// The time since which the pod is ready; none for every pod that is not ready.
fn ready_since(pod: &PodFacts) -> Option<Time> {
    pod.conditions.iter().find(|it| &*it.kind == "Ready" && &*it.status == "True")?.last_transition
}

fn most_restarts(pod: &PodFacts, kind: ContainerKind) -> i32 {
    let of_kind = |it: &&ContainerFacts| it.kind == kind;
    pod.containers.iter().filter(of_kind).map(|it| it.restarts).max().unwrap_or(0)
}
