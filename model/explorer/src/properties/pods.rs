//! The pods that may exist at the same time, and the times at which pods may be created.

use super::Property;
use crate::ghost::{End, PodHistory};
use crate::world::JobState;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::indexes::{Index, IndexSet};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::uid::Uid;

/// TC-07: a decided Job gets no more pods.
pub const NO_POD_AFTER_THE_DECISION: Property = Property {
    req: Req::TC07,
    name: "no pod is created after the interim condition",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .creation_after_decision
            .map(|uid| format!("pod {} was created after the interim condition", uid.0))
    },
    premise: |it| {
        let job_state = it.job_state;
        let room = |parallelism: u32| job_state.pods.sums().active < parallelism;
        job_state.ghost.decision.is_some()
            && job_state.job.as_ref().is_some_and(|job| room(job.spec.parallelism_count()))
    },
};

/// PC-04, PC-05, PC-08: the number of active pods never exceeds the largest `parallelism` so far.
pub const ACTIVE_WITHIN_PARALLELISM: Property = Property {
    req: Req::PC08,
    name: "at most parallelism pods are active",
    needs_processes: false,
    broken: |job_state| {
        let active = count(job_state, Pod::is_active);
        (active > i64::from(job_state.ghost.widest)).then(|| format!("{active} pods are active"))
    },
    premise: |it| i64::from(it.job_state.pods.sums().active) == i64::from(it.job_state.ghost.widest),
};

/// PC-04: active and successful pods together do not exceed `completions`.
pub const NO_MORE_PODS_THAN_NEEDED: Property = Property {
    req: Req::PC04,
    name: "active and successful pods together are at most completions",
    needs_processes: false,
    broken: |job_state| {
        // For an Indexed Job whose `completions` changed, only indexes that no user removed count.
        let wanted = i64::from(job_state.ghost.fewest?);
        let used = count(job_state, |pod| pod.is_active() && job_state.ghost.was_always_there(pod.index));
        let used = used + counted_successes(job_state);
        (used > wanted).then(|| format!("{used} pods are active or have succeeded, completions is {wanted}"))
    },
    premise: |it| counted_successes(it.job_state) > 0 && it.job_state.pods.sums().active > 0,
};

/// The number of pods of a class, without unexpected ones (FT-28, SY-10).
fn count(job_state: &JobState, class: impl Fn(&Pod) -> bool) -> i64 {
    i64::try_from(asked(job_state, class).count()).unwrap_or(i64::MAX)
}

/// An index that two pods of the class have.
fn shared_index(job_state: &JobState, class: impl Fn(&Pod) -> bool) -> Option<Index> {
    let mut used = IndexSet::new();
    let mut indexes = asked(job_state, class).filter_map(|pod| pod.index);
    indexes.find(|index| {
        let shared = used.contains(*index);
        used.insert(*index);
        shared
    })
}

fn asked<'a>(job_state: &'a JobState, class: impl Fn(&Pod) -> bool + 'a) -> impl Iterator<Item = &'a Pod> {
    let unexpected = |pod: &Pod| job_state.ghost.pod(pod.uid).is_some_and(|ghost| ghost.unexpected);
    job_state
        .pods
        .iter()
        .filter(move |pod| pod.controlled && job_state.ghost.owns(pod) && class(pod) && !unexpected(pod))
}

/// The number of pods that succeeded, were not deleted, and are counted or will be.
fn counted_successes(job_state: &JobState) -> i64 {
    let Some(job) = &job_state.job else { return 0 };
    let completed = job.status.completed(None);
    let clean = |(uid, ghost): &(Uid, &PodHistory)| {
        let kept = job_state.pods.get(*uid).is_some_and(|pod| pod.finalizer);
        let completes = ghost.index.is_some_and(|index| completed.contains(index));
        let stored = ghost.recorded.is_some() || completes;
        // A success whose pod failed later counts only if it was recorded before.
        let stands = !ghost.flipped || ghost.recorded == Some(End::Success) || completes;
        ghost.end == Some(End::Success)
            && job_state.ghost.was_always_there(ghost.index)
            && !ghost.deleted
            && !ghost.finalizer_removed
            && !ghost.unexpected
            && (kept || stored)
            && stands
    };
    let successes = job_state.ghost.numbered().filter(clean);
    if job.spec.is_indexed() {
        // PC-21: two successes of an index count once.
        return i64::from(successes.filter_map(|(_, ghost)| ghost.index).collect::<IndexSet>().len());
    }
    i64::try_from(successes.count()).unwrap_or(i64::MAX)
}

/// RP-03, RP-11, US-05: with policy `Failed`, a terminating pod counts towards `parallelism`.
pub const REPLACEMENT_WAITS: Property = Property {
    req: Req::RP11,
    name: "with podReplacementPolicy Failed, at most parallelism pods are active or terminating",
    needs_processes: false,
    broken: |job_state| {
        let replacing_failed = job_state.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let held = count(job_state, |pod| !pod.is_terminated());
        let widest = job_state.ghost.widest;
        (replacing_failed && !job_state.ghost.allowed_early_replacement && held > i64::from(widest))
            .then(|| format!("{held} pods are active or terminating, parallelism is {widest}"))
    },
    premise: |it| {
        let replacing_failed = it.job_state.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed());
        replacing_failed && it.job_state.ghost.decision.is_none() && it.job_state.pods.sums().terminating > 0
    },
};

/// PC-06, PC-18: each index has at most one active pod.
pub const ONE_ACTIVE_POD_FOR_EACH_INDEX: Property = Property {
    req: Req::PC18,
    name: "no index has two active pods",
    needs_processes: false,
    broken: |job_state| {
        let index = shared_index(job_state, Pod::is_active)?;
        Some(format!("index {index} has two active pods"))
    },
    premise: |it| it.job_state.pods.indexes_in_use().count() > 1,
};

/// RP-12, US-04: with policy `Failed`, a replacement waits until the pod of the index has terminated.
pub const INDEX_IS_FREE_BEFORE_IT_IS_REUSED: Property = Property {
    req: Req::RP12,
    name: "with podReplacementPolicy Failed, no index has two pods that have not terminated",
    needs_processes: false,
    broken: |job_state| {
        let replacing_failed = job_state.read_job().is_some_and(|job| job.spec.replaces_only_failed());
        let index = shared_index(job_state, |pod| !pod.is_terminated())?;
        (replacing_failed && !job_state.ghost.allowed_early_replacement)
            .then(|| format!("index {index} has two pods that have not terminated"))
    },
    premise: |it| {
        let replacing_failed = it.job_state.job.as_ref().is_some_and(|job| job.spec.replaces_only_failed());
        let waits = it.job_state.pods.indexes_in_use().any(|(_, used)| used.terminating > 0);
        replacing_failed && waits && it.job_state.ghost.decision.is_none()
    },
};

/// SU-01: a suspended Job gets no pods.
pub const NO_POD_WHILE_SUSPENDED: Property = Property {
    req: Req::SU01,
    name: "no pod is created while the Job is suspended",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .creation_while_suspended
            .map(|uid| format!("pod {} was created while the Job was suspended", uid.0))
    },
    premise: |it| {
        it.job_state.job.as_ref().is_some_and(|job| job.spec.is_suspended())
            && it.job_state.pods.sums().active == 0
    },
};

/// BO-01: a failure delays the next pod.
pub const DELAY_AFTER_A_FAILURE: Property = Property {
    req: Req::BO01,
    name: "no pod is created within the first delay after a failure",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .premature_creation
            .map(|uid| format!("pod {} was created too soon after a failure", uid.0))
    },
    premise: |it| {
        let failed = it.job_state.pods.iter().any(|pod| pod.phase == Phase::Failed);
        failed && it.scope.constants.pod_failure_backoff_ms > 0 && it.job_state.ghost.decision.is_none()
    },
};
