//! The facts of one Job, classified once: what each pod is, and what the recorded lists say of it.

use std::collections::BTreeSet;

use super::indexes::{IndexSet, steps};
use super::observed::{
    CompletionMode, Controller, Gates, JobFacts, Memory, Observed, Phase, PodFacts, PodReplacementPolicy,
};
use super::pod_failure_policy::{Matched, matched};
use crate::values::Uid;

/// A Job and its pods as a decision sees them. The pods are in the order of their UIDs.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// What it was made from.
    pub observed: Observed<'a>,
    /// The pods that count as the Job's.
    pub pods: Vec<Pod<'a>>,
    /// Active pods without a controller that the Job takes over (FT-24, S-05). They are among its pods already, as they
    /// will be then (FT-25): what is decided about them comes after their adoption.
    pub adopted: Vec<&'a PodFacts>,
    /// Pods of the Job whose labels do not match any more (FT-26).
    pub released: Vec<&'a PodFacts>,
    /// UIDs that are listed as uncounted and whose pod, whoever owns it now, holds the finalizer (J-05).
    pub held: BTreeSet<&'a Uid>,
    /// Whether the namespace is being deleted, as far as this process knows: no pod can be created (PC-12), and none need
    /// wait for its replacement (J-10).
    pub namespace_goes: bool,
}

/// A pod of the Job.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Its facts.
    pub facts: &'a PodFacts,
    /// Where in its life it is.
    pub state: PodState,
    /// What it is for the Job.
    pub verdict: Verdict,
    /// Whether the status lists it as uncounted.
    pub listed: bool,
    /// Whether it holds the tracking finalizer, and this process has not removed it (FT-28).
    pub holds: bool,
    /// What it works on.
    pub index: PodIndex,
}

/// Where in its life a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// Neither ended nor being deleted, with or without the finalizer (PC-01).
    Active,
    /// Being deleted and not ended (PC-02).
    Terminating,
    /// In phase Succeeded or Failed.
    Terminated,
}

/// What a pod is for the Job. The first record of a UID stands, whatever the pod shows later (FT-13, S-01, S-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Neither of the others yet.
    Alive,
    /// A success.
    Succeeded,
    /// A failure.
    Failed,
}

/// What a pod works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodIndex {
    /// The Job has no indexes.
    None,
    /// An index below `completions`.
    Of(u32),
    /// No index, one that cannot be read, or one that the Job does not have (FT-09).
    Invalid,
}

impl Pod<'_> {
    /// Whether it can be in a counter (FT-06, FT-09).
    #[must_use]
    pub fn countable(&self) -> bool {
        self.index != PodIndex::Invalid
    }

    /// Its index, if the Job has that.
    #[must_use]
    pub fn index(&self) -> Option<u32> {
        match self.index {
            PodIndex::Of(index) => Some(index),
            PodIndex::None | PodIndex::Invalid => None,
        }
    }
}

impl<'a> View<'a> {
    /// Classifies facts; `memory` is what this process remembers of this very Job.
    #[must_use]
    pub fn new(observed: Observed<'a>, memory: &Memory) -> Self {
        let job = observed.job;
        let listed = Listed::of(job);
        let mut view = View {
            observed,
            pods: Vec::with_capacity(observed.pods.len()),
            adopted: Vec::new(),
            released: Vec::new(),
            held: BTreeSet::new(),
            namespace_goes: memory.refused.is_some(),
        };
        for pod in observed.pods {
            steps::count();
            let holds = pod.tracking_finalizer && !memory.finalizer_removed.contains(&pod.uid);
            let claim = claim(job, pod);
            // A pod that is given up has lost the finalizer by then.
            if holds && listed.has(&pod.uid) && !matches!(claim, Claim::Release) {
                view.held.insert(&pod.uid);
            }
            match claim {
                Claim::Keep => view.pods.push(classified(&view.observed, &listed, pod, holds)),
                Claim::Release => view.released.push(pod),
                Claim::Adopt => {
                    view.pods.push(classified(&view.observed, &listed, pod, true));
                    view.adopted.push(pod);
                }
                Claim::Leave => {}
            }
        }
        view.pods.sort_unstable_by(|a, b| a.facts.uid.cmp(&b.facts.uid));
        view.adopted.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        view.released.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        view
    }

    /// The Job.
    #[must_use]
    pub fn job(&self) -> &'a JobFacts {
        self.observed.job
    }

    /// The feature gates.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.observed.settings.gates
    }

    /// Active pods of the Job.
    pub fn active(&self) -> impl Iterator<Item = &Pod<'a>> {
        self.pods.iter().filter(|it| it.state == PodState::Active)
    }

    /// How many pods are active.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.active().count()
    }

    /// How many pods are terminating.
    #[must_use]
    pub fn terminating_count(&self) -> usize {
        self.pods.iter().filter(|it| it.state == PodState::Terminating).count()
    }

    /// How many active pods are ready (PC-03).
    #[must_use]
    pub fn ready_count(&self) -> usize {
        self.active().filter(|it| is_ready(it.facts)).count()
    }

    /// Whether each completion has an index.
    #[must_use]
    pub fn indexed(&self) -> bool {
        self.job().spec.completion_mode == CompletionMode::Indexed
    }

    /// The indexes of an Indexed Job are those below.
    #[must_use]
    pub fn completions(&self) -> u32 {
        completions(self.job())
    }

    /// Whether there is a limit for each index (UG-09: with its gate alone).
    #[must_use]
    pub fn limit_per_index(&self) -> Option<i32> {
        let on = self.indexed() && self.gates().backoff_limit_per_index;
        self.job().spec.backoff_limit_per_index.filter(|_| on)
    }

    /// Whether terminal conditions wait for the end of all pods, with an interim condition before them (UG-07).
    #[must_use]
    pub fn delays_terminal(&self) -> bool {
        self.gates().managed_by || self.gates().pod_replacement_policy
    }

    /// The rule of the failure policy that a failed pod matches. It is about pods in phase Failed alone (PF-02, J-04),
    /// and not about one that is recorded as a success (S-07).
    #[must_use]
    pub fn policy_match(&self, pod: &Pod<'a>) -> Option<Matched<'a>> {
        let rules = self.job().spec.pod_failure_policy.as_ref()?;
        let failed = pod.verdict == Verdict::Failed && pod.facts.phase == Phase::Failed;
        failed.then(|| matched(rules, pod.facts, self.gates()))?
    }

    /// Indexes of the pods that a predicate holds for.
    #[must_use]
    pub fn indexes_of(&self, holds: impl Fn(&Pod<'a>) -> bool) -> IndexSet {
        IndexSet::of(self.pods.iter().filter(|it| holds(it)).filter_map(Pod::index).collect())
    }
}

/// UIDs of `status.uncountedTerminatedPods`.
struct Listed<'a> {
    succeeded: BTreeSet<&'a Uid>,
    failed: BTreeSet<&'a Uid>,
}

impl<'a> Listed<'a> {
    fn of(job: &'a JobFacts) -> Self {
        let uncounted = job.status.uncounted.as_ref();
        Listed {
            succeeded: uncounted.map(|it| it.succeeded.iter().collect()).unwrap_or_default(),
            failed: uncounted.map(|it| it.failed.iter().collect()).unwrap_or_default(),
        }
    }

    fn has(&self, uid: &Uid) -> bool {
        self.succeeded.contains(uid) || self.failed.contains(uid)
    }
}

/// What a pod is to the Job.
enum Claim {
    Keep,
    Release,
    Adopt,
    Leave,
}

fn claim(job: &JobFacts, pod: &PodFacts) -> Claim {
    let deleting = job.deletion.is_some();
    match (pod.controller, pod.selected) {
        (Controller::ThisJob, true) => Claim::Keep,
        // FT-26: a Job that is being deleted keeps what it has.
        (Controller::ThisJob, false) if deleting => Claim::Keep,
        (Controller::ThisJob, false) => Claim::Release,
        // FT-24, and S-05: a pod that has ended may have been counted.
        (Controller::Nobody, true) if !deleting && pod_state(pod) == PodState::Active => Claim::Adopt,
        (Controller::Nobody | Controller::Another, _) => Claim::Leave,
    }
}

fn classified<'a>(observed: &Observed, listed: &Listed, pod: &'a PodFacts, holds: bool) -> Pod<'a> {
    let state = pod_state(pod);
    let verdict = if listed.failed.contains(&pod.uid) {
        Verdict::Failed
    } else if listed.succeeded.contains(&pod.uid) {
        Verdict::Succeeded
    } else {
        match (pod.phase, state) {
            (Phase::Succeeded, _) => Verdict::Succeeded,
            (Phase::Failed, _) => Verdict::Failed,
            // RP-03, RP-04: a pod that terminates has failed, unless its end is waited for.
            (_, PodState::Terminating) if !waits_for_end(observed) => Verdict::Failed,
            (_, PodState::Active | PodState::Terminating | PodState::Terminated) => Verdict::Alive,
        }
    };
    Pod { facts: pod, state, verdict, listed: listed.has(&pod.uid), holds, index: index(observed.job, pod) }
}

/// PC-01, PC-02.
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

/// Whether a pod is replaced, and judged, only once it has ended (RP-02; UG-05: a failure policy has the same effect
/// with the gate off).
#[must_use]
pub fn waits_for_end(observed: &Observed) -> bool {
    let spec = &observed.job.spec;
    let failed = spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    spec.pod_failure_policy.is_some() || (failed && observed.settings.gates.pod_replacement_policy)
}

/// Whether condition Ready is True.
#[must_use]
pub fn is_ready(pod: &PodFacts) -> bool {
    pod.conditions.iter().any(|it| &*it.kind == "Ready" && &*it.status == "True")
}
