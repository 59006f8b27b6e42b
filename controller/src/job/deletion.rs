//! Which pods are surplus, and in which order they go (PC-06, PC-09).

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use super::observed::{ContainerFacts, ContainerKind, Phase, PodFacts};
use super::view::{Pod, PodIndex, View, is_ready};
use crate::values::{Time, Uid};

/// The active pods that go, the first one first: of an Indexed Job those without a valid index and all but one of each
/// index, then as many as it takes to remove `at_least`.
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
    let (mut going, rest): (Vec<_>, Vec<_>) = pods.iter().copied().partition(needless);
    let more = at_least.saturating_sub(going.len());
    going.extend(rest.into_iter().take(more));
    going
}

/// Of each index, the pod that goes last.
fn kept_for_index<'a>(in_order: &[Pod<'a>]) -> BTreeMap<u32, &'a Uid> {
    in_order.iter().filter_map(|pod| pod.index().map(|index| (index, &pod.facts.uid))).collect()
}

/// What decides which of two pods goes first, in this order; the smaller one goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Preference {
    /// One that has lost the finalizer is not counted any more, and was perhaps chosen before (S-11, H1).
    holds: bool,
    /// One without a node.
    scheduled: bool,
    /// One that has not come so far.
    progress: u8,
    /// One that is not ready.
    ready: bool,
    /// Of ready ones, the one that became ready last.
    ready_since: Latest,
    /// One whose containers restarted more often.
    restarts: Reverse<i32>,
    /// One whose sidecars did.
    sidecar_restarts: Reverse<i32>,
    /// The newest one.
    created: Latest,
    /// The order of equals.
    uid: Uid,
}

/// Orders unknown times first, then the latest.
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
        holds: pod.holds,
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

/// Since when a pod is ready; the same for all that are not.
fn ready_since(pod: &PodFacts) -> Option<Time> {
    pod.conditions.iter().find(|it| &*it.kind == "Ready" && &*it.status == "True")?.last_transition
}

fn most_restarts(pod: &PodFacts, kind: ContainerKind) -> i32 {
    let of_kind = |it: &&ContainerFacts| it.kind == kind;
    pod.containers.iter().filter(of_kind).map(|it| it.restarts).max().unwrap_or(0)
}
