//! Ways to do it wrong: the departures of the built-in of 1.36, and known defects.

/// A departure from the algorithm. Off, the algorithm is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Switch {
    /// S-01, S-02: a UID in `uncounted.failed` whose pod has succeeded counts as a success in decisions.
    CountsListedFailureAsSuccess,
    /// L2: failed indexes are computed without regard to completed ones.
    FailedIndexNotMinusCompleted,
    /// S-03: a FailJob verdict that cannot be stored yet is dropped, its pod recorded and released.
    DropsFailJobVerdict,
    /// S-04, L1: a suspended Job finishes without `startTime`.
    FinishesSuspendedWithoutStartTime,
    /// S-07: a failure is recorded although its UID stands in `uncounted.succeeded`.
    RecordsFlippedSuccess,
    /// S-08: completion does not wait for pods that the cache does not show yet.
    CompletesBeforeAllPodsAreSeen,
    /// S-09: a pod whose release answers 404 stays ready.
    KeepsVanishedPodReady,
    /// S-12: an interim condition is appended beside one that was set to False.
    AppendsBesideFalseInterim,
    /// H1: deletions are counted, not told apart.
    CountsDeletions,
    /// H3: a pod is no longer ready although its DELETE failed.
    LowersReadyOnFailedDelete,
    /// H4: a pod whose DELETE answers 404 terminates.
    CountsVanishedAsTerminating,
}

/// A set of switches.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Switches(Vec<Switch>);

impl Switches {
    /// These switches.
    #[must_use]
    pub fn of(switches: &[Switch]) -> Switches {
        Switches(switches.to_vec())
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn on(&self, switch: Switch) -> bool {
        self.0.contains(&switch)
    }
}
