//! The pods of one Job as one cache, or etcd, shows them, with the sums that guards ask for.
//!
//! A Job may own thousands of pods while most writes change one, so every sum is kept up to date instead of
//! being taken again.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::indexes::Index;
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::uid::Uid;

/// The pods that a Job owns, and in a world also those that nobody does: the sums leave them out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pods {
    all: BTreeMap<Uid, Pod>,
    sums: Sums,
    unaccounted: BTreeSet<Uid>,
    fail_job: BTreeSet<Uid>,
    indexes: BTreeMap<Index, IndexUse>,
}

/// Numbers of pods by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sums {
    /// PC-01.
    pub active: u32,
    /// PC-02.
    pub terminating: u32,
    /// PC-03.
    pub ready: u32,
    /// Container restarts of pods in phase Pending or Running (BO-13).
    pub restarts: u32,
}

/// How many pods of one completion index are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct IndexUse {
    /// Active pods.
    pub active: u32,
    /// Terminating pods.
    pub terminating: u32,
}

impl Hash for Pods {
    /// Leaves out what follows from the pods.
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

    /// Puts a pod in its new state, or takes it away; returns the state before.
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
        before
    }

    /// The pod with this UID.
    #[must_use]
    pub fn get(&self, uid: Uid) -> Option<&Pod> {
        self.all.get(&uid)
    }

    /// Those that the Job of this incarnation controls, and those that nobody does (PC-29).
    #[must_use]
    pub fn divided(self: &Arc<Pods>, incarnation: u8) -> (Arc<Pods>, Arc<Pods>) {
        if self.iter().all(|pod| pod.controlled && pod.incarnation == incarnation) {
            return (self.clone(), Arc::default());
        }
        let part = |controlled: bool| {
            let mut part = Pods::new();
            let is_other = |pod: &Pod| pod.controlled && pod.incarnation != incarnation;
            for pod in self.iter().filter(|pod| pod.controlled == controlled && !is_other(pod)) {
                // PC-15: the selector of a Job is by its UID.
                let selected = pod.selected && pod.incarnation == incarnation;
                part.set(pod.uid, Some(Pod { selected, ..pod.clone() }));
            }
            Arc::new(part)
        };
        (part(true), part(false))
    }

    /// All pods, by UID.
    pub fn iter(&self) -> impl Iterator<Item = &Pod> {
        self.all.values()
    }

    /// Number of pods.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is no pod.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The sums over all pods.
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// What accounting looks at: pods with the finalizer that have terminated or are being deleted.
    pub fn unaccounted(&self) -> impl Iterator<Item = &Pod> {
        self.unaccounted.iter().map(|uid| &self.all[uid])
    }

    /// Failed pods that match a FailJob rule, released ones included (PF-08).
    pub fn matching_fail_job(&self) -> impl Iterator<Item = &Pod> {
        self.fail_job.iter().map(|uid| &self.all[uid])
    }

    /// The pods alive for one index.
    #[must_use]
    pub fn index_use(&self, index: Index) -> IndexUse {
        self.indexes.get(&index).copied().unwrap_or_default()
    }

    /// Indexes with a living pod, and how many.
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
        if pod.finalizer && (pod.is_terminated() || pod.deleting) {
            self.unaccounted.insert(pod.uid);
        }
        if matches_fail_job(pod) {
            self.fail_job.insert(pod.uid);
        }
        if let Some(index) = living_index(pod) {
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
        if let Some(index) = living_index(pod) {
            let used = self.indexes.entry(index).or_default();
            used.active -= u32::from(pod.is_active());
            used.terminating -= u32::from(pod.is_terminating());
            if *used == IndexUse::default() {
                self.indexes.remove(&index);
            }
        }
    }
}

fn counted_restarts(pod: &Pod) -> u32 {
    if matches!(pod.phase, Phase::Pending | Phase::Running) { pod.restarts } else { 0 }
}

fn matches_fail_job(pod: &Pod) -> bool {
    pod.phase == Phase::Failed && matches!(pod.policy, PolicyMatch::FailJob(_))
}

fn living_index(pod: &Pod) -> Option<Index> {
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
