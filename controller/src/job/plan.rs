//! The decision for one Job: from facts to a plan.

use std::time::Duration;

use super::accounting::{account, finalizer_removals, pod_ref};
use super::command::{Command, Decision, Event, Plan, Sequence, Step, Stop};
use super::conditions::finished;
use super::memory::Memory;
use super::observed::{CompletionMode, Controller, JobFacts, Observed, PodFacts, Settings};
use super::per_index::Indexes;
use super::report::status_step;
use super::scale::{Scaling, Work, scale};
use super::status::{NewStatus, accepts_indexes, differ_in_pods_alone};
use super::termination::{
    Interim, Tally, Termination, completed_once_stopped, runs_already, tally, termination, time_left,
};
use super::view::{PodCounts, View};

/// The value of `spec.managedBy` that names the built-in controller (MB-01).
pub const RESERVED_MANAGER: &str = "kubernetes.io/job-controller";

/// Decides what to do for a Job now.
///
/// The function is deterministic, and its result does not depend on the order of the pods. It decides in the order of
/// the KEPs:
///
/// 1. the pods of the Job: which are adopted, and which are released
/// 2. the successes and failures
/// 3. the termination of the Job, and the deletion of active pods for it
/// 4. the accounting: which pods are recorded, lose the finalizer, and are counted
/// 5. the creation or deletion of pods
#[must_use]
pub fn plan(observed: &Observed) -> Plan {
    if let Some(skipped) = skipped(observed) {
        return skipped;
    }
    let memory = Memory::current(observed);
    if !observed.caches_show_own_writes || !memory.deleted.is_empty() || shows_released_pod(observed, &memory)
    {
        return wait_for_caches(memory, observed.settings);
    }
    let view = View::new(*observed, &memory);
    let indexes = Indexes::of(&view);
    let tally = tally(&view, &indexes);
    let memory = memory.after(&view);
    let termination = termination(&view, &indexes, tally);
    let work = Work { view: &view, indexes: &indexes, tally, record: &memory.backoff };
    let scaling = scale(work, termination.as_ref());
    let accounts = Accounts::new(&view, &indexes, tally, termination, scaling.capped);
    let stops = !scaling.stop.is_empty();
    Plan {
        wake_after: wake_after(&view, &accounts, &scaling),
        decisions: decisions(&view, &accounts, &scaling),
        claims: claims(&view),
        stop: stops.then(|| accounts.stop(scaling.stop)),
        account: if stops { Vec::new() } else { accounts.now() },
        scale: scaling.sequences,
        memory,
        events: Vec::new(),
        action: Some(scaling.action),
    }
}

/// The plan for a Job that this process does not manage, that has finished, or that it cannot interpret.
fn skipped(observed: &Observed) -> Option<Plan> {
    let job = observed.job;
    let nothing =
        |requirement, why| Plan { decisions: vec![Decision { requirement, why }], ..Plan::default() };
    if !is_ours(job, observed.settings) {
        return Some(nothing("MB-03", "another controller manages the Job"));
    }
    if finished(&job.status.conditions) {
        return Some(nothing("TC-11", "the Job has finished"));
    }
    match (job.spec.completion_mode, job.spec.completions) {
        (CompletionMode::Unknown, _) => {
            let event = Event::warning(
                "UnknownCompletionMode",
                "Skipped Job sync because completion mode is unknown",
            );
            Some(Plan { events: vec![event], ..nothing("PC-28", "the completion mode is unknown") })
        }
        (CompletionMode::Indexed, None) => Some(nothing("SP-03", "an Indexed Job has no completions")),
        (CompletionMode::Indexed, Some(_)) | (CompletionMode::NonIndexed, _) => None,
    }
}

/// Returns true if this process manages the Job (MB-02, UG-14).
#[must_use]
pub fn is_ours(job: &JobFacts, settings: &Settings) -> bool {
    let named = job.spec.managed_by.as_deref().filter(|_| settings.gates.managed_by);
    match settings.managed_by.as_deref() {
        Some(ours) => named == Some(ours),
        None => named.is_none_or(|named| named == RESERVED_MANAGER),
    }
}

/// Returns true if the cache of a Job that is being deleted shows a terminating pod which this process has released.
///
/// Such a pod was deleted together with its finalizer, or the cache would show it without. A Job that is being deleted
/// would claim it as its own (FT-26).
fn shows_released_pod(observed: &Observed, memory: &Memory) -> bool {
    let was_released = |pod: &PodFacts| {
        let is_lost = pod.controller == Controller::ThisJob && !pod.selected;
        is_lost
            && pod.deletion.is_some()
            && pod.tracking_finalizer
            && memory.finalizer_removed.contains(&pod.uid)
    };
    observed.job.deletion.is_some()
        && !memory.finalizer_removed.is_empty()
        && observed.pods.iter().any(was_released)
}

fn wait_for_caches(memory: Memory, settings: &Settings) -> Plan {
    let why = "the caches do not show the writes of this process yet";
    Plan {
        memory,
        wake_after: Some(settings.sync_batch_period),
        decisions: vec![Decision { requirement: "SY-03", why }],
        ..Plan::default()
    }
}

fn claims(view: &View) -> Vec<Sequence> {
    let released: Vec<_> = view.released.iter().map(|it| pod_ref(it)).collect();
    let adopted: Vec<_> = view.adopted.iter().map(|it| pod_ref(it)).collect();
    let release = (!released.is_empty()).then(|| vec![Step::from(Command::ReleasePods(released))]);
    let adopt = (!adopted.is_empty()).then(|| vec![Step::from(Command::AdoptPods(adopted))]);
    release.into_iter().chain(adopt).collect()
}

/// The accounting of a Job: record, remove finalizers, count (KEP-2307).
struct Accounts<'p, 'a> {
    view: &'p View<'a>,
    indexes: &'p Indexes<'a>,
    /// The termination that applies now. Pods lose their finalizer for it.
    termination: Option<Termination>,
    /// The termination that applies after all active pods have been deleted.
    once_stopped: Option<Termination>,
    /// True if this plan creates or deletes fewer pods than are missing or surplus.
    capped: bool,
}

impl<'p, 'a> Accounts<'p, 'a> {
    fn new(
        view: &'p View<'a>,
        indexes: &'p Indexes<'a>,
        tally: Tally,
        termination: Option<Termination>,
        capped: bool,
    ) -> Self {
        let once_stopped = termination.clone().or_else(|| completed_once_stopped(view, tally));
        Accounts { view, indexes, termination, once_stopped, capped }
    }

    /// The accounting if no pods are to be deleted before it.
    fn now(&self) -> Vec<Sequence> {
        let termination = self.termination.as_ref();
        self.sequences(termination, termination, self.view.pod_counts())
    }

    /// The stop of the Job by these deletions.
    fn stop(&self, deletions: Vec<Sequence>) -> Stop {
        Stop { deletions, if_all: self.after_stop(), if_none: self.without_stop() }
    }

    /// The accounting after all active pods have been deleted.
    fn after_stop(&self) -> Vec<Sequence> {
        let pods = self.view.pod_counts_after_stop();
        self.sequences(self.once_stopped.as_ref(), self.termination.as_ref(), pods)
    }

    /// The accounting if no active pod could be deleted. The status reports no new termination, and no pod loses its
    /// finalizer for one (TC-08); a stored interim condition stays (SU-05).
    fn without_stop(&self) -> Vec<Sequence> {
        let is_stored = |it: &&Termination| matches!(it.interim, Interim::Stored(_));
        self.sequences(self.termination.as_ref().filter(is_stored), None, self.view.pod_counts())
    }

    /// The steps for a status that reports the first termination and finalizers that are removed for the second one.
    fn sequences(
        &self,
        reported: Option<&Termination>,
        enforced: Option<&Termination>,
        pods: PodCounts,
    ) -> Vec<Sequence> {
        let (view, indexes) = (self.view, self.indexes);
        let stored = &view.job().status;
        let accounting = &account(view, indexes, enforced, accepts_indexes(view, indexes));
        let status = NewStatus { view, indexes, accounting, termination: reported, pods };
        let recorded = status.before_removals();
        // SC-04: while the cap of one plan limits creations or deletions, the numbers of pods alone are not worth a write.
        // The plan without such a limit writes them.
        let first = if self.capped && differ_in_pods_alone(stored, &recorded) { stored } else { &recorded };
        let counted = status.after_removals(first);
        let removals = finalizer_removals(view, &accounting.finalizer_removals);
        let remove = (!removals.is_empty()).then(|| Step::from(Command::RemoveFinalizers(removals)));
        let record = status_step(view, stored, first);
        let count = status_step(view, first, &counted);
        let steps: Sequence = [record, remove, count].into_iter().flatten().collect();
        if steps.is_empty() { Vec::new() } else { vec![steps] }
    }
}

/// The time until the decision changes without any event (BO-02, SU-10).
fn wake_after(view: &View, accounts: &Accounts, scaling: &Scaling) -> Option<Duration> {
    // While a Job is being deleted, no status stores its start or its resumption, so its time would start again with
    // each sync.
    let counts = view.job().deletion.is_none() || runs_already(view);
    let deadline = time_left(view).filter(|_| accounts.once_stopped.is_none() && counts);
    let more = scaling.capped.then_some(view.observed.settings.sync_batch_period);
    [deadline, scaling.wait, more].into_iter().flatten().min()
}

fn decisions(view: &View, accounts: &Accounts, scaling: &Scaling) -> Vec<Decision> {
    let end = accounts.once_stopped.as_ref().map(|termination| match termination.succeeds {
        true => Decision { requirement: "TC-01", why: "the Job will be Complete" },
        false => Decision { requirement: "TC-01", why: "the Job will be Failed" },
    });
    let deleting = view.job().deletion.is_some();
    let deleting = deleting.then_some(Decision { requirement: "FT-19", why: "the Job is being deleted" });
    [deleting, end, scaling.decision].into_iter().flatten().collect()
}
