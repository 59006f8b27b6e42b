//! The API server's rules, suspension, and the TTL controller.

use super::Property;
use crate::alphabet::has_refusable_candidate;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::ConditionKind;

/// The algorithm does what the specification allows, after crashes too (SY-10).
pub const EVERY_WRITE_IS_ADMITTED: Property = Property {
    req: Req::SY10,
    name: "every write of the algorithm is one that the specification admits",
    needs_processes: true,
    broken: |job_state| job_state.ghost.objection.map(|req| format!("a write broke {req}")),
    premise: |it| it.job_state.processes().iter().any(|process| process.sync.is_some()),
};

/// SS-01 to SS-28: no write is attempted that the server must refuse.
pub const NOTHING_IS_REFUSED: Property = Property {
    req: Req::SS37,
    name: "no status write is attempted that the server refuses",
    needs_processes: false,
    broken: |job_state| job_state.ghost.refused.map(|req| format!("a status write was refused by {req}")),
    premise: |it| has_refusable_candidate(it.job_state, it.world.now, it.scope),
};

/// SS-09, SU-04.
pub const START_TIME_STAYS: Property = Property {
    req: Req::SU04,
    name: "startTime moves only with a suspension or its end",
    needs_processes: false,
    broken: |job_state| job_state.ghost.violations.start_moved.then(|| "startTime moved".to_owned()),
    premise: |it| {
        let job = it.job_state.job.as_ref();
        job.is_some_and(|job| {
            it.world.now.0 > 0 && job.status.start_time.is_some_and(|start| start < it.world.now)
        })
    },
};

/// SU-02.
pub const NO_START_TIME_WHILE_SUSPENDED: Property = Property {
    req: Req::SU02,
    name: "a suspended Job that shows it has no startTime, unless it is decided",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state
            .job
            .as_ref()
            .filter(|job| job.spec.is_suspended() && job_state.ghost.decision.is_none())?;
        let status = &job.status;
        (status.is_true(&ConditionKind::Suspended) && status.start_time.is_some())
            .then(|| "it has a startTime".to_owned())
    },
    premise: |it| it.job_state.job.as_ref().is_some_and(|job| job.status.is_true(&ConditionKind::Suspended)),
};

/// TT-01, TT-13.
pub const EXPIRED_JOBS_ONLY: Property = Property {
    req: Req::TT13,
    name: "the TTL controller deletes finished Jobs only",
    needs_processes: false,
    broken: |job_state| {
        let removal = job_state.ghost.removal.as_ref()?;
        (!removal.finished)
            .then(|| "the Job that it deleted was not finished, whatever Job it had read".to_owned())
    },
    premise: |it| {
        let has_ttl =
            it.job_state.job.as_ref().is_some_and(|job| job.spec.ttl_seconds_after_finished.is_some());
        has_ttl && it.job_state.ghost.ending.is_none()
    },
};

/// TT-03.
pub const TTL_HAD_PASSED: Property = Property {
    req: Req::TT03,
    name: "the TTL controller waits until the TTL has passed",
    needs_processes: false,
    broken: |job_state| {
        let removal = job_state.ghost.removal.as_ref()?;
        (!removal.expired).then(|| "the Job that it deleted had not expired".to_owned())
    },
    premise: |it| it.job_state.ghost.removal.is_some(),
};
