//! The pods of one Job in one cache, or in etcd, with the sums that guards read.
//!
//! A Job may own thousands of pods, and most events change one of them. [`Pods::set`] therefore updates every sum
//! instead of computing it again.

use crate::indexes::Index;
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::uid::Uid;
use std::collections::{BTreeMap, BTreeSet, btree_map, btree_set};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The pods of a Job by UID, with sums over them.
///
/// Ownerless pods may be among them. The sums and the classes ([`Pods::unaccounted`], [`Pods::matching_fail_job`])
/// leave them out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pods {
    all: BTreeMap<Uid, Pod>,
    sums: Sums,
    unaccounted: BTreeSet<Uid>,
    fail_job: BTreeSet<Uid>,
    indexes: BTreeMap<Index, IndexUse>,
}

/// Sums over the pods that a Job controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sums {
    /// The number of active pods (PC-01).
    pub active: u32,
    /// The number of terminating pods (PC-02).
    pub terminating: u32,
    /// The number of ready pods (PC-03).
    pub ready: u32,
    /// The number of container restarts of pods in phase Pending or Running (BO-13).
    pub restarts: u32,
}

/// The number of pods of one completion index that have not terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IndexUse {
    /// The number of active pods.
    pub active: u32,
    /// The number of terminating pods.
    pub terminating: u32,
}

impl Hash for Pods {
    /// Hashes the pods alone, because the sums follow from them.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all.len().hash(state);
        self.all.values().for_each(|pod| pod.hash(state));
    }
}

impl Pods {
    /// No pods.
    #[must_use]
    pub fn new() -> Pods {
        Pods::default()
    }

    /// Stores the new state of a pod, or removes the pod if there is none. Returns the previous state.
    pub fn set(&mut self, uid: Uid, pod: Option<Pod>) -> Option<Pod> {
        let before = match &pod {
            Some(pod) => self.all.insert(uid, pod.clone()),
            None => self.all.remove(&uid),
        };
        if let Some(before) = &before {
            self.leave(before);
        }
        if let Some(pod) = &pod {
            self.enter(pod);
        }
        if self.all.is_empty() {
            // An empty map keeps a node with room for eleven pods.
            *self = Pods::default();
        }
        before
    }

    /// The pod with this UID.
    #[must_use]
    pub fn get(&self, uid: Uid) -> Option<&Pod> {
        self.all.get(&uid)
    }

    /// The pods that the Job of this incarnation controls, and the ownerless pods (PC-29).
    ///
    /// Pods of another incarnation are in neither. No selector matches ownerless pods of another incarnation, because
    /// the selector of a Job contains its UID (PC-15).
    #[must_use]
    pub fn divided(self: &Arc<Pods>, incarnation: u8) -> (Arc<Pods>, Arc<Pods>) {
        if self.iter().all(|pod| pod.controlled && pod.incarnation == incarnation) {
            return (self.clone(), Arc::default());
        }
        let part = |controlled: bool| {
            let mut part = Pods::new();
            let is_other = |pod: &Pod| pod.controlled && pod.incarnation != incarnation;
            for pod in self.iter().filter(|pod| pod.controlled == controlled && !is_other(pod)) {
                let selected = pod.selected && pod.incarnation == incarnation;
                part.set(pod.uid, Some(Pod { selected, ..pod.clone() }));
            }
            Arc::new(part)
        };
        (part(true), part(false))
    }

    /// All pods in the order of their UIDs.
    pub fn iter(&self) -> impl Iterator<Item = &Pod> {
        self.all.values()
    }

    /// The number of pods.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there is no pod.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The sums over the pods that the Job controls.
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// The pods with the tracking finalizer that have terminated or are being deleted.
    pub fn unaccounted(&self) -> impl Iterator<Item = &Pod> {
        // A walk over all pods costs less than to look up many of them.
        if self.unaccounted.len() * 4 > self.all.len() {
            Unaccounted::Walk(self.all.values())
        } else {
            Unaccounted::LookUp(self.unaccounted.iter(), &self.all)
        }
    }

    /// The failed pods that match a FailJob rule, with or without the tracking finalizer (PF-08).
    pub fn matching_fail_job(&self) -> impl Iterator<Item = &Pod> {
        self.fail_job.iter().map(|uid| &self.all[uid])
    }

    /// The number of pods of one index that have not terminated.
    #[must_use]
    pub fn index_use(&self, index: Index) -> IndexUse {
        self.indexes.get(&index).copied().unwrap_or_default()
    }

    /// The indexes with a pod that has not terminated, in ascending order.
    pub fn indexes_in_use(&self) -> impl Iterator<Item = (Index, IndexUse)> + '_ {
        self.indexes.iter().map(|(index, used)| (*index, *used))
    }

    fn enter(&mut self, pod: &Pod) {
        if !pod.controlled {
            return;
        }
        self.sums.active += u32::from(pod.is_active());
        self.sums.terminating += u32::from(pod.is_terminating());
        self.sums.ready += u32::from(pod.is_ready());
        self.sums.restarts += counted_restarts(pod);
        if is_unaccounted(pod) {
            self.unaccounted.insert(pod.uid);
        }
        if matches_fail_job(pod) {
            self.fail_job.insert(pod.uid);
        }
        if let Some(index) = index_in_use(pod) {
            let used = self.indexes.entry(index).or_default();
            used.active += u32::from(pod.is_active());
            used.terminating += u32::from(pod.is_terminating());
        }
    }

    fn leave(&mut self, pod: &Pod) {
        if !pod.controlled {
            return;
        }
        self.sums.active -= u32::from(pod.is_active());
        self.sums.terminating -= u32::from(pod.is_terminating());
        self.sums.ready -= u32::from(pod.is_ready());
        self.sums.restarts -= counted_restarts(pod);
        self.unaccounted.remove(&pod.uid);
        self.fail_job.remove(&pod.uid);
        if let Some(index) = index_in_use(pod) {
            let used = self.indexes.entry(index).or_default();
            used.active -= u32::from(pod.is_active());
            used.terminating -= u32::from(pod.is_terminating());
            if *used == IndexUse::default() {
                self.indexes.remove(&index);
            }
        }
    }
}

/// The pods of [`Pods::unaccounted`].
enum Unaccounted<'a> {
    Walk(btree_map::Values<'a, Uid, Pod>),
    LookUp(btree_set::Iter<'a, Uid>, &'a BTreeMap<Uid, Pod>),
}

impl<'a> Iterator for Unaccounted<'a> {
    type Item = &'a Pod;

    fn next(&mut self) -> Option<&'a Pod> {
        match self {
            Unaccounted::Walk(pods) => pods.find(|pod| is_unaccounted(pod)),
            Unaccounted::LookUp(uids, pods) => uids.next().map(|uid| &pods[uid]),
        }
    }
}

fn is_unaccounted(pod: &Pod) -> bool {
    pod.controlled && pod.finalizer && (pod.is_terminated() || pod.deleting)
}

fn counted_restarts(pod: &Pod) -> u32 {
    if matches!(pod.phase, Phase::Pending | Phase::Running) { pod.restarts } else { 0 }
}

fn matches_fail_job(pod: &Pod) -> bool {
    pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_))
}

fn index_in_use(pod: &Pod) -> Option<Index> {
    pod.index.filter(|_| !pod.is_terminated())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::time::Time;
    use proptest::prelude::*;

    /// A running pod with the tracking finalizer.
    pub(crate) fn pod(uid: u128) -> Pod {
        Pod {
            uid: Uid(uid),
            finalizer: true,
            other_finalizers: false,
            phase: Phase::Running,
            deleting: false,
            ready: false,
            scheduled: true,
            index: None,
            failure_count: 0,
            forced: false,
            disrupted: false,
            controlled: true,
            incarnation: 0,
            selected: true,
            ignored_failure_count: 0,
            restarts: 0,
            max_restarts: 0,
            created: Time(0),
            ready_changed: None,
            finished: None,
            policy: PolicyMatch::None,
        }
    }

    prop_compose! {
        fn any_pod()(
            uid in 1u128..5, finalizer: bool, deleting: bool, ready: bool,
            phase in prop::sample::select(vec![Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed]),
            index in prop::option::of(0u32..3), restarts in 0u32..3,
        ) -> Pod {
            Pod { finalizer, deleting, ready, phase, index, restarts, ..pod(uid) }
        }
    }

    proptest! {
        #[test]
        fn sums_equal_a_count_from_scratch(changes in prop::collection::vec((any_pod(), any::<bool>()), 0..40)) {
            let mut pods = Pods::new();
            for (pod, keep) in changes {
                pods.set(pod.uid, keep.then_some(pod));
            }
            let count = |class: fn(&Pod) -> bool| u32::try_from(pods.iter().filter(|pod| class(pod)).count()).unwrap();
            prop_assert_eq!(pods.sums().active, count(Pod::is_active));
            prop_assert_eq!(pods.sums().terminating, count(Pod::is_terminating));
            prop_assert_eq!(pods.sums().ready, count(Pod::is_ready));
            prop_assert_eq!(
                pods.unaccounted().count(),
                pods.iter().filter(|pod| pod.finalizer && (pod.is_terminated() || pod.deleting)).count()
            );
            for index in 0..3 {
                let of_index = |class: fn(&Pod) -> bool| {
                    u32::try_from(pods.iter().filter(|pod| pod.index == Some(index) && class(pod)).count()).unwrap()
                };
                prop_assert_eq!(pods.index_use(index).active, of_index(Pod::is_active));
                prop_assert_eq!(pods.index_use(index).terminating, of_index(Pod::is_terminating));
            }
        }
    }
}
