//! Accounting: recording terminated pods, removing their finalizers, counting them, and finishing the Job.
//!
//! A pod is counted in three writes (KEP-2307): its UID enters `status.uncountedTerminatedPods`, its finalizer is
//! removed, and its UID moves into a counter. A crash between any two of them loses no pod, and counts none twice.

use std::collections::BTreeSet;

use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus, Text, Uncounted};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::process::io::{Answer, Call, Effect, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::decide::{Termination, fail_job_message};
use crate::reference::tally::Tally;

/// The result of recording pods.
#[derive(Default)]
struct Record {
    /// The pods whose finalizers may now be removed.
    removable: Vec<Uid>,
    /// The newly completed indexes.
    fresh: IndexSet,
    /// True if the lists are full.
    full: bool,
}

/// The accounting of one sync.
pub struct Accounting<'a> {
    /// The Job that the sync read.
    pub job: &'a Job,
    /// The input of the sync.
    pub read: &'a Read,
    /// The numbers of the sync.
    pub tally: &'a Tally<'a>,
    /// The settings of the process.
    pub settings: &'a Settings<'a>,
    /// The termination of the Job. `None` if the Job continues.
    pub termination: Option<Termination>,
    /// True if a FailJob verdict has to wait for a later sync.
    pub verdict_waits: bool,
    /// The number of terminating pods.
    pub terminating: i32,
    /// The status as this sync will write it.
    pub status: JobStatus,
}

impl Accounting<'_> {
    /// Records and counts the pods, and writes the status up to three times.
    ///
    /// # Errors
    ///
    /// A call is not answered yet, or the sync failed.
    pub fn run(mut self, io: &mut Io<'_>) -> Result<(), Stop> {
        let mut held = self.held();
        self.count_removed(&held);
        let (removable, full) = self.record(io)?;
        self.store_interim();
        let mut stored = self.job.status.clone();
        io.note(Effect::RecordFailures(self.tally.recorded()));
        self.write_if_changed(&mut stored, io)?;
        let removals = self.remove_finalizers(&removable, &mut held, io)?;
        self.count_removed(&held);
        self.keep_counters();
        if removals == Answer::Error {
            self.write_if_changed(&mut stored, io)?;
            return Err(Stop::Failed);
        }
        if self.may_finish(full) {
            self.finish();
        }
        self.write_if_changed(&mut stored, io)?;
        Ok(())
    }

    /// FT-02: the pods that hold the finalizer. A recorded pod that has lost its owner waits until the orphan path has
    /// removed its finalizer.
    fn held(&self) -> BTreeSet<Uid> {
        let tracked = self.read.pods.iter().filter(|pod| self.tally.is_tracked(pod));
        let ownerless = self.read.ownerless.iter().filter(|pod| self.holds_without_owner(pod));
        tracked.chain(ownerless).map(|pod| pod.uid).collect()
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

    /// FT-02, FT-08, FT-10, FT-15: records the terminated pods. Returns the pods whose finalizers may be
    /// removed, and true if the lists are full.
    ///
    /// S-03: a pod that proves a verdict keeps its finalizer until the verdict is stored.
    fn record(&mut self, io: &mut Io<'_>) -> Result<(Vec<Uid>, bool), Stop> {
        let before = self.status.clone();
        let mut pods = self.countable();
        if self.may_fill_lists(&pods) {
            pods = self.in_random_order(&before, io)?;
        }
        self.status = before;
        let mut record = self.record_all(&pods);
        if self.writes_indexes(&record.fresh) {
            self.write_indexes();
        }
        let lists = self.lists();
        lists.succeeded.sort_unstable();
        lists.failed.sort_unstable();
        record.removable.sort_unstable();
        Ok((record.removable, record.full))
    }

    /// Returns true if these pods fill the lists.
    fn may_fill_lists(&mut self, pods: &[&Pod]) -> bool {
        let mut fresh = IndexSet::new();
        for pod in pods {
            self.record_pod(pod, &mut fresh);
        }
        self.fills_cap(&fresh)
    }

    /// Records these pods one after the other, until the lists are full. Pods that are recorded already need no room.
    fn record_all(&mut self, pods: &[&Pod]) -> Record {
        let mut record = Record::default();
        for pod in pods {
            let checks_late = self.checks_cap_after_adding();
            record.full |= !checks_late && self.fills_cap(&record.fresh);
            if record.full && (checks_late || !self.status.is_recorded(pod.uid)) {
                continue;
            }
            self.record_pod(pod, &mut record.fresh);
            if !(self.verdict_waits && fail_job_message(pod).is_some()) {
                record.removable.push(pod.uid);
            }
            record.full |= checks_late && self.fills_cap(&record.fresh);
        }
        record
    }

    /// The countable pods in a random order, as far as the order matters: until the lists are full. The pods of an Indexed
    /// Job are ordered by index.
    fn in_random_order<'b>(&mut self, before: &JobStatus, io: &mut Io<'_>) -> Result<Vec<&'b Pod>, Stop>
    where
        Self: 'b,
    {
        let mut rest = self.countable();
        let mut order = Vec::new();
        while let Some(first) = rest.first() {
            self.status = before.clone();
            let record = self.record_all(&order);
            if record.full || (!self.checks_cap_after_adding() && self.fills_cap(&record.fresh)) {
                break;
            }
            let equals = rest.iter().take_while(|pod| self.rank(pod) == self.rank(first));
            let equals: Vec<Uid> = equals.map(|pod| pod.uid).collect();
            let next = io.pick(&equals, 1)?;
            order.extend(rest.extract_if(.., |pod| next.contains(&pod.uid)));
        }
        order.extend(rest);
        Ok(order)
    }

    /// The order in which pods are recorded.
    fn rank(&self, pod: &Pod) -> Option<Index> {
        pod.index.filter(|_| self.job.spec.is_indexed())
    }

    /// FT-10: returns true if newly completed indexes and recorded UIDs together fill the lists.
    fn fills_cap(&self, fresh: &IndexSet) -> bool {
        let lists = self.status.uncounted_succeeded().len() + self.status.uncounted_failed().len();
        let recorded = lists + usize::try_from(fresh.len()).unwrap_or(usize::MAX);
        recorded >= self.settings.constants.max_uncounted_pods
    }

    /// The tracked pods whose finalizers may be removed, ordered by rank.
    fn countable<'b>(&self) -> Vec<&'b Pod>
    where
        Self: 'b,
    {
        let read: &'b Read = self.read;
        let tracked =
            read.pods.iter().filter(|pod| self.tally.is_tracked(pod) && self.may_remove_finalizer(pod));
        let mut pods: Vec<&Pod> = tracked.collect();
        pods.sort_by_key(|pod| self.rank(pod));
        pods
    }

    /// FT-14: pods that have succeeded, pods that have failed and carry no count (BI-08), and every pod of a Job that ends.
    fn may_remove_finalizer(&self, pod: &Pod) -> bool {
        if self.job.deleting || self.termination.is_some() || pod.phase == Phase::Succeeded {
            return true;
        }
        self.tally.is_failure(pod) && !self.waits_for_replacement(pod)
    }

    fn record_pod(&mut self, pod: &Pod, fresh: &mut IndexSet) {
        let was_failed = self.job.status.uncounted_failed().contains(&pod.uid);
        if pod.phase == Phase::Succeeded && self.records_success(was_failed) {
            self.record_success(pod, fresh);
            return;
        }
        let job_fails = self.termination.as_ref().is_some_and(|termination| !termination.good);
        let counts = (self.tally.is_failure(pod) || job_fails) && self.tally.has_place(pod);
        let ignored = self.has_policy() && (pod.is_ignored() || self.ignores_early(pod));
        if counts && !was_failed && !self.stays_recorded_as_succeeded(pod) && !ignored {
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

    fn has_policy(&self) -> bool {
        self.job.spec.pod_failure_policy.is_some()
    }

    fn lists(&mut self) -> &mut Uncounted {
        self.status.uncounted.get_or_insert_default()
    }

    /// FT-12, PC-21, BI-04: the completed indexes are the successes of an Indexed Job.
    fn write_indexes(&mut self) {
        if !self.job.spec.is_indexed() {
            return;
        }
        self.status.succeeded = i32::try_from(self.successes_by_index()).unwrap_or(i32::MAX);
        self.status.completed_indexes = self.tally.completed.to_string().into();
        let failed = self.tally.failed_indexes.as_ref();
        self.status.failed_indexes = failed.map(|failed| Text::from(failed.to_string()));
    }

    /// TC-03, TC-14: the interim condition is stored before anything that follows from it.
    fn store_interim(&mut self) {
        let Some(termination) = self.termination.clone().filter(|termination| !termination.is_stored) else {
            return;
        };
        if !self.stores_interim(&termination) {
            return;
        }
        let now = self.read.now;
        if self.status.start_time.is_none() && self.sets_missing_start_time() {
            // S-04: the server refuses a finished Job without startTime.
            self.status.start_time = Some(now);
        }
        let appends = self.appends_interim();
        put(&mut self.status, condition(&termination.interim(), &termination, now), appends);
    }

    fn remove_finalizers(
        &self,
        removable: &[Uid],
        held: &mut BTreeSet<Uid>,
        io: &mut Io<'_>,
    ) -> Result<Answer, Stop> {
        if self.removes_one_by_one() {
            return self.remove_finalizers_in_turn(removable, held, io);
        }
        let last = self.last_removal(removable, io)?;
        let answers = io.all(removable, |uid, branch| {
            branch.note(Effect::ExpectFinalizerRemoval(*uid));
            let answer = branch.call(Call::RemoveFinalizer(*uid))?;
            if self.forgets_removal(answer) {
                branch.note(Effect::NoFinalizerRemoval(*uid));
            }
            Ok(answer)
        })?;
        let failed = answers.contains(&Answer::Error);
        for (uid, answer) in removable.iter().zip(&answers) {
            if self.counts_after(*answer) {
                held.remove(uid);
            }
        }
        let succeeded = |(uid, answer): (&Uid, &Answer)| Some(*uid) == last && *answer != Answer::Error;
        if removable.iter().zip(&answers).any(succeeded) {
            held.clear();
        }
        Ok(if failed { Answer::Error } else { Answer::Done })
    }

    /// TC-04, TC-05: the Job finishes once every recorded pod is counted, and no pod terminates.
    fn finish(&mut self) {
        let Some(termination) = self.termination.clone() else { return };
        let uncounted = self.status.uncounted_succeeded().len() + self.status.uncounted_failed().len();
        if uncounted > 0 || self.waits_for_terminating_pods() {
            return;
        }
        let now = self.read.now;
        if self.stores_interim_with_terminal() {
            put(&mut self.status, condition(&termination.interim(), &termination, now), false);
        }
        let terminal = termination.terminal();
        if self.replaces_terminal() {
            // TC-09: the terminal condition comes after the interim one, even if an actor had set it to False before.
            self.status.conditions.retain(|it| it.kind != terminal);
        }
        put(&mut self.status, condition(&terminal, &termination, now), true);
        if termination.good {
            self.status.completion_time = Some(now);
        }
    }

    /// SY-05: writes the status if it differs from the stored one.
    fn write_if_changed(&self, stored: &mut JobStatus, io: &mut Io<'_>) -> Result<(), Stop> {
        let compared = JobStatus { start_time: stored.start_time, ..self.status.clone() };
        if self.without_ignored_changes(compared, stored) == *stored {
            return Ok(());
        }
        match io.call(Call::WriteStatus(Box::new(self.status.clone())))? {
            Answer::Done => {
                *stored = self.status.clone();
                Ok(())
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

/// S-12: stores a condition in place of the one of its type. `appends` adds a second entry instead.
pub fn put(status: &mut JobStatus, condition: Condition, appends: bool) {
    let old = status.conditions.iter_mut().find(|it| it.kind == condition.kind).filter(|_| !appends);
    match old {
        Some(old) => *old = condition,
        None => status.conditions.push(condition),
    }
}
