//! The number of pods of a Job: how many are active, how many should be, and what is created or deleted (family PC).

use std::time::Duration;

use super::accounting::{finalizer_removals, pod_ref};
use super::command::{Command, Decision, Sequence, Step, SyncAction};
use super::creation;
use super::deletion::surplus;
use super::memory::BackoffRecord;
use super::per_index::Indexes;
use super::termination::{Tally, Termination};
use super::view::{Pod, View, waits_for_termination};

/// The deletions or creations of one plan. A plan has only one kind of them (PC-07).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// The deletion of all active pods, because the Job ends or is suspended. It comes before the status that reports
    /// the end or the suspension.
    pub stop: Vec<Sequence>,
    /// The creation of missing pods, or the deletion of surplus pods.
    pub sequences: Vec<Sequence>,
    /// The `action` label of the sync metrics (MX-11).
    pub action: SyncAction,
    /// The time after which more can be done, if any.
    pub wait: Option<Duration>,
    /// True if there is more to do than one plan may (PC-10).
    pub capped: bool,
    /// The reason, for logs.
    pub decision: Option<Decision>,
}

impl Scaling {
    fn new(action: SyncAction) -> Self {
        Scaling { stop: Vec::new(), sequences: Vec::new(), action, wait: None, capped: false, decision: None }
    }

    fn because(self, requirement: &'static str, why: &'static str) -> Self {
        Scaling { decision: Some(Decision { requirement, why }), ..self }
    }
}

/// The inputs of a decision about the number of pods.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w, 'a> {
    /// The Job and its pods.
    pub view: &'w View<'a>,
    /// The indexes of the Job.
    pub indexes: &'w Indexes<'a>,
    /// The numbers of successes and failures.
    pub tally: Tally,
    /// The failures from which the delay of the whole Job is computed.
    pub record: &'w BackoffRecord,
}

/// Decides which pods to create or to delete.
#[must_use]
pub fn scale(work: Work, termination: Option<&Termination>) -> Scaling {
    let spec = &work.view.job().spec;
    if termination.is_some() {
        end(work.view)
    } else if work.view.job().deletion.is_some() {
        // FT-19: the garbage collector deletes the pods.
        Scaling::new(SyncAction::Reconciling)
    } else if spec.suspend {
        let stop = deletions(work.view, surplus(work.view, work.view.active_count()));
        let scaling = Scaling { stop, ..Scaling::new(SyncAction::PodsDeleted) };
        scaling.because("SU-01", "the Job is suspended: all active pods are deleted")
    } else {
        towards(work, wanted(work))
    }
}

/// TC-07, FT-17: a Job that ends deletes its active pods before it removes their finalizers.
fn end(view: &View) -> Scaling {
    let scaling = Scaling::new(SyncAction::Reconciling);
    let active: Vec<Pod> = view.active().copied().collect();
    if active.is_empty() {
        return scaling;
    }
    let scaling = Scaling { stop: vec![vec![delete(&active)]], ..scaling };
    scaling.because("TC-07", "the termination is decided: all active pods are deleted")
}

/// The number of pods that should be active (PC-04, PC-05).
fn wanted(work: Work) -> usize {
    let spec = &work.view.job().spec;
    let parallelism = usize::try_from(spec.parallelism).unwrap_or(0);
    match spec.completions {
        // After its first success a work queue neither starts nor stops pods.
        None if work.tally.succeeded > 0 => work.view.active_count(),
        None => parallelism,
        Some(completions) => {
            let left = i64::from(completions) - work.tally.succeeded;
            usize::try_from(left).unwrap_or(0).min(parallelism)
        }
    }
}

fn towards(work: Work, wanted: usize) -> Scaling {
    let cap = work.view.observed.settings.max_pod_create_delete_per_sync;
    let active = work.view.active_count();
    let surplus_pods = surplus(work.view, active.saturating_sub(wanted));
    if !surplus_pods.is_empty() {
        return remove(work.view, surplus_pods, cap).because("PC-06", "more pods are active than are wanted");
    }
    // RP-03, RP-05: a terminating pod holds its slot if a replacement waits for termination.
    let held = if waits_for_termination(&work.view.observed) { work.view.terminating_count() } else { 0 };
    match wanted.saturating_sub(active + held) {
        0 => Scaling::new(SyncAction::Tracking),
        missing => create(work, missing, cap),
    }
}

fn create(work: Work, missing: usize, cap: usize) -> Scaling {
    if work.view.namespace_terminating {
        // No later sync is needed: the namespace controller deletes the Job.
        let scaling = Scaling::new(SyncAction::Tracking);
        return scaling.because("PC-12", "pods are missing, but the namespace is terminating");
    }
    let found = creation::missing(work.view, work.indexes, work.record, missing.min(cap));
    let mut scaling = Scaling::new(SyncAction::PodsCreated);
    scaling.wait = found.wait;
    if found.create.is_empty() {
        return scaling.because("BO-02", "pods are missing, but the delay after a failure has not passed");
    }
    scaling.capped = missing > cap;
    let creation = creation::creation(work.view, work.tally, found.create);
    scaling.sequences.push(vec![Step::from(Command::CreatePods(creation))]);
    scaling.because("PC-08", "fewer pods are active than are wanted")
}

/// Deletes at most `cap` of these surplus pods.
fn remove(view: &View, mut surplus_pods: Vec<Pod>, cap: usize) -> Scaling {
    let capped = surplus_pods.len() > cap;
    surplus_pods.truncate(cap);
    Scaling { sequences: deletions(view, surplus_pods), capped, ..Scaling::new(SyncAction::PodsDeleted) }
}

/// FT-16: surplus pods lose the finalizer, uncounted, and are deleted then.
///
/// Pods without a finalizer are deleted first, so that none of them waits for a failed finalizer removal (EN-06).
fn deletions(view: &View, surplus_pods: Vec<Pod>) -> Vec<Sequence> {
    let (tracked, untracked): (Vec<Pod>, Vec<Pod>) =
        surplus_pods.into_iter().partition(|it| it.has_finalizer);
    let mut sequences = Vec::new();
    if !untracked.is_empty() {
        sequences.push(vec![delete(&untracked)]);
    }
    if !tracked.is_empty() {
        let remove_finalizers = Step::from(Command::RemoveFinalizers(finalizer_removals(view, &tracked)));
        sequences.push(vec![remove_finalizers, delete(&tracked)]);
    }
    sequences
}

fn delete(pods: &[Pod]) -> Step {
    Step::from(Command::DeletePods(pods.iter().map(|it| pod_ref(it.facts)).collect()))
}
