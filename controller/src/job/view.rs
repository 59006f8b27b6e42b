//! The facts of one Job, classified once: the state and the class of each pod, and the recorded lists.

use std::collections::BTreeSet;

use super::indexes::{IndexSet, steps};
use super::memory::Memory;
use super::observed::{
    CompletionMode, Controller, Gates, JobFacts, Observed, Phase, PodFacts, PodReplacementPolicy,
};
use super::pod_failure_policy::{Matched, matched};
use crate::values::Uid;

/// A Job with its classified pods, as every part of the decision reads them.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The facts that the view classifies.
    pub observed: Observed<'a>,
    /// The pods of the Job, ordered by UID.
    pub pods: Vec<Pod<'a>>,
    /// Active ownerless pods that the Job adopts, ordered by UID (FT-24, S-05). They are in `pods` too, with the
    /// finalizer, because every later decision assumes the adoption (FT-25).
    pub adopted: Vec<&'a PodFacts>,
    /// Pods that the Job releases because their labels no longer match, ordered by UID (FT-26).
    pub released: Vec<&'a PodFacts>,
    /// Recorded UIDs whose pod, whatever its owner, still holds the finalizer (J-05).
    pub recorded_with_finalizer: BTreeSet<&'a Uid>,
    /// True if a recent response reported that the namespace is terminating. No pod can be created then (PC-12), and no failed
    /// pod waits for its replacement (J-10).
    pub namespace_terminating: bool,
}

/// A classified pod of the Job.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// The facts of the pod.
    pub facts: &'a PodFacts,
    /// The state in the life of the pod.
    pub state: PodState,
    /// The result of the pod for the Job.
    pub class: PodClass,
    /// True if `status.uncountedTerminatedPods` contains the UID.
    pub recorded: bool,
    /// True if the pod holds the tracking finalizer and this process has not removed it (FT-28).
    pub has_finalizer: bool,
    /// The index of the pod.
    pub index: PodIndex,
}

/// The state in the life of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// Neither terminated nor terminating, with or without the finalizer (PC-01).
    Active,
    /// Not terminated, with a `deletionTimestamp` (PC-02).
    Terminating,
    /// In phase Succeeded or Failed.
    Terminated,
}

/// The result of a pod for its Job. The first record of a UID is final, whatever the pod shows later (FT-13, S-01,
/// S-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodClass {
    /// Neither a success nor a failure yet.
    Undecided,
    /// A success.
    Succeeded,
    /// A failure.
    Failed,
}

/// The completion index of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodIndex {
    /// The Job is not Indexed.
    None,
    /// An index below `completions`.
    Of(u32),
    /// A pod of an Indexed Job without a readable index below `completions` (FT-09).
    Invalid,
}

/// The numbers of pods that a status reports (PC-01 to PC-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodCounts {
    /// `status.active`.
    pub active: usize,
    /// `status.ready`.
    pub ready: usize,
    /// `status.terminating`.
    pub terminating: usize,
}

impl Pod<'_> {
    /// Returns true if the pod can enter a counter (FT-06, FT-09).
    #[must_use]
    pub fn countable(&self) -> bool {
        self.index != PodIndex::Invalid
    }

    /// Returns the index, if the Job has such an index.
    #[must_use]
    pub fn index(&self) -> Option<u32> {
        match self.index {
            PodIndex::Of(index) => Some(index),
            PodIndex::None | PodIndex::Invalid => None,
        }
    }
}

impl<'a> View<'a> {
    /// Classifies the facts. `memory` belongs to this Job ([`Memory::current`]).
    #[must_use]
    pub fn new(observed: Observed<'a>, memory: &Memory) -> Self {
        let job = observed.job;
        let recorded = Recorded::of(job);
        let mut view = View {
            observed,
            pods: Vec::with_capacity(observed.pods.len()),
            adopted: Vec::new(),
            released: Vec::new(),
            recorded_with_finalizer: BTreeSet::new(),
            namespace_terminating: memory.creation_refused.is_some(),
        };
        for pod in observed.pods {
            steps::count();
            let has_finalizer = pod.tracking_finalizer && !memory.finalizer_removed.contains(&pod.uid);
            let claim = claim(job, pod);
            // The release, which comes before every status write, removes the finalizer.
            if has_finalizer && recorded.contains(&pod.uid) && !matches!(claim, Claim::Release) {
                view.recorded_with_finalizer.insert(&pod.uid);
            }
            match claim {
                Claim::Keep => view.pods.push(classified(&view.observed, &recorded, pod, has_finalizer)),
                Claim::Release => view.released.push(pod),
                Claim::Adopt => {
                    view.pods.push(classified(&view.observed, &recorded, pod, true));
                    view.adopted.push(pod);
                }
                Claim::Ignore => {}
            }
        }
        view.pods.sort_unstable_by(|a, b| a.facts.uid.cmp(&b.facts.uid));
        view.adopted.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        view.released.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        view
    }

    /// Returns the observed Job.
    #[must_use]
    pub fn job(&self) -> &'a JobFacts {
        self.observed.job
    }

    /// Returns the feature gates.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.observed.settings.gates
    }

    /// The active pods of the Job.
    pub fn active(&self) -> impl Iterator<Item = &Pod<'a>> {
        self.pods.iter().filter(|it| it.state == PodState::Active)
    }

    /// The number of active pods.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.active().count()
    }

    /// The number of terminating pods.
    #[must_use]
    pub fn terminating_count(&self) -> usize {
        self.pods.iter().filter(|it| it.state == PodState::Terminating).count()
    }

    /// The numbers of pods now.
    #[must_use]
    pub fn pod_counts(&self) -> PodCounts {
        PodCounts {
            active: self.active_count(),
            ready: self.active().filter(|it| is_ready(it.facts)).count(),
            terminating: self.terminating_count(),
        }
    }

    /// The numbers of pods after every active pod has been deleted: all of them terminate.
    #[must_use]
    pub fn pod_counts_after_stop(&self) -> PodCounts {
        PodCounts { active: 0, ready: 0, terminating: self.terminating_count() + self.active_count() }
    }

    /// Returns true if the Job is Indexed.
    #[must_use]
    pub fn indexed(&self) -> bool {
        self.job().spec.completion_mode == CompletionMode::Indexed
    }

    /// The upper bound, exclusive, of the indexes of an Indexed Job.
    #[must_use]
    pub fn completions(&self) -> u32 {
        completions(self.job())
    }

    /// `spec.backoffLimitPerIndex` of an Indexed Job, if the gate is on (UG-09).
    #[must_use]
    pub fn limit_per_index(&self) -> Option<i32> {
        let on = self.indexed() && self.gates().backoff_limit_per_index;
        self.job().spec.backoff_limit_per_index.filter(|_| on)
    }

    /// Returns true if a terminal condition waits until all pods have terminated, with an interim condition before it (UG-07).
    #[must_use]
    pub fn delays_terminal(&self) -> bool {
        self.gates().managed_by || self.gates().pod_replacement_policy
    }

    /// The rule of the failure policy that a failed pod matches.
    ///
    /// Only pods in phase Failed match (PF-02, J-04), unless they are recorded as a success (S-07).
    #[must_use]
    pub fn policy_match(&self, pod: &Pod<'a>) -> Option<Matched<'a>> {
        let rules = self.job().spec.pod_failure_policy.as_ref()?;
        let failed = pod.class == PodClass::Failed && pod.facts.phase == Phase::Failed;
        failed.then(|| matched(rules, pod.facts, self.gates()))?
    }

    /// The indexes of the pods that satisfy a predicate.
    #[must_use]
    pub fn indexes_of(&self, holds: impl Fn(&Pod<'a>) -> bool) -> IndexSet {
        IndexSet::of(self.pods.iter().filter(|it| holds(it)).filter_map(Pod::index).collect())
    }
}

/// The UIDs in `status.uncountedTerminatedPods`.
struct Recorded<'a> {
    succeeded: BTreeSet<&'a Uid>,
    failed: BTreeSet<&'a Uid>,
}

impl<'a> Recorded<'a> {
    fn of(job: &'a JobFacts) -> Self {
        let uncounted = job.status.uncounted.as_ref();
        Recorded {
            succeeded: uncounted.map(|it| it.succeeded.iter().collect()).unwrap_or_default(),
            failed: uncounted.map(|it| it.failed.iter().collect()).unwrap_or_default(),
        }
    }

    fn contains(&self, uid: &Uid) -> bool {
        self.succeeded.contains(uid) || self.failed.contains(uid)
    }
}

/// The result of claiming a pod, as `ClaimPods` of Kubernetes' `PodControllerRefManager`.
enum Claim {
    Keep,
    Release,
    Adopt,
    Ignore,
}

fn claim(job: &JobFacts, pod: &PodFacts) -> Claim {
    let deleting = job.deletion.is_some();
    match (pod.controller, pod.selected) {
        (Controller::ThisJob, true) => Claim::Keep,
        // FT-26: a Job that is being deleted releases nothing.
        (Controller::ThisJob, false) if deleting => Claim::Keep,
        (Controller::ThisJob, false) => Claim::Release,
        // FT-24, and S-05: a terminated pod may have been counted already.
        (Controller::Nobody, true) if !deleting && pod_state(pod) == PodState::Active => Claim::Adopt,
        (Controller::Nobody | Controller::Another, _) => Claim::Ignore,
    }
}

fn classified<'a>(
    observed: &Observed,
    recorded: &Recorded,
    pod: &'a PodFacts,
    has_finalizer: bool,
) -> Pod<'a> {
    let state = pod_state(pod);
    let class = if recorded.failed.contains(&pod.uid) {
        PodClass::Failed
    } else if recorded.succeeded.contains(&pod.uid) {
        PodClass::Succeeded
    } else {
        match (pod.phase, state) {
            (Phase::Succeeded, _) => PodClass::Succeeded,
            (Phase::Failed, _) => PodClass::Failed,
            // RP-03, RP-04: a terminating pod has failed, unless the policy waits until it has terminated.
            (_, PodState::Terminating) if !waits_for_termination(observed) => PodClass::Failed,
            (_, PodState::Active | PodState::Terminating | PodState::Terminated) => PodClass::Undecided,
        }
    };
    let (recorded, index) = (recorded.contains(&pod.uid), index(observed.job, pod));
    Pod { facts: pod, state, class, recorded, has_finalizer, index }
}

/// Returns the state of a pod (PC-01, PC-02).
pub(super) fn pod_state(pod: &PodFacts) -> PodState {
    match (pod.phase, pod.deletion) {
        (Phase::Succeeded | Phase::Failed, _) => PodState::Terminated,
        (Phase::Pending | Phase::Running | Phase::Unknown | Phase::Other, Some(_)) => PodState::Terminating,
        (Phase::Pending | Phase::Running | Phase::Unknown | Phase::Other, None) => PodState::Active,
    }
}

fn index(job: &JobFacts, pod: &PodFacts) -> PodIndex {
    if job.spec.completion_mode != CompletionMode::Indexed {
        return PodIndex::None;
    }
    let index = pod.completion_index.as_ref().and_then(|text| text.parse().ok());
    index.filter(|index| *index < completions(job)).map_or(PodIndex::Invalid, PodIndex::Of)
}

fn completions(job: &JobFacts) -> u32 {
    job.spec.completions.and_then(|it| u32::try_from(it).ok()).unwrap_or(0)
}

/// Returns true if a pod is replaced, and classified as failed, only after it has terminated (RP-02).
///
/// A failure policy has the same effect, even if the gate of the replacement policy is off (UG-05).
#[must_use]
pub fn waits_for_termination(observed: &Observed) -> bool {
    let spec = &observed.job.spec;
    let failed = spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    spec.pod_failure_policy.is_some() || (failed && observed.settings.gates.pod_replacement_policy)
}

/// Returns true if the pod has the condition Ready with status True.
#[must_use]
pub fn is_ready(pod: &PodFacts) -> bool {
    pod.conditions.iter().any(|it| &*it.kind == "Ready" && &*it.status == "True")
}
