//! No pod is counted twice, none is lost, and each is counted as what it was.

use super::Property;
use crate::history::{End, PodPast};
use crate::world::Life;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::uid::Uid;

/// FT-02: the first of the three that everybody names.
pub const COUNTED_ONCE: Property = Property {
    req: Req::FT02,
    name: "no pod is counted twice",
    broken: |life| {
        let twice = |past: &PodPast| past.counted_succeeded + past.counted_failed > 1;
        find(life, twice).map(|uid| format!("pod {} was counted twice", uid.0))
    },
    premise: |it| find(it.life, |past| past.counted_succeeded + past.counted_failed == 1).is_some(),
};

/// FT-13, S-07: what a pod was recorded as first is what it counts as.
pub const FIRST_RECORD_STANDS: Property = Property {
    req: Req::FT13,
    name: "a pod counts as what it was recorded as first",
    broken: |life| {
        let changed = |past: &PodPast| match past.listed {
            None => past.counted_succeeded + past.counted_failed > 0,
            Some(End::Success) => past.counted_failed > 0,
            Some(End::Failure) => past.counted_succeeded > 0,
        };
        find(life, changed)
            .map(|uid| format!("pod {} counts as something else than it was recorded as", uid.0))
    },
    premise: |it| {
        let turned = |past: &PodPast| match past.listed {
            Some(End::Failure) => past.end == Some(End::Success),
            Some(End::Success) => past.flipped,
            None => false,
        };
        find(it.life, turned).is_some()
    },
};

/// FT-03: a finished pod keeps its finalizer until the status tells of it.
pub const NO_POD_IS_LOST: Property = Property {
    req: Req::FT03,
    name: "a finished pod is stored in the status before it loses its finalizer",
    broken: |life| life.past.slips.lost.map(|uid| format!("pod {} is lost", uid.0)),
    premise: |it| it.life.pods.iter().any(|pod| pod.is_terminated() && pod.finalizer),
};

/// FT-14, FT-16: only surplus pods are given up while they run.
pub const WANTED_PODS_STAY_COUNTABLE: Property = Property {
    req: Req::FT14,
    name: "a pod that runs and is wanted keeps its finalizer",
    broken: |life| life.past.slips.dropped.map(|uid| format!("pod {} will not be counted", uid.0)),
    premise: |it| {
        let released = it.life.pods.iter().any(|pod| pod.is_active() && !pod.finalizer);
        released && it.life.past.decision.is_none() && it.life.pods.sums().active > 1
    },
};

/// FT-06: a success was one.
pub const RECORDED_SUCCESSES_ARE_REAL: Property = Property {
    req: Req::FT06,
    name: "a pod that is recorded as succeeded has succeeded",
    broken: |life| {
        let unreal = |past: &PodPast| past.listed == Some(End::Success) && past.end != Some(End::Success);
        find(life, unreal).map(|uid| format!("pod {} was recorded as succeeded and had not", uid.0))
    },
    premise: |it| find(it.life, |past| past.listed == Some(End::Success)).is_some(),
};

/// FT-18, RP-03: a failure was one. A Job that fails takes every pod that it still has for failed (FT-15), which
/// nothing stored tells of where ends are not announced (UG-07).
pub const RECORDED_FAILURES_ARE_REAL: Property = Property {
    req: Req::RP03,
    name: "a pod that is recorded as failed has failed, or was deleted where that suffices",
    broken: |life| {
        let decided = life.past.decision.as_ref();
        let job_fails = decided.map_or(!life.past.gates.delay_the_end(), |decision| !decision.good);
        let patient = life.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let patient = patient && !life.past.was_impatient;
        let unreal = |past: &PodPast| match past.end {
            Some(_) if past.has_failed() => false,
            Some(_) | None => patient || !past.deleted,
        };
        let found = find(life, |past| past.listed == Some(End::Failure) && unreal(past));
        found.filter(|_| !job_fails).map(|uid| format!("pod {} was recorded as failed and had not", uid.0))
    },
    premise: |it| {
        let terminating = it.life.pods.sums().terminating > 0;
        terminating && it.life.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed())
    },
};

/// PF-06: a rule's Ignore is obeyed, until the Job fails and takes every pod for failed (FT-15).
pub const IGNORED_FAILURES_DO_NOT_COUNT: Property = Property {
    req: Req::PF06,
    name: "an ignored failure is not counted",
    broken: |life| {
        if life.past.decision.as_ref().is_some_and(|decision| !decision.good) {
            return None;
        }
        let counted = |past: &PodPast| past.ignored && past.listed == Some(End::Failure);
        find(life, counted)
            .map(|uid| format!("pod {} was recorded although a rule ignores its failure", uid.0))
    },
    premise: |it| find(it.life, |past| past.ignored).is_some(),
};

/// FT-31, FT-02, BI-09: nothing but counting a pod changes a counter.
pub const COUNTERS_ARE_THE_COUNTED_PODS: Property = Property {
    req: Req::FT31,
    name: "the counters are the number of pods that were counted",
    broken: |life| {
        let job = life.job.as_ref()?;
        let sum = |count: fn(&PodPast) -> u8| life.past.pods.iter().map(|past| i32::from(count(past))).sum();
        let (succeeded, failed): (i32, i32) =
            (sum(|past| past.counted_succeeded), sum(|past| past.counted_failed));
        let wrong =
            job.status.failed != failed || (!job.spec.is_indexed() && job.status.succeeded != succeeded);
        wrong.then(|| {
            format!(
                "succeeded {} and failed {} where {succeeded} and {failed} pods were counted",
                job.status.succeeded, job.status.failed
            )
        })
    },
    premise: |it| it.life.job.as_ref().is_some_and(|job| job.status.failed > 0),
};

fn find(life: &Life, which: impl Fn(&PodPast) -> bool) -> Option<Uid> {
    life.past.numbered().find(|(_, past)| which(past)).map(|(uid, _)| uid)
}
