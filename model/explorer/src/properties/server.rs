//! The rules of the API server, suspension, and the TTL-after-finished controller.

use super::Property;
use crate::alphabet::has_refusable_candidate;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::ConditionKind;

/// The specification admits what the algorithm does, also after crashes (SY-10).
pub const EVERY_WRITE_IS_ADMITTED: Property = Property {
    req: Req::SY10,
    name: "the specification admits every write of a controller",
    needs_processes: true,
    broken: |job_state| job_state.ghost.objection.map(|req| format!("a write broke {req}")),
    premise: |it| it.job_state.processes().iter().any(|process| process.sync.is_some()),
};

/// SS-01 to SS-28: no write that the server must refuse is attempted.
pub const NOTHING_IS_REFUSED: Property = Property {
    req: Req::SS37,
    name: "the server refuses no status write",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.refused.map(|req| format!("the server refused a status write by {req}"))
    },
    premise: |it| has_refusable_candidate(it.job_state, it.world.now, it.scope),
};

/// SS-09, SU-04: `startTime` is stable while the Job runs.
pub const START_TIME_STAYS: Property = Property {
    req: Req::SU04,
    name: "startTime changes only when the Job is suspended or resumed",
    needs_processes: false,
    broken: |job_state| job_state.ghost.violations.start_moved.then(|| "startTime changed".to_owned()),
    premise: |it| {
        let job = it.job_state.job.as_ref();
        job.is_some_and(|job| {
            it.world.now.0 > 0 && job.status.start_time.is_some_and(|start| start < it.world.now)
        })
    },
};

/// SU-02: suspension clears `startTime`.
pub const NO_START_TIME_WHILE_SUSPENDED: Property = Property {
    req: Req::SU02,
    name: "a Job with Suspended=True has no startTime, unless it is decided",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state
            .job
            .as_ref()
            .filter(|job| job.spec.is_suspended() && job_state.ghost.decision.is_none())?;
        let status = &job.status;
        (status.is_true(&ConditionKind::Suspended) && status.start_time.is_some())
            .then(|| "the suspended Job has a startTime".to_owned())
    },
    premise: |it| it.job_state.job.as_ref().is_some_and(|job| job.status.is_true(&ConditionKind::Suspended)),
};

/// TT-01, TT-13: only finished Jobs expire.
pub const EXPIRED_JOBS_ONLY: Property = Property {
    req: Req::TT13,
    name: "the TTL-after-finished controller deletes only finished Jobs",
    needs_processes: false,
    broken: |job_state| {
        let deletion = job_state.ghost.ttl_deletion.as_ref()?;
        (!deletion.finished)
            .then(|| "the deleted Job was not finished, whatever Job the controller had read".to_owned())
    },
    premise: |it| {
        let has_ttl =
            it.job_state.job.as_ref().is_some_and(|job| job.spec.ttl_seconds_after_finished.is_some());
        has_ttl && it.job_state.ghost.ending.is_none()
    },
};

/// TT-03: the deletion waits for the TTL.
pub const TTL_HAD_PASSED: Property = Property {
    req: Req::TT03,
    name: "the TTL-after-finished controller deletes a Job only after its TTL has passed",
    needs_processes: false,
    broken: |job_state| {
        let deletion = job_state.ghost.ttl_deletion.as_ref()?;
        (!deletion.expired).then(|| "the deleted Job had not expired".to_owned())
    },
    premise: |it| it.job_state.ghost.ttl_deletion.is_some(),
};
