//! Deleting and creating the pods of a Job.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jobcheck_spec::incarnation;
use jobcheck_spec::indexes::Index;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

use super::mutated;
use crate::mutations::Mutations;
use crate::process::io::{Answer, Branch, Call, Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::tally::Tally;

/// The numbers of pods that a sync reports. Its own requests change them (PC-03).
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Active pods.
    pub active: i32,
    /// Ready pods.
    pub ready: i32,
    /// Terminating pods.
    pub terminating: i32,
}

/// The result of deleting or creating pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// Every call succeeded.
    Done,
    /// A call failed. The sync continues, and is retried afterwards (PC-13).
    Failed,
}

impl StepResult {
    fn of(answers: &[Answer]) -> StepResult {
        if answers.contains(&Answer::Error) { StepResult::Failed } else { StepResult::Done }
    }
}

/// Creates and deletes the pods of one sync.
pub struct PodManager<'a> {
    /// The input of the sync.
    pub read: &'a Read,
    /// The specification of the Job.
    pub spec: &'a JobSpec,
    /// The numbers of the sync.
    pub tally: &'a Tally<'a>,
    /// The settings of the process.
    pub settings: &'a Settings<'a>,
}

impl PodManager<'_> {
    pub(super) fn mutations(&self) -> &Mutations {
        self.settings.mutations
    }

    /// TC-07, FT-17: deletes all active pods of a decided Job. Their finalizers stay, so that the pods are counted.
    ///
    /// # Errors
    ///
    /// A call without an answer.
    pub fn delete_active(&self, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        let active = &self.tally.active;
        let answers = io.all(active, |pod, branch| branch.call(Call::DeletePod(pod.uid)))?;
        for (pod, answer) in active.iter().zip(&answers) {
            self.count_deletion(pod, *answer, counts);
        }
        Ok(StepResult::of(&answers))
    }

    /// PC-03: a pod whose deletion was answered is no longer active, and no longer ready. It terminates, unless the
    /// answer was 404.
    fn count_deletion(&self, pod: &Pod, answer: Answer, counts: &mut Counts) {
        let gone = answer != Answer::Error;
        counts.active -= i32::from(gone);
        counts.ready -= i32::from(pod.ready && self.lowers_ready(answer));
        counts.terminating += i32::from(self.raises_terminating(answer));
    }

    /// PC-07: does one of three things: suspends the Job, deletes surplus pods, or creates missing pods.
    ///
    /// # Errors
    ///
    /// A call without an answer.
    pub fn manage(&self, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        if self.spec.is_suspended() {
            return self.delete_uncounted(&self.tally.active, counts, io);
        }
        let wanted = self.wanted(counts.active);
        let surplus = usize::try_from(self.surplus(counts, wanted)).unwrap_or(0);
        let victims = self.by_preference(surplus, io)?;
        if !victims.is_empty() {
            return self.delete_uncounted(&victims, counts, io);
        }
        let held = if self.terminating_pods_hold_slots() { counts.terminating } else { 0 };
        let missing = usize::try_from(wanted - counts.active - held).unwrap_or(0);
        if missing == 0 { Ok(StepResult::Done) } else { self.create(missing, counts, io) }
    }

    /// PC-04, PC-05: the number of pods that must be active.
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

    /// PC-06, PC-09: the pods to delete, at least this many. For an Indexed Job, pods without a valid index
    /// and duplicates come first.
    fn by_preference(&self, at_least: usize, io: &mut Io<'_>) -> Result<Vec<&Pod>, Stop> {
        let mut victims: Vec<&Pod> = Vec::new();
        if self.spec.is_indexed() {
            victims = self.misplaced();
            for duplicates in self.duplicates() {
                victims.extend(first(&duplicates, duplicates.len() - 1, self.mutations(), io)?);
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

    /// The active pods without a valid index.
    fn misplaced(&self) -> Vec<&Pod> {
        self.tally.active.iter().copied().filter(|pod| self.place(pod).is_none()).collect()
    }

    /// The active pods of each index that has more than one.
    fn duplicates(&self) -> Vec<Vec<&Pod>> {
        let mut places: BTreeMap<Index, Vec<&Pod>> = BTreeMap::new();
        for pod in &self.tally.active {
            if let Some(index) = self.place(pod) {
                places.entry(index).or_default().push(pod);
            }
        }
        places.into_values().filter(|pods| pods.len() > 1).collect()
    }

    /// FT-16: deletes pods that must never be counted. The finalizer goes first.
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
            let (deleted, answer) = self.remove_finalizer_and_delete(pod, branch)?;
            if answer == Answer::Error {
                branch.note(Effect::NoDeletion(pod.uid));
            }
            Ok((deleted, answer))
        })?;
        for (pod, (deleted, answer)) in victims.iter().zip(&answers) {
            match (deleted, answer) {
                (false, Answer::NotFound) => self.count_vanished(pod, counts),
                // The DELETE was never sent.
                (false, Answer::Error) => {}
                (true | false, answer) => self.count_deletion(pod, *answer, counts),
            }
        }
        Ok(StepResult::of(&answers.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>()))
    }

    /// A pod was gone when its finalizer was to be removed. That is as good as its deletion.
    pub(super) fn count_as_deleted(&self, pod: &Pod, counts: &mut Counts) {
        self.count_deletion(pod, Answer::NotFound, counts);
    }

    /// The last answer, and whether it is the answer to the DELETE.
    fn remove_finalizer_and_delete(
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

    /// PC-11: creates pods in batches of 1, 2, 4, and so on. After a batch with a failure, the rest is not tried.
    fn create(&self, missing: usize, counts: &mut Counts, io: &mut Io<'_>) -> Result<StepResult, Stop> {
        if self.creations_are_futile() {
            return Ok(StepResult::Done);
        }
        let newborns = match self.newborns(missing) {
            Ok(newborns) => newborns,
            Err(end) => {
                io.note(Effect::Wake(end));
                self.report_delay(counts);
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
                    branch.note(Effect::CreationRefused(self.read.now));
                }
                if !self.is_created(answer) {
                    branch.note(Effect::NoCreation);
                }
                Ok(answer)
            })?;
            let created = answers.iter().filter(|answer| self.is_created(**answer)).count();
            counts.active += i32::try_from(created).unwrap_or(i32::MAX);
            if created < batch.len() {
                later.iter().for_each(|_| io.note(Effect::NoCreation));
                return Ok(self.result_of_failed_creation());
            }
            (rest, width) = (later, 2 * width);
        }
        Ok(StepResult::Done)
    }

    /// The pods to create now, each with its index or number. If every creation must still wait, the error is the time at
    /// which the first of them may follow (BO-02, BO-11).
    fn newborns(&self, missing: usize) -> Result<Vec<(u32, Pod)>, Time> {
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
        let free = self.free_indexes(missing);
        let delay = |index: &Index| if per_index { self.index_delay_ends(*index) } else { None };
        let ready: Vec<Index> = free.iter().copied().filter(|index| delay(index).is_none()).collect();
        let first_end = free.iter().filter_map(delay).min().filter(|_| ready.is_empty());
        if let Some(end) = first_end {
            return Err(end);
        }
        Ok(ready.into_iter().map(|index| (index, self.newborn(Some(index)))).collect())
    }

    /// PC-18: the lowest free indexes, at most this many.
    fn free_indexes(&self, missing: usize) -> Vec<Index> {
        let completions = self.spec.completion_count().unwrap_or(0);
        let replacing_failed = self.terminating_pods_hold_slots();
        let runs = |index: Index| {
            let held = |pod: &&Pod| pod.is_active() || (replacing_failed && pod.is_terminating());
            self.read.pods.iter().filter(held).any(|pod| pod.index == Some(index))
        };
        let failed = |index: Index| self.tally.failed_indexes.as_ref().is_some_and(|it| it.contains(index));
        (0..completions)
            .filter(|index| !self.tally.completed.contains(*index) && !failed(*index) && !runs(*index))
            .take(missing)
            .collect()
    }

    /// BO-10: the end of the delay after the last failure of an index.
    fn index_delay_ends(&self, index: Index) -> Option<Time> {
        let last = self.tally.delayed.get(&index)?;
        let backoff = Backoff {
            failures: last.failure_count + last.ignored_failure_count + 1,
            last_failure: Some(self.tally.failure_time(last)),
        };
        self.tally.delay_ends(backoff, self.settings.constants)
    }

    /// The pod to create. BI-02: a replacement continues the counts of its predecessor.
    fn newborn(&self, index: Option<Index>) -> Pod {
        let last = index.and_then(|index| self.tally.delayed.get(&index));
        let (failure_count, ignored_failure_count) = match last {
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
            failure_count,
            ignored_failure_count,
            restarts: 0,
            max_restarts: 0,
            created: if self.settings.has_delays { self.read.now } else { Time::default() },
            ready_changed: None,
            finished: None,
            policy: PolicyMatch::None,
        }
    }
}

/// PC-09: the order of deletion; pods with smaller keys go first.
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
        // Among equal pods, one that lost its finalizer before an earlier, failed deletion comes first.
        mutated::prefers_without_finalizer(pod, mutations),
    )
}

/// The pods that are deleted first, this many of them. Among equal pods the choice is random.
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
