//! Step 11: deleting and creating pods.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jobcheck_spec::incarnation;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::{Mutation, Mutations};
use crate::process::io::{Answer, Branch, Call, Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::tally::Tally;

/// The counts that a sync reports, as its own actions change them (PC-03).
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Active pods.
    pub active: i32,
    /// Ready pods.
    pub ready: i32,
    /// Terminating pods.
    pub terminating: i32,
}

/// How managing the pods went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// As wanted.
    Done,
    /// A call failed; the sync is tried again in the end (PC-13).
    Failed,
}

impl StepResult {
    fn by(answers: &[Answer]) -> StepResult {
        if answers.contains(&Answer::Error) { StepResult::Failed } else { StepResult::Done }
    }
}

/// The pods of one sync.
pub struct PodManager<'a> {
    /// What was read.
    pub read: &'a Read,
    /// The specification.
    pub spec: &'a JobSpec,
    /// What it comes to.
    pub tally: &'a Tally<'a>,
    /// The algorithm's settings.
    pub settings: &'a Settings<'a>,
}

impl PodManager<'_> {
    fn mutations(&self) -> &Mutations {
        self.settings.mutations
    }

    /// TC-07, FT-17: deletes all active pods of a decided Job, finalizers in place. Returns whether all are
    /// being deleted.
    ///
    /// # Errors
    ///
    /// A call without an answer.
    pub fn delete_active(&self, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        let active = &self.tally.active;
        let answers = io.all(active, |pod, branch| branch.call(Call::DeletePod(pod.uid)))?;
        for (pod, answer) in active.iter().zip(&answers) {
            self.note_deletion(pod, *answer, counts);
        }
        Ok(StepResult::by(&answers))
    }

    fn note_deletion(&self, pod: &Pod, answer: Answer, counts: &mut Counts) {
        let mutations = self.mutations();
        let gone = answer != Answer::Error;
        if gone {
            counts.active -= 1;
        }
        if mutations.on(Mutation::ReportsDeletionsLate) {
            return;
        }
        if pod.ready && (gone || mutations.on(Mutation::LowersReadyOnFailedDelete)) {
            counts.ready -= 1;
        }
        if answer == Answer::Done || (gone && mutations.on(Mutation::CountsVanishedAsTerminating)) {
            counts.terminating += 1;
        }
    }

    /// Suspends, shrinks, or grows the set of active pods; one of the three (PC-07).
    ///
    /// # Errors
    ///
    /// A call without an answer.
    pub fn manage(&self, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        if self.spec.is_suspended() {
            return self.delete_uncounted(&self.tally.active, counts, io);
        }
        let wanted = self.wanted(counts.active);
        let counted = if self.mutations().on(Mutation::CountsTerminatingAsSurplus) {
            counts.active + counts.terminating
        } else {
            counts.active
        };
        let target = if self.mutations().on(Mutation::LeavesExtraPods) {
            self.spec.parallelism.unwrap_or(1)
        } else {
            wanted
        };
        let surplus = usize::try_from(counted - target).unwrap_or(0);
        let victims = self.by_preference(surplus, io)?;
        if !victims.is_empty() {
            return self.delete_uncounted(&victims, counts, io);
        }
        let held = if self.is_patient() { counts.terminating } else { 0 };
        let missing = usize::try_from(wanted - counts.active - held).unwrap_or(0);
        if missing == 0 { Ok(StepResult::Done) } else { self.create(missing, counts, io) }
    }

    /// RP-02: whether a pod that terminates holds its place.
    fn is_patient(&self) -> bool {
        self.settings.is_patient(self.spec) && !self.mutations().on(Mutation::ReplacesTerminatingPods)
    }

    /// PC-04, PC-05.
    fn wanted(&self, active: i32) -> i32 {
        let parallelism = self.spec.parallelism.unwrap_or(1);
        match self.spec.completions {
            None if self.tally.succeeded > 0 => active,
            None => parallelism,
            Some(completions) => {
                let missing = i64::from(completions) - self.tally.succeeded;
                i32::try_from(missing.clamp(0, i64::from(parallelism))).unwrap_or(parallelism)
            }
        }
    }

    /// PC-06, PC-09: the pods to delete, at least so many; of an Indexed Job misplaced and doubled ones first.
    fn by_preference(&self, at_least: usize, io: &mut Io<'_>) -> Result<Vec<&Pod>, Stop> {
        let mut victims: Vec<&Pod> = Vec::new();
        if self.spec.is_indexed() {
            victims = self.misplaced();
            for doubles in self.doubles() {
                victims.extend(first(&doubles, doubles.len() - 1, self.mutations(), io)?);
            }
        }
        let is_left = |pod: &&Pod| !victims.iter().any(|victim| victim.uid == pod.uid);
        let rest: Vec<&Pod> = self.tally.active.iter().copied().filter(is_left).collect();
        let more = first(&rest, at_least.saturating_sub(victims.len()), self.mutations(), io)?;
        victims.extend(more);
        Ok(victims)
    }

    fn place(&self, pod: &Pod) -> Option<Index> {
        pod.valid_index(self.spec.completion_count())
    }

    /// Active pods without a valid index.
    fn misplaced(&self) -> Vec<&Pod> {
        self.tally.active.iter().copied().filter(|pod| self.place(pod).is_none()).collect()
    }

    /// The active pods of each index that has more than one.
    fn doubles(&self) -> Vec<Vec<&Pod>> {
        let mut places: BTreeMap<Index, Vec<&Pod>> = BTreeMap::new();
        for pod in &self.tally.active {
            if let Some(index) = self.place(pod) {
                places.entry(index).or_default().push(pod);
            }
        }
        places.into_values().filter(|pods| pods.len() > 1).collect()
    }

    /// FT-16: the finalizer goes first, so that the pod is never counted.
    fn delete_uncounted(
        &self,
        victims: &[&Pod],
        counts: &mut Counts,
        io: &mut Io<'_>,
    ) -> Result<StepResult, Stop> {
        if victims.is_empty() {
            return Ok(StepResult::Done);
        }
        io.note(Effect::ExpectDeletions(victims.iter().map(|pod| pod.uid).collect()));
        let answers = io.all(victims, |pod, branch| {
            let (deleted, answer) = self.remove_finalizers_and_delete(pod, branch)?;
            if answer == Answer::Error {
                branch.note(Effect::NoDeletion(pod.uid));
            }
            Ok((deleted, answer))
        })?;
        for (pod, (deleted, answer)) in victims.iter().zip(&answers) {
            match (deleted, answer) {
                (false, Answer::NotFound) if self.mutations().on(Mutation::KeepsVanishedPodReady) => {
                    counts.active -= 1;
                }
                // Nothing was to be deleted: not even a departure says that it was.
                (false, Answer::Error) => {}
                (true | false, answer) => self.note_deletion(pod, *answer, counts),
            }
        }
        Ok(StepResult::by(&answers.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>()))
    }

    /// The last answer, and whether it was to the DELETE.
    fn remove_finalizers_and_delete(
        &self,
        pod: &Pod,
        branch: &mut Branch<'_>,
    ) -> Result<(bool, Answer), Stop> {
        if pod.finalizer {
            branch.note(Effect::ExpectFinalizerRemoval(pod.uid));
            let answer = branch.call(Call::RemoveFinalizer(pod.uid))?;
            if answer == Answer::Error {
                branch.note(Effect::NoFinalizerRemoval(pod.uid));
            }
            if answer != Answer::Done {
                return Ok((false, answer));
            }
        }
        Ok((true, branch.call(Call::DeletePod(pod.uid))?))
    }

    /// PC-11: in batches of 1, 2, 4, and so on.
    fn create(&self, missing: usize, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        let goes = self.read.kept.namespace_goes(self.read.now);
        if goes && !self.mutations().on(Mutation::RetriesWithoutNamespace) {
            return Ok(StepResult::Done);
        }
        let newborns = match self.delayed_newborns(missing) {
            Ok(newborns) => newborns,
            Err(end) => {
                io.note(Effect::Wake(end));
                if self.mutations().on(Mutation::ReportsNoneActiveDuringDelay) {
                    counts.active = 0;
                }
                return Ok(StepResult::Done);
            }
        };
        if newborns.is_empty() {
            return Ok(StepResult::Done);
        }
        io.note(Effect::ExpectCreations(i8::try_from(newborns.len()).unwrap_or(i8::MAX)));
        let mut rest = newborns.as_slice();
        let mut width = 1;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(width.min(rest.len()));
            let answers = io.all(batch, |(number, pod), branch| {
                let answer = branch.call(Call::CreatePod(*number, Box::new(pod.clone())))?;
                if answer == Answer::NamespaceTerminating {
                    branch.note(Effect::Refused(self.read.now));
                }
                if answer != Answer::Done && !self.takes_for_created(answer) {
                    branch.note(Effect::NoCreation);
                }
                Ok(answer)
            })?;
            let is_created = |answer: &&Answer| **answer == Answer::Done || self.takes_for_created(**answer);
            let created = answers.iter().filter(is_created).count();
            counts.active += i32::try_from(created).unwrap_or(i32::MAX);
            if created < batch.len() {
                // PC-11: the rest is not tried.
                later.iter().for_each(|_| io.note(Effect::NoCreation));
                let swallowed = self.mutations().on(Mutation::SwallowsCreateErrors);
                return Ok(if swallowed { StepResult::Done } else { StepResult::Failed });
            }
            (rest, width) = (later, 2 * width);
        }
        Ok(StepResult::Done)
    }

    /// H2: it counts.
    fn takes_for_created(&self, answer: Answer) -> bool {
        answer == Answer::NamespaceTerminating && self.mutations().on(Mutation::CountsRefusedCreations)
    }

    /// The pods to create now, by index or number, or when the first of them may be created (BO-02, BO-11).
    fn delayed_newborns(&self, missing: usize) -> Result<Vec<(u32, Pod)>, Time> {
        let per_index = self.settings.limit_per_index(self.spec).is_some();
        if !per_index {
            let end = self.tally.delay_ends(self.tally.backoff(), self.settings.constants);
            if let Some(end) = end {
                return Err(end);
            }
        }
        if !self.spec.is_indexed() {
            let numbers = 0..u32::try_from(missing).unwrap_or(u32::MAX);
            return Ok(numbers.map(|number| (number, self.newborn(None))).collect());
        }
        let pending = self.pending(missing);
        let delay = |index: &Index| if per_index { self.index_delay_ends(*index) } else { None };
        let ready: Vec<Index> = pending.iter().copied().filter(|index| delay(index).is_none()).collect();
        let first_end = pending.iter().filter_map(delay).min().filter(|_| ready.is_empty());
        if let Some(end) = first_end {
            return Err(end);
        }
        Ok(ready.into_iter().map(|index| (index, self.newborn(Some(index)))).collect())
    }

    /// PC-18: the lowest free indexes.
    fn pending(&self, missing: usize) -> Vec<Index> {
        let completions = self.spec.completion_count().unwrap_or(0);
        let patient = self.is_patient();
        let runs = |index: Index| {
            let held = |pod: &&Pod| pod.is_active() || (patient && pod.is_terminating());
            self.read.pods.iter().filter(held).any(|pod| pod.index == Some(index))
        };
        let failed = |index: Index| self.tally.failed_indexes.as_ref().is_some_and(|it| it.contains(index));
        (0..completions)
            .filter(|index| !self.tally.completed.contains(*index) && !failed(*index) && !runs(*index))
            .take(missing)
            .collect()
    }

    /// BO-10.
    fn index_delay_ends(&self, index: Index) -> Option<Time> {
        let last = self.tally.delayed.get(&index)?;
        let backoff = jobcheck_spec::view::Backoff {
            failures: last.failure_count + last.ignored_failure_count + 1,
            last_failure: Some(self.tally.ended(last)),
        };
        self.tally.delay_ends(backoff, self.settings.constants)
    }

    /// BI-02: a replacement carries on the counts of its predecessor.
    fn newborn(&self, index: Option<Index>) -> Pod {
        let last = index.and_then(|index| self.tally.delayed.get(&index));
        let (failures, ignored) = match last {
            None => (0, 0),
            Some(last) if last.is_ignored() => (last.failure_count, last.ignored_failure_count + 1),
            Some(last) => (last.failure_count + 1, last.ignored_failure_count),
        };
        Pod {
            uid: Uid::EMPTY,
            finalizer: true,
            other_finalizers: false,
            phase: Phase::Pending,
            deleting: false,
            forced: false,
            disrupted: false,
            controlled: true,
            incarnation: incarnation::of(self.read.job.as_deref()),
            selected: true,
            ready: false,
            scheduled: true,
            index,
            failure_count: failures,
            ignored_failure_count: ignored,
            restarts: 0,
            max_restarts: 0,
            created: if self.settings.has_delays { self.read.now } else { Time::default() },
            ready_changed: None,
            finished: None,
            policy: PolicyMatch::None,
        }
    }
}

/// PC-09: the smaller, the sooner deleted.
fn preference(pod: &Pod, mutations: &Mutations) -> impl Ord + use<> {
    let phase = match pod.phase {
        Phase::Pending => 0,
        Phase::Unknown => 1,
        Phase::Running | Phase::Succeeded | Phase::Failed => 2,
    };
    (
        pod.scheduled,
        phase,
        pod.ready,
        Reverse(pod.ready_changed),
        Reverse(pod.max_restarts),
        Reverse(pod.created),
        // Of equals, what a deletion that failed has left without finalizer.
        pod.finalizer && !mutations.on(Mutation::OverlooksStrippedPods),
    )
}

/// So many pods of those that are deleted first. Of equals it is chance which.
fn first<'a>(
    pods: &[&'a Pod],
    count: usize,
    mutations: &Mutations,
    io: &mut Io<'_>,
) -> Result<Vec<&'a Pod>, Stop> {
    let rank = |pod: &Pod| preference(pod, mutations);
    let mut sorted = pods.to_vec();
    sorted.sort_by_key(|pod| rank(pod));
    let count = count.min(sorted.len());
    let Some(last) = count.checked_sub(1).map(|last| rank(sorted[last])) else {
        return Ok(Vec::new());
    };
    let mut taken: Vec<&Pod> = sorted.iter().copied().filter(|pod| rank(pod) < last).collect();
    let equals: Vec<Uid> = sorted.iter().filter(|pod| rank(pod) == last).map(|pod| pod.uid).collect();
    let picked = io.pick(&equals, count - taken.len())?;
    taken.extend(sorted.into_iter().filter(|pod| picked.contains(&pod.uid)));
    Ok(taken)
}
