//! Steps 13 to 15: recording the pods that have ended, releasing them, counting them, finishing the Job.

use std::collections::BTreeSet;

use jobcheck_spec::failure_policy::{FailureEvidence, evaluate};
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, FailureAction, Job, JobStatus, Text};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::Mutation;
use crate::process::io::{Answer, Call, Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::decide::{Termination, fail_job_message};
use crate::reference::tally::Tally;

/// What was recorded.
#[derive(Default)]
struct Record {
    /// Pods to release.
    finalizer_removed: Vec<Uid>,
    /// Newly completed indexes.
    fresh: IndexSet,
    /// Whether the lists are full.
    full: bool,
}

/// The accounting of one sync.
pub struct Accounting<'a> {
    /// The Job that was read.
    pub job: &'a Job,
    /// What was read.
    pub read: &'a Read,
    /// What it comes to.
    pub tally: &'a Tally<'a>,
    /// The algorithm's settings.
    pub settings: &'a Settings<'a>,
    /// The end that the Job comes to.
    pub termination: Option<Termination>,
    /// Whether a FailJob verdict could not be stored in this sync.
    pub verdict_waits: bool,
    /// Pods that terminate.
    pub terminating: i32,
    /// The status as this sync will write it.
    pub status: JobStatus,
}

impl Accounting<'_> {
    /// Does it.
    ///
    /// # Errors
    ///
    /// A call without an answer, or the failure of the sync.
    pub fn run(mut self, io: &mut Io<'_>) -> Result<(), Stop> {
        let mut held: BTreeSet<Uid> =
            self.read.pods.iter().filter(|pod| self.tally.is_tracked(pod)).map(|pod| pod.uid).collect();
        if !self.on(Mutation::CountsRecordedOwnerlessPods) {
            // FT-02: what is listed and has lost its owner waits until the orphan path has released it.
            held.extend(self.read.ownerless.iter().filter(|pod| pod.finalizer).map(|pod| pod.uid));
        }
        self.count_removed(&held);
        let (finalizer_removed, full) = self.record(io)?;
        self.announce();
        let mut stored = self.job.status.clone();
        io.note(Effect::Remember(self.tally.recorded()));
        self.write_if_changed(&mut stored, io)?;
        let went = self.remove_finalizer(&finalizer_removed, &mut held, io)?;
        self.count_removed(&held);
        if self.on(Mutation::RecomputesCounters) {
            let ended = |phase| self.read.pods.iter().filter(|pod| pod.phase == phase).count();
            self.status.succeeded = i32::try_from(ended(Phase::Succeeded)).unwrap_or(i32::MAX);
        }
        if self.on(Mutation::RecomputesFailures) {
            let failed = self.read.pods.iter().filter(|pod| self.tally.is_failure(pod)).count();
            self.status.failed = i32::try_from(failed).unwrap_or(i32::MAX);
        }
        if went == Answer::Error {
            self.write_if_changed(&mut stored, io)?;
            return Err(Stop::Failed);
        }
        if !full || self.on(Mutation::FinishesWithFullLists) {
            self.finish();
        }
        self.write_if_changed(&mut stored, io)?;
        Ok(())
    }

    fn on(&self, mutation: Mutation) -> bool {
        self.settings.mutations.on(mutation)
    }

    /// FT-02, FT-05: UIDs whose pod has lost its finalizer move into the counters.
    fn count_removed(&mut self, held: &BTreeSet<Uid>) {
        let Some(lists) = &mut self.status.uncounted else { return };
        let gone = |list: &mut Vec<Uid>| {
            let before = list.len();
            list.retain(|uid| held.contains(uid));
            i32::try_from(before - list.len()).unwrap_or(i32::MAX)
        };
        let (succeeded, failed) = (gone(&mut lists.succeeded), gone(&mut lists.failed));
        self.status.succeeded += succeeded;
        self.status.failed += failed;
    }

    /// FT-02, FT-08, FT-10, FT-15: records the pods that have ended. Returns those to release, and whether the
    /// lists are full. S-03: a pod that a verdict rests on is kept until the verdict is stored.
    fn record(&mut self, io: &mut Io<'_>) -> Result<(Vec<Uid>, bool), Stop> {
        let before = self.status.clone();
        let mut turns = self.to_remove();
        if self.may_fill_lists(&turns) {
            turns = self.turns(&before, io)?;
        }
        self.status = before;
        let mut record = self.record_in_turn(&turns);
        if !record.fresh.is_empty() || !self.on(Mutation::WritesIndexesOnlyWhenNew) {
            self.write_indexes();
        }
        let lists = self.lists();
        lists.succeeded.sort_unstable();
        lists.failed.sort_unstable();
        record.finalizer_removed.sort_unstable();
        Ok((record.finalizer_removed, record.full))
    }

    /// Whether the lists become full in any order of the pods.
    fn may_fill_lists(&mut self, pods: &[&Pod]) -> bool {
        let mut fresh = IndexSet::new();
        for pod in pods {
            self.record_pod(pod, &mut fresh);
        }
        self.fills_cap(&fresh)
    }

    /// The built-in looks after it has added one, so that lists that are full already grow.
    fn looks_late(&self) -> bool {
        self.on(Mutation::ChecksCapAfterAdding)
    }

    /// Records these pods, one after the other.
    fn record_in_turn(&mut self, pods: &[&Pod]) -> Record {
        let mut record = Record::default();
        for pod in pods {
            let looks_late = self.looks_late();
            record.full |= !looks_late && self.fills_cap(&record.fresh);
            if record.full && (looks_late || !self.status.lists(pod.uid)) {
                continue;
            }
            self.record_pod(pod, &mut record.fresh);
            if !(self.verdict_waits && fail_job_message(pod).is_some()) {
                record.finalizer_removed.push(pod.uid);
            }
            record.full |= looks_late && self.fills_cap(&record.fresh);
        }
        record
    }

    /// An order in which the pods may come. Until the lists are full it is chance, of an Indexed Job among the pods of
    /// one index.
    fn turns<'b>(&mut self, before: &JobStatus, io: &mut Io<'_>) -> Result<Vec<&'b Pod>, Stop>
    where
        Self: 'b,
    {
        let mut rest = self.to_remove();
        let mut turns = Vec::new();
        while let Some(first) = rest.first() {
            self.status = before.clone();
            let record = self.record_in_turn(&turns);
            if record.full || (!self.looks_late() && self.fills_cap(&record.fresh)) {
                break;
            }
            let equals = rest.iter().take_while(|pod| self.turn(pod) == self.turn(first));
            let equals: Vec<Uid> = equals.map(|pod| pod.uid).collect();
            let next = io.pick(&equals, 1)?;
            turns.extend(rest.extract_if(.., |pod| next.contains(&pod.uid)));
        }
        turns.extend(rest);
        Ok(turns)
    }

    fn turn(&self, pod: &Pod) -> Option<Index> {
        pod.index.filter(|_| self.job.spec.is_indexed())
    }

    /// FT-10: newly completed indexes and listed UIDs together.
    fn fills_cap(&self, fresh: &IndexSet) -> bool {
        let lists = self.status.uncounted_succeeded().len() + self.status.uncounted_failed().len();
        let recorded = lists + usize::try_from(fresh.len()).unwrap_or(usize::MAX);
        recorded >= self.settings.constants.max_uncounted_pods
    }

    /// The tracked pods that may be released, of an Indexed Job by index.
    fn to_remove<'b>(&self) -> Vec<&'b Pod>
    where
        Self: 'b,
    {
        let read: &'b Read = self.read;
        let tracked =
            read.pods.iter().filter(|pod| self.tally.is_tracked(pod) && self.may_remove_finalizer(pod));
        let mut pods: Vec<&Pod> = tracked.collect();
        pods.sort_by_key(|pod| self.turn(pod));
        pods
    }

    /// FT-14.
    fn may_remove_finalizer(&self, pod: &Pod) -> bool {
        if self.job.deleting || self.termination.is_some() || pod.phase == Phase::Succeeded {
            return true;
        }
        let delayed = self.tally.delayed.values().any(|last| last.uid == pod.uid)
            && !self.on(Mutation::RemovesFinalizerBeforeReplacement);
        self.tally.is_failure(pod) && !delayed
    }

    fn record_pod(&mut self, pod: &Pod, fresh: &mut IndexSet) {
        let was_failed = self.job.status.uncounted_failed().contains(&pod.uid);
        if pod.phase == Phase::Succeeded && (!was_failed || self.on(Mutation::RecordsByPhaseOnly)) {
            self.record_success(pod, fresh);
            return;
        }
        let doomed = self.termination.as_ref().is_some_and(|termination| !termination.good);
        let flipped =
            self.status.uncounted_succeeded().contains(&pod.uid) && !self.on(Mutation::RecordsFlippedSuccess);
        let counts = (self.tally.is_failure(pod) || doomed) && self.tally.has_place(pod);
        let ignored = self.has_policy() && (pod.is_ignored() || self.passes_over(pod));
        if counts && !was_failed && !flipped && !ignored {
            self.lists().failed.push(pod.uid);
        }
    }

    fn record_success(&mut self, pod: &Pod, fresh: &mut IndexSet) {
        let spec = &self.job.spec;
        if spec.is_indexed() {
            let completions = spec.completion_count();
            let known = self.job.status.completed(completions);
            fresh.extend(pod.valid_index(completions).filter(|index| !known.contains(*index)));
        } else if !self.status.uncounted_succeeded().contains(&pod.uid) {
            self.lists().succeeded.push(pod.uid);
        }
    }

    /// J-04: whether a rule ignores a pod that has not ended, by its conditions.
    fn passes_over(&self, pod: &Pod) -> bool {
        if pod.is_terminated() || !pod.disrupted || !self.on(Mutation::MatchesPolicyBeforeTheEnd) {
            return false;
        }
        let conditions = vec![("DisruptionTarget".into(), "True".into())];
        let evidence = FailureEvidence { conditions, ..FailureEvidence::default() };
        let policy = self.job.spec.pod_failure_policy.as_ref();
        policy.is_some_and(|policy| evaluate(policy, &evidence) == PolicyMatch::Action(FailureAction::Ignore))
    }

    fn has_policy(&self) -> bool {
        self.job.spec.pod_failure_policy.is_some()
    }

    fn lists(&mut self) -> &mut jobcheck_spec::job::Uncounted {
        self.status.uncounted.get_or_insert_default()
    }

    /// FT-12, PC-21, BI-04.
    fn write_indexes(&mut self) {
        if !self.job.spec.is_indexed() {
            return;
        }
        let pods = self.on(Mutation::CountsPodsNotIndexes);
        let succeeded = if pods { self.tally.succeeded } else { i64::from(self.tally.completed.len()) };
        self.status.succeeded = i32::try_from(succeeded).unwrap_or(i32::MAX);
        self.status.completed_indexes = self.tally.completed.to_string().into();
        let failed = self.tally.failed_indexes.as_ref();
        self.status.failed_indexes = failed.map(|failed| Text::from(failed.to_string()));
    }

    /// TC-03, TC-14: the interim condition is stored before anything that it decides.
    fn announce(&mut self) {
        let Some(termination) = self.termination.clone().filter(|termination| !termination.announced) else {
            return;
        };
        let asked = self.settings.delays_the_end() || self.on(Mutation::AnnouncesWithoutGates);
        let silent = !asked && !termination.is_of_a_policy();
        if self.on(Mutation::AnnouncesWithTheEnd) || silent {
            return;
        }
        let now = self.read.now;
        if self.status.start_time.is_none() && !self.on(Mutation::FinishesSuspendedWithoutStartTime) {
            // S-04: the server takes no finished Job without it.
            self.status.start_time = Some(now);
        }
        let appended = self.on(Mutation::AppendsBesideFalseInterim);
        put(&mut self.status, condition(&termination.interim(), &termination, now), appended);
    }

    fn remove_finalizer(
        &self,
        finalizer_removed: &[Uid],
        held: &mut BTreeSet<Uid>,
        io: &mut Io<'_>,
    ) -> Result<Answer, Stop> {
        if self.on(Mutation::StopsAtFailedRemoval) {
            return self.remove_finalizers_in_turn(finalizer_removed, held, io);
        }
        let last = self.last(finalizer_removed, io)?;
        let answers = io.all(finalizer_removed, |uid, branch| {
            branch.note(Effect::ExpectFinalizerRemoval(*uid));
            let answer = branch.call(Call::RemoveFinalizer(*uid))?;
            // FT-28: where the pod is gone the removal is still to be seen, though somebody else's.
            let forgets = answer == Answer::NotFound && self.on(Mutation::ForgetsVanishedRemovals);
            if answer == Answer::Error || forgets {
                branch.note(Effect::NoFinalizerRemoval(*uid));
            }
            Ok(answer)
        })?;
        let failed = answers.contains(&Answer::Error);
        for (uid, answer) in finalizer_removed.iter().zip(&answers) {
            if *answer != Answer::Error || self.on(Mutation::CountsDespiteFailedRemoval) {
                held.remove(uid);
            }
        }
        let worked = |(uid, answer): (&Uid, &Answer)| Some(*uid) == last && *answer != Answer::Error;
        if finalizer_removed.iter().zip(&answers).any(worked) {
            held.clear();
        }
        Ok(if failed { Answer::Error } else { Answer::Done })
    }

    /// A departure: one after the other, up to the first that fails.
    fn remove_finalizers_in_turn(
        &self,
        finalizer_removed: &[Uid],
        held: &mut BTreeSet<Uid>,
        io: &mut Io<'_>,
    ) -> Result<Answer, Stop> {
        for uid in finalizer_removed {
            io.note(Effect::ExpectFinalizerRemoval(*uid));
            if io.call(Call::RemoveFinalizer(*uid))? == Answer::Error {
                io.note(Effect::NoFinalizerRemoval(*uid));
                return Ok(Answer::Error);
            }
            held.remove(uid);
        }
        Ok(Answer::Done)
    }

    /// B03: which of the removals is the last, where the departure asks: the order of pods is chance.
    fn last(&self, finalizer_removed: &[Uid], io: &mut Io<'_>) -> Result<Option<Uid>, Stop> {
        if !self.on(Mutation::CountsWholeListAfterLastRemoval) {
            return Ok(None);
        }
        let earlier = io.pick(finalizer_removed, finalizer_removed.len().saturating_sub(1))?;
        Ok(finalizer_removed.iter().copied().find(|uid| !earlier.contains(uid)))
    }

    /// TC-04, TC-05.
    fn finish(&mut self) {
        let Some(termination) = self.termination.clone() else { return };
        let waiting = self.status.uncounted_succeeded().len() + self.status.uncounted_failed().len();
        let terminating = self.terminating > 0 && self.settings.delays_the_end();
        if waiting > 0 || (terminating && !self.on(Mutation::FinishesWhilePodsTerminate)) {
            return;
        }
        let now = self.read.now;
        if self.on(Mutation::AnnouncesWithTheEnd) {
            put(&mut self.status, condition(&termination.interim(), &termination, now), false);
        }
        let terminal = termination.terminal();
        if !self.on(Mutation::AppendsTerminalConditions) {
            // TC-09: it comes after the interim one, even where somebody had set it to False before.
            self.status.conditions.retain(|it| it.kind != terminal);
        }
        put(&mut self.status, condition(&terminal, &termination, now), true);
        if termination.good {
            self.status.completion_time = Some(now);
        }
    }

    /// SY-05: writes what differs from what is stored. Returns whether it did.
    fn write_if_changed(&self, stored: &mut JobStatus, io: &mut Io<'_>) -> Result<bool, Stop> {
        let mut quiet = JobStatus { start_time: stored.start_time, ..self.status.clone() };
        if self.on(Mutation::ComparesTerminatingWithItself) {
            quiet.terminating = stored.terminating;
        }
        if quiet == *stored {
            return Ok(false);
        }
        match io.call(Call::WriteStatus(Box::new(self.status.clone())))? {
            Answer::Done => {
                *stored = self.status.clone();
                Ok(true)
            }
            Answer::NotFound | Answer::NamespaceTerminating | Answer::Error => Err(Stop::Failed),
        }
    }
}

fn condition(kind: &ConditionKind, termination: &Termination, now: Time) -> Condition {
    Condition {
        kind: kind.clone(),
        status: ConditionStatus::True,
        reason: termination.reason.clone(),
        message: termination.message.clone(),
        last_transition_time: Some(now),
    }
}

/// S-12: one entry of each type.
pub fn put(status: &mut JobStatus, condition: Condition, appended: bool) {
    let old = status.conditions.iter_mut().find(|it| it.kind == condition.kind).filter(|_| !appended);
    match old {
        Some(old) => *old = condition,
        None => status.conditions.push(condition),
    }
}
