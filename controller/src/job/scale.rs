//! How many pods are at work, and how many should be: what is created, and what is deleted (family PC).

use std::time::Duration;

use super::accounting::{finalizer_removals, pod_ref};
use super::command::{Command, Decision, Step, SyncAction};
use super::creation;
use super::deletion::surplus;
use super::observed::BackoffRecord;
use super::per_index::Indexes;
use super::termination::{Tally, Termination};
use super::view::{Pod, View, waits_for_end};

/// What is done about the pods of a Job. Either pods are deleted or pods are created (PC-07).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Whether all active pods go, as the Job ends or is suspended. That comes before the status is written, which says so.
    pub stops: bool,
    /// What is done, each by itself.
    pub sequences: Vec<Vec<Step>>,
    /// What the sync metrics call it (MX-11).
    pub action: SyncAction,
    /// When more can be done, if that is later.
    pub wait: Option<Duration>,
    /// Whether there is more to do than one plan may (PC-10).
    pub capped: bool,
    /// Why.
    pub decision: Option<Decision>,
}

impl Scaling {
    fn new(action: SyncAction) -> Self {
        Scaling { stops: false, sequences: Vec::new(), action, wait: None, capped: false, decision: None }
    }

    fn because(self, requirement: &'static str, why: &'static str) -> Self {
        Scaling { decision: Some(Decision { requirement, why }), ..self }
    }
}

/// What a decision about pods depends on.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w, 'a> {
    /// The Job and its pods.
    pub view: &'w View<'a>,
    /// Its indexes.
    pub indexes: &'w Indexes<'a>,
    /// What has succeeded and failed.
    pub tally: Tally,
    /// From which the delay comes.
    pub record: &'w BackoffRecord,
}

/// What to do about the pods of a Job.
#[must_use]
pub fn scale(work: Work, termination: Option<&Termination>) -> Scaling {
    let spec = &work.view.job().spec;
    if termination.is_some_and(|termination| !termination.by_stopping) {
        end(work.view)
    } else if work.view.job().deletion.is_some() {
        // FT-19: the garbage collector deletes the pods.
        Scaling::new(SyncAction::Reconciling)
    } else if spec.suspend {
        let mut scaling = remove(work.view, surplus(work.view, work.view.active_count()), usize::MAX);
        scaling.stops = !scaling.sequences.is_empty();
        scaling.because("SU-01", "suspended: all active pods go")
    } else {
        towards(work, wanted(work))
    }
}

/// TC-07, FT-17: a Job at its end deletes its active pods; they are let go after that.
fn end(view: &View) -> Scaling {
    let mut scaling = Scaling::new(SyncAction::Reconciling);
    let active: Vec<Pod> = view.active().copied().collect();
    if active.is_empty() {
        return scaling;
    }
    scaling.stops = true;
    scaling.sequences.push(vec![delete(&active)]);
    scaling.because("TC-07", "the end is decided: active pods go")
}

/// How many pods should be active (PC-04, PC-05).
fn wanted(work: Work) -> usize {
    let spec = &work.view.job().spec;
    let parallelism = usize::try_from(spec.parallelism).unwrap_or(0);
    match spec.completions {
        // A work queue that has had a success starts nothing and stops nothing.
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
    let going = surplus(work.view, active.saturating_sub(wanted));
    if !going.is_empty() {
        return remove(work.view, going, cap).because("PC-06", "more pods are active than are wanted");
    }
    // RP-03, RP-05: where an end is waited for, all pods that terminate hold their slot.
    let held = if waits_for_end(&work.view.observed) { work.view.terminating_count() } else { 0 };
    match wanted.saturating_sub(active + held) {
        0 => Scaling::new(SyncAction::Tracking),
        missing => create(work, missing, cap),
    }
}

fn create(work: Work, missing: usize, cap: usize) -> Scaling {
    if work.view.namespace_goes {
        // Nothing wakes the Job for it: the namespace controller deletes it.
        let scaling = Scaling::new(SyncAction::Tracking);
        return scaling.because("PC-12", "pods are missing, and the namespace is being deleted");
    }
    let found = creation::missing(work.view, work.indexes, work.record, missing.min(cap));
    let mut scaling = Scaling::new(SyncAction::PodsCreated);
    scaling.wait = found.wait;
    if found.create.is_empty() {
        return scaling.because("BO-02", "pods are missing, and the delay after a failure is not over");
    }
    scaling.capped = missing > cap;
    let creation = creation::creation(work.view, work.tally, found.create);
    scaling.sequences.push(vec![Step::from(Command::CreatePods(creation))]);
    scaling.because("PC-08", "fewer pods are active than are wanted")
}

/// FT-16: these pods are let go first and deleted then; they are counted nowhere. Those that are free already do not wait
/// for one that cannot be let go (EN-06).
fn remove(view: &View, mut going: Vec<Pod>, cap: usize) -> Scaling {
    let mut scaling = Scaling::new(SyncAction::PodsDeleted);
    scaling.capped = going.len() > cap;
    going.truncate(cap);
    let (held, free): (Vec<Pod>, Vec<Pod>) = going.into_iter().partition(|it| it.holds);
    if !free.is_empty() {
        scaling.sequences.push(vec![delete(&free)]);
    }
    if !held.is_empty() {
        let remove_finalizer = Step::from(Command::RemoveFinalizers(finalizer_removals(view, &held)));
        scaling.sequences.push(vec![remove_finalizer, delete(&held)]);
    }
    scaling
}

fn delete(pods: &[Pod]) -> Step {
    Step::from(Command::DeletePods(pods.iter().map(|it| pod_ref(it.facts)).collect()))
}
