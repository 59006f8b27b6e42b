//! Which pods there are at a time.

use super::Property;
use crate::history::{End, PodPast};
use crate::world::Life;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::uid::Uid;

/// TC-07.
pub const NO_POD_AFTER_THE_DECISION: Property = Property {
    req: Req::TC07,
    name: "no pod is created after the interim condition",
    broken: |life| {
        life.past
            .slips
            .creation_after_decision
            .map(|uid| format!("pod {} was created after the decision", uid.0))
    },
    premise: |it| {
        let life = it.life;
        let room = |parallelism: u32| life.pods.sums().active < parallelism;
        life.past.decision.is_some()
            && life.job.as_ref().is_some_and(|job| room(job.spec.parallelism_count()))
    },
};

/// PC-04, PC-05, PC-08: never more active pods than the largest `parallelism` so far.
pub const ACTIVE_WITHIN_PARALLELISM: Property = Property {
    req: Req::PC08,
    name: "no more pods are active than parallelism",
    broken: |life| {
        let active = count(life, Pod::is_active);
        (active > i64::from(life.past.widest)).then(|| format!("{active} pods are active"))
    },
    premise: |it| i64::from(it.life.pods.sums().active) == i64::from(it.life.past.widest),
};

/// PC-04: what runs and what has succeeded together are no more than `completions`.
pub const NO_MORE_PODS_THAN_NEEDED: Property = Property {
    req: Req::PC04,
    name: "no more pods are active than successes are missing",
    broken: |life| {
        // Of an Indexed Job that was scaled: those of the indexes that were always there.
        let wanted = i64::from(life.past.fewest?);
        let used = count(life, |pod| pod.is_active() && life.past.was_always_there(pod.index));
        let used = used + counted_successes(life);
        (used > wanted).then(|| format!("{used} pods are active or have succeeded, {wanted} are wanted"))
    },
    premise: |it| counted_successes(it.life) > 0 && it.life.pods.sums().active > 0,
};

/// Pods of a class, those apart that no living process knew would be created (FT-28, SY-10).
fn count(life: &Life, class: impl Fn(&Pod) -> bool) -> i64 {
    i64::try_from(asked(life, class).count()).unwrap_or(i64::MAX)
}

/// An index that two such pods have.
fn shared_index(life: &Life, class: impl Fn(&Pod) -> bool) -> Option<Index> {
    let mut used = IndexSet::new();
    let mut indexes = asked(life, class).filter_map(|pod| pod.index);
    indexes.find(|index| {
        let shared = used.contains(*index);
        used.insert(*index);
        shared
    })
}

fn asked<'a>(life: &'a Life, class: impl Fn(&Pod) -> bool + 'a) -> impl Iterator<Item = &'a Pod> {
    let unasked = |pod: &Pod| life.past.pod(pod.uid).is_some_and(|past| past.unasked);
    life.pods.iter().filter(move |pod| pod.controlled && life.past.owns(pod) && class(pod) && !unasked(pod))
}

/// Pods that succeeded, were not deleted, and are counted or will be.
fn counted_successes(life: &Life) -> i64 {
    let Some(job) = &life.job else { return 0 };
    let completed = job.status.completed(None);
    let clean = |(uid, past): &(Uid, &PodPast)| {
        let kept = life.pods.get(*uid).is_some_and(|pod| pod.finalizer);
        let completes = past.index.is_some_and(|index| completed.contains(index));
        let stored = past.listed.is_some() || completes;
        // A success that was taken back counts only if it was recorded before.
        let stands = !past.flipped || past.listed == Some(End::Success) || completes;
        past.end == Some(End::Success)
            && life.past.was_always_there(past.index)
            && !past.deleted
            && !past.released
            && !past.unasked
            && (kept || stored)
            && stands
    };
    let successes = life.past.numbered().filter(clean);
    if job.spec.is_indexed() {
        // Two successes of one index are one (PC-21).
        return i64::from(successes.filter_map(|(_, past)| past.index).collect::<IndexSet>().len());
    }
    i64::try_from(successes.count()).unwrap_or(i64::MAX)
}

/// RP-03, RP-11, US-05: where only failed pods are replaced, terminating ones hold their slots.
pub const REPLACEMENT_WAITS: Property = Property {
    req: Req::RP11,
    name: "active and terminating pods stay within parallelism where only failed pods are replaced",
    broken: |life| {
        let patient = life.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let held = count(life, |pod| !pod.is_terminated());
        let widest = life.past.widest;
        (patient && !life.past.was_impatient && held > i64::from(widest))
            .then(|| format!("{held} pods are active or terminating, parallelism is {widest}"))
    },
    premise: |it| {
        let patient = it.life.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed());
        patient && it.life.past.decision.is_none() && it.life.pods.sums().terminating > 0
    },
};

/// PC-06, PC-18: an index is run once at a time.
pub const ONE_ACTIVE_POD_FOR_EACH_INDEX: Property = Property {
    req: Req::PC18,
    name: "no index has two active pods",
    broken: |life| {
        let index = shared_index(life, Pod::is_active)?;
        Some(format!("index {index} has two active pods"))
    },
    premise: |it| it.life.pods.indexes_in_use().count() > 1,
};

/// RP-12, US-04: where only failed pods are replaced, an index has one pod that has not ended.
pub const INDEX_IS_FREE_BEFORE_IT_IS_REUSED: Property = Property {
    req: Req::RP12,
    name: "no index has two pods that have not ended where only failed pods are replaced",
    broken: |life| {
        let patient = life.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let index = shared_index(life, |pod| !pod.is_terminated())?;
        (patient && !life.past.was_impatient)
            .then(|| format!("index {index} has two pods that have not ended"))
    },
    premise: |it| {
        let patient = it.life.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed());
        let waits = it.life.pods.indexes_in_use().any(|(_, used)| used.terminating > 0);
        patient && waits && it.life.past.decision.is_none()
    },
};

/// SU-01.
pub const NO_POD_WHILE_SUSPENDED: Property = Property {
    req: Req::SU01,
    name: "no pod is created while the Job is suspended",
    broken: |life| {
        life.past
            .slips
            .creation_while_suspended
            .map(|uid| format!("pod {} was created while suspended", uid.0))
    },
    premise: |it| {
        it.life.job.as_ref().is_some_and(|job| job.spec.is_suspended()) && it.life.pods.sums().active == 0
    },
};

/// BO-01.
pub const DELAY_AFTER_A_FAILURE: Property = Property {
    req: Req::BO01,
    name: "no pod is created within the first delay after a failure",
    broken: |life| {
        life.past.slips.hasty_creation.map(|uid| format!("pod {} came too soon after a failure", uid.0))
    },
    premise: |it| {
        let failed = it.life.pods.iter().any(|pod| pod.phase == Phase::Failed);
        failed && it.scope.constants.pod_failure_backoff_ms > 0 && it.life.past.decision.is_none()
    },
};
