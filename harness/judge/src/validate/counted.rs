//! The pods of a Job by what happened to them: counted, adopted, released, and lost pods.

use jobcheck_spec::Uid;
use jobcheck_spec::guards::counting::CountingHistory;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::{Phase, Pod};
use rustc_hash::FxHashSet;

/// Sets of pod UIDs.
#[derive(Debug, Default)]
pub struct CountedPods {
    /// UIDs in a counter.
    pub counted: FxHashSet<Uid>,
    /// UIDs that were adopted after they had been counted.
    pub readopted: FxHashSet<Uid>,
    /// UIDs that were recorded when the removal of their finalizer found no pod (J-03).
    pub vanished: FxHashSet<Uid>,
    /// UIDs that the manager created or adopted.
    pub made: FxHashSet<Uid>,
    /// UIDs whose finalizer the manager has removed.
    pub let_go: FxHashSet<Uid>,
    /// UIDs that were recorded as failed, and whose pods succeeded later (S-01).
    pub flipped: FxHashSet<Uid>,
    /// UIDs in the current write that belong to pods of another Job.
    pub strange: FxHashSet<Uid>,
    /// UIDs of pods that lost the Job as their owner and still hold the finalizer (J-05).
    pub became_ownerless: FxHashSet<Uid>,
    /// `podReplacementPolicy` was changed.
    pub policy_changed: bool,
    /// The smallest `completions` since the Job was decided, less the successes that were lost since then.
    decided_completions: Option<i32>,
}

impl CountedPods {
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
            || self.counted.contains(&pod.uid)
            || pod.index.is_some_and(|index| stored.status.completed(None).contains(index));
        if stored.status.is_decided() && pod.phase == Phase::Succeeded && !is_recorded {
            self.note_completions(stored);
            self.decided_completions = self.decided_completions.map(|wanted| wanted - 1);
        }
    }
}

impl CountingHistory for CountedPods {
    fn is_counted(&self, uid: Uid) -> bool {
        self.counted.contains(&uid)
    }

    fn was_readopted(&self, uid: Uid) -> bool {
        self.readopted.contains(&uid)
    }

    fn was_gone_at_removal(&self, uid: Uid) -> bool {
        self.vanished.contains(&uid)
    }

    fn has_no_owner(&self, uid: Uid) -> bool {
        self.became_ownerless.contains(&uid)
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
