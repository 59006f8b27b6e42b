//! The pods of a Job by what happened to them.
//!
//! Counting needs facts about pods that are gone. So each pod has one small record as long as its Job lives.
//! The state of the living pods is in [`super::history`], their names are in [`super::names`].

use jobcheck_spec::Uid;
use jobcheck_spec::guards::counting::CountingHistory;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::{Phase, Pod};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::ownership::Ownership;

/// Something that happened to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It is in a counter.
    Counted,
    /// It was counted, and holds the finalizer again: the manager has adopted it, or somebody else has put the finalizer back.
    Regained,
    /// It was recorded when the removal of its finalizer found no pod (J-03).
    Vanished,
    /// The manager created or adopted it.
    Made,
    /// The manager has removed its finalizer.
    LetGo,
    /// It was recorded as failed, and succeeded later (S-01).
    Flipped,
    /// It lost the Job as its owner, and still holds the finalizer (J-05).
    BecameOwnerless,
    /// It was ownerless and held the finalizer when the manager adopted it. The removal of the finalizer also triggered
    /// the orphan path (S-25).
    AdoptedOwnerless,
    /// It appeared after the finished Job had changed for the last time (J-06).
    Late,
    /// Its finalizer was removed in place of a pod whose deletion was counted, but not visible (H1).
    Displaced,
    /// It held the finalizer when a list showed another Job under the name of this one, and still holds it (J-08).
    Held,
    /// It left the Job after its end. It may be adopted again.
    Left,
    /// The first request of a clean-up about it was refused (FT-22).
    CleanUpRefused,
    /// A later request of a clean-up about it was refused: the clean-up is repeated.
    CleanUpRepeated,
}

/// Number of kinds of facts.
const FACTS: usize = Fact::CleanUpRepeated as usize + 1;

/// The facts about a pod, a bit for each.
type Facts = u16;

impl Fact {
    fn bit(self) -> Facts {
        1 << self as u16
    }
}

/// The records of a Job's pods, and what else decides about counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PodRecords {
    /// The records by the bytes of the UID, which need less room than a number of this size.
    facts: FxHashMap<[u8; 16], Facts>,
    /// Number of pods with each fact.
    numbers: [u32; FACTS],
    /// UIDs in the current write that belong to pods of another Job.
    pub strange: FxHashSet<Uid>,
    /// Pods whose owner must change.
    pub ownership: Ownership,
    /// `podReplacementPolicy` was changed.
    pub policy_changed: bool,
    /// The smallest `completions` since the Job was decided, less the successes that were lost since then.
    decided_completions: Option<i32>,
}

impl PodRecords {
    /// Notes a fact about a pod.
    pub fn note(&mut self, uid: Uid, fact: Fact) {
        let facts = self.facts.entry(uid.0.to_ne_bytes()).or_default();
        self.numbers[fact as usize] += u32::from(*facts & fact.bit() == 0);
        *facts |= fact.bit();
    }

    /// Forgets a fact about a pod. Returns `true` if it was known.
    pub fn forget(&mut self, uid: Uid, fact: Fact) -> bool {
        let known = self.facts.get_mut(&uid.0.to_ne_bytes()).filter(|facts| **facts & fact.bit() != 0);
        let Some(facts) = known else { return false };
        *facts &= !fact.bit();
        self.numbers[fact as usize] -= 1;
        true
    }

    /// Forgets a fact about every pod.
    pub fn forget_all(&mut self, fact: Fact) {
        if self.any(fact) {
            self.facts.values_mut().for_each(|facts| *facts &= !fact.bit());
            self.numbers[fact as usize] = 0;
        }
    }

    /// Returns `true` if this fact about the pod is known.
    #[must_use]
    pub fn has(&self, uid: Uid, fact: Fact) -> bool {
        self.any(fact) && self.facts.get(&uid.0.to_ne_bytes()).is_some_and(|facts| facts & fact.bit() != 0)
    }

    /// Returns `true` if this fact is known about some pod.
    #[must_use]
    pub fn any(&self, fact: Fact) -> bool {
        self.number(fact) > 0
    }

    /// Number of pods about which this fact is known.
    #[must_use]
    pub fn number(&self, fact: Fact) -> u32 {
        self.numbers[fact as usize]
    }

    /// The pods about which this fact is known, in no order.
    pub fn with(&self, fact: Fact) -> impl Iterator<Item = Uid> {
        let number = usize::try_from(self.number(fact)).unwrap_or(usize::MAX);
        let known = self.facts.iter().filter(move |(_, facts)| *facts & fact.bit() != 0);
        known.map(|(uid, _)| Uid(u128::from_ne_bytes(*uid))).take(number)
    }

    /// Notes the `completions` of a stored version, if the Job was decided by then.
    pub fn note_completions(&mut self, stored: &Job) {
        if stored.status.is_decided() {
            let known = self.decided_completions.into_iter();
            self.decided_completions = known.chain(stored.spec.completions).min();
        }
    }

    /// Notes the loss of a succeeded pod of a decided Job. The pod lost its owner or its labels before the status had
    /// room to record it (FT-10). The decision rests on the pod and stays (TC-06), but nobody can count the success any
    /// more.
    pub fn note_loss(&mut self, stored: &Job, pod: &Pod) {
        let is_recorded = !pod.finalizer
            || stored.status.is_recorded(pod.uid)
            || self.is_counted(pod.uid)
            || pod.index.is_some_and(|index| stored.status.completed(None).contains(index));
        if stored.status.is_decided() && pod.phase == Phase::Succeeded && !is_recorded {
            self.note_completions(stored);
            self.decided_completions = self.decided_completions.map(|wanted| wanted - 1);
        }
    }
}

impl CountingHistory for PodRecords {
    fn is_counted(&self, uid: Uid) -> bool {
        self.has(uid, Fact::Counted)
    }

    fn regained_finalizer(&self, uid: Uid) -> bool {
        self.has(uid, Fact::Regained)
    }

    fn was_gone_at_removal(&self, uid: Uid) -> bool {
        self.has(uid, Fact::Vanished)
    }

    fn has_no_owner(&self, uid: Uid) -> bool {
        self.has(uid, Fact::BecameOwnerless)
    }

    fn has_another_owner(&self, uid: Uid) -> bool {
        self.strange.contains(&uid)
    }

    fn policy_changed(&self) -> bool {
        self.policy_changed
    }

    fn decided_completions(&self) -> Option<i32> {
        self.decided_completions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_about_a_pod_are_independent() {
        let mut pods = PodRecords::default();
        let (a, b) = (Uid(1), Uid(2));
        pods.note(a, Fact::Counted);
        pods.note(a, Fact::Counted);
        pods.note(a, Fact::Left);
        pods.note(b, Fact::Left);
        assert_eq!((pods.number(Fact::Counted), pods.number(Fact::Left)), (1, 2));
        assert!(pods.has(a, Fact::Counted) && !pods.has(b, Fact::Counted) && !pods.any(Fact::Made));
        assert_eq!(pods.with(Fact::Counted).collect::<Vec<_>>(), [a]);
        assert!(pods.forget(b, Fact::Left) && !pods.forget(b, Fact::Left));
        pods.forget_all(Fact::Counted);
        assert!(!pods.has(a, Fact::Counted) && pods.has(a, Fact::Left));
        assert_eq!((pods.number(Fact::Counted), pods.number(Fact::Left)), (0, 1));
    }
}
