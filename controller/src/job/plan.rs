//! The decision for one Job: from facts to commands.

use std::collections::BTreeSet;
use std::time::Duration;

use super::accounting::{account, finalizer_removals, pod_ref};
use super::backoff;
use super::command::{Command, Decision, Event, Plan, Sequence, Step, When};
use super::conditions::finished;
use super::observed::{
    CompletionMode, Controller, JobFacts, Memory, Observed, PodFacts, REFUSAL_LASTS, Settings,
};
use super::per_index::Indexes;
use super::report::status_step;
use super::scale::{Scaling, Work, scale};
use super::status::{self, differ_in_pods_alone, holds_indexes};
use super::termination::{Interim, Termination, runs_already, tally, termination, time_left};
use super::view::View;
use crate::values::Uid;

/// The value of `spec.managedBy` that means the built-in controller (MB-01).
pub const RESERVED_MANAGER: &str = "kubernetes.io/job-controller";

/// What to do for a Job now.
///
/// Deterministic, and the same for every order of the pods. In the order of the KEPs: which pods are the Job's; what has
/// succeeded and failed; whether the Job is at its end, or is suspended, and its active pods go; what is recorded, released
/// and counted; what is created or deleted.
#[must_use]
pub fn plan(observed: &Observed) -> Plan {
    if let Some(skipped) = skipped(observed) {
        return skipped;
    }
    let memory = remembered(observed);
    if !observed.caches_show_own_writes || !memory.deleted.is_empty() || shows_what_went(observed, &memory) {
        return wait_for_caches(memory, observed.settings);
    }
    let view = View::new(*observed, &memory);
    let indexes = Indexes::of(&view);
    let tally = tally(&view, &indexes);
    let record = backoff::updated(&memory.backoff, &view);
    let termination = termination(&view, &indexes, tally);
    let work = Work { view: &view, indexes: &indexes, tally, record: &record };
    let mut scaling = scale(work, termination.as_ref());
    let scaled = std::mem::take(&mut scaling.sequences);
    let sequences = sequences(&view, &indexes, termination.as_ref(), &scaling, scaled);
    let memory = Memory { backoff: record, finalizer_removed: finalizer_removed(&view, &memory), ..memory };
    Plan {
        sequences,
        memory,
        wake_after: wake_after(&view, termination.as_ref(), &scaling),
        decisions: decisions(&view, termination.as_ref(), &scaling),
        events: Vec::new(),
        action: Some(scaling.action),
    }
}

/// Whose finalizer this process has removed; a pod that is adopted gets one again.
fn finalizer_removed(view: &View, memory: &Memory) -> BTreeSet<Uid> {
    let adopted = |uid: &&Uid| view.adopted.iter().any(|pod| pod.uid == **uid);
    memory.finalizer_removed.iter().filter(|uid| !adopted(uid)).cloned().collect()
}

/// A Job that is not ours, that has ended, or that nobody understands.
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

/// Whether this process manages a Job (MB-02, UG-14).
#[must_use]
pub fn is_ours(job: &JobFacts, settings: &Settings) -> bool {
    let named = job.spec.managed_by.as_deref().filter(|_| settings.gates.managed_by);
    match settings.managed_by.as_deref() {
        Some(ours) => named == Some(ours),
        None => named.is_none_or(|named| named == RESERVED_MANAGER),
    }
}

/// The memory of this very Job, less what the caches show by now.
fn remembered(observed: &Observed) -> Memory {
    let uid = Some(observed.job.uid.clone());
    if observed.memory.uid != uid {
        return Memory { uid, ..Memory::default() };
    }
    let memory = observed.memory;
    let among = |uids: &BTreeSet<Uid>, of: &dyn Fn(&&PodFacts) -> bool| -> BTreeSet<Uid> {
        if uids.is_empty() {
            return BTreeSet::new();
        }
        let pods = observed.pods.iter().filter(of).map(|it| &it.uid);
        pods.filter(|uid| uids.contains(*uid)).cloned().collect()
    };
    Memory {
        uid,
        backoff: memory.backoff.clone(),
        finalizer_removed: among(&memory.finalizer_removed, &|_| true),
        deleted: among(&memory.deleted, &|pod| pod.deletion.is_none()),
        refused: memory.refused.filter(|refused| observed.now < refused.plus(REFUSAL_LASTS)),
    }
}

/// Whether the cache still shows a pod that was being deleted when this process gave it up: it went with its finalizer, which
/// the cache would show of one that is still there. A Job that is being deleted would keep it (FT-26).
fn shows_what_went(observed: &Observed, memory: &Memory) -> bool {
    let went = |pod: &PodFacts| {
        let is_lost = pod.controller == Controller::ThisJob && !pod.selected;
        is_lost
            && pod.deletion.is_some()
            && pod.tracking_finalizer
            && memory.finalizer_removed.contains(&pod.uid)
    };
    observed.job.deletion.is_some() && !memory.finalizer_removed.is_empty() && observed.pods.iter().any(went)
}

fn wait_for_caches(memory: Memory, settings: &Settings) -> Plan {
    let why = "the caches do not show yet what this process has done";
    Plan {
        memory,
        wake_after: Some(settings.sync_batch_period),
        decisions: vec![Decision { requirement: "SY-03", why }],
        ..Plan::default()
    }
}

/// What is done, in its order; `scaled` is what is done about the number of pods.
fn sequences(
    view: &View,
    indexes: &Indexes,
    termination: Option<&Termination>,
    scaling: &Scaling,
    scaled: Vec<Vec<Step>>,
) -> Vec<Sequence> {
    let released = view.released.iter().map(|it| pod_ref(it)).collect();
    let adopted = view.adopted.iter().map(|it| pod_ref(it)).collect();
    let claims = [batch(released, Command::ReleasePods), batch(adopted, Command::AdoptPods)];
    let mut all: Vec<Sequence> = claims.into_iter().map(Sequence::always).collect();
    let decided = termination.filter(|termination| !termination.by_stopping);
    let scaled = |when| scaled.into_iter().map(move |steps| Sequence { when, steps });
    if scaling.stops {
        all.extend(scaled(When::Stop));
        // TC-08: no end is announced, and nothing is let go for one. One that is stored stays (SU-05).
        let stored = termination.filter(|termination| matches!(termination.interim, Interim::Stored(_)));
        let told = writes(view, indexes, [termination, decided], scaling, true);
        all.push(Sequence { when: When::Stopped, steps: told });
        all.push(Sequence {
            when: When::NotStopped,
            steps: writes(view, indexes, [stored, None], scaling, false),
        });
    } else {
        all.push(Sequence::always(writes(view, indexes, [termination, decided], scaling, false)));
        all.extend(scaled(When::Always));
    }
    all.retain(|sequence| !sequence.steps.is_empty());
    all
}

/// Record, release, count: the three steps of KEP-2307 in their order. Where the Job `stops`, each active pod has been
/// deleted before.
///
/// The status tells of the first fate, and pods are let go for the second.
fn writes(
    view: &View,
    indexes: &Indexes,
    [termination, decided]: [Option<&Termination>; 2],
    scaling: &Scaling,
    stops: bool,
) -> Vec<Step> {
    let stored = &view.job().status;
    let accounting = &account(view, indexes, decided, holds_indexes(view, indexes));
    let recorded = status::first(view, indexes, termination, accounting, stops);
    // While more pods are created or deleted at once than one plan may, their number is not news: it is written when
    // the last of them is there. This keeps the status writes of a large Job few (SC-04).
    let first = if scaling.capped && differ_in_pods_alone(stored, &recorded) { stored } else { &recorded };
    let counted = status::second(view, termination, accounting, first, stops);
    let finalizer_removed = finalizer_removals(view, &accounting.finalizer_removals);
    let remove_finalizer =
        (!finalizer_removed.is_empty()).then(|| Step::from(Command::RemoveFinalizers(finalizer_removed)));
    [status_step(view, stored, first), remove_finalizer, status_step(view, first, &counted)]
        .into_iter()
        .flatten()
        .collect()
}

fn batch<T>(of: Vec<T>, command: impl FnOnce(Vec<T>) -> Command) -> Vec<Step> {
    if of.is_empty() { Vec::new() } else { vec![Step::from(command(of))] }
}

/// The next instant at which time alone changes the decision (BO-02, SU-10).
fn wake_after(view: &View, termination: Option<&Termination>, scaling: &Scaling) -> Option<Duration> {
    // No status says that a Job which is being deleted begins or is resumed: its time would begin anew with each sync.
    let counts = view.job().deletion.is_none() || runs_already(view);
    let deadline = time_left(view).filter(|_| termination.is_none() && counts);
    let more = scaling.capped.then_some(view.observed.settings.sync_batch_period);
    [deadline, scaling.wait, more].into_iter().flatten().min()
}

fn decisions(view: &View, termination: Option<&Termination>, scaling: &Scaling) -> Vec<Decision> {
    let end = termination.map(|termination| match termination.succeeds {
        true => Decision { requirement: "TC-01", why: "the Job will be Complete" },
        false => Decision { requirement: "TC-01", why: "the Job will be Failed" },
    });
    let deleting = view.job().deletion.is_some();
    let deleting = deleting.then_some(Decision { requirement: "FT-19", why: "the Job is being deleted" });
    [deleting, end, scaling.decision].into_iter().flatten().collect()
}
