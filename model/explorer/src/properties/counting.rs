//! Counting: no pod counts twice, none is lost, and each counts as what it was.

use super::Property;
use crate::ghost::{End, PodHistory};
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::uid::Uid;

/// FT-02: the history counts each pod at most once.
pub const COUNTED_ONCE: Property = Property {
    req: Req::FT02,
    name: "no pod is counted twice",
    needs_processes: false,
    broken: |job_state| {
        let twice = |ghost: &PodHistory| ghost.counted_succeeded + ghost.counted_failed > 1;
        find(job_state, twice).map(|uid| format!("pod {} was counted twice", uid.0))
    },
    premise: |it| find(it.job_state, |ghost| ghost.counted_succeeded + ghost.counted_failed == 1).is_some(),
};

/// FT-13, S-07: the first list that contains the UID of a pod is the list in which the pod counts.
pub const FIRST_RECORD_STANDS: Property = Property {
    req: Req::FT13,
    name: "a pod is counted in the list in which it was recorded first",
    needs_processes: false,
    broken: |job_state| {
        let changed = |ghost: &PodHistory| match ghost.recorded {
            None => ghost.counted_succeeded + ghost.counted_failed > 0,
            Some(End::Success) => ghost.counted_failed > 0,
            Some(End::Failure) => ghost.counted_succeeded > 0,
        };
        find(job_state, changed)
            .map(|uid| format!("pod {} was recorded in one list and counted in the other", uid.0))
    },
    premise: |it| {
        let turned = |ghost: &PodHistory| match ghost.recorded {
            Some(End::Failure) => ghost.end == Some(End::Success),
            Some(End::Success) => ghost.flipped,
            None => false,
        };
        find(it.job_state, turned).is_some()
    },
};

/// FT-03: a terminated pod keeps its finalizer until the status includes it.
pub const NO_POD_IS_LOST: Property = Property {
    req: Req::FT03,
    name: "a terminated pod is in the status before it loses its finalizer",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .lost
            .map(|uid| format!("pod {} lost its finalizer before the status included it", uid.0))
    },
    premise: |it| it.job_state.pods.iter().any(|pod| pod.is_terminated() && pod.finalizer),
};

/// FT-14, FT-16: an active pod loses its finalizer only if the Job can do without it.
pub const WANTED_PODS_STAY_COUNTABLE: Property = Property {
    req: Req::FT14,
    name: "an active pod that the Job needs keeps its finalizer",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .uncountable
            .map(|uid| format!("pod {} lost its finalizer and will not be counted", uid.0))
    },
    premise: |it| {
        let finalizer_removed = it.job_state.pods.iter().any(|pod| pod.is_active() && !pod.finalizer);
        finalizer_removed && it.job_state.ghost.decision.is_none() && it.job_state.pods.sums().active > 1
    },
};

/// FT-06: the list of succeeded pods contains only pods that have succeeded.
pub const RECORDED_SUCCESSES_ARE_REAL: Property = Property {
    req: Req::FT06,
    name: "a pod that is recorded as succeeded has succeeded",
    needs_processes: false,
    broken: |job_state| {
        let unreal =
            |ghost: &PodHistory| ghost.recorded == Some(End::Success) && ghost.end != Some(End::Success);
        find(job_state, unreal)
            .map(|uid| format!("pod {} was recorded as succeeded, but had not succeeded", uid.0))
    },
    premise: |it| find(it.job_state, |ghost| ghost.recorded == Some(End::Success)).is_some(),
};

/// FT-18, RP-03: the list of failed pods contains only pods that have failed. A Job that fails counts all its
/// remaining pods as failed (FT-15). Without interim conditions (UG-07), the status does not show that a Job
/// is about to fail.
pub const RECORDED_FAILURES_ARE_REAL: Property = Property {
    req: Req::RP03,
    name: "a pod that is recorded as failed has failed, or was deleted if that counts as a failure",
    needs_processes: false,
    broken: |job_state| {
        let decided = job_state.ghost.decision.as_ref();
        let job_fails =
            decided.map_or(!job_state.ghost.gates.delays_terminal_condition(), |decision| !decision.good);
        let replacing_failed = job_state.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let replacing_failed = replacing_failed && !job_state.ghost.allowed_early_replacement;
        let unreal = |ghost: &PodHistory| match ghost.end {
            Some(_) if ghost.has_failed() => false,
            Some(_) | None => replacing_failed || !ghost.deleted,
        };
        let found = find(job_state, |ghost| ghost.recorded == Some(End::Failure) && unreal(ghost));
        found
            .filter(|_| !job_fails)
            .map(|uid| format!("pod {} was recorded as failed, but had not failed", uid.0))
    },
    premise: |it| {
        let terminating = it.job_state.pods.sums().terminating > 0;
        terminating && it.job_state.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed())
    },
};

/// PF-06: an ignored failure counts nowhere. A Job that fails counts all its remaining pods as failed
/// (FT-15).
pub const IGNORED_FAILURES_DO_NOT_COUNT: Property = Property {
    req: Req::PF06,
    name: "a failure that a policy rule ignores is not counted",
    needs_processes: false,
    broken: |job_state| {
        if job_state.ghost.decision.as_ref().is_some_and(|decision| !decision.good) {
            return None;
        }
        let counted = |ghost: &PodHistory| ghost.ignored && ghost.recorded == Some(End::Failure);
        find(job_state, counted).map(|uid| {
            format!("pod {} was recorded as failed, although a policy rule ignores its failure", uid.0)
        })
    },
    premise: |it| find(it.job_state, |ghost| ghost.ignored).is_some(),
};

/// FT-31, FT-02, BI-09: a counter changes only because a pod is counted.
pub const COUNTERS_ARE_THE_COUNTED_PODS: Property = Property {
    req: Req::FT31,
    name: "the counters succeeded and failed are the numbers of counted pods",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state.job.as_ref()?;
        let sum = |count: fn(&PodHistory) -> u8| {
            job_state.ghost.pods.iter().map(|ghost| i32::from(count(ghost))).sum()
        };
        let (succeeded, failed): (i32, i32) =
            (sum(|ghost| ghost.counted_succeeded), sum(|ghost| ghost.counted_failed));
        let wrong =
            job.status.failed != failed || (!job.spec.is_indexed() && job.status.succeeded != succeeded);
        wrong.then(|| {
            format!(
                "succeeded is {} and failed is {}, but {succeeded} and {failed} pods were counted",
                job.status.succeeded, job.status.failed
            )
        })
    },
    premise: |it| it.job_state.job.as_ref().is_some_and(|job| job.status.failed > 0),
};

fn find(job_state: &JobState, which: impl Fn(&PodHistory) -> bool) -> Option<Uid> {
    job_state.ghost.numbered().find(|(_, ghost)| which(ghost)).map(|(uid, _)| uid)
}
